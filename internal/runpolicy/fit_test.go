// SPDX-License-Identifier: Apache-2.0

package runpolicy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/runpolicy/fit"
	"motorcortex.dev/motorcortex/internal/runpolicy/reach"
	"motorcortex.dev/motorcortex/internal/runpolicy/recovery"
	"motorcortex.dev/motorcortex/internal/skill"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// runConditions are all that a run can have.
var runConditions = []string{
	v1alpha1.ConditionAccepted, v1alpha1.ConditionSandboxReady, v1alpha1.ConditionUserNamespace, v1alpha1.ConditionIsolationVerified, v1alpha1.ConditionConfined,
	v1alpha1.ConditionToolsOffered, v1alpha1.ConditionEgressReady, v1alpha1.ConditionCredentialsExposed, v1alpha1.ConditionModelAvailable,
	v1alpha1.ConditionAwaitingInput, v1alpha1.ConditionResponsesValid, v1alpha1.ConditionSuspended,
	v1alpha1.ConditionSucceeded, v1alpha1.ConditionFinished, v1alpha1.ConditionReconciling, v1alpha1.ConditionStalled,
}

// fullStatus has every field as large as the operator may make it.
func fullStatus() *v1alpha1.MotorRunStatus { return fullStatusWith(nil) }

// fullStatusWith returns the full status of a run with a skill.
func fullStatusWith(s *v1alpha1.RunSkill) *v1alpha1.MotorRunStatus {
	text := func(size int) string { return fit.CutEncoded(strings.Repeat("<漢\"\n", size), size) }
	at := new(metav1.NewTime(t0))
	st := &v1alpha1.MotorRunStatus{
		ObservedGeneration: 1 << 40, Phase: v1alpha1.PhaseAwaitingInput, Reason: strings.Repeat("R", 40), PendingKind: v1alpha1.InputOutcomeUnknown, Message: text(1000),
		Execution: v1alpha1.ExecutionStatus{Worker: strings.Repeat("w", 253), Epoch: 1 << 40},
		Model:     strings.Repeat("m", 256), Steps: 500, Usage: bigUsage(), Paused: v1alpha1.PauseStatus{StartTime: at, DurationSeconds: 1 << 40, ObservedTime: at}, StartTime: at,
		Losses: &v1alpha1.LossStatus{Count: 1 << 10, LastLossTime: *at, AloneEpoch: 1 << 40, AloneStartTime: at, Trials: 1 << 10, TrialsLost: 2, SetAside: true},
		Sandbox: &v1alpha1.SandboxStatus{
			PodName: strings.Repeat("p", 63), PodUID: strings.Repeat("u", 36), PodIP: strings.Repeat("i", 39), PoolName: strings.Repeat("p", 40), NodeIP: strings.Repeat("i", 39),
			NodeName: strings.Repeat("n", 253), CreationTime: at, IsolationLossTime: at,
		},
		Egress: fullEgress(),
		PendingInputs: v1alpha1.PendingList(&v1alpha1.PendingInput{
			ID: strings.Repeat("i", 64), Kind: v1alpha1.InputQuestion, Title: strings.Repeat("<", 40), Question: text(4096), Default: text(512),
			StepName: strings.Repeat("s", 60), AskTime: *at, ExpirationTime: *at, OnTimeout: v1alpha1.OnTimeoutUseDefault, Answered: true,
		}),
	}
	st.Artifacts, _ = fit.ShowArtifacts(fullArtifacts())
	st.Skill = s
	for range 10 {
		st.Pending().Options = append(st.Pending().Options, text(512))
	}
	for range 8 {
		st.Pending().Files = append(st.Pending().Files, text(256))
	}
	for _, t := range runConditions {
		st.Conditions = append(st.Conditions, metav1.Condition{
			Type: t, Status: metav1.ConditionFalse, Reason: strings.Repeat("R", 30), Message: text(1000), LastTransitionTime: *at, ObservedGeneration: 1 << 40,
		})
	}
	operator, person := recovery.Room(st.Skill)
	for i := range int32(10) {
		a := v1alpha1.AttemptStatus{
			Index: i + 1, Cause: v1alpha1.CauseInfrastructure, RecoveryContext: text(operator + person), StartTime: at, Iterations: 50, Usage: bigUsage(),
		}
		for range maxLastCalls {
			a.LastCalls = append(a.LastCalls, v1alpha1.CallHead{
				ID: strings.Repeat("i", 20), Tool: text(maxTool), ErrorCode: strings.Repeat("e", 64), DurationMilliseconds: 1 << 40, Head: text(fit.MaxHead),
			})
		}
		if i < 9 {
			a.CompletionTime = at
			a.Failure = &v1alpha1.FailureSummary{
				Category: v1alpha1.CategoryBudgetExhausted, Reason: strings.Repeat("R", 30), Message: text(1024), Hint: text(1024),
				LastStepName: strings.Repeat("s", 60), SuggestedAction: v1alpha1.ActionRetryWithGuidance,
			}
		}
		st.Attempts = append(st.Attempts, a)
	}
	return st
}

// fullEgress has as many domains, and as long ones, as a run can have.
func fullEgress() *v1alpha1.EgressStatus {
	e := &v1alpha1.EgressStatus{Proxy: strings.Repeat("p", 45), Attempt: 10}
	run := testRun()
	for i := range reach.MaxDomains {
		run.Spec.Domains = append(run.Spec.Domains, v1alpha1.Domain(fmt.Sprintf("%s%d.example.org:65535", strings.Repeat("d", i%40+1), i)))
	}
	e.Domains = Domains(run, Progress{}, nil)
	for i := range 16 {
		e.Credentials = append(e.Credentials, fmt.Sprintf("%s%02d", strings.Repeat("c", 61), i))
	}
	return e
}

// fullSkill has the largest policy and the most packages that a skill can have.
func fullSkill() *v1alpha1.RunSkill {
	s := &v1alpha1.RunSkill{
		Name: strings.Repeat("s", 64), RevisionName: strings.Repeat("s", 77), ContentHash: "sha256:" + strings.Repeat("0", 64),
		PolicyHash: "sha256:" + strings.Repeat("0", 64), Approved: true, Policy: &v1alpha1.SkillPolicy{},
		Packages: &v1alpha1.PackageArchive{SHA256: strings.Repeat("0", 64), Size: 20 << 20},
	}
	for i := range 27 {
		s.Packages.ConfigMapNames = append(s.Packages.ConfigMapNames, fmt.Sprintf("%s-packages-%s-%d", strings.Repeat("s", 64), strings.Repeat("0", 12), i))
	}
	for i := 0; ; i++ {
		s.Policy.Inputs = append(s.Policy.Inputs, v1alpha1.SkillInput{Name: fmt.Sprintf("input-%d", i), Description: strings.Repeat("<", 40)})
		if skill.CheckPolicy(s.Policy) != nil {
			s.Policy.Inputs = s.Policy.Inputs[:i]
			return s
		}
	}
}

// fullArtifacts returns as many artifacts as are collected, of each kind as large as they can be.
func fullArtifacts() *v1alpha1.ArtifactList {
	list := &v1alpha1.ArtifactList{Omitted: 1 << 30}
	for i := range toolapi.MaxArtifacts {
		a := v1alpha1.Artifact{Path: fmt.Sprintf("artifacts/%02d%s", i, strings.Repeat("<", 2*i)), Size: 1 << 40}
		if i%3 == 0 {
			a.Skipped, a.Message = v1alpha1.SkippedUnreadable, strings.Repeat("\"", 256)
		} else {
			a.MediaType, a.SHA256, a.Provenance = "application/octet-stream", strings.Repeat("0", 64), "Internal"
			a.ConfigMapName = strings.Repeat("r", 48) + "-artifact-" + strings.Repeat("0", 20)
		}
		list.Files = append(list.Files, a)
	}
	return list
}

func bigUsage() v1alpha1.Usage {
	return v1alpha1.Usage{PromptTokens: 1 << 40, CompletionTokens: 1 << 40, CachedTokens: 1 << 40, TotalTokens: 1 << 40, Cost: "999999999.999999999", Currency: "EUR"}
}

func TestFit(t *testing.T) {
	t.Parallel()
	at := new(metav1.NewTime(t0))
	fail := func(st *v1alpha1.MotorRunStatus) {
		last := &st.Attempts[9]
		last.CompletionTime, last.Failure = at, new(*st.Attempts[8].Failure)
	}
	tests := map[string]func(*v1alpha1.MotorRunStatus){
		"it asks, in the last attempt": func(*v1alpha1.MotorRunStatus) {},
		"it asks for approval": func(st *v1alpha1.MotorRunStatus) {
			step := testStep(10, 50, call("bash", `{"command":"`+strings.Repeat("<", 90_000)+`"}`), approval("a10-s50-c0", "a10-s50-c0", "", 0, 0))
			st.Phase, st.PendingInputs = v1alpha1.PhaseAwaitingApproval, v1alpha1.PendingList(Shown(approvalRun(v1alpha1.RunApproval{Required: v1alpha1.ApprovalAlways}), &step, OpenAsk(&step)))
		},
		"it waits for a retry": func(st *v1alpha1.MotorRunStatus) {
			st.Pending().Kind, st.Pending().Options, st.Pending().Files = v1alpha1.InputRetry, nil, nil
			fail(st)
		},
		"it ends, and what it leaves behind is collected": func(st *v1alpha1.MotorRunStatus) {
			st.PendingInputs = nil
			st.Ending = &v1alpha1.RunEnding{DecisionTime: *at, Reason: strings.Repeat("R", 30), Message: st.Message, Failure: new(*st.Attempts[8].Failure)}
		},
		"it has ended": func(st *v1alpha1.MotorRunStatus) {
			st.PendingInputs, st.Losses = nil, nil
			fail(st)
			st.CompletionTime = at
			text := fit.CutEncoded(strings.Repeat("<", 10_000), 8192)
			st.Result = &v1alpha1.RunResult{Artifacts: st.Artifacts, ArtifactsOmitted: 3, Skills: fit.ShowSkills(fullSkills()), Summary: text, Partial: fit.CutEncoded(text, 4096), Stats: v1alpha1.RunStats{DurationMilliseconds: 1 << 40, Tokens: 1 << 40}}
			st.Artifacts = nil
		},
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st := fullStatus()
			change(st)
			testFit(t, st, 10)
		})
		t.Run(name+", with a skill", func(t *testing.T) {
			t.Parallel()
			st := fullStatusWith(fullSkill())
			change(st)
			testFit(t, st, 3)
		})
	}
}

// testFit reports whether what is left of a status is what it should be, with so many artifacts at least if the run has ended.
func testFit(t *testing.T, st *v1alpha1.MotorRunStatus, artifacts int) {
	t.Helper()
	whole := st.DeepCopy()
	fit.Fit(st)
	if n := jsonSize(st); n > fit.MaxStatusBytes {
		t.Errorf("%d bytes", n)
	}
	again := st.DeepCopy()
	fit.Fit(again)
	if diff := cmp.Diff(st, again); diff != "" {
		t.Errorf("what fits was made smaller:\n%s", diff)
	}
	if p := st.Pending(); p != nil && p.Kind == v1alpha1.InputRetry && p.Question != whole.Pending().Question {
		t.Error("how to try again was cut")
	}
	if p := st.Pending(); p != nil && p.Action != nil && (p.Question != whole.Pending().Question || p.Action.ArgsDigest == "" || len(p.Action.Arguments) < 100) {
		t.Errorf("what is decided about was cut: %+v", p)
	}
	if was, is := whole.Result, st.Result; was != nil {
		if all := int32(len(was.Artifacts)) + was.ArtifactsOmitted; int32(len(is.Artifacts))+is.ArtifactsOmitted != all || len(is.Artifacts) < artifacts {
			t.Errorf("of %d artifacts there are %d, and %d beside them", all, len(is.Artifacts), is.ArtifactsOmitted)
		}
	}
	if st.Attempts[9].CompletionTime == nil && st.Attempts[9].RecoveryContext != whole.Attempts[9].RecoveryContext {
		t.Error("what the model of the current attempt is told was cut")
	}
	if diff := cmp.Diff(whole.Egress, st.Egress); diff != "" || len(st.Egress.Domains) < 80 {
		t.Errorf("what the sandbox may reach was changed:\n%s", diff)
	}
	if diff := cmp.Diff(whole.Skill, st.Skill); diff != "" {
		t.Errorf("the skill was changed:\n%s", diff)
	}
	for i := range st.Conditions {
		st.Conditions[i].Message = whole.Conditions[i].Message
	}
	if diff := cmp.Diff(whole.Conditions, st.Conditions); diff != "" {
		t.Errorf("a condition lost more than words:\n%s", diff)
	}
	for i := range st.Attempts {
		if f := st.Attempts[i].Failure; f != nil && (f.Reason != whole.Attempts[i].Failure.Reason || f.Message == "") {
			t.Errorf("attempt %d failed with %+v", i, f)
		}
	}
}

// A status of the usual size stays as it is.
func TestFitLeavesAloneWhatFits(t *testing.T) {
	t.Parallel()
	st := fullStatus()
	st.Attempts = st.Attempts[8:9]
	st.Attempts[0].RecoveryContext = ""
	st.Pending().Options, st.Pending().Files, st.Egress, st.Artifacts, st.Conditions = nil, nil, nil, nil, st.Conditions[:14]
	before := st.DeepCopy()
	if fit.Fit(st); cmp.Diff(before, st) != "" {
		t.Errorf("a status of %d bytes was changed", jsonSize(before))
	}
}
