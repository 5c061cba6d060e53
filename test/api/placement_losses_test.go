// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/journal"
	"motorcortex.dev/motorcortex/internal/runpolicy"
	"motorcortex.dev/motorcortex/internal/runpolicy/replica"
)

// process plays a Pod of the manager whose process ends and is started again, as a node does it after a crash: the next process
// takes the Lease that the former one had not let go of.
type process struct {
	f     *fleet
	pod   string
	count int
}

func (p *process) id() string { return replica.WorkerID(p.pod, fmt.Sprintf("p%d", p.count)) }

// next starts a process.
func (p *process) next() string {
	p.f.t.Helper()
	p.count++
	lease := &coordinationv1.Lease{ObjectMeta: meta(p.f.ns, replica.LeaseName(p.pod))}
	lease.Labels = map[string]string{v1alpha1.LabelComponent: v1alpha1.ComponentWorker}
	lease.Spec = coordinationv1.LeaseSpec{HolderIdentity: new(p.id()), LeaseDurationSeconds: new(int32(3600)), RenewTime: new(metav1.NewMicroTime(time.Now()))}
	if p.count == 1 {
		must(p.f.t, admin.Create(p.f.ctx, lease))
		return p.id()
	}
	spec := lease.Spec
	must(p.f.t, admin.Get(p.f.ctx, client.ObjectKeyFromObject(lease), lease))
	spec.LeaseTransitions = new(int32(p.count - 1))
	lease.Spec = spec
	must(p.f.t, admin.Update(p.f.ctx, lease))
	return p.id()
}

// release is the orderly end of a process: it takes its Lease away.
func (p *process) release() {
	p.f.t.Helper()
	must(p.f.t, admin.Delete(p.f.ctx, &coordinationv1.Lease{ObjectMeta: meta(p.f.ns, replica.LeaseName(p.pod))}))
	p.count = 0
	p.pod += "x"
}

func isSetAside(run *v1alpha1.MotorRun) bool {
	c := apimeta.FindStatusCondition(run.Status.Conditions, v1alpha1.ConditionStalled)
	return c != nil && c.Status == metav1.ConditionTrue && c.Reason == v1alpha1.ReasonSetAside
}

// alone returns the run that a worker carries on alone, nil if there is none. Nobody else's worker is the same.
func (f *fleet) alone(runs map[string]*v1alpha1.MotorRun) (tried *v1alpha1.MotorRun) {
	f.t.Helper()
	for _, run := range runs {
		if runpolicy.IsAlone(&run.Status) {
			if tried != nil {
				f.t.Fatalf("%s and %s are carried on alone", tried.Name, run.Name)
			}
			tried = run
		}
	}
	return tried
}

// A run that ends whoever carries it on is found among others, and set aside. The others go on.
func TestRunThatEndsItsWorkersIsSetAside(t *testing.T) {
	f := newFleet(t, nil)
	names := []string{"a", "b", "c"}
	for _, name := range names {
		f.create(name)
	}
	f.startSandboxes(3)
	p := &process{f: f, pod: "pod"}
	f.awaitWorker(p.next(), 1, 3)
	f.awaitWorker(p.next(), 2, 3) // One end of a process makes nobody a suspect.
	p.next()
	killer, trials := "b", 0
	f.await("the run is set aside, and the others go on", func(runs map[string]*v1alpha1.MotorRun) bool {
		if tried := f.alone(runs); tried != nil && tried.Status.Execution.Worker == p.id() {
			if tried.Name == killer {
				p.next()
				trials++
			} else if tried.Status.Steps == 0 {
				// It does nothing to its worker, and comes a step further.
				f.step(tried)
			}
		}
		return isSetAside(runs[killer]) && runs["a"].Status.Execution.Worker == p.id() && runs["c"].Status.Execution.Worker == p.id()
	})
	if trials != 2 {
		t.Errorf("the run ended its worker in %d trials", trials)
	}
	f.await("a worker looks after its sandbox, and does not carry it on", func(runs map[string]*v1alpha1.MotorRun) bool {
		st := runs[killer].Status
		return st.Execution.Worker == p.id() && !runpolicy.CarriedOn(runs[killer]) && strings.Contains(st.Message, `"suspend":true`) && !runpolicy.IsSuspect(&runs["a"].Status) && !runpolicy.IsSuspect(&runs["c"].Status)
	})
	// A new leader knows it, too.
	f.stop()
	f.start()
	f.create("d")
	f.startSandboxes(4)
	f.await("another run begins", func(runs map[string]*v1alpha1.MotorRun) bool { return runs["d"].Status.Execution.Worker == p.id() })
	f.await("it stays set aside", func(runs map[string]*v1alpha1.MotorRun) bool {
		return isSetAside(runs[killer]) && !runpolicy.CarriedOn(runs[killer])
	})

	f.patch(killer, `{"suspend":true}`)
	f.await("it is forgiven", func(runs map[string]*v1alpha1.MotorRun) bool {
		return runs[killer].Status.Losses == nil && !isSetAside(runs[killer])
	})
	f.patch(killer, `{"suspend":false}`)
	f.await("it is tried again", func(runs map[string]*v1alpha1.MotorRun) bool { return runs[killer].Status.Execution.Worker == p.id() })
}

// step records a step of a run as its worker does.
func (f *fleet) step(run *v1alpha1.MotorRun) {
	f.t.Helper()
	l, err := journal.Load(f.ctx, manager, manager, run, 1, journal.Claim{Epoch: run.Status.Execution.Epoch, Worker: run.Status.Execution.Worker}, time.Now)
	must(f.t, err)
	if len(l.Steps()) > 0 {
		return
	}
	l.UseSandbox(v1alpha1.StepSandbox{PodUID: run.Status.Sandbox.PodUID, ServerKey: "sha256:key", IsolationTries: 3, IsolationMilliseconds: 40})
	must(f.t, l.Append(f.ctx, turnAt(1, "", `bash:{"command":"true"}`)))
}

// Workers that give their runs back in order, or go with their Pods, are no reason to suspect anybody. Nor are those of runs that wait.
func TestOrderlyEndsOfWorkersAreNoLosses(t *testing.T) {
	f := newFleet(t, nil)
	f.create("a")
	f.startSandboxes(1)
	p := &process{f: f, pod: "pod"}
	f.awaitWorker(p.next(), 1, 1)
	for epoch := int64(2); epoch < 5; epoch++ {
		p.release()
		f.awaitWorker(p.next(), epoch, 1)
	}
	f.await("no losses", func(runs map[string]*v1alpha1.MotorRun) bool { return runs["a"].Status.Losses == nil })
	f.patch("a", `{"suspend":true}`)
	f.await("it stands still", func(runs map[string]*v1alpha1.MotorRun) bool {
		return apimeta.IsStatusConditionTrue(runs["a"].Status.Conditions, v1alpha1.ConditionSuspended)
	})
	for epoch := int64(5); epoch < 8; epoch++ {
		f.awaitWorker(p.next(), epoch, 1)
	}
	f.await("no losses of a run that stands still", func(runs map[string]*v1alpha1.MotorRun) bool { return runs["a"].Status.Losses == nil })
}

// Who is carried on alone has its worker for itself: what that worker carried on goes to another one meanwhile, and is none the worse for it
// when the worker ends.
func TestTrialIsAlone(t *testing.T) {
	f := newFleet(t, nil)
	p, q := &process{f: f, pod: "pod"}, &process{f: f, pod: "qod"}
	p.next()
	f.create("killer")
	f.startSandboxes(1)
	f.awaitWorker(p.id(), 1, 1)
	p.next()
	f.awaitWorker(p.id(), 2, 1)
	q.next()
	for _, name := range []string{"a", "b", "c", "d"} {
		f.create(name)
	}
	f.startSandboxes(5)
	others := func(runs map[string]*v1alpha1.MotorRun, each func(*v1alpha1.MotorRun) bool) bool {
		for name, run := range runs {
			if name != "killer" && !each(run) {
				return false
			}
		}
		return true
	}
	workers := map[string]bool{}
	f.await("all runs have a worker", func(runs map[string]*v1alpha1.MotorRun) bool {
		return others(runs, func(run *v1alpha1.MotorRun) bool {
			workers[run.Status.Execution.Worker] = true
			return run.Status.Execution.Worker != ""
		})
	})
	if !workers[p.id()] || !workers[q.id()] {
		t.Fatalf("the runs are the workers' %v", workers)
	}
	p.next()
	for range 2 {
		f.tryAlone(others, p, q)
	}
	f.await("it is set aside, and the others go on", func(runs map[string]*v1alpha1.MotorRun) bool {
		return isSetAside(runs["killer"]) && others(runs, func(run *v1alpha1.MotorRun) bool {
			return (run.Status.Execution.Worker == p.id() || run.Status.Execution.Worker == q.id()) && (run.Status.Losses == nil || run.Status.Losses.Count < 2)
		})
	})
}

// A run that is deleted while it is carried on alone, and stays for a finalizer, gives its turn back.
func TestTrialOfADeletedRunIsOver(t *testing.T) {
	f := newFleet(t, nil)
	p := &process{f: f, pod: "pod"}
	f.create("killer", func(run *v1alpha1.MotorRun) { run.Finalizers = []string{"example.org/keep"} })
	f.startSandboxes(1)
	f.awaitWorker(p.next(), 1, 1)
	f.awaitWorker(p.next(), 2, 1)
	p.next()
	f.await("it is carried on alone", func(runs map[string]*v1alpha1.MotorRun) bool {
		run := runs["killer"]
		return run != nil && runpolicy.IsAlone(&run.Status) && run.Status.Execution.Worker == p.id()
	})
	f.delete("killer")
	f.create("b")
	// A trial lasts for a minute at least where nothing ends it.
	began := time.Now()
	f.await("the other run has a worker", func(runs map[string]*v1alpha1.MotorRun) bool {
		f.startSandboxes(0)
		return runs["b"] != nil && runs["b"].Status.Execution.Worker != ""
	})
	if took := time.Since(began); took > 50*time.Second {
		t.Errorf("the other run had a worker after %s", took)
	}
	must(t, mergePatch(f.ctx, &v1alpha1.MotorRun{ObjectMeta: meta(f.ns, "killer")}, `{"metadata":{"finalizers":null}}`))
}

// Who outlives a trial is not acquitted: the next loss has it tried again, for longer.
func TestLossAfterATrialCounts(t *testing.T) {
	f := newFleet(t, nil)
	p := &process{f: f, pod: "pod"}
	p.next()
	f.create("slow")
	f.startSandboxes(1)
	f.awaitWorker(p.id(), 1, 1)
	p.next()
	f.awaitWorker(p.id(), 2, 1)
	p.next()
	trial := func(number int32, isOver bool) func(map[string]*v1alpha1.MotorRun) bool {
		return func(runs map[string]*v1alpha1.MotorRun) bool {
			run := runs["slow"]
			if !isOver && runpolicy.IsAlone(&run.Status) && run.Status.Steps == 0 {
				f.step(run)
			}
			l := run.Status.Losses
			return l != nil && l.Trials == number && runpolicy.IsAlone(&run.Status) != isOver && run.Status.Execution.Worker == p.id()
		}
	}
	f.await("the first trial", trial(1, false))
	f.await("its end", trial(1, true))
	p.next()
	f.await("the second trial", trial(2, false))
	f.await("it is not over with a step", func(runs map[string]*v1alpha1.MotorRun) bool {
		return runs["slow"].Status.Steps == 1 && runpolicy.IsAlone(&runs["slow"].Status)
	})
}

// tryAlone waits until the suspect is carried on alone, and ends its worker.
func (f *fleet) tryAlone(others func(map[string]*v1alpha1.MotorRun, func(*v1alpha1.MotorRun) bool) bool, processes ...*process) {
	f.t.Helper()
	var worker *process
	f.await("the suspect is carried on alone", func(runs map[string]*v1alpha1.MotorRun) bool {
		alone := f.alone(runs)
		if alone == nil {
			return false
		}
		for _, p := range processes {
			if p.id() == alone.Status.Execution.Worker {
				worker = p
			}
		}
		return alone.Name == "killer" && worker != nil && alone.Status.Execution.Worker == worker.id() &&
			others(runs, func(run *v1alpha1.MotorRun) bool {
				return run.Status.Execution.Worker != "" && run.Status.Execution.Worker != worker.id()
			})
	})
	worker.next()
}

// crashing are replicas of which the last one lives. The others ended without giving their runs back.
type crashing []string

func (c crashing) Live() []replica.Worker { return workers(c[len(c)-1:]).Live() }

func (c crashing) Lost(id string) bool { return slices.Contains(c[:len(c)-1], id) }

// crash has the run's worker end, and the next one begin.
func (r *rig) crash() {
	r.t.Helper()
	c, _ := r.rec.Workers.(crashing)
	if len(c) == 0 {
		c = crashing{"replica-1"}
	}
	c = append(c, fmt.Sprintf("replica-%d", len(c)+1))
	r.rec.Workers = c
	r.once()
}

// suspected brings the run to where it waits for its trial, with a step behind it.
func suspected(t *testing.T) *rig {
	t.Helper()
	r := newRig(t)
	r.ready()
	r.said(turnAt(1, "", `bash:{"command":"true"}`))
	r.crash()
	r.crash()
	if st := r.run().Status; !runpolicy.AwaitsTrial(&st) || st.Execution.Worker != "replica-3" || st.Execution.Epoch != 3 {
		t.Fatalf("worker %q, epoch %d, losses %+v", st.Execution.Worker, st.Execution.Epoch, st.Losses)
	}
	return r
}

// A run that waits for its trial has a worker that looks after its sandbox, and its time stands still.
func TestWaitForATrialTakesNoTime(t *testing.T) {
	r := suspected(t)
	if st := r.run().Status; st.Paused.StartTime == nil {
		t.Errorf("its time goes on: %+v", st.Paused)
	}
	// That worker carries nothing of it on, so its end is no loss.
	r.crash()
	if st := r.run().Status; st.Losses.Count != 2 || st.Execution.Worker != "replica-4" {
		t.Errorf("worker %q, losses %+v", st.Execution.Worker, st.Losses)
	}
	r.now = r.now.Add(2 * time.Hour)
	r.once()
	r.want(v1alpha1.PhaseRunning)
	if st := r.run().Status; !runpolicy.IsAlone(&st) || st.Paused.StartTime != nil || st.Paused.DurationSeconds < 7190 {
		t.Errorf("losses %+v, paused %+v", st.Losses, st.Paused)
	}
}

// A run that is not carried on ends at once when it is over: there is no look at its sandbox that could be waited for.
func TestHeldRunEndsAtOnce(t *testing.T) {
	t.Run("cancelled before its trial", func(t *testing.T) {
		r := suspected(t)
		r.patchSpec(`{"cancel":true}`)
		r.once()
		if run := r.wantEnd(v1alpha1.PhaseCancelled, v1alpha1.ReasonCancelled); run.Status.Result.NotCollected == "" {
			t.Error("it does not say that nothing was collected")
		}
	})
	t.Run("over time while it is set aside", func(t *testing.T) {
		r := suspected(t)
		for range 2 {
			r.now = r.now.Add(time.Minute)
			r.once()
			if st := r.run().Status; !runpolicy.IsAlone(&st) {
				t.Fatalf("it is not tried: %+v", st.Losses)
			}
			r.crash()
		}
		r.want(v1alpha1.PhaseRunning, "Stalled True SetAside")
		if st := r.run().Status; st.Execution.Worker != "replica-5" || st.Paused.StartTime != nil {
			t.Errorf("worker %q, paused %+v", st.Execution.Worker, st.Paused)
		}
		r.now = r.now.Add(time.Hour)
		r.once()
		if run := r.wantEnd(v1alpha1.PhaseFailed, v1alpha1.ReasonTimeout); run.Status.Result.NotCollected == "" {
			t.Error("it does not say that nothing was collected")
		}
	})
}
