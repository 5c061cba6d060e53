// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// awaitApproval waits until the run asks for leave to run a command.
func awaitApproval(t *testing.T, run *v1alpha1.MotorRun, command string) v1alpha1.PendingInput {
	t.Helper()
	now := awaitRun(t, run, soon, "a request to approve "+command, func(r *v1alpha1.MotorRun) bool {
		p := r.Status.Pending()
		return p != nil && p.Kind == v1alpha1.InputApproval && p.Action != nil && strings.Contains(p.Action.Arguments, command)
	})
	wantCondition(t, now, v1alpha1.ConditionAwaitingInput, "True", v1alpha1.ReasonApproval)
	if now.Status.Phase != v1alpha1.PhaseAwaitingApproval {
		t.Errorf("phase %s", now.Status.Phase)
	}
	return *now.Status.Pending()
}

func decisionPatch(t *testing.T, id string, decision v1alpha1.Decision, digest string) client.Patch {
	t.Helper()
	value, err := json.Marshal(v1alpha1.Response{ID: id, Decision: decision, Digest: digest})
	must(t, err)
	return client.RawPatch(types.JSONPatchType, fmt.Appendf(nil, `[{"op":"add","path":"/spec/responses/-","value":%s}]`, value))
}

func decideAbout(t *testing.T, run *v1alpha1.MotorRun, p v1alpha1.PendingInput, decision v1alpha1.Decision) {
	t.Helper()
	must(t, suite.client.Patch(t.Context(), run.DeepCopy(), decisionPatch(t, p.ID, decision, p.Action.ArgsDigest)))
}

func TestSampleApproval(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		first, second v1alpha1.Decision
		codes         []string
		left          []string
	}{
		"approved and denied":  {v1alpha1.DecisionApproveOnce, v1alpha1.DecisionDeny, []string{"", toolapi.CodeApprovalDenied, ""}, []string{"cache", "src"}},
		"denied and approved":  {v1alpha1.DecisionDeny, v1alpha1.DecisionApproveOnce, []string{toolapi.CodeApprovalDenied, "", ""}, []string{"build", "src"}},
		"approved and expired": {v1alpha1.DecisionApproveOnce, "", []string{"", toolapi.CodeApprovalExpired, ""}, []string{"cache", "src"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := startSample(t, "approval", func(r *v1alpha1.MotorRun) {
				if tt.second == "" {
					r.Spec.Limits.ApprovalDeadlineSeconds = 30
				}
			})
			first := awaitApproval(t, run, "rm -rf build")
			decideAbout(t, run, first, tt.first)
			second := awaitApproval(t, run, "rm -rf cache")
			// What was decided about the first call says nothing of the second.
			replay := decisionPatch(t, second.ID, v1alpha1.DecisionApproveOnce, first.Action.ArgsDigest)
			if err := suite.client.Patch(t.Context(), run.DeepCopy(), replay); err == nil || !strings.Contains(err.Error(), "argsDigest") {
				t.Errorf("a decision about another call is taken: %v", err)
			}
			if tt.second != "" {
				decideAbout(t, run, second, tt.second)
			}
			done := wantCompleted(t, run, soon)
			journal := wantWholeJournal(t, done)
			if got := codesOf(journal); !slices.Equal(got, tt.codes) {
				t.Errorf("codes %q, want %q", got, tt.codes)
			}
			for _, folder := range []string{"build", "cache", "src"} {
				if is := strings.Contains(done.Status.Result.Summary, folder); is != slices.Contains(tt.left, folder) {
					t.Errorf("%s is there: %t; %s", folder, is, done.Status.Result.Summary)
				}
			}
			wantApprovals(t, journal, tt.first, tt.second)
		})
	}
}

// wantApprovals fails unless the steps have the decisions, one each, and who made them.
func wantApprovals(t *testing.T, journal []v1alpha1.MotorStep, decisions ...v1alpha1.Decision) {
	t.Helper()
	outcomes := map[v1alpha1.Decision]v1alpha1.AskOutcome{
		v1alpha1.DecisionApproveOnce: v1alpha1.AskApproved, v1alpha1.DecisionDeny: v1alpha1.AskDenied, "": v1alpha1.AskExpired,
	}
	for i, d := range decisions {
		got := journal[i].Status.Asks
		if len(got) != 1 || got[0].Outcome != outcomes[d] || (got[0].By == "") != (d == "") {
			t.Errorf("step %d has the decisions %+v, want %s", i+1, got, outcomes[d])
		}
	}
}
