// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/pass"
	"motorcortex.dev/motorcortex/internal/sandbox"
)

const ms = time.Millisecond

var podsOf = schema.GroupResource{Resource: "pods"}

// A pool makes its sandboxes, proves that they are closed, and then leaves them alone.
func TestAPoolIsFilled(t *testing.T) {
	t.Parallel()
	r := newRig(t, 6)
	r.pass(0)
	r.wants(v1alpha1.ReasonPoolFilling, 4, 0)
	for _, pod := range r.pods() {
		if ref, ok := sandbox.PoolOf(pod); !ok || ref.UID != "pool-uid" || !sandbox.Fits(pod, sandbox.Pod(aRun("run"), aConfig)) {
			t.Errorf("made %s of %+v", pod.Name, ref)
		}
	}
	// No more than four of them start.
	r.pass(time.Second)
	r.wants(v1alpha1.ReasonPoolFilling, 4, 0)
	r.run()
	for range 2 {
		r.pass(50 * ms)
		r.wants(v1alpha1.ReasonPoolFilling, 4, 0)
	}
	r.pass(50 * ms)
	r.wants(v1alpha1.ReasonPoolFilling, 6, 4)
	r.run()
	for range 3 {
		r.pass(50 * ms)
	}
	r.wants(v1alpha1.ReasonPoolFull, 6, 6)
	full := r.pool()
	if full.Status.ObservedGeneration != 3 || full.Status.Selector != "motorcortex.dev/component=sandbox,motorcortex.dev/pool=pool" {
		t.Errorf("status %+v", full.Status)
	}
	// The next try is due half a minute after the last one.
	if again := r.pass(time.Second).RequeueAfter; again > triedEvery || again < triedEvery-2*time.Second {
		t.Errorf("the full pool is looked at again after %s", again)
	}
	if got := r.pool(); got.ResourceVersion != full.ResourceVersion || r.made != 6 {
		t.Errorf("a full pool is written again, or has %d", r.made)
	}
	if told := r.told(); len(told) > 0 {
		t.Errorf("told %q of a pool that was filled", told)
	}
}

// A pool that no run can take from has nothing, and its owner is told once.
func TestAPoolThatIsNotNamedIsEmpty(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*v1alpha1.MotorCortex){
		"another one is named": func(c *v1alpha1.MotorCortex) { c.Spec.Sandbox.Pools = []string{"other"} },
		"none is named":        func(c *v1alpha1.MotorCortex) { c.Spec.Sandbox = nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, 2)
			r.fill()
			cortex := &v1alpha1.MotorCortex{}
			r.must(r.server.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: v1alpha1.CortexName}, cortex))
			change(cortex)
			r.must(r.server.Update(t.Context(), cortex))
			for range 3 {
				r.pass(time.Second)
				r.wants(v1alpha1.ReasonPoolUnused, 0, 0)
				// The status is written again with each version of the spec.
				r.change(func(p *v1alpha1.SandboxPool) { p.Spec.MaxAgeSeconds++ })
			}
			if told := r.told(); len(r.pods()) > 0 || len(told) != 1 || !strings.HasPrefix(told[0], "Warning Unused ") {
				t.Errorf("it has %d, told %q", len(r.pods()), told)
			}
			if len(r.r.memory.byPod) > 0 {
				t.Errorf("%d are still known", len(r.r.memory.byPod))
			}
		})
	}
}

// A pool whose sandboxes are refused says so, pauses, and tries again.
func TestARefusedSandboxPausesThePool(t *testing.T) {
	t.Parallel()
	r := newRig(t, 3)
	r.refuse = apierrors.NewForbidden(podsOf, "x", errors.New("exceeded quota"))
	if again := r.pass(0).RequeueAfter; again < refusedPause || again > refusedPause+time.Second {
		t.Errorf("it is looked at again after %s", again)
	}
	r.wants(v1alpha1.ReasonSandboxRefused, 0, 0)
	if message := r.message(); !strings.Contains(message, "exceeded quota") {
		t.Errorf("it does not say why: %s", message)
	}
	r.refuse = nil
	if again := r.pass(refusedPause - time.Second).RequeueAfter; again < time.Second || again > 2*time.Second || r.made != 0 {
		t.Errorf("in the pause %d are made, and it is looked at again after %s", r.made, again)
	}
	r.wants(v1alpha1.ReasonSandboxRefused, 0, 0)
	r.pass(time.Second)
	r.wants(v1alpha1.ReasonPoolFilling, 3, 0)
	if told := r.told(); len(told) != 1 || !strings.HasPrefix(told[0], "Warning SandboxRefused ") {
		t.Errorf("told %q", told)
	}
}

func TestMakingASandboxFails(t *testing.T) {
	t.Parallel()
	r := newRig(t, 3)
	// Of two names that are the same by chance, the second one is another one in the next pass.
	r.refuse = apierrors.NewAlreadyExists(podsOf, "x")
	if again := r.pass(0).RequeueAfter; again != 10*ms {
		t.Errorf("a name that is taken: it is looked at again after %s", again)
	}
	r.wants(v1alpha1.ReasonPoolFilling, 0, 0)
	r.refuse = errors.New("connection reset by peer")
	if _, err := r.r.Reconcile(t.Context(), ctrl.Request{NamespacedName: aPool}); !errors.Is(err, r.refuse) {
		t.Errorf("%v", err)
	}
	// That is no reason to pause.
	r.refuse = nil
	r.pass(0)
	r.wants(v1alpha1.ReasonPoolFilling, 3, 0)
}

// A run without room gets that of the pool, one sandbox after the other. The pool has its own again afterwards.
func TestAPoolYieldsToARunWithoutRoom(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	r.fill()
	run := aRun("big")
	r.must(r.server.Create(t.Context(), run))
	set := func(status metav1.ConditionStatus, reason string) {
		run.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionSandboxReady, Status: status, Reason: reason}}
		r.must(r.server.Status().Update(t.Context(), run))
	}
	set(metav1.ConditionFalse, v1alpha1.ReasonUnschedulable)
	for round := range int32(3) {
		r.pass(time.Second)
		r.wants(v1alpha1.ReasonPoolYielding, max(0, 1-round), max(0, 1-round))
	}
	if told := r.told(); len(r.pods()) > 0 || !strings.Contains(r.message(), "The run big has no room") || len(told) != 1 {
		t.Errorf("it has %d: %s; told %q", len(r.pods()), r.message(), told)
	}
	set(metav1.ConditionTrue, v1alpha1.ReasonSandboxReady)
	r.fill()
}

// Without its closing policy a namespace has no sandboxes.
func TestAPoolInANamespaceThatCannotBeClosed(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	r.fill()
	r.closer.identity, r.closer.refused = "", "a webhook refused it"
	for range 2 {
		if again := r.pass(time.Second).RequeueAfter; again == 0 || again > pass.MaxPause+time.Second {
			t.Errorf("it is looked at again after %s", again)
		}
	}
	r.wants(v1alpha1.ReasonBaselineRefused, 0, 0)
	if r.message() != "a webhook refused it" || len(r.pods()) > 0 {
		t.Errorf("it has %d: %s", len(r.pods()), r.message())
	}
	r.closer.identity, r.closer.refused = "b/2", ""
	r.fill()
}

// While it is not known that the namespace is closed, no sandbox is tried, offered or given up.
func TestAPoolInANamespaceThatIsBeingClosed(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	r.fill()
	r.closer.identity = ""
	tries := r.tries()
	for range 3 {
		if again := r.pass(10 * time.Minute).RequeueAfter; again == 0 || again > 2*time.Second {
			t.Errorf("it is looked at again after %s", again)
		}
		r.wants(v1alpha1.ReasonPoolFilling, 2, 0)
	}
	if r.tries() != tries || r.made != 2 {
		t.Errorf("%d tries instead of %d, and %d were made", r.tries(), tries, r.made)
	}
	r.closer.identity = "b/2"
	for range 3 {
		r.pass(50 * ms)
	}
	r.wants(v1alpha1.ReasonPoolFull, 2, 2)
	if r.made != 2 {
		t.Errorf("%d were made", r.made)
	}
}

// tries returns how many tries the tool servers have answered.
func (r *rig) tries() int {
	all := 0
	for _, s := range r.servers {
		all += len(s.requests)
	}
	return all
}

// The passes of runs maintain the policy of a namespace that they use: they record that their sandboxes were open.
func TestANamespaceInUse(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(*v1alpha1.MotorRun)
		want   bool
	}{
		"a run with a sandbox":        {func(run *v1alpha1.MotorRun) { run.Status.Sandbox = &v1alpha1.SandboxStatus{PodName: "x"} }, true},
		"a run without one":           {func(*v1alpha1.MotorRun) {}, false},
		"a run of another namespace":  {func(run *v1alpha1.MotorRun) { run.Namespace, run.Status.Sandbox = "other", &v1alpha1.SandboxStatus{} }, false},
		"a run that had one, and end": {finishedWithSandbox, false},
	} {
		run := aRun("run")
		tt.change(run)
		r := newRig(t, 1, run)
		if r.pass(0); r.closer.inUse != tt.want {
			t.Errorf("%s: in use %t", name, r.closer.inUse)
		}
	}
}

func finishedWithSandbox(run *v1alpha1.MotorRun) {
	run.Status.Sandbox = &v1alpha1.SandboxStatus{PodName: "x"}
	run.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionFinished, Status: metav1.ConditionTrue}}
}

// A pool that is gone is forgotten, with the connections of its sandboxes, and a new one of its name begins anew.
func TestAPoolThatIsGoneIsForgotten(t *testing.T) {
	t.Parallel()
	for name, finalizers := range map[string][]string{"gone": nil, "being deleted": {"example.org/slow"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, 2)
			r.fill()
			r.r.memory.halt(aPool, failure{"Why", "because"}, r.now.Add(time.Hour))
			pool := r.pool()
			pool.Finalizers = finalizers
			r.must(r.server.Update(t.Context(), pool))
			r.must(r.server.Delete(t.Context(), pool))
			for range 2 {
				if result := r.pass(0); result.RequeueAfter != 0 {
					t.Errorf("it is looked at again after %s", result.RequeueAfter)
				}
			}
			if len(r.r.memory.byPod) > 0 || len(r.r.memory.byPool) > 0 {
				t.Errorf("it knows %d Pods of %d pools", len(r.r.memory.byPod), len(r.r.memory.byPool))
			}
			for uid, s := range r.servers {
				if s.closed != 1 {
					t.Errorf("the connection with %s was closed %d times", uid, s.closed)
				}
			}
			// The garbage collector deletes them.
			if len(r.pods()) != 2 {
				t.Errorf("%d Pods are left", len(r.pods()))
			}
		})
	}
}

// The Pods of a former pool of this name, of runs, and those that only have the labels, are not the pool's.
func TestAPoolLeavesOtherPodsAlone(t *testing.T) {
	t.Parallel()
	former := waiting("pool", "former", time.Minute)
	former.OwnerReferences[0].UID = "another"
	owned := func(name string, change func(*corev1.Pod)) *corev1.Pod {
		pod := waiting("pool", name, 48*time.Hour)
		pod.OwnerReferences[0].UID = "pool-uid"
		change(pod)
		return pod
	}
	r := newRig(t, 0, former,
		owned("ownerless", func(p *corev1.Pod) { p.OwnerReferences = nil }),
		owned("taken", func(p *corev1.Pod) { sandbox.Adopt(p, aRun("run"), false, noon) }),
		owned("labelled", func(p *corev1.Pod) { p.Labels[v1alpha1.LabelRun] = "run" }),
		owned("elsewhere", func(p *corev1.Pod) { p.Namespace = "other" }),
		owned("going", func(p *corev1.Pod) {
			p.DeletionTimestamp, p.Finalizers = new(metav1.NewTime(noon)), []string{"example.org/slow"}
		}),
		owned("own", func(*corev1.Pod) {}),
	)
	r.pass(0)
	r.wants(v1alpha1.ReasonPoolFull, 0, 0)
	var left []string
	for _, pod := range r.pods() {
		left = append(left, string(pod.UID))
	}
	if slices.Sort(left); !slices.Equal(left, []string{"elsewhere", "former", "going", "labelled", "ownerless", "taken"}) {
		t.Errorf("left are %q", left)
	}
}

func TestAStatusThatAnotherWriterChanged(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		err   error
		again time.Duration
		fails bool
	}{
		"a conflict":       {apierrors.NewConflict(podsOf, "pool", errors.New("changed")), pass.ConflictPause, false},
		"the pool is gone": {apierrors.NewNotFound(podsOf, "pool"), unseen + 10*ms, false},
		"no answer":        {errors.New("connection reset by peer"), 0, true},
	} {
		r := newRig(t, 1)
		r.r.Client = interceptor.NewClient(r.server, interceptor.Funcs{
			SubResourcePatch: func(context.Context, client.Client, string, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
				return tt.err
			},
		})
		result, err := r.r.Reconcile(t.Context(), ctrl.Request{NamespacedName: aPool})
		if (err != nil) != tt.fails || result.RequeueAfter != tt.again {
			t.Errorf("%s: after %s, %v", name, result.RequeueAfter, err)
		}
	}
}

func TestRunsThatLackRoom(t *testing.T) {
	t.Parallel()
	about := func(status metav1.ConditionStatus, reason string, change ...func(*v1alpha1.MotorRun)) *v1alpha1.MotorRun {
		run := aRun("run")
		run.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionSandboxReady, Status: status, Reason: reason}}
		for _, c := range change {
			c(run)
		}
		return run
	}
	says := func(message string) func(*v1alpha1.MotorRun) {
		return func(run *v1alpha1.MotorRun) { run.Status.Conditions[0].Message = message }
	}
	unscheduled := about(metav1.ConditionFalse, v1alpha1.ReasonUnschedulable)
	over := unscheduled.DeepCopy()
	over.Status.Conditions = append(over.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionFinished, Status: metav1.ConditionTrue})
	for name, tt := range map[string]struct {
		run  *v1alpha1.MotorRun
		want bool
	}{
		"no node":         {unscheduled, true},
		"no quota":        {about(metav1.ConditionFalse, v1alpha1.ReasonSandboxRefused, says(`pods "run" is forbidden: exceeded quota: pods, requested: pods=1`)), true},
		"no such class":   {about(metav1.ConditionFalse, v1alpha1.ReasonSandboxRefused, says(`pod rejected: RuntimeClass "x" not found`)), false},
		"it stands still": {about(metav1.ConditionFalse, v1alpha1.ReasonUnschedulable, func(run *v1alpha1.MotorRun) { run.Spec.Suspend = true }), false},
		"it waits for a person": {about(metav1.ConditionFalse, v1alpha1.ReasonUnschedulable, func(run *v1alpha1.MotorRun) {
			run.Status.PendingInputs = []v1alpha1.PendingInput{{ID: "a"}}
		}), false},
		"it is being deleted": {about(metav1.ConditionFalse, v1alpha1.ReasonUnschedulable, func(run *v1alpha1.MotorRun) {
			run.DeletionTimestamp = new(metav1.NewTime(noon))
		}), false},
		"it starts":      {about(metav1.ConditionFalse, v1alpha1.ReasonSandboxStarting), false},
		"it is ready":    {about(metav1.ConditionTrue, v1alpha1.ReasonUnschedulable), false},
		"it is over":     {over, false},
		"it is unknown":  {aRun("run"), false},
		"it has no node": {about(metav1.ConditionUnknown, v1alpha1.ReasonUnschedulable), false},
	} {
		if got := lacksRoom(tt.run); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
		p := roomChanges()
		for other, run := range map[bool]*v1alpha1.MotorRun{true: unscheduled, false: aRun("run")} {
			if got := p.Update(event.UpdateEvent{ObjectOld: run, ObjectNew: tt.run}); got != (other != tt.want) {
				t.Errorf("%s, after it was %t: %t", name, other, got)
			}
		}
		if p.Create(event.CreateEvent{Object: tt.run}) != tt.want || p.Delete(event.DeleteEvent{Object: tt.run}) != tt.want {
			t.Errorf("%s: a run that comes or goes", name)
		}
	}
}

// A namespace that is not closed gets no sandboxes, and those that it has are not offered and not lost.
func TestAPoolInANamespaceThatIsNotClosedYet(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	r.closer.identity = ""
	for range 3 {
		r.pass(time.Second)
	}
	r.wants(v1alpha1.ReasonPoolFilling, 0, 0)
	r.closer.identity = "b/1"
	r.fill()
	before := int32(len(r.pods()))
	r.closer.identity = ""
	for range unclosedTimes {
		r.pass(time.Second)
		r.wants(v1alpha1.ReasonPoolFilling, before, 0)
	}
	// Something changes the policy whenever it is written.
	if again := r.pass(time.Second).RequeueAfter; again < pass.MaxPause {
		t.Errorf("it is looked at again after %s", again)
	}
	r.wants(v1alpha1.ReasonBaselineRefused, 0, 0)
}

// A sandbox that ends before it could be proved would be made again and again.
func TestSandboxesThatEndAtOncePauseThePool(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	r.pass(0)
	for _, pod := range r.pods() {
		pod.Status = runs(aPod("x", time.Second)).Status
		pod.Status.ContainerStatuses[0].RestartCount = 1
		r.must(r.server.Status().Update(t.Context(), pod))
	}
	for range 5 {
		r.pass(time.Second)
	}
	if c := r.message(); r.made != 1 || len(r.pods()) != 0 {
		t.Errorf("%d were made: %s", r.made, c)
	}
}

func TestPoolsBesideAnObject(t *testing.T) {
	t.Parallel()
	more, elsewhere := thePool(1), thePool(1)
	more.Name, elsewhere.Namespace = "more", "other"
	r := newRig(t, 1, more, elsewhere)
	if got := fmt.Sprint(r.r.poolsBeside(t.Context(), aRun("run"))); got != "[ns/more ns/pool]" {
		t.Errorf("got %s", got)
	}
	for name, want := range map[string]bool{sandbox.BaselineName: true, "run-egress": false} {
		if got := isBaseline(&networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}}); got != want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
