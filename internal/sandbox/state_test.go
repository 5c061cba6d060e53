// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

func testPod(phase corev1.PodPhase, change ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Status: corev1.PodStatus{Phase: phase, PodIP: "10.0.0.1"}}
	for _, c := range change {
		c(p)
	}
	return p
}

func withContainer(state corev1.ContainerState) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.ContainerStatuses = []corev1.ContainerStatus{
			{Name: "injected", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}},
			{Name: ContainerName, Image: "image:1", State: state},
		}
	}
}

func runs() func(*corev1.Pod) {
	return withContainer(corev1.ContainerState{Running: &corev1.ContainerStateRunning{}})
}

func waits(reason string) func(*corev1.Pod) {
	return withContainer(corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: "because\nof  this"}})
}

// finished is when the tool servers of the tests end.
var finished = time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC)

func terminated(reason string, code int32) func(*corev1.Pod) {
	return withContainer(corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		Reason: reason, ExitCode: code, FinishedAt: metav1.NewTime(finished),
	}})
}

func why(reason, message string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Status.Reason, p.Status.Message = reason, message }
}

func scheduled(status corev1.ConditionStatus, reason string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
			Type: corev1.PodScheduled, Status: status, Reason: reason, Message: "0/1 nodes are available.",
		})
	}
}

func deleted(p *corev1.Pod) { p.DeletionTimestamp = new(metav1.Now()) }

// reading is a Pod and what Read is to make of it.
type reading struct {
	pod  *corev1.Pod
	want State
}

func wantRead(t *testing.T, tests map[string]reading) {
	t.Helper()
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, Read(tt.pod)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	tests := map[string]reading{
		"new":                     {testPod(""), State{Phase: Starting, Reason: v1alpha1.ReasonSandboxStarting, Message: "Pod p is starting."}},
		"pending":                 {testPod(corev1.PodPending), State{Phase: Starting, Reason: v1alpha1.ReasonSandboxStarting, Message: "Pod p is starting."}},
		"scheduled":               {testPod(corev1.PodPending, scheduled(corev1.ConditionTrue, "")), State{Phase: Starting, Reason: v1alpha1.ReasonSandboxStarting, Message: "Pod p is starting."}},
		"gated":                   {testPod(corev1.PodPending, scheduled(corev1.ConditionFalse, "SchedulingGated")), State{Phase: Starting, Reason: v1alpha1.ReasonSandboxStarting, Message: "Pod p is starting."}},
		"container is created":    {testPod(corev1.PodPending, waits("ContainerCreating")), State{Phase: Starting, Reason: v1alpha1.ReasonSandboxStarting, Message: "Pod p is starting."}},
		"running":                 {testPod(corev1.PodRunning, runs()), State{Phase: Running, Reason: v1alpha1.ReasonSandboxReady, Message: "Pod p runs."}},
		"running, no address yet": {testPod(corev1.PodRunning, runs(), func(p *corev1.Pod) { p.Status.PodIP = "" }), State{Phase: Starting, Reason: v1alpha1.ReasonSandboxStarting, Message: "Pod p is starting."}},
		"running, no container":   {testPod(corev1.PodRunning), State{Phase: Starting, Reason: v1alpha1.ReasonSandboxStarting, Message: "Pod p is starting."}},
		"only another container runs": {
			testPod(corev1.PodRunning, waits("ContainerCreating")), State{Phase: Starting, Reason: v1alpha1.ReasonSandboxStarting, Message: "Pod p is starting."},
		},
		"unknown phase": {testPod(corev1.PodUnknown, runs()), State{Phase: Starting, Reason: v1alpha1.ReasonSandboxStarting, Message: "Pod p is starting."}},
		"unschedulable": {
			testPod(corev1.PodPending, scheduled(corev1.ConditionFalse, corev1.PodReasonUnschedulable)),
			State{Phase: Starting, Reason: v1alpha1.ReasonUnschedulable, Message: "No node can take Pod p: 0/1 nodes are available. Lower spec.sandbox.resources or add a node."},
		},
		"create error": {
			testPod(corev1.PodPending, waits("CreateContainerError")),
			State{Phase: Starting, Reason: v1alpha1.ReasonContainerCreateFailed, Message: "The node cannot start Pod p (CreateContainerError): because of this"},
		},
		"config error": {
			testPod(corev1.PodPending, waits("CreateContainerConfigError")),
			State{Phase: Starting, Reason: v1alpha1.ReasonContainerCreateFailed, Message: "The node cannot start Pod p (CreateContainerConfigError): because of this"},
		},
		"ended well": {
			testPod(corev1.PodSucceeded, terminated("Completed", 0)),
			State{Phase: Ended, Reason: v1alpha1.ReasonSandboxLost, Message: "The tool server of Pod p ended with status 0 (Completed)."},
		},
		"crashed": {
			testPod(corev1.PodFailed, terminated("Error", 2)),
			State{Phase: Ended, Reason: v1alpha1.ReasonSandboxLost, Message: "The tool server of Pod p ended with status 2 (Error)."},
		},
		"could not start": {
			testPod(corev1.PodFailed, terminated("StartError", 128)),
			State{Phase: Ended, Reason: v1alpha1.ReasonSandboxLost, Message: "The tool server of Pod p could not be started (StartError)."},
		},
		"out of memory": {
			testPod(corev1.PodFailed, terminated("OOMKilled", 137)),
			State{Phase: Ended, Reason: v1alpha1.ReasonSandboxOOMKilled, Message: "Pod p went over its memory limit. Raise spec.sandbox.resources.memory."},
		},
		"evicted": {
			testPod(corev1.PodFailed, why("Evicted", "The node was low\non memory"), terminated("Error", 137)),
			State{Phase: Ended, Reason: v1alpha1.ReasonSandboxEvicted, Message: "Pod p was evicted: The node was low on memory. Raise spec.sandbox.resources.workspace if it is the storage."},
		},
		"deadline": {
			testPod(corev1.PodFailed, why("DeadlineExceeded", "Pod was active too long"), terminated("Error", 137)),
			State{Phase: Ended, Reason: v1alpha1.ReasonTimeout, Message: "Pod p reached its own deadline."},
		},
		"refused by the node": {
			testPod(corev1.PodFailed, why("NodeAffinity", "Predicate failed")),
			State{Phase: Ended, Reason: v1alpha1.ReasonSandboxLost, Message: "Pod p ended: NodeAffinity Predicate failed"},
		},
		"being deleted": {
			testPod(corev1.PodRunning, runs(), deleted), State{Phase: Ended, Reason: v1alpha1.ReasonSandboxLost, Message: "Pod p is being deleted, and not by the run."},
		},
		"deleted while starting": {
			testPod(corev1.PodPending, deleted), State{Phase: Ended, Reason: v1alpha1.ReasonSandboxLost, Message: "Pod p is being deleted, and not by the run."},
		},
		"deleted, the container ended": {
			testPod(corev1.PodRunning, terminated("Completed", 0), deleted),
			State{Phase: Ended, Reason: v1alpha1.ReasonSandboxLost, Message: "Pod p is being deleted, and not by the run."},
		},
		"deleted after it was evicted": {
			testPod(corev1.PodFailed, why("Evicted", "Low"), deleted),
			State{Phase: Ended, Reason: v1alpha1.ReasonSandboxEvicted, Message: "Pod p was evicted: Low. Raise spec.sandbox.resources.workspace if it is the storage."},
		},
	}
	for _, reason := range []string{"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError", "RegistryUnavailable"} {
		tests["image: "+reason] = reading{testPod(corev1.PodPending, waits(reason), scheduled(corev1.ConditionTrue, "")), State{
			Phase: Starting, Reason: v1alpha1.ReasonImagePullFailed,
			Message: "The node cannot get the image image:1 of Pod p (" + reason + "). Load or push that image, or change the manager's --sandbox-image.",
		}}
	}
	wantRead(t, tests)
}

// restarted adds a history to the container: how often it was started again, and how it ended last.
func restarted(times int32, last *corev1.ContainerStateTerminated) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		s := &p.Status.ContainerStatuses[1]
		s.RestartCount = times
		if last != nil {
			s.LastTerminationState.Terminated = last
		}
	}
}

func notReadySince(at time.Time) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
			Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: metav1.NewTime(at),
		})
	}
}

func TestReadOfARestart(t *testing.T) {
	t.Parallel()
	end := func(reason string, code int32) *corev1.ContainerStateTerminated {
		return &corev1.ContainerStateTerminated{Reason: reason, ExitCode: code, Message: "exec:\n no", FinishedAt: metav1.NewTime(finished)}
	}
	const first = "The tool server of Pod p ended with status 2 (Error). It is started again in the same Pod (1 of 3 times)."
	restarting := func(message string) State {
		return State{Phase: Restarting, Reason: v1alpha1.ReasonSandboxRestarting, Message: message, FinishedAt: finished}
	}
	running := State{Phase: Running, Reason: v1alpha1.ReasonSandboxReady, Message: "Pod p runs."}
	lost := &corev1.ContainerStateTerminated{Reason: "ContainerStatusUnknown", ExitCode: 137}
	wantRead(t, map[string]reading{
		"just ended":         {testPod(corev1.PodRunning, terminated("Error", 2)), restarting(first)},
		"ended well":         {testPod(corev1.PodRunning, terminated("Completed", 0)), restarting("The tool server of Pod p ended with status 0 (Completed). It is started again in the same Pod (1 of 3 times).")},
		"waits":              {testPod(corev1.PodRunning, waits("CrashLoopBackOff"), restarted(0, end("Error", 2))), restarting(first)},
		"is created":         {testPod(corev1.PodPending, waits("ContainerCreating"), restarted(0, end("Error", 2))), restarting(first)},
		"the image gone":     {testPod(corev1.PodRunning, waits("ErrImagePull"), restarted(0, end("Error", 2))), restarting(first + " Its node says: ErrImagePull because of this")},
		"runs again":         {testPod(corev1.PodRunning, runs(), restarted(1, end("Error", 2))), running},
		"runs the last time": {testPod(corev1.PodRunning, runs(), restarted(3, end("Error", 2))), running},
		"runs without an address": {
			testPod(corev1.PodRunning, runs(), restarted(1, end("Error", 2)), func(p *corev1.Pod) { p.Status.PodIP = "" }), restarting(first),
		},
		"out of memory": {
			testPod(corev1.PodRunning, waits("CrashLoopBackOff"), restarted(1, end("OOMKilled", 137))),
			restarting("The tool server of Pod p ended because the sandbox went over its memory limit. It is started again in the same Pod (2 of 3 times)."),
		},
		"lost by its node": {
			testPod(corev1.PodRunning, waits("ContainerCreating"), restarted(1, lost), notReadySince(finished)),
			restarting("The tool server of Pod p ended, and its node did not see how. It is started again in the same Pod (2 of 3 times)."),
		},
		"nobody saw when": {
			testPod(corev1.PodRunning, waits("ContainerCreating"), restarted(1, lost)),
			State{Phase: Restarting, Reason: v1alpha1.ReasonSandboxRestarting, Message: "The tool server of Pod p ended, and its node did not see how. It is started again in the same Pod (2 of 3 times)."},
		},
		"cannot be started at all": {
			testPod(corev1.PodRunning, waits("CrashLoopBackOff"), restarted(0, end("StartError", 128))),
			State{Phase: Starting, Reason: v1alpha1.ReasonContainerCreateFailed, Message: "The node cannot start Pod p (StartError): exec: no"},
		},
		"cannot be started again": {
			testPod(corev1.PodRunning, waits("CrashLoopBackOff"), restarted(1, end("StartError", 128))),
			restarting("The tool server of Pod p could not be started (exec: no). It is started again in the same Pod (2 of 3 times)."),
		},
		"ended too often": {
			testPod(corev1.PodRunning, waits("CrashLoopBackOff"), restarted(3, end("Error", 2))),
			State{Phase: Ended, Reason: v1alpha1.ReasonSandboxCrashed, Message: "The tool server of Pod p ended 4 times; the last time it ended with status 2 (Error)."},
		},
		"ended too often, by memory": {
			testPod(corev1.PodRunning, terminated("OOMKilled", 137), restarted(3, nil)),
			State{Phase: Ended, Reason: v1alpha1.ReasonSandboxCrashed, Message: "The tool server of Pod p ended 4 times; the last time it ended because the sandbox went over its memory limit. Raise spec.sandbox.resources.memory."},
		},
		"ended too often and runs": {
			testPod(corev1.PodRunning, runs(), restarted(4, end("Error", 2))),
			State{Phase: Ended, Reason: v1alpha1.ReasonSandboxCrashed, Message: "The tool server of Pod p ended 4 times; the last time it ended with status 2 (Error)."},
		},
		"evicted meanwhile": {
			testPod(corev1.PodFailed, why("Evicted", "Low"), waits("CrashLoopBackOff"), restarted(1, end("Error", 2))),
			State{Phase: Ended, Reason: v1alpha1.ReasonSandboxEvicted, Message: "Pod p was evicted: Low. Raise spec.sandbox.resources.workspace if it is the storage."},
		},
		"deleted meanwhile": {
			testPod(corev1.PodRunning, waits("CrashLoopBackOff"), restarted(1, end("Error", 2)), deleted),
			State{Phase: Ended, Reason: v1alpha1.ReasonSandboxLost, Message: "Pod p is being deleted, and not by the run."},
		},
	})
}

func TestForeignTextIsOneShortLine(t *testing.T) {
	t.Parallel()
	s := Read(testPod(corev1.PodFailed, why("Evicted", strings.Repeat("漢\n", 1000))))
	if len(s.Message) > 500 || strings.Contains(s.Message, "\n") || !utf8.ValidString(s.Message) {
		t.Errorf("%d bytes, valid %t: %q", len(s.Message), utf8.ValidString(s.Message), s.Message)
	}
}

func TestSupportsUserNamespaces(t *testing.T) {
	t.Parallel()
	handler := func(name string, supported *bool) corev1.NodeRuntimeHandler {
		return corev1.NodeRuntimeHandler{Name: name, Features: &corev1.NodeRuntimeHandlerFeatures{UserNamespaces: supported}}
	}
	node := func(handlers ...corev1.NodeRuntimeHandler) corev1.Node {
		return corev1.Node{Status: corev1.NodeStatus{RuntimeHandlers: handlers}}
	}
	cordoned := func(n corev1.Node) corev1.Node { n.Spec.Unschedulable = true; return n }
	yes, no := node(handler("", new(true))), node(handler("", new(false)))
	tests := map[string]struct {
		nodes []corev1.Node
		want  bool
	}{
		"no node":                         {nil, false},
		"one that does":                   {[]corev1.Node{yes}, true},
		"one that does not":               {[]corev1.Node{no}, false},
		"one that does not say":           {[]corev1.Node{node()}, false},
		"no features":                     {[]corev1.Node{node(corev1.NodeRuntimeHandler{})}, false},
		"features without it":             {[]corev1.Node{node(handler("", nil))}, false},
		"only another runtime does":       {[]corev1.Node{node(handler("gvisor", new(true)), handler("", new(false)))}, false},
		"another runtime does not":        {[]corev1.Node{node(handler("gvisor", new(false)), handler("", new(true)))}, true},
		"one of two":                      {[]corev1.Node{yes, no}, false},
		"two":                             {[]corev1.Node{yes, yes}, true},
		"one that takes no Pods does not": {[]corev1.Node{yes, cordoned(no)}, true},
		"all take no Pods":                {[]corev1.Node{cordoned(yes)}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := SupportsUserNamespaces(tt.nodes); got != tt.want {
				t.Errorf("got %t", got)
			}
		})
	}
}

func TestSince(t *testing.T) {
	t.Parallel()
	created := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for name, tt := range map[string]struct {
		status corev1.ConditionStatus
		after  time.Duration
		want   time.Duration
	}{
		"no node has it":                {corev1.ConditionFalse, time.Hour, 0},
		"a node got it":                 {corev1.ConditionTrue, time.Hour, time.Hour},
		"by a clock that is behind":     {corev1.ConditionTrue, -time.Hour, 0},
		"the scheduler has not seen it": {"", 0, 0},
	} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(created)}}
		if tt.status != "" {
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: tt.status, LastTransitionTime: metav1.NewTime(created.Add(tt.after))}}
		}
		if got := Since(pod).Sub(created); got != tt.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}
