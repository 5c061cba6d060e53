// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/audit/ocsf"
	"motorcortex.dev/motorcortex/internal/audit/ocsf/ocsftest"
)

var now = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)

func runOf(age time.Duration) *v1alpha1.MotorRun {
	return &v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{Name: "r", Namespace: "n", UID: "u", CreationTimestamp: metav1.NewTime(now.Add(-age))}}
}

// watching is a watch and what it has written.
func watching() (*Watch, *bytes.Buffer) {
	var to bytes.Buffer
	return &Watch{To: ocsf.NewLog(&to), Now: func() time.Time { return now }, Logger: slog.New(slog.DiscardHandler), from: now.Add(-overlap)}, &to
}

// A new leader writes what the former one may have left out, and not everything that ever was.
func TestNewLeaderWritesWhatIsNew(t *testing.T) {
	t.Parallel()
	w, to := watching()
	w.added(t.Context(), runOf(overlap+time.Second))
	if to.Len() > 0 {
		t.Errorf("of an old run: %s", to)
	}
	w.added(t.Context(), runOf(overlap-time.Second))
	rejected := &v1alpha1.Skill{Spec: v1alpha1.SkillSpec{Rejections: []v1alpha1.SkillRejection{{RejectedBy: "bob"}}}}
	rejected.Name, rejected.UID = "s", "su"
	w.added(t.Context(), rejected)
	if strings.Count(to.String(), "\n") != 2 {
		t.Errorf("written is %s", to)
	}
	for line := range strings.Lines(to.String()) {
		if err := ocsftest.Check([]byte(line)); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
}

func TestUpdateWritesWhatWasNotThere(t *testing.T) {
	t.Parallel()
	w, to := watching()
	was := runOf(time.Hour)
	is := was.DeepCopy()
	w.updated(t.Context(), was, is)
	if to.Len() > 0 {
		t.Errorf("of no change: %s", to)
	}
	is.Spec.Cancel, is.Spec.CancelledBy = true, "eve"
	is.Status.Reason, is.Status.CompletionTime = v1alpha1.ReasonCancelled, new(metav1.NewTime(now.Add(-time.Hour)))
	w.updated(t.Context(), was, is)
	if strings.Count(to.String(), "\n") != 1 || !strings.Contains(to.String(), `"operation":"cancel"`) {
		t.Errorf("of a cancelled run: %s", to)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space") }

// A line that is lost is an error in the log, with the id of the decision.
func TestLostLineIsInTheLog(t *testing.T) {
	t.Parallel()
	w, _ := watching()
	var log bytes.Buffer
	w.To, w.Logger = ocsf.NewLog(full{}), slog.New(slog.NewJSONHandler(&log, nil))
	w.added(t.Context(), runOf(0))
	if !strings.Contains(log.String(), `"id":"u/create"`) || !strings.Contains(log.String(), "no space") {
		t.Errorf("the log is %s", &log)
	}
}

type broken struct{}

func (broken) GetInformer(context.Context, client.Object, ...cache.InformerGetOption) (cache.Informer, error) {
	return nil, errors.New("no watch")
}

func TestWatchThatCannotBeginEnds(t *testing.T) {
	t.Parallel()
	w, _ := watching()
	w.Cache = broken{}
	if err := w.Start(t.Context()); err == nil {
		t.Error("it began")
	}
}
