// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
)

// found records that nobody saw an execution of the last turn's call end.
func (r *rig) found(call int, execution string, policy turn.UnknownPolicy) {
	r.t.Helper()
	l := r.log()
	turns := l.Turns()
	last := turns[len(turns)-1]
	last.Unknown = append(last.Unknown, turn.Unknown{Execution: execution, CallID: last.Calls[call].ID, FoundAt: r.now, Policy: policy})
	if policy == turn.UnknownPerson {
		last.Asks = append(last.Asks, newAsk(l, r.run(), v1alpha1.InputOutcomeUnknown, last.Calls[call], execution, r.now))
	}
	must(r.t, l.Settle(r.ctx, last))
}

func TestUnknownOutcomeIsAsked(t *testing.T) {
	r := newRig(t)
	r.ready()
	r.said(turnAt(1, "", `bash:{"command":"pay"}`, `ask_user:{"question":"Which?"}`))
	r.found(0, "a1-s1-c0", turn.UnknownPerson)
	r.step()
	r.want(v1alpha1.PhaseAwaitingInput, "AwaitingInput True OutcomeUnknown", "ResponsesValid True AllAsked")
	p := r.run().Status.Pending()
	foundAt := metav1.NewTime(r.now.Truncate(time.Second))
	want := &v1alpha1.PendingInput{
		ID: p.ID, Kind: v1alpha1.InputOutcomeUnknown, Title: p.Title, Question: p.Question, Options: []string{"Retry", "Skip", "Done"}, StepName: "run-a01-s0001",
		AskTime: foundAt, ExpirationTime: metav1.NewTime(foundAt.Add(300 * time.Second)), OnTimeout: v1alpha1.OnTimeoutFail,
	}
	if diff := cmp.Diff(want, p); diff != "" || !strings.HasPrefix(p.ID, "a1-s1-c0-") || !strings.Contains(p.Question, `bash {"command":"pay"}`) {
		t.Errorf("question %q (-want +got):\n%s", p.Question, diff)
	}
	decideUnknown(r.ctx, t, r.run(), p.ID, v1alpha1.DecisionRetry)
	r.step()
	r.want(v1alpha1.PhaseRunning, "AwaitingInput False Answered", "ResponsesValid True AllAsked")

	// It happens again, and is another question.
	r.now = r.now.Add(20 * time.Second)
	r.closed(turn.AskAnswered, "", nil)
	r.found(0, "a1-s1-c0-r1", turn.UnknownPerson)
	r.step()
	again := r.run().Status.Pending()
	if again == nil || !strings.HasPrefix(again.ID, "a1-s1-c0-r1-") {
		t.Fatalf("pending %+v", again)
	}
	decideUnknown(r.ctx, t, r.run(), again.ID, v1alpha1.DecisionDone)
	r.step()
	r.now = r.now.Add(10 * time.Second)
	r.used("done")
	r.asks(v1alpha1.InputQuestion, 1)
	r.step()
	r.want(v1alpha1.PhaseAwaitingInput, "AwaitingInput True Question", "ResponsesValid True AllAsked")
}

func TestUnknownOutcomeExpires(t *testing.T) {
	r := newRig(t)
	r.ready()
	r.said(turnAt(1, "", "bash:{}"))
	r.found(0, "a1-s1-c0", turn.UnknownPerson)
	r.step()
	r.now = r.run().Status.Pending().ExpirationTime.Time
	r.step()
	r.wantEnd(v1alpha1.PhaseFailed, "UserResponseTimeout")
}

func TestUnknownOutcomesThatNobodyIsAskedAbout(t *testing.T) {
	for _, policy := range []turn.UnknownPolicy{turn.UnknownModel, turn.UnknownRedo} {
		t.Run(string(policy), func(t *testing.T) {
			r := newRig(t)
			r.ready()
			r.said(turnAt(1, "", "bash:{}"))
			r.found(0, "a1-s1-c0", policy)
			r.step()
			r.want(v1alpha1.PhaseRunning, "AwaitingInput False NothingAsked")
		})
	}
}
