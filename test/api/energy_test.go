// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/energy"
	runs "motorcortex.dev/motorcortex/internal/controller/run"
)

// living is a MotorCortex with energy, by default full, with a tenth an hour.
func living(change ...func(*v1alpha1.Energy)) v1alpha1.MotorCortexSpec {
	spec := concurrency(10, v1alpha1.BusyQueue)
	spec.Energy = &v1alpha1.Energy{}
	for _, c := range change {
		c(spec.Energy)
	}
	return spec
}

func initially(level v1alpha1.EnergyLevel) func(*v1alpha1.Energy) {
	return func(e *v1alpha1.Energy) { e.Initial = level }
}

// energyRig is a rig whose namespace has energy.
type energyRig struct {
	*rig
	settler *energy.Reconciler
}

func newEnergyRig(t *testing.T, spec v1alpha1.MotorCortexSpec, change ...func(*v1alpha1.MotorRun)) *energyRig {
	t.Helper()
	r := &energyRig{rig: newRig(t, change...)}
	must(t, admin.Create(r.ctx, &v1alpha1.MotorCortex{ObjectMeta: meta(r.ns, v1alpha1.CortexName), Spec: spec}))
	r.settler = &energy.Reconciler{Ledger: energy.Ledger{Client: manager, Live: manager, Now: func() time.Time { return r.now }}}
	r.rec.Energy = &r.settler.Ledger
	return r
}

// settles has the controller of energy pass twice.
func (r *energyRig) settles() {
	r.t.Helper()
	at := ctrl.Request{NamespacedName: client.ObjectKey{Namespace: r.ns, Name: v1alpha1.CortexName}}
	_, err := r.settler.Reconcile(r.ctx, at)
	must(r.t, err)
	before := r.cortexOf().ResourceVersion
	_, err = r.settler.Reconcile(r.ctx, at)
	must(r.t, err)
	if r.cortexOf().ResourceVersion != before {
		r.t.Error("the second pass of the controller of energy changed something")
	}
}

func (r *energyRig) cortexOf() *v1alpha1.MotorCortex {
	r.t.Helper()
	c := &v1alpha1.MotorCortex{}
	must(r.t, admin.Get(r.ctx, client.ObjectKey{Namespace: r.ns, Name: v1alpha1.CortexName}, c))
	return c
}

func (r *energyRig) wantEnergy(level v1alpha1.EnergyLevel, open, recent int) *v1alpha1.EnergyStatus {
	r.t.Helper()
	st := r.cortexOf().Status.Energy
	if st == nil || st.Level != level || len(st.Open) != open || len(st.Recent) != recent {
		r.t.Fatalf("the ledger has %+v, want %s with %d open and %d settled", st, level, open, recent)
	}
	return st
}

// The whole way of a run: its base when it is accepted, the rest when it has ended, and the cost in its result.
func TestARunDrainsEnergyAndIsSettled(t *testing.T) {
	r := newEnergyRig(t, living(func(e *v1alpha1.Energy) {
		e.RegenerationPerHour = "0"
		e.Drains = []v1alpha1.EnergyDrain{{Kind: v1alpha1.EnergyAgentic, FreeIterations: new(int32(0)), PerIteration: "0.02"}}
	}))
	r.ready()
	st := r.wantEnergy("0.9", 1, 0)
	run := r.run()
	want := v1alpha1.RunEnergy{EnergyRates: v1alpha1.EnergyRates{Kind: v1alpha1.EnergyAgentic, Base: "0.1", PerIteration: "0.02"}}
	if run.Status.Energy == nil || *run.Status.Energy != want || st.Open[0].EnergyRates != want.EnergyRates || st.Open[0].RunUID != string(run.UID) {
		t.Fatalf("the run shows %+v, the ledger %+v", run.Status.Energy, st.Open)
	}
	r.settles()
	r.wantEnergy("0.9", 1, 0)
	first := turnAt(1, "I count.", "bash:{}")
	first.Results[0] = okResult("3", 10)
	r.said(first)
	r.said(turnAt(2, "There are three."))
	r.step()
	run = r.wantEnd(v1alpha1.PhaseCompleted, "Completed")
	if run.Status.Energy.Consumed != "0.14" || run.Status.Result.Stats.EnergyCost != "0.14" {
		t.Errorf("the run cost %+v, by its result %q", run.Status.Energy, run.Status.Result.Stats.EnergyCost)
	}
	r.settles()
	if st := r.wantEnergy("0.86", 0, 1); st.Recent[0].RunName != run.Name || st.Recent[0].Consumed != "0.14" {
		t.Errorf("settled is %+v", st.Recent)
	}
}

// Nothing is drained by a run that finds every place taken, and by one that is refused.
func TestARunThatDoesNotBeginDrainsNothing(t *testing.T) {
	for name, prepare := range map[string]func(*energyRig){
		"busy": func(r *energyRig) {
			c := r.cortexOf()
			c.Spec.Concurrency = concurrency(1, v1alpha1.BusyReject).Concurrency
			must(r.t, admin.Update(r.ctx, c))
			r.neighbour("holder", metav1.ConditionTrue, v1alpha1.ReasonAccepted)
		},
		"refused": func(r *energyRig) {
			c := r.cortexOf()
			c.Spec.Models.Default = &v1alpha1.ModelEndpoint{Model: "m", APIKeySecretRef: &v1alpha1.SecretKeyRef{Name: "none", Key: "k"}}
			must(r.t, admin.Update(r.ctx, c))
		},
		"suspended": func(r *energyRig) { r.patchSpec(`{"suspend":true}`) },
	} {
		t.Run(name, func(t *testing.T) {
			r := newEnergyRig(t, living())
			r.settles()
			prepare(r)
			r.step()
			if run := r.run(); apimeta.IsStatusConditionTrue(run.Status.Conditions, v1alpha1.ConditionAccepted) || run.Status.Energy != nil {
				t.Errorf("the run was accepted: %+v", run.Status.Energy)
			}
			r.wantEnergy("1", 0, 0)
		})
	}
}

// A tired run waits with its time standing still, says when there is enough, and begins then. Its slot is free meanwhile.
func TestATiredRunWaits(t *testing.T) {
	r := newEnergyRig(t, living(initially("0.1")))
	r.settles()
	res := r.step()
	by := r.now.Add(2*time.Hour + time.Minute - time.Millisecond).Truncate(time.Minute)
	r.want(v1alpha1.PhaseCreated, "Accepted False NoEnergy", "Finished False Running", "Stalled ", "SandboxReady ")
	run := r.run()
	for _, part := range []string{"is 0.1 of 1", "needs 0.3", "by " + by.UTC().Format(time.RFC3339), "The run waits."} {
		if !strings.Contains(run.Status.Message, part) {
			t.Errorf("the message %q does not say %q", run.Status.Message, part)
		}
	}
	if run.Status.Paused.StartTime == nil || run.Status.Reason != v1alpha1.ReasonNoEnergy || !slices.Contains(r.events, "Normal NoEnergy") {
		t.Errorf("paused %+v, reason %s, events %v", run.Status.Paused, run.Status.Reason, r.events)
	}
	if res.RequeueAfter < 2*time.Hour || res.RequeueAfter > 2*time.Hour+time.Minute {
		t.Errorf("looks again after %s", res.RequeueAfter)
	}
	// Other runs of the namespace that need less begin meanwhile.
	began := r.key
	r.key = client.ObjectKeyFromObject(createRun(r.ctx, t, r.ns, oneshot("javascript", "return 1", 1000), func(run *v1alpha1.MotorRun) { run.Name = "oneshot" }))
	r.step()
	r.want(v1alpha1.PhaseCreated, "Accepted True Accepted")
	r.key = began
	r.now = r.now.Add(2 * time.Hour)
	r.step()
	r.want(v1alpha1.PhaseCreated, "Accepted False NoEnergy")
	r.now = r.now.Add(time.Hour)
	// The Pod is as old as the real time says, so a second pass finds that it did not start.
	r.once()
	r.want(v1alpha1.PhaseCreated, "Accepted True Accepted")
	r.wantEnergy("0.25", 2, 0)
}

func TestATiredRunIsRejected(t *testing.T) {
	r := newEnergyRig(t, living(initially("0.1"), func(e *v1alpha1.Energy) { e.WhenTired = v1alpha1.TiredReject }))
	r.settles()
	r.step()
	run := r.wantEnd(v1alpha1.PhaseFailed, "NoEnergy")
	r.want(v1alpha1.PhaseFailed, "Accepted False NoEnergy", "Stalled True NoEnergy")
	if f := failureAt(t, run, 1); !f.Retryable || f.Category != v1alpha1.CategoryBudgetExhausted || !strings.Contains(f.Message, "whenTired is Reject") {
		t.Errorf("failure %+v", f)
	}
	r.settles()
	r.wantEnergy("0.1", 0, 0)
}

// A run that was held up by energy gives its slot to none, and takes none from who could use it.
func TestATiredRunHoldsNoPlace(t *testing.T) {
	r := newEnergyRig(t, living(initially("0.1")))
	r.settles()
	r.step()
	c := r.cortexOf()
	c.Spec.Energy, c.Spec.Concurrency = nil, concurrency(1, v1alpha1.BusyReject).Concurrency
	must(t, admin.Update(r.ctx, c))
	second := createRun(r.ctx, t, r.ns, func(run *v1alpha1.MotorRun) { run.Name = "second" })
	r.key = client.ObjectKeyFromObject(second)
	r.step()
	r.want(v1alpha1.PhaseCreated, "Accepted True Accepted")
}

// The leader dies between the drain and the acceptance. The next one accepts the run, and drains nothing more.
func TestALeaderThatDiesAfterTheDrain(t *testing.T) {
	for name, then := range map[string]func(*energyRig){
		"the next one accepts the run": func(r *energyRig) {
			r.step()
			r.want(v1alpha1.PhaseCreated, "Accepted True Accepted")
			if e := r.run().Status.Energy; e == nil || e.Base != "0.1" {
				r.t.Errorf("the run shows %+v", e)
			}
			r.wantEnergy("0.9", 1, 0)
		},
		"the run is cancelled meanwhile": func(r *energyRig) {
			r.patchSpec(`{"cancel":true}`)
			r.step()
			r.wantEnd(v1alpha1.PhaseCancelled, "Cancelled")
			r.settles()
			if st := r.wantEnergy("1", 0, 1); st.Recent[0].Consumed != "0" {
				r.t.Errorf("a run that never began cost %s", st.Recent[0].Consumed)
			}
		},
		"the run is deleted meanwhile": func(r *energyRig) {
			must(r.t, admin.Delete(r.ctx, r.run()))
			r.settles()
			r.wantEnergy("0.9", 0, 1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newEnergyRig(t, living(func(e *v1alpha1.Energy) { e.RegenerationPerHour = "0" }))
			r.rec.Client = interceptor.NewClient(manager, interceptor.Funcs{
				SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
					if _, ok := o.(*v1alpha1.MotorRun); ok {
						return apierrors.NewConflict(schema.GroupResource{}, o.GetName(), nil)
					}
					return c.SubResource(sub).Patch(ctx, o, p, opts...)
				},
			})
			r.once()
			r.wantEnergy("0.9", 1, 0)
			if r.run().Status.Energy != nil {
				t.Fatal("the status of the run was written")
			}
			// Another process has no memory of the slot.
			r.rec = &runs.Reconciler{
				Client: manager, Live: manager, Recorder: r, Models: r.rec.Models, Config: r.rec.Config, Workers: r.rec.Workers, Now: r.rec.Now, Energy: r.rec.Energy,
			}
			then(r)
		})
	}
}

// Two leaders accept many runs at the same time, each with all of them as they were in the beginning. No run counts twice, and no more begin than there is
// energy for.
func TestTwoLeadersDoNotOverdraw(t *testing.T) {
	r := newEnergyRig(t, living(func(e *v1alpha1.Energy) { e.RegenerationPerHour = "0" }))
	r.settles()
	var list []*v1alpha1.MotorRun
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "k"} {
		list = append(list, createRun(r.ctx, t, r.ns, func(run *v1alpha1.MotorRun) { run.Name = name }))
	}
	var wg sync.WaitGroup
	for range 2 {
		leader := &runs.Reconciler{
			Client: manager, Live: manager, Recorder: quiet{}, Models: r.rec.Models, Config: r.rec.Config, Workers: r.rec.Workers, Now: r.rec.Now,
			Energy: &energy.Ledger{Client: manager, Live: manager, Now: r.rec.Now},
		}
		for _, run := range list {
			wg.Go(func() {
				for range 10 {
					// A pass that loses a race is made again.
					_, _ = leader.Reconcile(r.ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(run)})
				}
			})
		}
	}
	wg.Wait()
	// From 1 on, in steps of 0.1, the eighth run finds 0.3, and the ninth too little.
	st := r.wantEnergy("0.2", 8, 0)
	accepted := 0
	for _, run := range list {
		r.key = client.ObjectKeyFromObject(run)
		is := r.run()
		drained := slices.ContainsFunc(st.Open, func(o v1alpha1.EnergyOpen) bool { return o.RunUID == string(is.UID) })
		if apimeta.IsStatusConditionTrue(is.Status.Conditions, v1alpha1.ConditionAccepted) {
			accepted++
			if !drained {
				t.Errorf("the run %s was accepted and drained nothing", run.Name)
			}
		}
	}
	if accepted > 8 {
		t.Errorf("%d runs were accepted", accepted)
	}
}

// A run whose time after its end is over at once is settled before it is deleted: afterwards nothing says what it cost.
func TestARunIsSettledBeforeItsRetentionEnds(t *testing.T) {
	r := newEnergyRig(t, living(func(e *v1alpha1.Energy) {
		e.RegenerationPerHour = "0"
		e.Drains = []v1alpha1.EnergyDrain{{Kind: v1alpha1.EnergyAgentic, FreeIterations: new(int32(0)), PerIteration: "0.02"}}
	}), func(run *v1alpha1.MotorRun) { run.Spec.TTLSecondsAfterFinished = new(int32(0)) })
	r.ready()
	r.said(turnAt(1, "done"))
	for range 3 {
		r.now = r.now.Add(time.Minute)
		r.once()
		if _, err := r.tryRun(); apierrors.IsNotFound(err) {
			break
		}
	}
	if _, err := r.tryRun(); !apierrors.IsNotFound(err) {
		t.Fatalf("the run is still there: %v", err)
	}
	if st := r.wantEnergy("0.88", 0, 1); st.Recent[0].Consumed != "0.12" {
		t.Errorf("it cost %s", st.Recent[0].Consumed)
	}
}

// A clock that goes back gives nothing a second time, and a run that waits is told so.
func TestAClockThatGoesBackGivesNothingTwice(t *testing.T) {
	r := newEnergyRig(t, living(initially("0.1")))
	r.settles()
	start := r.now
	r.now = start.Add(time.Hour)
	r.patchCortex(`{"spec":{"energy":{"regenerationPerHour":"0.2"}}}`)
	r.settles()
	r.wantEnergy("0.2", 0, 0)
	r.now = start
	r.step()
	r.want(v1alpha1.PhaseCreated, "Accepted False NoEnergy")
	r.now = start.Add(time.Hour + 29*time.Minute)
	r.step()
	r.want(v1alpha1.PhaseCreated, "Accepted False NoEnergy")
	r.now = start.Add(time.Hour + 31*time.Minute)
	r.once()
	r.want(v1alpha1.PhaseCreated, "Accepted True Accepted")
}

func (r *energyRig) patchCortex(patch string) {
	r.t.Helper()
	must(r.t, mergePatch(r.ctx, &v1alpha1.MotorCortex{ObjectMeta: meta(r.ns, v1alpha1.CortexName)}, patch))
}

func TestEnergyIsValidated(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	for name, tt := range map[string]struct {
		energy string
		says   string
	}{
		"a level beyond 1":    {`{"initial":"1.1"}`, "spec.energy.initial"},
		"a negative one":      {`{"initial":"-0.1"}`, "spec.energy.initial"},
		"a number":            {`{"initial":0.5}`, "spec.energy.initial"},
		"an exponent":         {`{"initial":"1e-1"}`, "spec.energy.initial"},
		"too fast":            {`{"regenerationPerHour":"1000"}`, "spec.energy.regenerationPerHour"},
		"another preset":      {`{"preset":"Some"}`, "spec.energy.preset"},
		"another end":         {`{"whenTired":"Sleep"}`, "spec.energy.whenTired"},
		"a kind that is none": {`{"drains":[{"kind":"Reflex"}]}`, "spec.energy.drains"},
		"a kind twice":        {`{"drains":[{"kind":"Agentic"},{"kind":"Agentic"}]}`, "Duplicate value"},
		"a base beyond 1":     {`{"drains":[{"kind":"Agentic","base":"2"}]}`, "spec.energy.drains[0].base"},
	} {
		o := fromYAML(t, ns, `{"apiVersion":"motorcortex.dev/v1alpha1","kind":"MotorCortex","metadata":{"name":"default"},"spec":{"energy":`+tt.energy+`}}`)
		if err := admin.Create(ctx, o, client.DryRunAll); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	o := &v1alpha1.MotorCortex{ObjectMeta: meta(ns, v1alpha1.CortexName), Spec: v1alpha1.MotorCortexSpec{Energy: &v1alpha1.Energy{}}}
	must(t, admin.Create(ctx, o))
	want := v1alpha1.Energy{Initial: "1", RegenerationPerHour: "0.1", WhenTired: v1alpha1.TiredQueue, Preset: v1alpha1.EnergyVariable}
	if e := o.Spec.Energy; e.Initial != want.Initial || e.RegenerationPerHour != want.RegenerationPerHour || e.WhenTired != want.WhenTired || e.Preset != want.Preset {
		t.Errorf("the defaults are %+v", *e)
	}
}
