// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/audit/ocsf"
	"motorcortex.dev/motorcortex/internal/audit/ocsf/ocsftest"
	"motorcortex.dev/motorcortex/internal/runpolicy/observed"
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

// led is what is known about the time in which a manager led, each time that it is asked for.
type led struct {
	known []observed.Time
	asked int
}

func (l *led) Observed() observed.Time {
	l.asked++
	return l.known[min(l.asked, len(l.known))-1]
}

// What was decided while no manager led was written by none.
func TestDecisionsOfATimeWithoutALeaderAreWritten(t *testing.T) {
	t.Parallel()
	gap := func(from, to time.Duration) observed.Gap { return observed.Gap{From: now.Add(-from), To: now.Add(-to)} }
	day := 24 * time.Hour
	for name, tt := range map[string]struct {
		until time.Duration
		gaps  []observed.Gap
		want  time.Duration
	}{
		"always":                         {0, nil, overlap},
		"not for a night":                {0, []observed.Gap{gap(10*time.Hour, 0)}, 10*time.Hour + overlap},
		"not until a minute ago":         {0, []observed.Gap{gap(10*time.Hour, time.Minute)}, 10*time.Hour + overlap},
		"again since yesterday":          {0, []observed.Gap{gap(3*day, day)}, overlap},
		"one short time after the other": {0, []observed.Gap{gap(2*day, day), gap(50*time.Minute, 40*time.Minute), gap(30*time.Minute, time.Minute)}, 50*time.Minute + overlap},
		"not for a year":                 {0, []observed.Gap{gap(365*day, 0)}, longest},
		"no heartbeat since a day":       {day, nil, day + overlap},
		"no heartbeat since a minute":    {time.Minute, nil, overlap},
		"no heartbeat ever":              {1e6 * time.Hour, nil, longest},
	} {
		got := from(now, observed.Time{Until: now.Add(-tt.until), Gaps: tt.gaps})
		if want := now.Add(-tt.want); !got.Equal(want) {
			t.Errorf("%s: from %s, want %s", name, got, want)
		}
	}
}

// The end of the time without a leader is known with the first heartbeat of this process, and that can be late.
func TestWatchWaitsUntilTheTimeIsKnown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, _ := watching()
		w.Now = time.Now
		old := observed.Time{Until: time.Now().Add(-time.Hour)}
		found := observed.Time{Until: time.Now().Add(time.Minute), Gaps: []observed.Gap{{From: old.Until.Add(-time.Hour), To: time.Now()}}}
		l := &led{known: []observed.Time{old, old, old, found}}
		w.Time = l
		if got, want := w.since(t.Context()), found.Gaps[0].From.Add(-overlap); !got.Equal(want) || l.asked != 4 {
			t.Errorf("from %s, want %s, after %d looks", got, want, l.asked)
		}
		w.Time = &led{known: []observed.Time{old}}
		begin := time.Now()
		if got, want := w.since(t.Context()), old.Until.Add(-overlap); !got.Equal(want) || time.Since(begin) != patience {
			t.Errorf("without a heartbeat: from %s, want %s, after %s", got, want, time.Since(begin))
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := w.Start(ctx); err != nil {
			t.Errorf("a watch that ends before it begins: %v", err)
		}
	})
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
	w.Cache, w.Time = broken{}, &led{known: []observed.Time{{Until: now}}}
	if err := w.Start(t.Context()); err == nil {
		t.Error("it began")
	}
}
