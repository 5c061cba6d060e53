// SPDX-License-Identifier: Apache-2.0

package decision

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/audit/ocsf"
	"motorcortex.dev/motorcortex/internal/audit/ocsf/ocsftest"
)

var begin = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)

func at(seconds int) metav1.Time {
	return metav1.NewTime(begin.Add(time.Duration(seconds) * time.Second))
}

const digest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// run was created by ann, failed once, and was retried by bob, who added a domain, and cancelled by eve.
func run() *v1alpha1.MotorRun {
	return &v1alpha1.MotorRun{
		ObjectMeta: metav1.ObjectMeta{Name: "portfolio", Namespace: "agents", UID: "run-uid", CreationTimestamp: at(0)},
		Spec: v1alpha1.MotorRunSpec{
			Requester: &v1alpha1.Requester{Username: "ann"}, Domains: []v1alpha1.Domain{"example.org"}, Tools: []v1alpha1.ToolName{"bash"},
			Responses: []v1alpha1.Response{
				{ID: "q1", Answer: "hunter2", RespondedBy: "ann"},
				{ID: "retry-1", Decision: v1alpha1.DecisionRetry, Guidance: "look again", AddDomains: []v1alpha1.Domain{"example.net"}, RespondedBy: "bob"},
			},
			Cancel: true, CancelledBy: "eve",
		},
		Status: v1alpha1.MotorRunStatus{
			Reason: v1alpha1.ReasonCancelled, CompletionTime: new(at(90)),
			Attempts: []v1alpha1.AttemptStatus{{Index: 1, CompletionTime: new(at(30)), Failure: &v1alpha1.FailureSummary{Reason: "Stuck"}}, {Index: 2, StartTime: new(at(40))}},
		},
	}
}

// step has asks of each kind and outcome.
func step() *v1alpha1.MotorStep {
	closed := func(id string, kind v1alpha1.InputKind, outcome v1alpha1.AskOutcome, by string) v1alpha1.StepAsk {
		return v1alpha1.StepAsk{ID: id, Kind: kind, CallID: "c0", AskTime: at(10), CloseTime: at(20), Outcome: outcome, By: by}
	}
	approval := closed("a", v1alpha1.InputApproval, v1alpha1.AskApproved, "bob")
	approval.Digest, approval.Rule, approval.Decision, approval.Reason = digest, "push", v1alpha1.DecisionApproveOnce, "looked\nat it"
	domain := closed("d", v1alpha1.InputDomainRequest, v1alpha1.AskDenied, "bob")
	domain.Domain = "evil.test"
	return &v1alpha1.MotorStep{
		ObjectMeta: metav1.ObjectMeta{
			Name: "portfolio-a01-s0001", Namespace: "agents", UID: "step-uid", Labels: map[string]string{v1alpha1.LabelRun: "portfolio"},
			OwnerReferences: []metav1.OwnerReference{{Kind: "MotorRun", Name: "portfolio", UID: "run-uid", Controller: new(true)}},
		},
		Spec: v1alpha1.MotorStepSpec{ToolCalls: []v1alpha1.ToolCall{{ID: "c0", Tool: "bash", Arguments: `{"command":"git push"}`}}},
		Status: v1alpha1.MotorStepStatus{Asks: []v1alpha1.StepAsk{
			approval, domain, closed("q", v1alpha1.InputQuestion, v1alpha1.AskAnswered, ""), closed("e", v1alpha1.InputApproval, v1alpha1.AskExpired, ""),
			closed("u", v1alpha1.InputOutcomeUnknown, v1alpha1.AskAnswered, "bob"),
			{ID: "open", Kind: v1alpha1.InputQuestion, CallID: "c0", AskTime: at(10)},
		}},
	}
}

func skill() *v1alpha1.Skill {
	return &v1alpha1.Skill{
		ObjectMeta: metav1.ObjectMeta{Name: "deploy", Namespace: "agents", UID: "skill-uid"},
		Spec: v1alpha1.SkillSpec{
			Approval:   &v1alpha1.SkillApproval{Decision: v1alpha1.SkillDecisionRevoked, ContentHash: digest, PolicyHash: digest, ApprovedBy: "ann", Note: "no more"},
			Rejections: []v1alpha1.SkillRejection{{ContentHash: digest, RejectedBy: "bob"}},
		},
		Status: v1alpha1.SkillStatus{Approved: &v1alpha1.ApprovedRevision{
			RevisionName: "deploy-1", ContentHash: digest, PolicyHash: digest, ApprovedBy: "ann", Account: "system:serviceaccount:flux:flux", ObservedTime: at(50),
		}},
	}
}

// inShort is an event in a few words.
func inShort(e *ocsf.Event) string {
	who := e.Actor.AppName
	if e.Actor.User != nil {
		who = e.Actor.User.Name
	}
	return strings.Join([]string{who, e.API.Operation, e.Resources[len(e.Resources)-1].Type, time.UnixMilli(e.Time).UTC().Format("15:04:05"), []string{"", "allowed", "denied"}[e.Action]}, " ")
}

func TestWhoDecidedWhatIsInTheAudit(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		of   any
		want []string
	}{
		"a run": {run(), []string{"ann create MotorRun 12:00:00 ", "bob retry MotorRun 12:00:40 ", "eve cancel MotorRun 12:01:30 "}},
		"a step": {step(), []string{
			"bob approve ToolCall 12:00:20 allowed", "bob deny ToolCall 12:00:20 denied", "unknown answer ToolCall 12:00:20 ",
			"motorcortex-manager expire ToolCall 12:00:20 denied", "bob settle ToolCall 12:00:20 ",
		}},
		"a skill": {skill(), []string{
			"system:serviceaccount:flux:flux approve Skill 12:00:50 allowed", "ann revoke Skill 00:00:00 denied", "bob reject Skill 00:00:00 denied",
		}},
		"another object": {&v1alpha1.MotorCortex{}, nil},
	} {
		var got []string
		ids := map[string]bool{}
		for _, e := range Of(tt.of, "1.2.3") {
			got = append(got, inShort(e))
			if ids[e.Metadata.UID] || e.Metadata.CorrelationUID == "" {
				t.Errorf("%s: the id %s is that of two events, or %s of no object", name, e.Metadata.UID, e.Metadata.CorrelationUID)
			}
			ids[e.Metadata.UID] = true
			line, err := json.Marshal(e)
			if err != nil {
				t.Fatal(err)
			}
			if err := ocsftest.Check(line); err != nil {
				t.Errorf("%s: %s: %v", name, line, err)
			}
			// Answers, guidance and arguments are content: they can have secrets in them.
			for _, content := range []string{"hunter2", "look again", "git push"} {
				if strings.Contains(string(line), content) {
					t.Errorf("%s: the audit has %q", name, content)
				}
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// An approval names exactly what was approved, and a retry what it added.
func TestDecisionNamesItsAction(t *testing.T) {
	t.Parallel()
	approval := Of(step(), "")[0].Resources
	if diff := cmp.Diff([]ocsf.Resource{
		{Type: "MotorRun", Name: "portfolio", Namespace: "agents", UID: "run-uid"},
		{Type: "MotorStep", Name: "portfolio-a01-s0001", Namespace: "agents", UID: "step-uid"},
		{Type: "ToolCall", Name: "bash", UID: "c0", Data: map[string]any{
			"ask": "a", "kind": "Approval", "digest": digest, "rule": "push", "decision": "ApproveOnce", "outcome": "Approved", "reason": "looked\nat it",
		}},
	}, approval); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if domains := Of(run(), "")[1].Resources[0].Data["domains"]; !cmp.Equal(domains, []string{"example.net"}) {
		t.Errorf("the retry has the domains %v", domains)
	}
}

// What was not put to use yet is no decision.
func TestOpenDecisionsAreNotThere(t *testing.T) {
	t.Parallel()
	goes := run()
	goes.Status.CompletionTime, goes.Status.Attempts = nil, goes.Status.Attempts[:1]
	if list := Of(goes, ""); len(list) != 1 {
		t.Errorf("a run that goes has %d decisions", len(list))
	}
	succeeded := run()
	succeeded.Status.Reason = v1alpha1.ReasonCompleted
	if list := Of(succeeded, ""); len(list) != 2 {
		t.Errorf("a run that had succeeded before it was cancelled has %d decisions", len(list))
	}
	again := skill()
	again.Status.Approved.ObservedTime = at(100)
	if Of(again, "")[0].Metadata.UID == Of(skill(), "")[0].Metadata.UID {
		t.Error("a second approval has the id of the first")
	}
}

// Content that was approved again can be revoked again: by whom and why tells the two apart, and what is written twice stays one.
func TestAnotherRevocationIsAnotherEvent(t *testing.T) {
	t.Parallel()
	uid := func(by, note string) string {
		s := &v1alpha1.Skill{ObjectMeta: metav1.ObjectMeta{Name: "mail", Namespace: "agents", UID: "s"}}
		s.Spec.Approval = &v1alpha1.SkillApproval{Decision: v1alpha1.SkillDecisionRevoked, ContentHash: "c", PolicyHash: "p", Account: by, Note: note}
		s.Spec.Rejections = []v1alpha1.SkillRejection{{ContentHash: "c", RejectedBy: by, Note: note}}
		var all []string
		for _, e := range ofSkill(s) {
			all = append(all, e.Metadata.UID)
		}
		return strings.Join(all, " ")
	}
	first := uid("alice", "one")
	if uid("alice", "one") != first || uid("mallory", "one") == first || uid("alice", "two") == first || len(strings.Fields(first)) != 2 {
		t.Errorf("the first has %s, others %s and %s", first, uid("mallory", "one"), uid("alice", "two"))
	}
}
