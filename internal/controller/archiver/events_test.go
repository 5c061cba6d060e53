// SPDX-License-Identifier: Apache-2.0

package archiver

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/pass"
)

// controls are characters that would change what a terminal shows.
const controls = "\x1b[2J\u202eevil\u200b\x9b\u0085\r\x07\U000E0041"

// A bucket's own text is made printable before it is reported.
func TestArchiveEventsArePrintable(t *testing.T) {
	t.Parallel()
	recorder := events.NewFakeRecorder(2)
	r := &Reconciler{Recorder: recorder}
	run := &v1alpha1.MotorRun{}
	r.tell(run, &archiveError{errors.New("the bucket says " + controls + strings.Repeat("x", 2*pass.MaxNote))})
	r.event(run, corev1.EventTypeNormal, reasonArchived, "as "+controls)
	for range 2 {
		e := <-recorder.Events
		if strings.ContainsAny(e, "\x1b\u202e\u200b\r\x07\U000E0041\u0085\u009b") || !strings.Contains(e, "evil") || len(e) > pass.MaxNote+len("Warning ArchiveFailed ") {
			t.Errorf("%q", e)
		}
	}
}
