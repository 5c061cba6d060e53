// SPDX-License-Identifier: Apache-2.0

//go:build e2e && faults

package e2e_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// crash ends the tool server of the run's sandbox as the kernel does, and waits until it runs again.
func crash(t *testing.T, run *v1alpha1.MotorRun) {
	t.Helper()
	end(t, run, "KILL")
}

// end sends a signal that ends the tool server of the run's sandbox, and waits until it runs again. A run that asks no person may have finished,
// and its Pod may be gone, before that can be seen.
func end(t *testing.T, run *v1alpha1.MotorRun, signal string) {
	t.Helper()
	before := sandboxPod(t, run)
	signalPod(t, before, signal)
	key := client.ObjectKeyFromObject(before)
	err := await(t.Context(), soon, &corev1.PodList{}, one(key), func(ctx context.Context) (bool, error) {
		var pod corev1.Pod
		if err := suite.client.Get(ctx, key, &pod); apierrors.IsNotFound(err) {
			var now v1alpha1.MotorRun
			if getErr := suite.client.Get(ctx, client.ObjectKeyFromObject(run), &now); getErr != nil || !isTrue(&now, v1alpha1.ConditionFinished) {
				return false, errors.Join(err, getErr)
			}
			return true, nil
		} else if err != nil {
			return false, err
		}
		return restarts(&pod) > restarts(before) && pod.Status.ContainerStatuses[0].State.Running != nil, nil
	})
	if err != nil {
		t.Fatalf("the tool server does not run again: %v", err)
	}
}

// decideUnknown decides about a call of unknown outcome. A decision that is none of the three is the reason to skip it.
func decideUnknown(t *testing.T, run *v1alpha1.MotorRun, id string, decision v1alpha1.Decision) {
	t.Helper()
	r := v1alpha1.Response{ID: id, Decision: decision}
	if decision != v1alpha1.DecisionRetry && decision != v1alpha1.DecisionDone && decision != v1alpha1.DecisionSkip {
		r.Decision, r.Reason = v1alpha1.DecisionSkip, string(decision)
	}
	value, err := json.Marshal(r)
	must(t, err)
	patch(t, run, types.JSONPatchType, fmt.Sprintf(`[{"op":"add","path":"/spec/responses/-","value":%s}]`, value))
}

// awaitUnknown waits until a person is asked what to do about a call.
func awaitUnknown(t *testing.T, run *v1alpha1.MotorRun) *v1alpha1.PendingInput {
	t.Helper()
	asked := awaitRun(t, run, soon, "a question about a call of unknown outcome", func(r *v1alpha1.MotorRun) bool {
		return r.Status.Pending() != nil && r.Status.Pending().Kind == v1alpha1.InputOutcomeUnknown
	})
	wantCondition(t, asked, v1alpha1.ConditionAwaitingInput, metav1.ConditionTrue, v1alpha1.ReasonOutcomeUnknown)
	p := asked.Status.Pending()
	if !strings.Contains(p.Question, "bash") || len(p.Options) != 3 {
		t.Errorf("the question is %+v", p)
	}
	return p
}

// The tool server ends in the middle of a call that had its effect already. Nobody but a person knows what that means.
func TestFaultToolServerCrashesInACall(t *testing.T) {
	t.Parallel()
	needNodeShell(t)
	tests := map[string]struct {
		policy   v1alpha1.UnknownPolicy
		decision v1alpha1.Decision
		ok       bool
		code     string
		// says is in what the model is told.
		says    string
		effects []string
	}{
		"retry": {v1alpha1.UnknownAskPerson, v1alpha1.DecisionRetry, true, "", "survived", []string{"a1.t0", "a1.t0"}},
		"done":  {v1alpha1.UnknownAskPerson, v1alpha1.DecisionDone, true, "", "", []string{"a1.t0"}},
		"skip":  {v1alpha1.UnknownAskPerson, "leave it, the bill is paid", false, "skipped", "leave it, the bill is paid", []string{"a1.t0"}},
		"model": {v1alpha1.UnknownTellModel, "", false, toolapi.CodeOutcomeUnknown, "", []string{"a1.t0"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := startRun(t, "crash", counted(t), onUnknown(tt.policy))
			before := awaitCommand(t, run)
			crash(t, run)
			if tt.decision != "" {
				decideUnknown(t, run, awaitUnknown(t, run).ID, tt.decision)
			}
			done := wantCompleted(t, run, soon)
			journal := wantWholeJournal(t, done)
			r := journal[0].Status.Results[0]
			if r.OK != tt.ok || r.ErrorCode != tt.code || !strings.Contains(r.Output, tt.says) {
				t.Errorf("the model was told %+v", r)
			}
			if u := journal[0].Status.Unknown; len(u) != 1 || u[0].Policy != string(tt.policy) || u[0].CallID != r.CallID {
				t.Errorf("the journal says of the unknown outcome: %+v", u)
			}
			if len(done.Status.Attempts) != 1 || done.Status.Sandbox.PodUID != before.Status.Sandbox.PodUID {
				t.Errorf("the run went on in another sandbox or attempt: %+v", done.Status.Attempts)
			}
			wantEffects(t, run, tt.effects...)
			podIsGone(t, run, soon)
		})
	}
}

// A tool server that is told to end, as before an eviction or when its node shuts down, ends the call that had its effect already, and says
// of it no more than one that crashed.
func TestFaultToolServerIsToldToEndInACall(t *testing.T) {
	t.Parallel()
	needNodeShell(t)
	run := startRun(t, "crash", counted(t))
	awaitCommand(t, run)
	end(t, run, "TERM")
	asked := awaitUnknown(t, run)
	wantEffects(t, run, "a1.t0")
	decideUnknown(t, run, asked.ID, v1alpha1.DecisionDone)
	journal := wantWholeJournal(t, wantCompleted(t, run, soon))
	if u := journal[0].Status.Unknown; len(u) != 1 || u[0].CallID != journal[0].Spec.ToolCalls[0].ID {
		t.Errorf("the journal says of the unknown outcome: %+v", u)
	}
	wantEffects(t, run, "a1.t0")
	podIsGone(t, run, soon)
}

// The calls of a turn are made in their order, also when one of them is in doubt.
func TestFaultToolServerCrashesBetweenCalls(t *testing.T) {
	t.Parallel()
	needNodeShell(t)
	run := startRun(t, "unknown", counted(t))
	awaitCommand(t, run)
	crash(t, run)
	asked := awaitUnknown(t, run)
	wantEffects(t, run, "a1.t0.first", "a1.t0.second")
	decideUnknown(t, run, asked.ID, v1alpha1.DecisionRetry)
	wantWholeJournal(t, wantCompleted(t, run, soon))
	wantEffects(t, run, "a1.t0.first", "a1.t0.second", "a1.t0.second", "a1.t0.third")
}

// A tool server that keeps ending is given up, and its run starts over in another sandbox.
func TestFaultToolServerKeepsCrashing(t *testing.T) {
	t.Parallel()
	needNodeShell(t)
	run := startRun(t, "ask")
	asked := awaitQuestion(t, run)
	for range 3 {
		crash(t, run)
	}
	signalPod(t, sandboxPod(t, run), "KILL")
	again := awaitRun(t, run, soon, "another attempt", func(r *v1alpha1.MotorRun) bool {
		return len(r.Status.Attempts) == 2 && r.Status.Pending() != nil && r.Status.Pending().ID != asked.Status.Pending().ID
	})
	if f := attemptAt(t, again, 1).Failure; f == nil || f.Reason != v1alpha1.ReasonSandboxCrashed || f.Category != v1alpha1.CategoryInfraFailure {
		t.Errorf("the first attempt failed with %+v", f)
	}
	respond(t, run, again.Status.Pending().ID, "red")
	wantCompleted(t, run, soon)
	podIsGone(t, run, soon)
}

// Whether the kernel kills the program alone or the whole sandbox depends on the node; in either case nothing is done
// twice that nobody asked for.
func TestFaultSandboxRunsOutOfMemoryInACall(t *testing.T) {
	t.Parallel()
	run := startRun(t, "oom", counted(t), withResources(v1alpha1.SandboxResources{Memory: quantity("128Mi")}))
	now := awaitRun(t, run, 2*soon, "its end or a question", func(r *v1alpha1.MotorRun) bool {
		return r.Status.Pending() != nil || isTrue(r, v1alpha1.ConditionFinished)
	})
	if now.Status.Pending() != nil {
		decideUnknown(t, run, awaitUnknown(t, run).ID, v1alpha1.DecisionSkip)
	}
	wantWholeJournal(t, wantCompleted(t, run, soon))
	wantEffects(t, run, "a1.t0")
	podIsGone(t, run, soon)
}

// A model's answer that nobody waits for any more has no effect. It takes longer than the manager's patience.
func TestFaultModelAnswersTooLate(t *testing.T) {
	if !long() {
		t.Skip("this takes two minutes: FAULTS_LONG=1")
	}
	t.Parallel()
	c := newCheck(t, "late")
	c.extra = 1
	wantCompleted(t, c.start("0"), 4*soon)
	c.wantInvariants(t)
}

// Another writer changes the run as fast as it can, spec and status, with the manager's own rights.
func TestFaultAnotherWriterIsInTheWay(t *testing.T) {
	t.Parallel()
	asManager := managerClient(t)
	run := startRun(t, "ask-between")
	ctx, stop := context.WithCancel(t.Context())
	var writes atomic.Int32
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		storm(ctx, asManager, client.ObjectKeyFromObject(run), &writes)
	}()
	asked := awaitQuestion(t, run)
	// It is in the way before the question and after it.
	before := writes.Load()
	must(t, wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, soon, true, func(context.Context) (bool, error) {
		return writes.Load() >= before+20, nil
	}))
	respond(t, run, asked.Status.Pending().ID, "after")
	done := wantCompleted(t, run, 2*soon)
	stop()
	<-ended
	t.Logf("the other writer wrote %d times", writes.Load())
	if s := done.Status.Result.Summary; s != "before\nafter" {
		t.Errorf("summary %q", s)
	}
	wantWholeJournal(t, done)
	podIsGone(t, run, soon)
}

// storm writes until the context ends, and counts how often it came through.
func storm(ctx context.Context, c client.Client, key client.ObjectKey, writes *atomic.Int32) {
	for i := 0; ctx.Err() == nil; i++ {
		var run v1alpha1.MotorRun
		if err := c.Get(ctx, key, &run); err != nil {
			continue
		}
		before, now := run.DeepCopy(), time.Now().Format(time.RFC3339Nano)
		var err error
		if i%2 == 0 {
			metav1.SetMetaDataAnnotation(&run.ObjectMeta, "example.org/storm", now)
			err = suite.client.Patch(ctx, &run, client.MergeFrom(before))
		} else {
			// The whole list of conditions is replaced: without the lock, one that was written meanwhile would be lost.
			apimeta.SetStatusCondition(&run.Status.Conditions, metav1.Condition{Type: "Storm", Status: metav1.ConditionTrue, Reason: "Blowing", Message: now})
			err = c.Status().Patch(ctx, &run, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
		}
		if err == nil {
			writes.Add(1)
		}
	}
}
