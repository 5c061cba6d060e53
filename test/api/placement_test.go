// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

const nobodyIsReady = "No replica of the manager is ready"

func TestNobodyToPlaceARunOn(t *testing.T) {
	r := newRig(t)
	r.rec.Workers = workers{}
	r.ready()
	r.want(v1alpha1.PhaseRunning, "SandboxReady True SandboxReady", "Stalled ")
	if st := r.run().Status; st.Execution.Worker != "" || st.Execution.Epoch != 0 || !strings.Contains(st.Message, nobodyIsReady) {
		t.Errorf("worker %q, epoch %d, message %q", st.Execution.Worker, st.Execution.Epoch, st.Message)
	}
	r.rec.Workers = workers{"replica-1"}
	r.step()
	if st := r.run().Status; st.Execution.Worker != "replica-1" || st.Execution.Epoch != 1 || strings.Contains(st.Message, nobodyIsReady) {
		t.Errorf("worker %q, epoch %d, message %q", st.Execution.Worker, st.Execution.Epoch, st.Message)
	}
	// Who comes back before anybody else was there has lost nothing.
	r.rec.Workers = workers{}
	r.step()
	if st := r.run().Status; st.Execution.Worker != "replica-1" || st.Execution.Epoch != 1 || !strings.Contains(st.Message, nobodyIsReady) {
		t.Errorf("worker %q, epoch %d, message %q", st.Execution.Worker, st.Execution.Epoch, st.Message)
	}
	r.rec.Workers = workers{"replica-0", "replica-1"}
	r.step()
	if st := r.run().Status; st.Execution.Worker != "replica-1" || st.Execution.Epoch != 1 {
		t.Errorf("worker %q, epoch %d", st.Execution.Worker, st.Execution.Epoch)
	}
}

// A run whose worker dies is given away wherever it stands, so that an answer finds somebody.
func TestRunThatWaitsIsGivenAway(t *testing.T) {
	r := newRig(t)
	r.ready()
	r.asked(1, `{"question":"Which?"}`)
	r.rec.Workers = workers{"replica-2"}
	r.step()
	r.want(v1alpha1.PhaseAwaitingInput)
	if st := r.run().Status; st.Execution.Worker != "replica-2" || st.Execution.Epoch != 2 {
		t.Errorf("worker %q, epoch %d", st.Execution.Worker, st.Execution.Epoch)
	}
}

// While the sandbox is not ready nobody works on the run; the same write that says that it is names one who lives.
func TestWorkerThatDiesWhileTheSandboxIsNotReady(t *testing.T) {
	r := newRig(t)
	r.ready()
	r.play(waiting("ContainerCreating"))
	r.step()
	r.rec.Workers = workers{"replica-2"}
	r.step()
	r.want(v1alpha1.PhaseCreated, "SandboxReady False SandboxStarting")
	before := r.run().ResourceVersion
	r.play(running)
	r.once()
	run := r.run()
	r.want(v1alpha1.PhaseRunning, "SandboxReady True SandboxReady")
	if run.Status.Execution.Worker != "replica-2" || run.Status.Execution.Epoch != 2 || run.ResourceVersion == before {
		t.Errorf("worker %q, epoch %d", run.Status.Execution.Worker, run.Status.Execution.Epoch)
	}
}

func TestRunsAreSpreadOverTheWorkers(t *testing.T) {
	f := newFleet(t, workers{"spread-a", "spread-b", "spread-c"})
	const count = 12
	for i := range count {
		f.create("run-" + string(rune('a'+i)))
	}
	f.startSandboxes(count)
	placed := map[string]int{}
	f.await("all runs are placed", func(runs map[string]*v1alpha1.MotorRun) bool {
		clear(placed)
		for _, run := range runs {
			placed[run.Status.Execution.Worker]++
		}
		return placed[""] == 0
	})
	for _, worker := range []string{"spread-a", "spread-b", "spread-c"} {
		if placed[worker] < count/3-1 {
			t.Errorf("the runs are spread unevenly: %v", placed)
		}
	}
}

// beat writes the Lease of a worker as its process would. The process is never heard of again.
func (f *fleet) beat(worker string, term time.Duration) {
	f.t.Helper()
	lease := &coordinationv1.Lease{ObjectMeta: meta(f.ns, "lease-of-"+worker)}
	err := admin.Get(f.ctx, client.ObjectKeyFromObject(lease), lease)
	if client.IgnoreNotFound(err) != nil {
		f.t.Fatal(err)
	}
	lease.Labels = map[string]string{v1alpha1.LabelComponent: v1alpha1.ComponentWorker}
	lease.Spec = coordinationv1.LeaseSpec{
		HolderIdentity: &worker, LeaseDurationSeconds: new(int32(term / time.Second)),
		// The clocks of the replicas differ as much as they like.
		RenewTime: new(metav1.NewMicroTime(time.Now().Add(-time.Hour))),
	}
	if err != nil {
		must(f.t, admin.Create(f.ctx, lease))
		return
	}
	must(f.t, admin.Update(f.ctx, lease))
}

func (f *fleet) awaitWorker(worker string, epoch int64, count int) {
	f.t.Helper()
	f.await("all runs are "+worker+"'s", func(runs map[string]*v1alpha1.MotorRun) bool {
		for _, run := range runs {
			if run.Status.Execution.Worker != worker || run.Status.Execution.Epoch != epoch {
				return false
			}
		}
		return len(runs) == count
	})
}

func TestRunsOfALostWorkerGoToAnother(t *testing.T) {
	f := newFleet(t, nil)
	f.create("a")
	f.create("b")
	f.create("c")
	f.startSandboxes(3)
	f.await("nobody is ready", func(runs map[string]*v1alpha1.MotorRun) bool {
		for _, run := range runs {
			if run.Status.Execution.Worker != "" || !strings.Contains(run.Status.Message, nobodyIsReady) {
				return false
			}
		}
		return true
	})

	// The first one comes.
	f.beat("first", time.Hour)
	f.awaitWorker("first", 1, 3)

	// It is killed, and its Lease runs out.
	f.beat("second", time.Hour)
	f.beat("first", 2*time.Second)
	f.awaitWorker("second", 2, 3)

	// The second one ends and lets go.
	f.beat("third", time.Hour)
	lease := &coordinationv1.Lease{ObjectMeta: meta(f.ns, "lease-of-second")}
	must(t, admin.Patch(f.ctx, lease, mergePatchOf(`{"spec":{"holderIdentity":""}}`)))
	f.awaitWorker("third", 3, 3)

	// The third one's Lease goes with its Pod. A run that is finished stays with whom it was.
	f.patch("c", `{"cancel":true}`)
	f.await("c has ended", func(runs map[string]*v1alpha1.MotorRun) bool { return isDone(runs["c"]) })
	f.beat("fourth", time.Hour)
	must(t, admin.Delete(f.ctx, &coordinationv1.Lease{ObjectMeta: meta(f.ns, "lease-of-third")}))
	f.await("the unfinished runs are the fourth one's", func(runs map[string]*v1alpha1.MotorRun) bool {
		return runs["a"].Status.Execution.Worker == "fourth" && runs["b"].Status.Execution.Worker == "fourth" && runs["a"].Status.Execution.Epoch == 4
	})
	f.await("c stays", func(runs map[string]*v1alpha1.MotorRun) bool {
		return runs["c"].Status.Execution.Worker == "third" && runs["c"].Status.Execution.Epoch == 3
	})

	// A new leader leaves the runs where they are, and a Lease without the label is nobody's.
	f.stop()
	must(t, admin.Create(f.ctx, &coordinationv1.Lease{ObjectMeta: meta(f.ns, "other"), Spec: coordinationv1.LeaseSpec{HolderIdentity: new("a-stranger")}}))
	f.start()
	f.create("d")
	f.startSandboxes(3)
	f.await("d is placed", func(runs map[string]*v1alpha1.MotorRun) bool { return runs["d"].Status.Execution.Worker == "fourth" })
	f.await("the others stay", func(runs map[string]*v1alpha1.MotorRun) bool {
		return runs["a"].Status.Execution.Epoch == 4 && runs["b"].Status.Execution.Epoch == 4
	})
}

// The Leases by which runs are placed are those of the manager's own namespace.
func TestManagerWritesNoLeasesElsewhere(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	lease := &coordinationv1.Lease{ObjectMeta: meta(managerNamespace, "of-a-worker")}
	must(t, manager.Create(ctx, lease))
	must(t, manager.List(ctx, &coordinationv1.LeaseList{}, client.InNamespace(managerNamespace)))
	must(t, manager.Delete(ctx, lease))
	wantRefused(t, manager.List(ctx, &coordinationv1.LeaseList{}, client.InNamespace(ns)), "forbidden")
	wantRefused(t, manager.Create(ctx, &coordinationv1.Lease{ObjectMeta: meta(ns, "of-a-worker")}), "forbidden")
}
