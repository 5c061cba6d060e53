// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/pass"
	"motorcortex.dev/motorcortex/internal/storage"
)

// uses are what the runs of namespaces keep, in KiB.
type uses map[string]int64

func (u uses) Used(namespace string) int64 { return u[namespace] << 10 }

// HasSteps says that no run has any left.
func (u uses) HasSteps(string, string) bool { return false }

func (u uses) Namespaces() []string {
	var all []string
	for ns := range u {
		all = append(all, ns)
	}
	return all
}

func (u uses) HasSynced() bool { return true }

// newBudget returns one of a cache with a MotorCortex in the namespace team, whose runs may keep 1000 KiB.
func newBudget(t *testing.T, used uses, objects ...client.Object) *Budget {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	c := &v1alpha1.MotorCortex{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: v1alpha1.CortexName}}
	c.Spec.Retention.MaxStorage = new(resource.MustParse("1000Ki"))
	return &Budget{Cache: fake.NewClientBuilder().WithScheme(scheme).WithObjects(append(objects, c)...).Build(), Usage: used, Now: func() time.Time { return time.Unix(1_700_000_000, 0) }}
}

// newRun returns a run of the namespace team with a condition.
func newRun(name, condition string, status metav1.ConditionStatus, reason string) *v1alpha1.MotorRun {
	run := &v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name, UID: types.UID(name)}}
	run.Status.Conditions = []metav1.Condition{{Type: condition, Status: status, Reason: reason}}
	return run
}

// archivedRun returns a run that ended so many hours ago.
func archivedRun(name string, hours int) *v1alpha1.MotorRun {
	run := newRun(name, v1alpha1.ConditionFinished, metav1.ConditionTrue, "Completed")
	run.Status.CompletionTime = new(metav1.NewTime(time.Unix(1_700_000_000, 0).Add(-time.Duration(hours) * time.Hour)))
	run.Status.Archive = &v1alpha1.ArchiveStatus{Key: "k"}
	return run
}

func TestAdmit(t *testing.T) {
	t.Parallel()
	fresh := newRun("r", v1alpha1.ConditionReconciling, metav1.ConditionTrue, "Running")
	begun := newRun("r", v1alpha1.ConditionAccepted, metav1.ConditionTrue, "Accepted")
	elsewhere := newRun("r", v1alpha1.ConditionReconciling, metav1.ConditionTrue, "Running")
	elsewhere.Namespace = "without"
	for name, tt := range map[string]struct {
		run  *v1alpha1.MotorRun
		used uses
		goOn bool
	}{
		"there is room":               {fresh, uses{"team": 999, "without": 1 << 20}, true},
		"there is none":               {fresh, uses{"team": 1000}, false},
		"it has begun":                {begun, uses{"team": 5000}, true},
		"the default has room":        {elsewhere, uses{"team": 5000, "without": 1<<20 - 1}, true},
		"the default has none either": {elsewhere, uses{"without": 1 << 20}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := pass.NewRun(tt.run.DeepCopy(), time.Unix(1_700_000_000, 0))
			goOn, err := newBudget(t, tt.used).Admit(t.Context(), s)
			if err != nil || goOn != tt.goOn {
				t.Fatalf("goes on %t, %v", goOn, err)
			}
			if goOn {
				if s.Changed() {
					t.Errorf("it changed %+v", s.Run.Status)
				}
				return
			}
			last := s.Run.Status.Conditions[len(s.Run.Status.Conditions)-1]
			if last.Type != v1alpha1.ConditionAccepted || last.Status != metav1.ConditionFalse || last.Reason != v1alpha1.ReasonStorageFull || s.Result().RequeueAfter == 0 {
				t.Errorf("it says %+v, and looks again after %s", last, s.Result().RequeueAfter)
			}
			for _, word := range []string{"maxStorage", "archive", "retention", "Delete"} {
				if !strings.Contains(last.Message, word) {
					t.Errorf("%q does not name %s as a way out", last.Message, word)
				}
			}
		})
	}
}

func TestHeld(t *testing.T) {
	t.Parallel()
	for used, held := range map[int64]bool{0: false, 1000: false, 1249: false, 1250: true, 9000: true} {
		why, err := newBudget(t, uses{"team": used}).Held(t.Context(), "team")
		if err != nil || (why != "") != held || held && !strings.Contains(why, "1000Ki") {
			t.Errorf("at %d KiB: %q, %v", used, why, err)
		}
	}
}

func TestEarlyIsForChosenRuns(t *testing.T) {
	t.Parallel()
	plain, old, young := newRun("plain", v1alpha1.ConditionFinished, metav1.ConditionTrue, "Completed"), archivedRun("old", 2), archivedRun("young", 1)
	used := uses{"team": 800}
	b := newBudget(t, used, old, young, plain)
	for _, step := range []struct {
		name string
		used int64
		look bool
		want []string
	}{
		{"none is chosen yet", 800, false, nil},
		{"the oldest is chosen", 800, true, []string{"old"}},
		{"there is room again", 799, false, nil},
		{"as before", 800, false, []string{"old"}},
		{"more is needed", 5000, true, []string{"old", "young"}},
		{"there is room, and it is known", 100, true, nil},
		{"until that is looked at again", 5000, false, nil},
	} {
		used["team"] = step.used
		if step.look {
			if _, err := b.Runs(t.Context(), "team", storage.Free, false); err != nil {
				t.Fatal(err)
			}
		}
		var got []string
		for _, run := range []*v1alpha1.MotorRun{old, young, plain} {
			early, err := b.Early(t.Context(), run)
			if err != nil {
				t.Fatal(err)
			}
			if early {
				got = append(got, run.Name)
			}
		}
		if !slices.Equal(got, step.want) {
			t.Errorf("%s: %q go early, want %q", step.name, got, step.want)
		}
	}
}

func TestWithoutABudgetThereIsNoBound(t *testing.T) {
	t.Parallel()
	var b *Budget
	run := archivedRun("r", 1)
	goOn, err := b.Admit(t.Context(), pass.NewRun(run, time.Now()))
	early, err2 := b.Early(t.Context(), run)
	why, err3 := b.Held(t.Context(), "team")
	if !goOn || early || why != "" || errors.Join(err, err2, err3) != nil {
		t.Errorf("goes on %t, goes early %t, held %q, %v", goOn, early, why, errors.Join(err, err2, err3))
	}
}

// unread is a cache that cannot be read.
type unread struct{ client.Reader }

func (unread) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return errors.New("no cache")
}

func TestAnUnknownBoundDecidesNothing(t *testing.T) {
	t.Parallel()
	b := &Budget{Cache: unread{}, Usage: uses{"team": 5000}}
	s := pass.NewRun(newRun("r", v1alpha1.ConditionReconciling, metav1.ConditionTrue, "Running"), time.Now())
	if goOn, err := b.Admit(t.Context(), s); goOn || err == nil || s.Changed() {
		t.Errorf("goes on %t, %v", goOn, err)
	}
	b.early = map[string][]types.UID{"team": {"old"}}
	if early, err := b.Early(t.Context(), archivedRun("old", 2)); early || err == nil {
		t.Errorf("goes early %t, %v", early, err)
	}
	if why, err := b.Held(t.Context(), "team"); why != "" || err == nil {
		t.Errorf("held %q, %v", why, err)
	}
}
