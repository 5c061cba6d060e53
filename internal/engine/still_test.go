// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"testing"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/engine/enginetest"
	"motorcortex.dev/motorcortex/internal/runpolicy/observed"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

func TestStandsStill(t *testing.T) {
	t.Parallel()
	now := time.Unix(10000, 0)
	e := &Engine{Config: Config{Worker: "w"}, Now: func() time.Time { return now }}
	asked := func(kind v1alpha1.InputKind, ago time.Duration) func(*v1alpha1.MotorRun) {
		return func(r *v1alpha1.MotorRun) {
			r.Status.PendingInputs = v1alpha1.PendingList(&v1alpha1.PendingInput{ID: "q", Kind: kind, AskTime: metav1.NewTime(now.Add(-ago))})
		}
	}
	allowed := func(d v1alpha1.Decision) func(*v1alpha1.MotorRun) {
		return func(r *v1alpha1.MotorRun) {
			asked(v1alpha1.InputDomainRequest, 0)(r)
			r.Status.Pending().Domain = "example.org"
			r.Spec.Responses = []v1alpha1.Response{{ID: "q", Decision: d}}
		}
	}
	suspended := func(r *v1alpha1.MotorRun) { r.Spec.Suspend = true }
	hasMCP := func(server v1alpha1.MCPServer) func(*v1alpha1.MotorRun) {
		return func(r *v1alpha1.MotorRun) { r.Spec.Tools, r.Spec.MCPServers = nil, []v1alpha1.MCPServer{server} }
	}
	program, remote := hasMCP(v1alpha1.MCPServer{Command: []string{"server"}}), hasMCP(v1alpha1.MCPServer{URL: "https://example.org"})
	for name, tt := range map[string]struct {
		change []func(*v1alpha1.MotorRun)
		reason string
		again  time.Duration
	}{
		"it goes on":               {nil, "", 0},
		"suspended":                {[]func(*v1alpha1.MotorRun){suspended}, toolapi.StoppedSuspended, 0},
		"asks since a moment":      {[]func(*v1alpha1.MotorRun){asked(v1alpha1.InputQuestion, time.Minute)}, "", 9 * time.Minute},
		"asks for long":            {[]func(*v1alpha1.MotorRun){asked(v1alpha1.InputQuestion, 10*time.Minute)}, toolapi.StoppedAwaitingInput, 0},
		"asks for approval":        {[]func(*v1alpha1.MotorRun){asked(v1alpha1.InputApproval, time.Hour)}, toolapi.StoppedAwaitingInput, 0},
		"waits for a retry":        {[]func(*v1alpha1.MotorRun){asked(v1alpha1.InputRetry, time.Second)}, toolapi.StoppedFinished, 0},
		"asks and is suspended":    {[]func(*v1alpha1.MotorRun){asked(v1alpha1.InputQuestion, 0), suspended}, toolapi.StoppedSuspended, 0},
		"asks and has its answer":  {[]func(*v1alpha1.MotorRun){asked(v1alpha1.InputQuestion, time.Hour), func(r *v1alpha1.MotorRun) { r.Spec.Responses = []v1alpha1.Response{{ID: "q", Answer: "yes"}} }}, "", 0},
		"is allowed a domain once": {[]func(*v1alpha1.MotorRun){allowed(v1alpha1.DecisionAllowOnce)}, toolapi.StoppedWayOut, 0},
		"and has it": {[]func(*v1alpha1.MotorRun){allowed(v1alpha1.DecisionAllowOnce), func(r *v1alpha1.MotorRun) {
			r.Status.Pending().Answered = true
		}}, "", 0},
		"is allowed a domain":                            {[]func(*v1alpha1.MotorRun){allowed(v1alpha1.DecisionAllowRun)}, "", 0},
		"has no bash":                                    {[]func(*v1alpha1.MotorRun){suspended, func(r *v1alpha1.MotorRun) { r.Spec.Tools = nil }}, "", 0},
		"has an MCP server":                              {[]func(*v1alpha1.MotorRun){suspended, program}, toolapi.StoppedSuspended, 0},
		"has an MCP server and waits for a retry":        {[]func(*v1alpha1.MotorRun){asked(v1alpha1.InputRetry, 0), program}, toolapi.StoppedFinished, 0},
		"has an MCP server and is allowed a domain once": {[]func(*v1alpha1.MotorRun){allowed(v1alpha1.DecisionAllowOnce), program}, "", 0},
		"waits for its trial":                            {[]func(*v1alpha1.MotorRun){func(r *v1alpha1.MotorRun) { r.Status.Losses = &v1alpha1.LossStatus{Count: 2} }}, toolapi.StoppedSuspended, 0},
		"is set aside":                                   {[]func(*v1alpha1.MotorRun){func(r *v1alpha1.MotorRun) { r.Status.Losses = &v1alpha1.LossStatus{Count: 4, SetAside: true} }}, toolapi.StoppedSuspended, 0},
		"has an MCP server elsewhere":                    {[]func(*v1alpha1.MotorRun){suspended, remote}, "", 0},
		"has no sandbox":                                 {[]func(*v1alpha1.MotorRun){suspended, func(r *v1alpha1.MotorRun) { r.Status.Sandbox = nil }}, "", 0},
		"another replica's":                              {[]func(*v1alpha1.MotorRun){suspended, func(r *v1alpha1.MotorRun) { r.Status.Execution.Worker = "other" }}, "", 0},
		"is being cancelled":                             {[]func(*v1alpha1.MotorRun){suspended, func(r *v1alpha1.MotorRun) { r.Spec.Cancel = true }}, "", 0},
		"has ended": {[]func(*v1alpha1.MotorRun){suspended, func(r *v1alpha1.MotorRun) {
			apimeta.SetStatusCondition(&r.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionFinished, Status: metav1.ConditionTrue, Reason: "Done"})
		}}, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := holed()
			run.Spec.Tools = []v1alpha1.ToolName{toolapi.ToolBash}
			run.Spec.Limits.ActiveDeadlineSeconds = 600
			for _, change := range tt.change {
				change(run)
			}
			if reason, again := e.standsStill(run); reason != tt.reason || again != tt.again {
				t.Errorf("%q in %s, want %q in %s", reason, again, tt.reason, tt.again)
			}
		})
	}
}

// Time in which no manager led is none in which a person could answer.
func TestStandsStillByTheTimeThatIsKnown(t *testing.T) {
	t.Parallel()
	asked := enginetest.Noon
	after := asked.Add
	outage := []observed.Gap{{From: after(time.Minute), To: after(time.Hour)}}
	for name, tt := range map[string]struct {
		time   timekeeper
		reason string
		again  time.Duration
	}{
		"the API server's clock":     {timekeeper{now: after(9 * time.Minute)}, "", time.Minute},
		"a gap":                      {timekeeper{after(61 * time.Minute), observed.Time{Gaps: outage}}, "", 8 * time.Minute},
		"the rest of the time":       {timekeeper{after(69 * time.Minute), observed.Time{Gaps: outage}}, toolapi.StoppedAwaitingInput, 0},
		"nothing known since a time": {timekeeper{after(time.Hour), observed.Time{Until: after(time.Minute)}}, "", 10 * time.Second},
		"no heartbeat, not due":      {timekeeper{after(2 * time.Minute), observed.Time{Until: after(time.Minute)}}, "", 8 * time.Minute},
	} {
		run := holed()
		run.Spec.Tools, run.Spec.Limits.ActiveDeadlineSeconds = []v1alpha1.ToolName{toolapi.ToolBash}, 600
		run.Status.PendingInputs = v1alpha1.PendingList(&v1alpha1.PendingInput{ID: "q", Kind: v1alpha1.InputQuestion, AskTime: metav1.NewTime(asked)})
		e := &Engine{Config: Config{Worker: "w"}, Now: func() time.Time { return after(24 * time.Hour) }, Time: tt.time}
		if reason, again := e.standsStill(run); reason != tt.reason || again != tt.again {
			t.Errorf("%s: %q in %s, want %q in %s", name, reason, again, tt.reason, tt.again)
		}
	}
}

func TestSooner(t *testing.T) {
	t.Parallel()
	for _, tt := range [][3]time.Duration{{0, 0, 0}, {1, 0, 1}, {0, 2, 2}, {2, 1, 1}, {1, 2, 1}} {
		if got := sooner(tt[0], tt[1]); got != tt[2] {
			t.Errorf("%d and %d: %d, want %d", tt[0], tt[1], got, tt[2])
		}
	}
}
