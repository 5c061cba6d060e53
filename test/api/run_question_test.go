// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

func TestQuestionAndAnswer(t *testing.T) {
	r := newRig(t)
	r.ready()
	id := r.asked(1, `{"question":"Which\nof them?","options":["a","b"],"default":"a"}`)
	r.want(v1alpha1.PhaseAwaitingInput, "AwaitingInput True Question", "SandboxReady True SandboxReady", "Stalled ")
	step, asked := r.log().Steps()[0], r.now.Truncate(time.Second)
	run := r.run()
	want := &v1alpha1.PendingInput{
		ID: id, Kind: v1alpha1.InputQuestion, Title: "Which of them?", Question: "Which\nof them?", Options: []string{"a", "b"}, Default: "a",
		StepName: "run-a01-s0001", AskTime: metav1.NewTime(asked), ExpirationTime: metav1.NewTime(asked.Add(300 * time.Second)), OnTimeout: v1alpha1.OnTimeoutFail,
	}
	if diff := cmp.Diff(want, run.Status.Pending()); diff != "" {
		t.Errorf("status.pendingInputs (-want +got):\n%s", diff)
	}
	wantSelected(r, "status.pendingKind=Question,status.phase=AwaitingInput", true)
	wantSelected(r, "status.pendingKind=Approval", false)
	if !strings.HasPrefix(id, "a1-s1-c0-") || !strings.Contains(string(step.UID), id[len(id)-8:]) {
		t.Errorf("the id %s does not follow from call and step %s", id, step.UID)
	}

	respond(r.ctx, t, run, "a1-s1-c0", "without the part that nobody can guess")
	r.step()
	r.want(v1alpha1.PhaseAwaitingInput, "ResponsesValid False UnknownQuestion", "AwaitingInput True Question")
	respond(r.ctx, t, run, id, "b")
	r.step()
	r.want(v1alpha1.PhaseRunning, "AwaitingInput False Answered", "ResponsesValid False UnknownQuestion")
	if p := r.run().Status.Pending(); p == nil || !p.Answered {
		t.Errorf("shown is %+v", p)
	}
	wantSelected(r, "status.pendingKind=Question", false)

	// The loop uses it a while later: the time of the person is not the run's.
	r.now = asked.Add(250 * time.Second)
	r.used("b")
	r.step()
	if p := r.run().Status.Pending(); p != nil {
		t.Errorf("still pending: %+v", p)
	}
	r.said(turnAt(2, "It is b."))
	r.step()
	run = r.wantEnd(v1alpha1.PhaseCompleted, "Completed")
	if w := run.Status.Result.Stats.WaitingMilliseconds; w != 250_000 {
		t.Errorf("waited %d ms", w)
	}
	wantEvents := []string{"Normal SandboxReady", "Normal Question", "Warning UnknownQuestion", "Normal Answered", "Normal Completed"}
	if diff := cmp.Diff(wantEvents, r.events[1:]); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// wantSelected checks whether a list of runs that is restricted by fields has the run.
func wantSelected(r *rig, by string, want bool) {
	r.t.Helper()
	selector, err := fields.ParseSelector(by)
	must(r.t, err)
	list := &v1alpha1.MotorRunList{}
	must(r.t, admin.List(r.ctx, list, client.InNamespace(r.ns), client.MatchingFieldsSelector{Selector: selector}))
	if got := len(list.Items) == 1; got != want {
		r.t.Errorf("a list restricted to %s has %d runs", by, len(list.Items))
	}
}

func TestQuestionExpires(t *testing.T) {
	r := newRig(t)
	r.ready()
	id := r.asked(1, `{"question":"Which?"}`)
	expires := r.run().Status.Pending().ExpirationTime
	r.now = expires.Add(-time.Second)
	if res := r.step(); res.RequeueAfter < time.Second || res.RequeueAfter > time.Second+100*time.Millisecond {
		t.Errorf("comes back after %s, the question expires in 1 s", res.RequeueAfter)
	}
	r.want(v1alpha1.PhaseAwaitingInput)
	r.now = expires.Time
	r.step()
	run := r.wantEnd(v1alpha1.PhaseFailed, "UserResponseTimeout")
	if m := run.Status.Message; !strings.Contains(m, id) || !strings.Contains(m, "300 s") || !strings.Contains(m, "Which?") {
		t.Errorf("message %q", m)
	}
	if r.pod() != nil {
		t.Error("the sandbox is still there")
	}
}

func TestAnswerOnTimeIsNotTooLate(t *testing.T) {
	r := newRig(t)
	r.ready()
	id := r.asked(1, `{"question":"Which?"}`)
	respond(r.ctx, t, r.run(), id, "this")
	r.now = r.run().Status.Pending().ExpirationTime.Add(time.Minute)
	r.step()
	r.want(v1alpha1.PhaseRunning, "Finished False Running", "AwaitingInput False Answered")
}

// The person is asked, and the time for the answer begins, when the other calls of the turn are done.
func TestQuestionAfterLongCalls(t *testing.T) {
	r := newRig(t)
	r.ready()
	r.said(turnAt(1, "", `ask_user:{"question":"Which?"}`, "bash:{}"))
	r.step()
	r.want(v1alpha1.PhaseRunning, "AwaitingInput False NothingAsked")
	if r.run().Status.Pending() != nil {
		t.Error("asked before the other call is done")
	}
	l := r.log()
	last := l.Turns()[0]
	last.Results[1] = okResult("", 280_000)
	r.now = r.now.Add(290 * time.Second)
	must(t, l.Settle(r.ctx, last))
	r.asks(v1alpha1.InputQuestion, 0)
	r.step()
	r.now = r.now.Add(15 * time.Second)
	r.step()
	r.want(v1alpha1.PhaseAwaitingInput, "AwaitingInput True Question", "Finished False Running")
}

func TestTwoQuestionsInOneTurn(t *testing.T) {
	r := newRig(t)
	r.ready()
	r.said(turnAt(1, "", `ask_user:{"question":"First?"}`, `ask_user:{"question":"Second?"}`))
	r.asks(v1alpha1.InputQuestion, 0)
	r.step()
	first := r.run().Status.Pending()
	respond(r.ctx, t, r.run(), first.ID, "1")
	r.now = first.ExpirationTime.Add(-time.Second)
	r.step()
	r.used("1")
	r.asks(v1alpha1.InputQuestion, 1)
	r.step()
	second := r.run().Status.Pending()
	if second == nil || second.Question != "Second?" {
		t.Fatalf("pending %+v", second)
	}
	r.now = r.now.Add(2 * time.Second)
	r.step()
	r.want(v1alpha1.PhaseAwaitingInput, "Finished False Running", "ResponsesValid True AllAsked")
}

func TestStatusIsBounded(t *testing.T) {
	hard := func(runes int) string { return strings.Repeat("\x01<漢\"\n", runes/5) }
	question, err := json.Marshal(toolapi.AskUserArgs{
		Question: hard(4096), Default: hard(512), Options: slices.Repeat([]string{hard(512)}, 10),
	})
	must(t, err)
	r := newRig(t)
	r.ready()
	var calls []string
	for range 7 {
		calls = append(calls, strings.Repeat("t", 64)+":{}")
	}
	calls = append(calls, "ask_user:"+string(question))
	many := turnAt(1, "", calls...)
	many.Model = strings.Repeat("漢", 85)
	for i := range 7 {
		many.Results[i] = okResult(hard(10_000), 1)
		many.Results[i].OK, many.Results[i].ErrorCode = false, strings.Repeat("e", 64)
	}
	r.said(many)
	r.asks(v1alpha1.InputQuestion, 7)
	run := r.run()
	for i := range 50 {
		respond(r.ctx, t, run, strings.Repeat("漢", 60)+string(rune('A'+i)), "unknown")
	}
	r.step()
	r.want(v1alpha1.PhaseAwaitingInput)
	wantSize := func(what string) {
		t.Helper()
		b, err := json.Marshal(r.run().Status)
		must(t, err)
		if len(b) > 32<<10 {
			t.Errorf("%s: the status has %d bytes", what, len(b))
		}
		t.Logf("%s: %d bytes", what, len(b))
	}
	wantSize("awaiting an answer")
	r.used("x")
	r.said(turnAt(2, hard(16_000)))
	r.step()
	r.wantEnd(v1alpha1.PhaseCompleted, "Completed")
	wantSize("completed")
}
