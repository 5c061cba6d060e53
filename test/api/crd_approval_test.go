// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

const approvalQuestion = "a1-s1-c0-approval-12345678"

var (
	thisDigest  = "sha256:" + strings.Repeat("a", 64)
	otherDigest = "sha256:" + strings.Repeat("b", 64)
)

// awaitsApproval is a run whose status asks for leave to make a call.
func awaitsApproval(ctx context.Context, t *testing.T, namespace, name string) *v1alpha1.MotorRun {
	t.Helper()
	run := createRun(ctx, t, namespace, named(name))
	before := run.DeepCopy()
	run.Status.PendingInputs = v1alpha1.PendingList(&v1alpha1.PendingInput{
		ID: approvalQuestion, Kind: v1alpha1.InputApproval, Title: "Approve bash: git push?", Question: "May it?", Options: []string{"ApproveOnce", "ApproveRun", "Deny"},
		Action:  &v1alpha1.PendingAction{Tool: "bash", Arguments: `{"command":"git push"}`, ArgsDigest: thisDigest, Reason: "a rule", Rule: "a rule"},
		AskTime: metav1.Now(), ExpirationTime: metav1.Now(),
	})
	must(t, manager.Status().Patch(ctx, run, client.MergeFrom(before)))
	return run
}

func decision(id string, d v1alpha1.Decision, digest string) string {
	b, err := json.Marshal(v1alpha1.Response{ID: id, Decision: d, Digest: digest})
	if err != nil {
		panic(err)
	}
	return string(b)
}

// withReason is an entry with a reason.
func withReason(entry, reason string) string {
	b, err := json.Marshal(reason)
	if err != nil {
		panic(err)
	}
	return strings.TrimSuffix(entry, "}") + `,"reason":` + string(b) + "}"
}

// A decision about a call names it by its digest, and is one of two.
func TestDecisionsAboutCalls(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	run := awaitsApproval(ctx, t, ns, "waits")
	const kinds, about = "has a rule) and digest", "action.argsDigest of the pending input"
	for name, tt := range map[string]struct{ entry, want string }{
		"approve":                          {decision(approvalQuestion, "ApproveOnce", thisDigest), ""},
		"approve for the run":              {decision(approvalQuestion, "ApproveRun", thisDigest), ""},
		"approve any for the run":          {decision(approvalQuestion, "ApproveRun", ""), "need digest"},
		"deny":                             {decision(approvalQuestion, "Deny", thisDigest), ""},
		"approve another call":             {decision(approvalQuestion, "ApproveOnce", otherDigest), about},
		"deny another call":                {decision(approvalQuestion, "Deny", otherDigest), about},
		"approve whatever it is":           {decision(approvalQuestion, "ApproveOnce", ""), "need digest"},
		"deny whatever it is":              {decision(approvalQuestion, "Deny", ""), about},
		"allow it once":                    {decision(approvalQuestion, "AllowOnce", ""), kinds},
		"allow it once, with a digest":     {decision(approvalQuestion, "AllowOnce", thisDigest), "digest goes with these and Deny only"},
		"answer":                           {`{"id":"` + approvalQuestion + `","answer":"yes"}`, kinds},
		"answer, with a digest":            {`{"id":"` + approvalQuestion + `","answer":"yes","digest":"` + thisDigest + `"}`, "digest goes with these and Deny only"},
		"decide and answer":                {`{"id":"` + approvalQuestion + `","answer":"yes","decision":"ApproveOnce","digest":"` + thisDigest + `"}`, "either an answer or a decision"},
		"approve, with a reason":           {withReason(decision(approvalQuestion, "ApproveOnce", thisDigest), "once"), ""},
		"deny, with a reason":              {withReason(decision(approvalQuestion, "Deny", thisDigest), strings.Repeat("é", 2048)), ""},
		"a reason that is too long":        {withReason(decision(approvalQuestion, "Deny", thisDigest), strings.Repeat("é", 2049)), "reason"},
		"an empty reason":                  {withReason(decision(approvalQuestion, "Deny", thisDigest), ""), "reason"},
		"an answer with a reason":          {withReason(`{"id":"another","answer":"yes"}`, "why"), "reason goes with a decision"},
		"an unknown decision":              {`{"id":"` + approvalQuestion + `","decision":"Perhaps","digest":"` + thisDigest + `"}`, "Unsupported value"},
		"half a digest":                    {decision(approvalQuestion, "ApproveOnce", thisDigest[:70]), "digest"},
		"a digest in capitals":             {decision(approvalQuestion, "ApproveOnce", "sha256:"+strings.Repeat("A", 64)), "digest"},
		"something that nobody asked":      {decision("another", "ApproveOnce", otherDigest), ""},
		"something else without a digest":  {decision("another", "ApproveOnce", ""), "need digest"},
		"a domain that nobody asked about": {decision("another", "AllowRun", ""), ""},
	} {
		t.Run(name, func(t *testing.T) {
			wantAdmitted(t, add(ctx, client.NewDryRunClient(admin), run, "responses", tt.entry), tt.want)
		})
	}
	// A domain is not approved like a call.
	domain := createRun(ctx, t, ns, named("domain"))
	before := domain.DeepCopy()
	domain.Status.PendingInputs = v1alpha1.PendingList(&v1alpha1.PendingInput{ID: "d", Kind: v1alpha1.InputDomainRequest, Question: "May it?", Domain: "example.org"})
	must(t, manager.Status().Patch(ctx, domain, client.MergeFrom(before)))
	wantRefused(t, add(ctx, admin, domain, "responses", decision("d", "ApproveOnce", thisDigest)), "AllowOnce, AllowRun or Deny")
}

// What no rule is about can be approved alone.
func TestApprovedAlone(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	run := awaitsApproval(ctx, t, newNamespace(ctx, t), "waits")
	before := run.DeepCopy()
	run.Status.Pending().Action.Rule = ""
	must(t, manager.Status().Patch(ctx, run, client.MergeFrom(before)))
	wantRefused(t, add(ctx, admin, run, "responses", decision(approvalQuestion, "ApproveRun", thisDigest)), "has a rule")
	must(t, add(ctx, admin, run, "responses", decision(approvalQuestion, "ApproveOnce", thisDigest)))
}

// Whoever may answer may not approve, nor may who wrote the run, and nobody in another's name. A decision stays.
func TestWhoApproves(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	run := awaitsApproval(ctx, t, ns, "waits")
	entry := decision(approvalQuestion, "ApproveOnce", thisDigest)
	for name, r := range map[string]rights{"editor": editor, "responder": responder, "both": with(editor, responder)} {
		t.Run(name, func(t *testing.T) {
			wantRefused(t, add(ctx, person(ctx, t, ns, name+"@"+ns, r), run, "responses", entry), "need the verb approve")
		})
	}
	as, err := clientAs(managerUser, "system:masters")
	must(t, err)
	wantRefused(t, add(ctx, as, run, "responses", entry), "the accounts of the operator carry runs out")
	anna := person(ctx, t, ns, "anna@"+ns, approver)
	must(t, add(ctx, anna, run, "responses", fmt.Sprintf(`{"id":%q,"decision":"ApproveOnce","digest":%q,"respondedBy":"root"}`, approvalQuestion, thisDigest)))
	must(t, admin.Get(ctx, client.ObjectKeyFromObject(run), run))
	want := v1alpha1.Response{ID: approvalQuestion, Decision: v1alpha1.DecisionApproveOnce, Digest: thisDigest, RespondedBy: "anna@" + ns}
	if diff := cmp.Diff([]v1alpha1.Response{want}, run.Spec.Responses); diff != "" {
		t.Errorf("responses (-want +got):\n%s", diff)
	}
	for name, patch := range map[string]string{
		"turned round":     `[{"op":"replace","path":"/spec/responses/0/decision","value":"Deny"}]`,
		"for another call": `[{"op":"replace","path":"/spec/responses/0/digest","value":"` + otherDigest + `"}]`,
	} {
		t.Run(name, func(t *testing.T) { wantRefused(t, patchJSON(ctx, anna, run, patch), "a response cannot be changed") })
	}
	// A run cannot bring its approvals along, but for who may approve.
	born := func(run *v1alpha1.MotorRun) {
		run.Name = "born"
		run.Spec.Responses = []v1alpha1.Response{{ID: approvalQuestion, Decision: v1alpha1.DecisionApproveOnce, Digest: thisDigest}}
	}
	wantRefused(t, person(ctx, t, ns, "eve@"+ns, editor).Create(ctx, newRun(ns, born)), "need the verb approve")
}

// What was to be approved of a run does not change while it waits.
func TestApprovalRulesStay(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	run := createRun(ctx, t, newNamespace(ctx, t), func(run *v1alpha1.MotorRun) {
		run.Spec.Approval = &v1alpha1.RunApproval{
			Required: v1alpha1.ApprovalAlways, Tools: []v1alpha1.ToolName{"code"}, MCPTools: []string{"tracker/*", "tracker/close"},
			Bash: &v1alpha1.BashApproval{Commands: []v1alpha1.CommandPattern{"git push *"}}, Fetch: &v1alpha1.FetchApproval{Methods: []string{"POST"}},
		}
		run.Spec.Bash = &v1alpha1.BashRules{AllowedCommands: []v1alpha1.CommandPattern{"git *", "ls"}}
	})
	for name, patch := range map[string]string{
		"less is required":  `[{"op":"replace","path":"/spec/approval/required","value":"Never"}]`,
		"a rule is dropped": `[{"op":"remove","path":"/spec/approval/bash"}]`,
		"all of them are":   `[{"op":"remove","path":"/spec/approval"}]`,
		"more commands":     `[{"op":"add","path":"/spec/bash/allowedCommands/-","value":"rm *"}]`,
		"all commands":      `[{"op":"remove","path":"/spec/bash"}]`,
		"more time":         `[{"op":"replace","path":"/spec/limits/approvalDeadlineSeconds","value":1000}]`,
	} {
		t.Run(name, func(t *testing.T) { wantRefused(t, jsonPatch(ctx, run.DeepCopy(), patch), "after creation") })
	}
	if s := run.Spec.Limits.ApprovalDeadlineSeconds; s != 900 {
		t.Errorf("%d s for an approval", s)
	}
}
