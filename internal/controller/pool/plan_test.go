// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/sandbox"
)

// noon is when the tests begin.
var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// aPod returns a sandbox Pod of that age at noon that has no state yet. Its name is its UID too.
func aPod(name string, age time.Duration) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: name, UID: types.UID(name), CreationTimestamp: metav1.NewTime(noon.Add(-age)),
	}}
}

// runs makes the tool server of a Pod run.
func runs(pod *corev1.Pod) *corev1.Pod {
	pod.Status.Phase, pod.Status.PodIP = corev1.PodRunning, "10.0.0.7"
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: sandbox.ContainerName, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: pod.CreationTimestamp}},
	}}
	return pod
}

// unschedulable lets the scheduler find no node for a Pod.
func unschedulable(pod *corev1.Pod) *corev1.Pod {
	pod.Status.Conditions = []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "no memory",
	}}
	return pod
}

// memberOf returns a member that the pool would make in the same way today.
func memberOf(pod *corev1.Pod, s standing) member {
	return member{pod: pod, state: sandbox.Read(pod), current: true, standing: s}
}

// ready returns a member that a run can take.
func ready(name string, age time.Duration) member {
	return memberOf(runs(aPod(name, age)), standing{proved: true, once: true, trying: age})
}

// starting returns a member that does not run yet.
func starting(name string, age time.Duration) member { return memberOf(aPod(name, age), standing{}) }

// former is a member that is too old.
func former(m member) member {
	m.pod.CreationTimestamp = metav1.NewTime(m.pod.CreationTimestamp.Add(-time.Hour))
	return m
}

// otherwise is a member that the pool would make in another way today.
func otherwise(m member) member {
	m.current = false
	return m
}

// with returns a member whose Pod was changed.
func with(m member, change func(*corev1.Pod)) member {
	change(m.pod)
	m.state = sandbox.Read(m.pod)
	return m
}

// aWish is a wish for that many sandboxes, with the other bounds of these tests.
func aWish(replicas int) wish {
	return wish{replicas: replicas, maxAge: time.Hour, startTimeout: 5 * time.Minute, proveTimeout: time.Minute}
}

func TestPlan(t *testing.T) {
	t.Parallel()
	const s, m = time.Second, time.Minute
	restarted := with(ready("a", 2*m), func(p *corev1.Pod) { p.Status.ContainerStatuses[0].RestartCount = 1 })
	restarting := with(ready("a", 2*m), func(p *corev1.Pod) {
		p.Status.ContainerStatuses[0].State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
		p.Status.ContainerStatuses[0].LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 1}
	})
	ended := with(ready("a", 2*m), func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed })
	cordoned := ready("a", 2*m)
	cordoned.cordoned = true
	taken := ready("a", 10*m)
	taken.taken = true
	takenAndOpen := memberOf(runs(aPod("a", 10*m)), standing{taken: true, failing: true, trying: 5 * m})
	takenLongAgo := ready("a", 2*time.Hour)
	takenLongAgo.taken = true
	unproved := func(name string, age, tried time.Duration) member {
		return memberOf(runs(aPod(name, age)), standing{failing: true, trying: tried})
	}
	for name, tt := range map[string]struct {
		members []member
		wish    wish
		// remove are the names of those that go, in their order.
		remove string
		create int
		total  int
		ready  int
		failed string
		// wake is when the next pass is, after noon.
		wake time.Duration
	}{
		"an empty pool is filled four at a time":          {wish: aWish(10), create: 4},
		"a small one at once":                             {wish: aWish(2), create: 2},
		"no more than four start":                         {members: []member{starting("a", s), starting("b", s), starting("c", s)}, wish: aWish(10), create: 1, total: 3, wake: 5*m - s},
		"four start":                                      {members: []member{starting("a", s), starting("b", s), starting("c", s), starting("d", s)}, wish: aWish(10), total: 4, wake: 5*m - s},
		"one that is not proved starts too":               {members: []member{unproved("a", s, s), starting("b", s), starting("c", s)}, wish: aWish(10), create: 1, total: 3, wake: m - s},
		"those that are ready do not":                     {members: []member{ready("a", m), ready("b", m), ready("c", m)}, wish: aWish(10), create: 4, total: 3, ready: 3, wake: 59 * m},
		"unseen ones count as starting":                   {wish: wish{replicas: 10, unseen: 3, maxAge: time.Hour}, create: 1, total: 3},
		"unseen ones count":                               {wish: wish{replicas: 2, unseen: 2, maxAge: time.Hour}, total: 2},
		"more unseen ones than it is to have":             {wish: wish{replicas: 1, unseen: 6, maxAge: time.Hour}, total: 6},
		"a full one is left alone":                        {members: []member{ready("a", m), ready("b", 2*m)}, wish: aWish(2), total: 2, ready: 2, wake: 58 * m},
		"a pause makes none":                              {members: []member{ready("a", m)}, wish: wish{replicas: 3, maxAge: time.Hour, paused: true}, total: 1, ready: 1, wake: 59 * m},
		"none are wanted":                                 {members: []member{ready("a", m), starting("b", s), former(ready("c", m))}, wish: aWish(0), remove: "c b a", wake: 5*m - s},
		"of too many those that start go, then the old":   {members: []member{ready("new", m), ready("old", 3*m), starting("late", s), ready("mid", 2*m)}, wish: aWish(2), remove: "late old", total: 2, ready: 2, wake: 5*m - s},
		"of the same age the first name goes":             {members: []member{ready("b", m), ready("a", m)}, wish: aWish(1), remove: "a", total: 1, ready: 1, wake: 59 * m},
		"a former one has one replacement":                {members: []member{former(ready("a", 2*m)), former(ready("b", m))}, wish: aWish(2), create: 1, total: 2, ready: 2},
		"former ones stay until it is ready":              {members: []member{former(ready("a", 2*m)), former(ready("b", m)), starting("c", s)}, wish: aWish(2), total: 3, ready: 2, wake: 5*m - s},
		"an unseen replacement is one":                    {members: []member{former(ready("a", 2*m)), former(ready("b", m))}, wish: wish{replicas: 2, unseen: 1, maxAge: time.Hour}, total: 3, ready: 2},
		"then the oldest goes, and the next is made":      {members: []member{former(ready("a", 2*m)), former(ready("b", 3*m)), ready("c", m)}, wish: aWish(2), remove: "b", create: 1, total: 2, ready: 2, wake: 59 * m},
		"one of another shape goes at once":               {members: []member{otherwise(ready("a", 3*m)), ready("c", m)}, wish: aWish(2), remove: "a", create: 1, total: 1, ready: 1, wake: 59 * m},
		"the last one is replaced":                        {members: []member{former(ready("b", 3*m)), ready("c", m), ready("d", m)}, wish: aWish(2), remove: "b", total: 2, ready: 2, wake: 59 * m},
		"of too many former ones":                         {members: []member{former(ready("a", 2*m)), former(ready("b", 3*m)), former(ready("c", m))}, wish: aWish(1), remove: "b a", create: 1, total: 1, ready: 1},
		"a current one that starts replaces none":         {members: []member{former(ready("a", 2*m)), starting("b", s)}, wish: aWish(1), total: 2, ready: 1, wake: 5*m - s},
		"one that is old is replaced":                     {members: []member{ready("a", time.Hour)}, wish: aWish(1), create: 1, total: 1, ready: 1},
		"one that will be old wakes the pool":             {members: []member{ready("a", time.Hour-s)}, wish: aWish(1), total: 1, ready: 1, wake: s},
		"no node for too long":                            {members: []member{memberOf(unschedulable(aPod("a", 30*s)), standing{}), ready("b", m)}, wish: aWish(3), remove: "a", total: 1, ready: 1, failed: v1alpha1.ReasonUnschedulable, wake: 59 * m},
		"no node for less":                                {members: []member{memberOf(unschedulable(aPod("a", 29*s)), standing{})}, wish: aWish(1), total: 1, wake: s},
		"no node for less than a short start timeout":     {members: []member{memberOf(unschedulable(aPod("a", 20*s)), standing{})}, wish: wish{replicas: 1, maxAge: time.Hour, startTimeout: 20 * s}, remove: "a", failed: v1alpha1.ReasonUnschedulable},
		"it starts for too long":                          {members: []member{starting("a", 5*m)}, wish: aWish(1), remove: "a", failed: v1alpha1.ReasonSandboxStarting},
		"it starts for less":                              {members: []member{starting("a", 5*m-s)}, wish: aWish(1), total: 1, wake: s},
		"it is open for too long":                         {members: []member{unproved("a", 5*m, m)}, wish: aWish(1), remove: "a", failed: v1alpha1.ReasonIsolationUnverified},
		"it is open for less":                             {members: []member{unproved("a", 5*m, m-s)}, wish: aWish(1), total: 1, wake: s},
		"an old one that is proved again by a new leader": {members: []member{unproved("a", 30*m, 0)}, wish: aWish(1), total: 1, wake: m},
		"it is not tried while the namespace is open":     {members: []member{memberOf(runs(aPod("a", 30*m)), standing{})}, wish: aWish(1), total: 1, wake: 30 * m},
		"the tool server was started again":               {members: []member{restarted}, wish: aWish(1), remove: "a", create: 1},
		"the tool server is started again":                {members: []member{restarting}, wish: aWish(1), remove: "a", create: 1},
		"the tool server has ended":                       {members: []member{ended}, wish: aWish(1), remove: "a", create: 1},
		"its node is about to be drained":                 {members: []member{cordoned}, wish: aWish(1), remove: "a", create: 1},
		"a run takes it":                                  {members: []member{taken}, wish: aWish(1), create: 1, wake: 50 * m},
		"a run takes it, and a try failed":                {members: []member{takenAndOpen}, wish: aWish(1), create: 1, wake: 50 * m},
		"a run that is gone took it":                      {members: []member{takenLongAgo}, wish: aWish(1), remove: "a", create: 1},
		"a run takes it while none are wanted":            {members: []member{taken}, wish: aWish(0), wake: 50 * m},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := planFor(tt.members, tt.wish, noon)
			var removed []string
			for _, pod := range p.remove {
				removed = append(removed, pod.Name)
			}
			failed := ""
			if p.failed != nil {
				failed = p.failed.reason
			}
			wake := time.Duration(0)
			if !p.wake.IsZero() {
				wake = p.wake.Sub(noon)
			}
			if got := strings.Join(removed, " "); got != tt.remove || p.create != tt.create || failed != tt.failed {
				t.Errorf("removes %q and makes %d, failed %q; want %q, %d and %q", got, p.create, failed, tt.remove, tt.create, tt.failed)
			}
			if p.total != tt.total || p.ready != tt.ready || wake != tt.wake {
				t.Errorf("has %d, of them %d ready, and wakes after %s; want %d, %d and %s", p.total, p.ready, wake, tt.total, tt.ready, tt.wake)
			}
		})
	}
}

// A pool whose sandboxes are too old becomes a new one, and at no time has fewer ready sandboxes than before, or more than one too many.
func TestPlanReplacesWhatRunsCanTake(t *testing.T) {
	t.Parallel()
	const replicas = 5
	var members []member
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		members = append(members, former(ready(name, time.Minute)))
	}
	made := 0
	for round := range 50 {
		p := planFor(members, aWish(replicas), noon)
		members = slices.DeleteFunc(members, func(m member) bool { return slices.Contains(p.remove, m.pod) })
		for range p.create {
			made++
			members = append(members, starting("new-"+string(rune('a'+made)), 0))
		}
		if p.ready < replicas || len(members) > replicas+1 {
			t.Fatalf("in round %d it has %d, of them %d ready", round, len(members), p.ready)
		}
		// One that starts is ready in the next but one round.
		for i := range members {
			if m := &members[i]; m.state.Phase == sandbox.Starting && round%2 == 1 {
				members[i] = memberOf(runs(m.pod), standing{proved: true, once: true})
			}
		}
	}
	if made != replicas || slices.ContainsFunc(members, func(m member) bool { return !m.current }) {
		t.Errorf("%d were made to replace %d", made, replicas)
	}
}

// The message of a failure is that of the sandbox: it says what to do.
func TestAFailureSaysWhy(t *testing.T) {
	t.Parallel()
	for want, m := range map[string]member{
		"No node can take Pod a: no memory":                memberOf(unschedulable(aPod("a", time.Hour)), standing{}),
		"Pod a is starting.":                               starting("a", time.Hour),
		"Pod a runs, and its isolation could not be prove": memberOf(runs(aPod("a", time.Hour)), standing{failing: true, trying: time.Hour}),
	} {
		if f, _ := m.fails(aWish(1), noon); f == nil || !strings.HasPrefix(f.message, want) {
			t.Errorf("%v, want %s", f, want)
		}
	}
}

func TestVerdict(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		replicas *int32
		ready    int
		f        *failure
		status   metav1.ConditionStatus
		reason   string
	}{
		"all are ready":                {new(int32(2)), 2, nil, metav1.ConditionTrue, v1alpha1.ReasonPoolFull},
		"one is missing":               {new(int32(2)), 1, nil, metav1.ConditionFalse, v1alpha1.ReasonPoolFilling},
		"one more than it needs":       {new(int32(2)), 3, nil, metav1.ConditionTrue, v1alpha1.ReasonPoolFull},
		"none are wanted":              {new(int32(0)), 0, nil, metav1.ConditionTrue, v1alpha1.ReasonPoolFull},
		"one is wanted where none say": {nil, 0, nil, metav1.ConditionFalse, v1alpha1.ReasonPoolFilling},
		"all are ready, one failed":    {new(int32(2)), 2, &failure{v1alpha1.ReasonUnschedulable, "no"}, metav1.ConditionFalse, v1alpha1.ReasonUnschedulable},
	} {
		pool := &v1alpha1.SandboxPool{Spec: v1alpha1.SandboxPoolSpec{Replicas: tt.replicas}}
		if status, f := verdict(pool, plan{ready: tt.ready}, tt.f); status != tt.status || f.reason != tt.reason || f.message == "" {
			t.Errorf("%s: %s %+v", name, status, f)
		}
	}
}

// What runs take at once is replaced when they have begun.
func TestNoSandboxIsMadeWhileRunsTakeThem(t *testing.T) {
	t.Parallel()
	w := wish{replicas: 2, maxAge: time.Hour, startTimeout: time.Minute, proveTimeout: time.Minute, quiet: quietAfter}
	if p := planFor(nil, w, noon); p.create != 0 || !p.wake.Equal(noon.Add(quietAfter)) {
		t.Errorf("at once: %d are made, and the next look is at %s", p.create, p.wake)
	}
	w.quiet = 0
	if p := planFor(nil, w, noon.Add(quietAfter)); p.create != 2 {
		t.Errorf("later: %d are made", p.create)
	}
}
