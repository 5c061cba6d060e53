// SPDX-License-Identifier: Apache-2.0

package energy

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/pass"
)

// drain has a pass drain the energy of a run, as the cache has it.
func (r *rig) drain(run *v1alpha1.MotorRun) (*pass.Run, bool) {
	r.t.Helper()
	s := pass.NewRun(run.DeepCopy(), r.now)
	goOn, end, err := r.Drain(r.t.Context(), s)
	if err != nil || end != nil {
		r.t.Fatalf("run %s: %+v, %v", run.Name, end, err)
	}
	return s, goOn
}

func tenth() *v1alpha1.Energy {
	return &v1alpha1.Energy{Initial: "1", RegenerationPerHour: "0.1", WhenTired: v1alpha1.TiredQueue}
}

func TestAnAcceptedRunDrainsItsBaseOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, tenth(), interceptor.Funcs{})
	run := r.run("a")
	for range 3 {
		s, goOn := r.drain(run)
		want := v1alpha1.RunEnergy{EnergyRates: v1alpha1.EnergyRates{Kind: v1alpha1.EnergyAgentic, Base: "0.1", FreeIterations: 5, PerIteration: "0.01"}}
		if e := s.Run.Status.Energy; !goOn || e == nil || *e != want || !s.Changed() {
			t.Fatalf("the run shows %+v", e)
		}
		r.wantLevel("0.9", 1, 0)
	}
	if !slices.Equal(r.told, []string{"Agentic 100ms"}) {
		t.Errorf("told of %v", r.told)
	}
}

func TestNoEnergyIsNoRequest(t *testing.T) {
	t.Parallel()
	requests := 0
	count := interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			requests++
			return c.Get(ctx, key, o, opts...)
		},
		SubResourcePatch: func(context.Context, client.Client, string, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
			return errors.New("it was written")
		},
	}
	r := newRig(t, nil, count)
	r.Live = nil
	s, goOn := r.drain(r.run("a"))
	if !goOn || s.Changed() || requests != 1 {
		t.Errorf("without spec.energy: %v, %d reads of the cache", goOn, requests)
	}
	r = newRig(t, tenth(), count)
	r.Client, r.Live = nil, nil
	if s, goOn := r.drain(r.run("installs", func(run *v1alpha1.MotorRun) { run.Spec.Mode = v1alpha1.ModeInstall })); !goOn || s.Changed() {
		t.Error("a run that installs packages drains energy")
	}
	var none *Ledger
	if goOn, end, err := none.Drain(t.Context(), pass.NewRun(&v1alpha1.MotorRun{}, noon)); !goOn || end != nil || err != nil {
		t.Errorf("without a ledger: %v, %v, %v", goOn, end, err)
	}
}

func TestATiredRunWaitsAndItsMessageDoesNotMove(t *testing.T) {
	t.Parallel()
	e := tenth()
	e.Initial = "0.1"
	r := newRig(t, e, interceptor.Funcs{})
	run := r.run("a")
	_, err := r.Reconcile(t.Context(), request())
	r.must(err)
	s, goOn := r.drain(run)
	c := apimeta.FindStatusCondition(s.Run.Status.Conditions, v1alpha1.ConditionAccepted)
	const want = "The energy of the namespace is 0.1 of 1. A run of the kind Agentic needs 0.3 (spec.energy of the MotorCortex). " +
		"It will be there by 2026-11-27T14:00:00Z, if nothing else drains it. The run waits."
	if goOn || c == nil || c.Reason != v1alpha1.ReasonNoEnergy || c.Message != want || s.Stalled || s.Run.Status.Energy != nil {
		t.Fatalf("%+v", c)
	}
	if res := s.Result(); res.RequeueAfter < 2*time.Hour || res.RequeueAfter > 2*time.Hour+time.Second {
		t.Errorf("the run is looked at again after %s", res.RequeueAfter)
	}
	for _, after := range []time.Duration{time.Second, time.Minute, 119 * time.Minute} {
		r.now = noon.Add(after)
		if again, goOn := r.drain(s.Run); goOn || again.Changed() {
			t.Errorf("after %s: %+v", after, again.Run.Status.Conditions)
		}
	}
	r.wantLevel("0.1", 0, 0)
	r.now = noon.Add(2 * time.Hour)
	if _, goOn := r.drain(s.Run); !goOn {
		t.Error("there is enough, and the run waits")
	}
	r.wantLevel("0.2", 1, 0)
}

func TestATiredRunEndsIfTheSpecSaysSo(t *testing.T) {
	t.Parallel()
	e := tenth()
	e.Initial, e.WhenTired = "0.1", v1alpha1.TiredReject
	r := newRig(t, e, interceptor.Funcs{})
	goOn, end, err := r.Drain(t.Context(), pass.NewRun(r.run("a"), r.now))
	if goOn || err != nil || end == nil || end.Reason != v1alpha1.ReasonNoEnergy || end.Phase != v1alpha1.PhaseFailed ||
		!end.Failure.Retryable || end.Failure.Category != v1alpha1.CategoryBudgetExhausted {
		t.Fatalf("%v, %+v, %v", goOn, end, err)
	}
	if !strings.HasSuffix(end.Message, "by 2026-11-27T14:00:00Z, if nothing else drains it. The run ends, because whenTired is Reject. Create it again then.") {
		t.Errorf("it says %q", end.Message)
	}
	if r.cortex().Status.Energy != nil {
		t.Error("a run that was refused wrote the ledger")
	}
}

func TestARunForWhichThereIsNeverEnoughSaysWhatToChange(t *testing.T) {
	t.Parallel()
	e := tenth()
	e.Initial, e.RegenerationPerHour = "0.1", "0"
	r := newRig(t, e, interceptor.Funcs{})
	s, _ := r.drain(r.run("a"))
	c := apimeta.FindStatusCondition(s.Run.Status.Conditions, v1alpha1.ConditionAccepted)
	if !s.Stalled || !strings.Contains(c.Message, "regenerationPerHour is 0") || s.Result().RequeueAfter > time.Minute+time.Second {
		t.Errorf("%+v, again after %s", c, s.Result().RequeueAfter)
	}
}

// Runs that wait are all woken at the same instant. The one that is looked at first is not the one whose turn it is, and its message stays as it was.
func TestRunsThatWaitForEnergyKeepTheirTurn(t *testing.T) {
	t.Parallel()
	e := tenth()
	e.Initial = "0.1"
	r := newRig(t, e, interceptor.Funcs{})
	_, err := r.Reconcile(t.Context(), request())
	r.must(err)
	older, younger := r.run("older"), r.run("younger", func(run *v1alpha1.MotorRun) { run.CreationTimestamp.Time = noon.Add(time.Second) })
	for _, run := range []*v1alpha1.MotorRun{younger, older} {
		s, _ := r.drain(run)
		r.becomes(run, func(run *v1alpha1.MotorRun) { run.Status = s.Run.Status })
	}
	r.now = noon.Add(2 * time.Hour)
	s, goOn := r.drain(younger)
	if goOn || s.Changed() || s.Result().RequeueAfter > 6*time.Second {
		t.Errorf("the younger one: %v, %+v, again after %s", goOn, s.Run.Status.Conditions, s.Result().RequeueAfter)
	}
	// One that comes now says which one it waits for. Code without a model is in no queue.
	s, goOn = r.drain(r.run("new", func(run *v1alpha1.MotorRun) { run.CreationTimestamp.Time = noon.Add(time.Minute) }))
	c := apimeta.FindStatusCondition(s.Run.Status.Conditions, v1alpha1.ConditionAccepted)
	if goOn || s.Stalled || !strings.HasPrefix(c.Message, "The energy of the namespace is 0.3 of 1. ") || !strings.Contains(c.Message, "the run older, which waits for it too, comes first") {
		t.Errorf("a new one: %v, %+v", goOn, c)
	}
	if _, goOn := r.drain(older); !goOn {
		t.Error("the older one waits")
	}
	if _, goOn := r.drain(r.run("code", oneshot)); !goOn {
		t.Error("code without a model waits for a run with one")
	}
	r.wantLevel("0.15", 2, 0)
}

// A run that needs more keeps none waiting that needs less.
func TestARunThatNeedsMoreHoldsUpNone(t *testing.T) {
	t.Parallel()
	e := tenth()
	e.Initial = "0.4"
	r := newRig(t, e, interceptor.Funcs{})
	browses := r.run("browses", func(run *v1alpha1.MotorRun) { run.Spec.Tools = []v1alpha1.ToolName{"browser"} })
	s, goOn := r.drain(browses)
	if goOn {
		t.Fatal("0.4 is enough for a browser")
	}
	r.becomes(browses, func(run *v1alpha1.MotorRun) { run.Status = s.Run.Status })
	if _, goOn := r.drain(r.run("later", func(run *v1alpha1.MotorRun) { run.CreationTimestamp.Time = noon.Add(time.Second) })); !goOn {
		t.Error("a run without a browser waits for one that has one")
	}
}

// A leader that was held up has the run as it was before another one accepted it, ended it and settled it, so long ago that the ledger has forgotten it.
func TestALeaderOfThePastDrainsNothing(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*rig, *v1alpha1.MotorRun){
		"accepted": func(r *rig, run *v1alpha1.MotorRun) { r.becomes(run, condition(v1alpha1.ConditionAccepted)) },
		"ended":    func(r *rig, run *v1alpha1.MotorRun) { r.becomes(run, condition(v1alpha1.ConditionFinished)) },
		"gone":     func(r *rig, run *v1alpha1.MotorRun) { r.must(r.api.Delete(r.t.Context(), run)) },
		"replaced": func(r *rig, run *v1alpha1.MotorRun) {
			r.must(r.api.Delete(r.t.Context(), run))
			r.run(run.Name, func(other *v1alpha1.MotorRun) { other.UID = types.UID("another") })
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, tenth(), interceptor.Funcs{})
			run := r.run("a")
			past := run.DeepCopy()
			change(r, run)
			if goOn, _, err := r.Drain(t.Context(), pass.NewRun(past, r.now)); goOn || !apierrors.IsConflict(err) {
				t.Errorf("%v, %v", goOn, err)
			}
			if st := r.cortex().Status.Energy; st != nil {
				t.Errorf("the ledger has %+v", st)
			}
		})
	}
}
