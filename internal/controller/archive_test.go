// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// What a bucket says of itself is made printable before it is told.
func TestArchiveEventsArePrintable(t *testing.T) {
	t.Parallel()
	recorder := events.NewFakeRecorder(2)
	r := &ArchiveReconciler{Recorder: recorder}
	run := &v1alpha1.MotorRun{}
	r.tell(run, &archiveError{errors.New("the bucket says " + hostile + strings.Repeat("x", 2*maxNote))})
	r.event(run, corev1.EventTypeNormal, reasonArchived, "as "+hostile)
	for range 2 {
		e := <-recorder.Events
		if strings.ContainsAny(e, "\x1b\u202e\u200b\r\x07\U000E0041\u0085\u009b") || !strings.Contains(e, "evil") || len(e) > maxNote+len("Warning ArchiveFailed ") {
			t.Errorf("%q", e)
		}
	}
}
