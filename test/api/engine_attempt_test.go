// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/engine"
	"motorcortex.dev/motorcortex/internal/engine/attempt"
	"motorcortex.dev/motorcortex/internal/motorloop/chat"
	"motorcortex.dev/motorcortex/internal/motorloop/outcome"
	"motorcortex.dev/motorcortex/internal/runpolicy/replica"
	"motorcortex.dev/motorcortex/test/printed"
)

func TestEngineTriesAgainInTheSameWorkspace(t *testing.T) {
	look := call("bash", `{"command":"cat in.txt; echo a line >> in.txt"}`)
	r := newEngineRig(t, &stubModel{
		answers: []chat.Answer{says("", look), says("", call("list", `{}`)), says("", look), says("", call("list", `{"path":"."}`)), says("too late")},
		retry:   []chat.Answer{says("", call("read", `{"path":"in.txt"}`)), says("It has three lines.")},
	}, func(run *v1alpha1.MotorRun) {
		run.Spec.Tools = append(run.Spec.Tools, "list")
		run.Spec.Limits.MaxIterations = 4
		run.Spec.Files = []v1alpha1.InputFile{{Path: "in.txt", Content: new("a line\n")}}
	})
	r.startEngine("worker-1", nil)
	steps := r.steps(journalEnded)
	end := steps[len(steps)-1].Spec
	if len(steps) != 5 || end.Outcome == nil || end.Outcome.Reason != outcome.ReasonMaxIterations || end.Content != "in short" || end.Outcome.Hint != "in short" {
		t.Fatalf("the first attempt ended with %+v", end)
	}
	if end.Usage.TotalTokens != 24 {
		t.Errorf("partial result and hint took %+v", end.Usage)
	}
	if r.model.asked.Load() != 4 || r.model.asides.Load() != 2 {
		t.Errorf("the model was asked %d and %d times", r.model.asked.Load(), r.model.asides.Load())
	}

	// Nobody has decided about another attempt yet.
	r.changeStatus(func(st *v1alpha1.MotorRunStatus) {
		st.PendingInputs = v1alpha1.PendingList(&v1alpha1.PendingInput{ID: "retry-1", Kind: v1alpha1.InputRetry, Attempt: new(int32(2))})
	})
	r.changeStatus(func(st *v1alpha1.MotorRunStatus) {
		st.PendingInputs = nil
		st.Attempts = append(st.Attempts, v1alpha1.AttemptStatus{Index: 2, Cause: v1alpha1.CauseRetry, RecoveryContext: "Read the file."})
	})
	steps = r.steps(func(s []v1alpha1.MotorStep) bool { return journalEnded(s) && s[len(s)-1].Spec.Attempt == 2 })
	if len(steps) != 7 || steps[5].Name != "run-a02-s0001" || !steps[6].Spec.Final {
		t.Fatalf("the journal has %d steps", len(steps))
	}
	if got := resultAt(t, steps, 5, 0).Output; strings.Count(got, "a line") != 3 {
		t.Errorf("the second attempt finds %q", got)
	}
	if a, b := steps[0].Spec.Sandbox, steps[5].Spec.Sandbox; !equality.Semantic.DeepEqual(a, b) {
		t.Errorf("the sandboxes are %+v and %+v", a, b)
	}
	prompt := r.model.lastPrompt()
	if !strings.Contains(prompt, "<recovery_context>") || !strings.Contains(prompt, "Read the file.") || !strings.Contains(prompt, "You have 3 answers,") {
		t.Errorf("the second attempt is told:\n%s", prompt)
	}
}

// The next attempt is in another Pod: its isolation is proved and its workspace filled as for the first.
func TestEngineStartsAnewInAnotherSandbox(t *testing.T) {
	r := newEngineRig(t, &stubModel{retry: []chat.Answer{says("", call("read", `{"path":"in.txt"}`)), says("done")}}, func(run *v1alpha1.MotorRun) {
		run.Spec.Files = []v1alpha1.InputFile{{Path: "in.txt", Content: new("from the spec\n")}}
	})
	l := loadLog(r.ctx, t, manager, r.run, claim1)
	l.UseSandbox(v1alpha1.StepSandbox{PodUID: "lost", ServerKey: "sha256:lost", IsolationTries: 3})
	must(t, l.Append(r.ctx, turnAt(1, "", "bash:{}")))
	r.changeStatus(func(st *v1alpha1.MotorRunStatus) {
		st.Attempts = append(st.Attempts, v1alpha1.AttemptStatus{Index: 2, Cause: v1alpha1.CauseInfrastructure, RecoveryContext: "The workspace was lost."})
	})
	r.startEngine("worker-1", nil)
	steps := r.ended(2)
	first := steps[1]
	if sb := first.Spec.Sandbox; first.Name != "run-a02-s0001" || sb == nil || sb.PodUID != r.podUID || sb.ServerKey == "sha256:lost" || sb.IsolationTries < 3 {
		t.Errorf("step %s names the sandbox %+v", first.Name, first.Spec.Sandbox)
	}
	if got := resultIn(t, first.Status.Results, 0).Output; !strings.Contains(got, "from the spec") {
		t.Errorf("the second attempt finds %q", got)
	}
	// The step of the lost attempt stays as it was.
	if steps[0].Status.Phase != v1alpha1.StepInFlight {
		t.Errorf("the lost step's status is %+v", steps[0].Status)
	}
}

func TestEngineSuspendsAndResumes(t *testing.T) {
	r := newEngineRig(t, &stubModel{answers: []chat.Answer{says("", call("bash", slowSideEffect)), says("done")}})
	loops := make(chan context.Context, 10)
	r.startEngineWith("worker-1", func(e *engine.Engine) {
		e.Config.Fault = func(ctx context.Context, p attempt.FaultPoint, _ *v1alpha1.MotorRun, _ int32) {
			if p == attempt.AfterDispatch {
				loops <- ctx
			}
		}
	})
	first := <-loops
	must(t, mergePatch(r.ctx, r.run, `{"spec":{"suspend":true}}`))
	select {
	case <-first.Done():
	case <-r.ctx.Done():
		t.Fatal("the loop of a suspended run goes on")
	}
	must(t, os.WriteFile(filepath.Join(r.workspace, "go-on"), nil, 0o600))
	must(t, mergePatch(r.ctx, r.run, `{"spec":{"suspend":false}}`))
	steps := r.steps(journalEnded)
	if r.effects() != "effect\n" || len(steps) != 2 || r.model.asked.Load() != 2 {
		t.Errorf("the side effects are %q, the model was asked %d times", r.effects(), r.model.asked.Load())
	}
}

func TestEngineLeavesANamespaceThatGoes(t *testing.T) {
	r := newEngineRig(t, &stubModel{answers: []chat.Answer{says("done")}, hold: make(chan struct{})})
	var log printed.Text
	r.startEngineWith("worker-1", func(e *engine.Engine) { e.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	r.waitFor(func() bool { return r.model.asked.Load() == 1 })
	must(t, admin.Delete(r.ctx, namespace(r.run.Namespace)))
	r.waitFor(func() bool {
		return apierrors.IsForbidden(manager.Create(r.ctx, bareStep(r.run.Namespace, "probe")))
	})
	close(r.model.hold)
	r.waitFor(func() bool { return strings.Contains(log.String(), "the namespace is being deleted") })
	if strings.Contains(log.String(), "level=ERROR") || r.model.asked.Load() != 1 {
		t.Errorf("the model was asked %d times; the log is\n%s", r.model.asked.Load(), &log)
	}
}

// A conversation that is large for its window is summed up on the way, and whoever is killed on the way, the run goes on from its
// summaries.
func TestEngineGoesOnFromASummary(t *testing.T) {
	const turns = 23
	r := newEngineRig(t, &stubModel{window: 8000}, func(run *v1alpha1.MotorRun) { run.Spec.Limits.MaxIterations = 40 })
	most := 0
	r.model.reply = func(req chat.Request) chat.Answer {
		most = max(most, len(req.Messages))
		n := strings.Count(r.effects(), "\n")
		if n == turns {
			return says("done")
		}
		return says("", call("bash", fmt.Sprintf(`{"command":"echo %d >> effects; head -c 700 /dev/zero | tr '\\0' x"}`, n)))
	}
	r.await(r.startDoomed("worker-1", attempt.AfterIntent, 11))
	r.giveTo("worker-2", 2)
	r.startEngine("worker-2", nil)
	steps := r.steps(journalEnded)
	var summaries []int32
	for _, s := range steps {
		if s.Spec.Type == v1alpha1.StepSummary {
			summaries = append(summaries, s.Spec.Index)
			if s.Spec.Tools != "(summary)" || s.Spec.Content != "in short" || s.Spec.Through >= s.Spec.Index {
				t.Errorf("the summary %s is %+v", s.Name, s.Spec)
			}
		}
	}
	if len(summaries) == 0 || len(summaries) > 4 || len(steps) != turns+1+len(summaries) {
		t.Errorf("%d steps, the summaries among them are %v", len(steps), summaries)
	}
	var want strings.Builder
	for i := range turns {
		fmt.Fprintln(&want, i)
	}
	if r.effects() != want.String() || r.model.asked.Load() != turns+1 || r.model.asides.Load() != int32(len(summaries)) {
		t.Errorf("the side effects are %q, the model was asked %d and %d times", r.effects(), r.model.asked.Load(), r.model.asides.Load())
	}
	if most > 2*turns {
		t.Errorf("a conversation had %d messages", most)
	}
}

func TestEngineStopsAtOnce(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		model *stubModel
		busy  func(*engineRig)
	}{
		"while the model thinks": {
			&stubModel{hold: make(chan struct{})},
			func(r *engineRig) { r.waitFor(func() bool { return r.model.asked.Load() == 1 }) },
		},
		"while a tool works": {
			&stubModel{answers: []chat.Answer{says("", call("bash", slowSideEffect))}},
			func(r *engineRig) { waitForFile(r.ctx, r.t, filepath.Join(r.workspace, "effects")) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newEngineRig(t, tt.model)
			stop := r.startEngine("worker-1", nil)
			tt.busy(r)
			leases, err := coordinationv1client.NewForConfig(adminConfig)
			must(t, err)
			name := replica.LeaseName("worker-1-" + r.run.Namespace)
			lease, err := leases.Leases(managerNamespace).Get(r.ctx, name, metav1.GetOptions{})
			must(t, err)
			if *lease.Spec.HolderIdentity != "worker-1" || lease.Labels[v1alpha1.LabelComponent] != v1alpha1.ComponentWorker || *lease.Spec.LeaseDurationSeconds != 10 {
				t.Errorf("the Lease is %+v", lease)
			}
			begin := time.Now()
			stop()
			// The model and the tool never end by themselves, and what a manager does not end in 30 s it leaves behind.
			if took := time.Since(begin); took > 20*time.Second {
				t.Errorf("the engine took %s to stop", took)
			}
			if _, err := leases.Leases(managerNamespace).Get(r.ctx, name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
				t.Errorf("its Lease is still there: %v", err)
			}
			must(t, os.WriteFile(filepath.Join(r.workspace, "go-on"), nil, 0o600))
		})
	}
}
