// SPDX-License-Identifier: Apache-2.0

package energy

import (
	"context"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

func request() ctrl.Request {
	return ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "ns", Name: v1alpha1.CortexName}}
}

// reconcile has the reconciler pass, and once more to see that this changes nothing.
func (r *rig) reconcile() ctrl.Result {
	r.t.Helper()
	_, err := r.Reconcile(r.t.Context(), request())
	r.must(err)
	before := r.cortex().ResourceVersion
	res, err := r.Reconcile(r.t.Context(), request())
	r.must(err)
	if r.cortex().ResourceVersion != before {
		r.t.Error("the second pass changed something")
	}
	return res
}

func TestABodyIsWrittenWhenAnotherKindBecomesPossible(t *testing.T) {
	t.Parallel()
	e := tenth()
	e.Initial = "0.2"
	r := newRig(t, e, interceptor.Funcs{})
	for _, want := range []struct {
		level v1alpha1.EnergyLevel
		next  time.Duration
	}{{"0.2", time.Hour}, {"0.3", 2*time.Hour + 36*time.Millisecond}, {"0.500001", 5*time.Hour - 36*time.Millisecond}, {"1", 0}} {
		res := r.reconcile()
		r.wantLevel(want.level, 0, 0)
		if off := res.RequeueAfter - want.next; off < 0 || off > time.Second {
			t.Errorf("at %s it looks again after %s, want %s", want.level, res.RequeueAfter, want.next)
		}
		r.now = r.now.Add(res.RequeueAfter)
	}
}

func TestWhereEnergyIsNotConfiguredNothingIsRead(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil, interceptor.Funcs{})
	r.Live = nil
	if res := r.reconcile(); res.RequeueAfter != 0 {
		t.Errorf("it looks again after %s", res.RequeueAfter)
	}
	if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "other", Name: v1alpha1.CortexName}}); err != nil {
		t.Errorf("in a namespace without a MotorCortex: %v", err)
	}
}

func TestEnergyThatIsSwitchedOffIsForgotten(t *testing.T) {
	t.Parallel()
	r := newRig(t, tenth(), interceptor.Funcs{})
	r.drain(r.run("a"))
	c := r.cortex()
	c.Spec.Energy = nil
	r.must(r.api.Update(t.Context(), c))
	r.reconcile()
	if st := r.cortex().Status.Energy; st != nil {
		t.Errorf("the status has %+v", st)
	}
}

func TestRunsThatHaveEndedAreSettledInOneWrite(t *testing.T) {
	t.Parallel()
	writes := 0
	r := newRig(t, tenth(), interceptor.Funcs{SubResourcePatch: func(
		ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption,
	) error {
		writes++
		return c.SubResource(sub).Patch(ctx, o, p, opts...)
	}})
	long, short, going, refused := r.run("long"), r.run("short", oneshot), r.run("going"), r.run("refused")
	for _, run := range []*v1alpha1.MotorRun{long, short, going, refused} {
		r.drain(run)
	}
	r.wantLevel("0.65", 4, 0)
	accepted, finished := condition(v1alpha1.ConditionAccepted), condition(v1alpha1.ConditionFinished)
	r.becomes(long, accepted, finished, steps(12))
	r.becomes(short, accepted, finished, steps(1))
	r.becomes(going, accepted, steps(50))
	// It was cancelled after the drain and before its acceptance was written.
	r.becomes(refused, finished)
	writes, r.told = 0, nil
	r.reconcile()
	st := r.wantLevel("0.68", 1, 3)
	if st.Open[0].RunName != "going" || writes != 1 {
		t.Errorf("open is %+v after %d writes", st.Open, writes)
	}
	costs := map[string]v1alpha1.EnergyAmount{}
	for _, s := range st.Recent {
		costs[s.RunName] = s.Consumed
	}
	if costs["long"] != "0.17" || costs["short"] != "0.05" || costs["refused"] != "0" {
		t.Errorf("they cost %v", costs)
	}
	if !slices.Equal(r.told, []string{"Agentic 70ms"}) {
		t.Errorf("told of %v", r.told)
	}
}

// A run that is deleted under way costs what it had done. A manager that was not there knows the base alone. A run of the same name is another one.
func TestRunsThatAreGoneAreSettled(t *testing.T) {
	t.Parallel()
	r := newRig(t, tenth(), interceptor.Funcs{})
	seen, unseen, replaced := r.run("seen"), r.run("unseen"), r.run("replaced")
	for _, run := range []*v1alpha1.MotorRun{seen, unseen, replaced} {
		s, _ := r.drain(run)
		r.becomes(run, func(run *v1alpha1.MotorRun) { run.Status.Energy = s.Run.Status.Energy }, condition(v1alpha1.ConditionAccepted), steps(10))
		r.must(r.api.Delete(t.Context(), run))
	}
	if !r.ends().Delete(event.DeleteEvent{Object: seen}) {
		t.Error("a run that is deleted is not looked at")
	}
	r.run("replaced", func(run *v1alpha1.MotorRun) { run.UID = "another" })
	r.reconcile()
	st := r.wantLevel("0.65", 0, 3)
	costs := map[string]v1alpha1.EnergyAmount{}
	for _, s := range st.Recent {
		costs[s.RunName] = s.Consumed
	}
	if costs["seen"] != "0.15" || costs["unseen"] != "0.1" || costs["replaced"] != "0.1" || len(r.gone.steps) != 0 {
		t.Errorf("they cost %v, remembered are %v", costs, r.gone.steps)
	}
}

// The cache does not have the run yet that the ledger has.
func TestARunThatTheCacheLacksIsNotSettled(t *testing.T) {
	t.Parallel()
	r := newRig(t, tenth(), interceptor.Funcs{})
	r.drain(r.run("a"))
	live := r.Client
	r.Client = interceptor.NewClient(r.api, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if _, ok := o.(*v1alpha1.MotorRun); ok {
				key.Name = "none"
			}
			return c.Get(ctx, key, o, opts...)
		},
	})
	r.Live = live
	r.reconcile()
	r.wantLevel("0.9", 1, 0)
}

func TestOnlyWhatConcernsEnergyMakesAPass(t *testing.T) {
	t.Parallel()
	r := newRig(t, tenth(), interceptor.Funcs{})
	before := r.cortex()
	labelled, other, drained := before.DeepCopy(), before.DeepCopy(), before.DeepCopy()
	labelled.Labels = map[string]string{"a": "b"}
	other.Spec.Energy.Preset = v1alpha1.EnergyFlat
	drained.Status.Energy = &v1alpha1.EnergyStatus{Level: "0.1"}
	for name, tt := range map[string]struct {
		after *v1alpha1.MotorCortex
		want  bool
	}{"a label": {labelled, false}, "the spec": {other, true}, "the level": {drained, true}} {
		if got := changesEnergy().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: tt.after}); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	going, ended := &v1alpha1.MotorRun{}, &v1alpha1.MotorRun{}
	condition(v1alpha1.ConditionFinished)(ended)
	if p := r.ends(); p.Update(event.UpdateEvent{ObjectOld: going, ObjectNew: going}) || !p.Update(event.UpdateEvent{ObjectOld: going, ObjectNew: ended}) ||
		p.Update(event.UpdateEvent{ObjectOld: ended, ObjectNew: ended}) || p.Create(event.CreateEvent{Object: ended}) {
		t.Error("other passes than those of runs that end")
	}
	if to := cortexBeside(t.Context(), &v1alpha1.MotorRun{ObjectMeta: before.ObjectMeta}); len(to) != 1 || to[0].NamespacedName != request().NamespacedName {
		t.Errorf("a run leads to %v", to)
	}
}
