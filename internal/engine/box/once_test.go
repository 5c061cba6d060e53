// SPDX-License-Identifier: Apache-2.0

package box

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/engine/enginetest"
	"motorcortex.dev/motorcortex/internal/engine/runenv"
	"motorcortex.dev/motorcortex/internal/journal"
	"motorcortex.dev/motorcortex/internal/runpolicy/calls"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// loggingSandbox is a tool server that records its requests, and knows one call.
type loggingSandbox struct {
	phase toolapi.CallPhase
	mu    sync.Mutex
	asked []string
}

func (s *loggingSandbox) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var answer any = toolapi.Hello{PodUID: "pod", APIVersion: toolapi.APIVersion, Features: toolapi.Features()}
	switch {
	case strings.HasPrefix(r.URL.Path, toolapi.PathCalls):
		state := toolapi.CallState{Phase: s.phase}
		if s.phase == toolapi.CallFinished {
			state.Result = &toolapi.Result{OK: true, Provenance: toolapi.ProvenanceInternal}
		}
		answer = state
	case r.URL.Path == toolapi.PathBackground:
		answer = toolapi.BackgroundResponse{}
		s.mu.Lock()
		s.asked = append(s.asked, r.Method+" "+strings.TrimSpace(string(body)))
		s.mu.Unlock()
	}
	_ = json.NewEncoder(w).Encode(answer)
}

const allowedOnce = "example.org"

// allowedBox is the sandbox of a run that was allowed a domain once. programs are its background programs, and reaches are the domains that
// its proxy allows.
func allowedBox(t *testing.T, change func(*v1alpha1.MotorRun), programs []v1alpha1.StepProgram, reaches ...v1alpha1.Domain) (*Box, client.Client) {
	t.Helper()
	run := enginetest.ReadyRun()
	run.UID = "run-uid"
	run.Spec.Tools = []v1alpha1.ToolName{toolapi.ToolBash, toolapi.ToolRequestDomain}
	run.Status.Egress = &v1alpha1.EgressStatus{Domains: reaches}
	step := &v1alpha1.MotorStep{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: run.Namespace, Name: journal.StepName(run.Name, 1, 1), Labels: map[string]string{v1alpha1.LabelRun: run.Name},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(run, v1alpha1.GroupVersion.WithKind("MotorRun"))},
		},
		Spec: v1alpha1.MotorStepSpec{
			Type: v1alpha1.StepTurn, Attempt: 1, Index: 1, Epoch: 1, Sandbox: &v1alpha1.StepSandbox{PodUID: "pod"},
			ToolCalls: []v1alpha1.ToolCall{{ID: "a1-s1-c0", Tool: toolapi.ToolRequestDomain, Arguments: `{"domain":"` + allowedOnce + `","reason":"why"}`}},
		},
		Status: v1alpha1.MotorStepStatus{Results: []v1alpha1.ToolResult{{CallID: "a1-s1-c0", OK: true}}, Background: programs},
	}
	id := calls.AskID(step, v1alpha1.InputDomainRequest, "a1-s1-c0")
	step.Status.Asks = []v1alpha1.StepAsk{{
		ID: id, Kind: v1alpha1.InputDomainRequest, CallID: "a1-s1-c0", Domain: allowedOnce, Outcome: v1alpha1.AskApproved, Decision: v1alpha1.DecisionAllowOnce,
	}}
	run.Spec.Responses = []v1alpha1.Response{{ID: id, Decision: v1alpha1.DecisionAllowOnce}}
	if change != nil {
		change(run)
	}
	c := fake.NewClientBuilder().WithScheme(enginetest.Scheme(t)).WithObjects(run, step).WithStatusSubresource(run, step).Build()
	return &Box{Env: enginetest.Env(t, c, run, time.Now), Limited: true}, c
}

// Background programs end before the call for which a domain was allowed once, and before no other.
func TestBackgroundEndsBeforeTheCallOfAllowOnce(t *testing.T) {
	t.Parallel()
	const ends = `POST {"reason":"WayOutGranted"}`
	suspended := func(run *v1alpha1.MotorRun) { run.Spec.Suspend = true }
	for name, tt := range map[string]struct {
		tool     string
		left     bool
		phase    toolapi.CallPhase
		reaches  []v1alpha1.Domain
		change   func(*v1alpha1.MotorRun)
		programs []v1alpha1.StepProgram
		want     string
	}{
		"its call":                     {toolapi.ToolBash, true, toolapi.CallAbsent, []v1alpha1.Domain{allowedOnce}, nil, nil, ends},
		"ended by itself":              {toolapi.ToolBash, false, toolapi.CallAbsent, []v1alpha1.Domain{allowedOnce}, nil, []v1alpha1.StepProgram{{CallID: "a1-s1-c0", Execution: "a1-s1-c0", State: v1alpha1.ProgramSucceeded}}, ""},
		"nothing is in the background": {toolapi.ToolBash, false, toolapi.CallAbsent, []v1alpha1.Domain{allowedOnce}, nil, nil, ""},
		"the call runs":                {toolapi.ToolBash, true, toolapi.CallRunning, []v1alpha1.Domain{allowedOnce}, nil, nil, ""},
		"the call was made":            {toolapi.ToolBash, true, toolapi.CallFinished, []v1alpha1.Domain{allowedOnce}, nil, nil, ""},
		"a call that stays inside":     {toolapi.ToolRead, true, toolapi.CallAbsent, nil, nil, nil, ""},
		"it does not count":            {toolapi.ToolBash, true, toolapi.CallAbsent, nil, suspended, nil, ""},
		"nothing was allowed once": {toolapi.ToolBash, true, toolapi.CallAbsent, nil, func(run *v1alpha1.MotorRun) {
			run.Spec.Responses[0].Decision = v1alpha1.DecisionAllowRun
		}, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			box, _ := allowedBox(t, tt.change, tt.programs, tt.reaches...)
			sandbox := &loggingSandbox{phase: tt.phase}
			box.Client, box.left = enginetest.ToolsAt(t, sandbox), tt.left
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if err := box.awaitOnce(ctx, toolapi.Call{ID: "a1-s2-c0", Tool: tt.tool}); err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(sandbox.asked, ", "); got != tt.want {
				t.Errorf("the sandbox was asked %q, want %q", got, tt.want)
			}
		})
	}
}

// No call that could use a domain is made while the proxy is out of date: before it allows the run's domains, and as long as it allows expired
// ones. Calls that stay inside, and runs without domains, do not wait.
func TestCallsWaitForTheProxyToKnowWhatWasAllowedOnce(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		tool    string
		reaches []v1alpha1.Domain
		change  func(*v1alpha1.MotorRun)
		// bare is without a loop, gone without a run that could be read.
		bare, gone bool
		waits      bool
		programs   []v1alpha1.StepProgram
	}{
		"it counts":                  {toolapi.ToolBash, nil, nil, false, false, true, nil},
		"it does not count any more": {toolapi.ToolBash, []v1alpha1.Domain{allowedOnce}, func(run *v1alpha1.MotorRun) { run.Spec.Suspend = true }, false, false, true, nil},
		"a program is in the background since before": {
			toolapi.ToolBash, []v1alpha1.Domain{allowedOnce}, nil, false, false, true,
			[]v1alpha1.StepProgram{{CallID: "a1-s1-c0", Execution: "a1-s1-c0", State: v1alpha1.ProgramRunning}},
		},
		"a call that stays inside": {toolapi.ToolRead, nil, nil, false, false, false, nil},
		// The domains in the policy of the run's skill need no permission of a person.
		"the skill has the domain": {toolapi.ToolBash, nil, func(run *v1alpha1.MotorRun) {
			run.Status.Skill = &v1alpha1.RunSkill{Approved: true, Policy: &v1alpha1.SkillPolicy{Domains: []v1alpha1.Domain{allowedOnce}}}
		}, false, false, false, nil},
		"no loop runs": {toolapi.ToolBash, nil, nil, true, false, false, nil},
		"nothing was allowed once, and nothing is read": {toolapi.ToolBash, nil, func(run *v1alpha1.MotorRun) {
			run.Spec.Responses[0].Decision = v1alpha1.DecisionAllowRun
		}, false, true, false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				box, c := allowedBox(t, tt.change, tt.programs, tt.reaches...)
				if tt.bare {
					box.Limited = false
				}
				if tt.gone {
					if err := c.Delete(t.Context(), box.Env.Run.DeepCopy()); err != nil {
						t.Fatal(err)
					}
				}
				began := time.Now()
				err := box.awaitOnce(t.Context(), toolapi.Call{ID: "a1-s2-c0", Tool: tt.tool})
				switch took := time.Since(began); {
				case tt.waits && (!errors.Is(err, runenv.ErrMissing) || took != onceTimeout):
					t.Errorf("%v after %s", err, took)
				case !tt.waits && (err != nil || took > 0):
					t.Errorf("%v after %s", err, took)
				}
			})
		})
	}
}

// The call continues as soon as the proxy knows.
func TestCallGoesOnWhenTheProxyKnows(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		box, c := allowedBox(t, nil, nil)
		time.AfterFunc(10*time.Second, func() {
			run := box.Env.Run.DeepCopy()
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(run), run); err != nil {
				t.Error(err)
				return
			}
			run.Status.Egress.Domains = []v1alpha1.Domain{allowedOnce}
			if err := c.Status().Update(t.Context(), run); err != nil {
				t.Error(err)
			}
		})
		began := time.Now()
		if err := box.awaitOnce(t.Context(), toolapi.Call{ID: "a1-s2-c0", Tool: toolapi.ToolBash}); err != nil || time.Since(began) > 10*time.Second+oncePause {
			t.Errorf("%v after %s", err, time.Since(began))
		}
	})
}
