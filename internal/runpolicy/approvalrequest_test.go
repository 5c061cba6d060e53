// SPDX-License-Identifier: Apache-2.0

package runpolicy

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/pending"
	"motorcortex.dev/motorcortex/internal/runpolicy/calls"
	"motorcortex.dev/motorcortex/internal/runpolicy/fit"
	"motorcortex.dev/motorcortex/internal/runpolicy/observed"
)

// approvalRun returns a run whose people may take 60 s to approve a call.
func approvalRun(rules v1alpha1.RunApproval) *v1alpha1.MotorRun {
	run := testRun()
	run.Spec.Limits.ApprovalDeadlineSeconds = 60
	run.Spec.Approval = &rules
	return run
}

// approval adds an ask whether an execution of a call may be made. Without an outcome it is open.
func approval(callID, execution string, outcome v1alpha1.AskOutcome, asked, decided time.Duration) stepOption {
	return func(s *v1alpha1.MotorStep) {
		askedAbout(callID, execution, v1alpha1.InputApproval, asked)(s)
		if outcome != "" {
			closed(outcome, decided)(s)
			s.Status.Asks[len(s.Status.Asks)-1].By = "anna"
		}
	}
}

func TestPendingApproval(t *testing.T) {
	t.Parallel()
	const c0 = "a1-s1-c0"
	push := call("bash", `{"command":"git push origin \u202emain\n"}`)
	open := approval(c0, c0, "", 40*sec, 0)
	for name, tt := range map[string]struct {
		step  v1alpha1.MotorStep
		id    string // of the question, "" for none
		title string
		asked []string
	}{
		"nobody was asked yet":         {testStep(1, 1, push, ask("Which?")), "", "", nil},
		"a person is asked":            {testStep(1, 1, push, ask("Which?"), open), "a1-s1-c0-approval-00abc001", `Approve bash: git push origin \u202emai…`, nil},
		"decided, and not made yet":    {testStep(1, 1, push, ask("Which?"), approval(c0, c0, "Approved", 40*sec, 50*sec)), "", "", []string{"a1-s1-c0-approval-00abc001"}},
		"a request of the model's":     {testStep(1, 1, call("request_approval", `{"action":"delete\nall"}`), open), "a1-s1-c0-approval-00abc001", "Approve delete all?", nil},
		"a request to fetch":           {testStep(1, 1, call("fetch", `{"url":"https://a.example.org","method":"post"}`), open), "a1-s1-c0-approval-00abc001", "Approve fetch: POST https://a.example.o…", nil},
		"its call has a result":        {testStep(1, 1, push, finished(v1alpha1.ToolResult{OK: true}), open), "", "", []string{"a1-s1-c0-approval-00abc001"}},
		"no request before a question": {testStep(1, 1, call("request_approval", `{"action":"x"}`), ask("Which?")), "", "", nil},
		"made again": {
			testStep(1, 1, push, approval(c0, c0, "Approved", 20*sec, 30*sec), unknown(c0, c0, "Person", 35*sec), closed("Answered", 38*sec), approval(c0, c0+"-r1", "", 40*sec, 0)),
			"a1-s1-c0-r1-approval-00abc001", `Approve bash: git push origin \u202emai…`, []string{"a1-s1-c0-approval-00abc001", "a1-s1-c0-00abc001"},
		},
		"made again, and approved": {
			testStep(1, 1, push, approval(c0, c0, "Approved", 20*sec, 30*sec), unknown(c0, c0, "Person", 35*sec), closed("Answered", 38*sec), approval(c0, c0+"-r1", "Approved", 40*sec, 41*sec)),
			"", "", []string{"a1-s1-c0-approval-00abc001", "a1-s1-c0-00abc001", "a1-s1-c0-r1-approval-00abc001"},
		},
		"approved, and unknown": {
			testStep(1, 1, push, approval(c0, c0, "Approved", 20*sec, 30*sec), unknown(c0, c0, "Person", 35*sec)), "a1-s1-c0-00abc001",
			`Outcome unknown: bash {"command":"git p…`, []string{"a1-s1-c0-approval-00abc001"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := ReadJournal(approvalRun(v1alpha1.RunApproval{}), []v1alpha1.MotorStep{tt.step})
			var got v1alpha1.PendingInput
			if p.Pending != nil {
				got = *p.Pending
				tt.asked = append(tt.asked, tt.id)
			}
			if got.ID != tt.id || got.Title != tt.title || utf8.RuneCountInString(got.Title) > fit.MaxTitle {
				t.Errorf("asks %q, %q", got.ID, got.Title)
			}
			var asked []string
			for id, a := range p.Asked {
				asked = append(asked, id)
				if (a.Kind == v1alpha1.InputApproval) != strings.Contains(id, "-approval-") {
					t.Errorf("%s is a %s", id, a.Kind)
				}
			}
			slices.Sort(asked)
			slices.Sort(tt.asked)
			if !slices.Equal(asked, tt.asked) {
				t.Errorf("asked %q, want %q", asked, tt.asked)
			}
		})
	}
}

func TestApprovalQuestion(t *testing.T) {
	t.Parallel()
	run := approvalRun(v1alpha1.RunApproval{Tools: []v1alpha1.ToolName{"code"}})
	step := testStep(1, 1, call("code", `{"source":"1","language":"python"}`), approval("a1-s1-c0", "a1-s1-c0", "", 40*sec, 0))
	step.Status.Asks[0].Rule = "spec.approval.tools: code"
	digest := calls.ArgsDigest("code", `{"language":"python","source":"1"}`)
	want := &v1alpha1.PendingInput{
		ID: "a1-s1-c0-approval-00abc001", Kind: v1alpha1.InputApproval, Title: `Approve code {"source":"1","language":"…`,
		Action: &v1alpha1.PendingAction{
			Tool: "code", Arguments: `{"language":"python","source":"1"}`, ArgsDigest: digest, Reason: "spec.approval.tools: code",
			Rule: "spec.approval.tools: code",
		},
		Options: []string{"ApproveOnce", "ApproveRun", "Deny"}, StepName: "run-a01-s0001", AskTime: metav1.NewTime(after(40 * sec)), ExpirationTime: metav1.NewTime(after(100 * sec)),
		OnTimeout: v1alpha1.OnTimeoutDeny,
	}
	got := Shown(run, &step, OpenAsk(&step))
	for _, part := range []string{
		`the call code {"language":"python","source":"1"}.`, "It needs approval: spec.approval.tools: code.", "before 2025-03-01T12:01:40Z",
		`"value":{"id":"a1-s1-c0-approval-00abc001","decision":"ApproveOnce","digest":"` + digest + `"}`, "kubectl -n ns patch motorrun run --type=json",
	} {
		if !strings.Contains(got.Question, part) {
			t.Errorf("the question does not say %q:\n%s", part, got.Question)
		}
	}
	// The plugin leaves out the end, which is beside its own commands.
	if short := pending.Question(got); strings.Contains(short, "kubectl") || !strings.Contains(short, "It needs approval") {
		t.Errorf("without its end the question is %q", short)
	}
	want.Question = got.Question
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// Any text of a model is shown in a form that fits in a status and in one line.
func TestApprovalQuestionIsBounded(t *testing.T) {
	t.Parallel()
	for _, arguments := range []string{
		`{"command":"` + strings.Repeat("<", 90_000) + `"}`, strings.Repeat("\x00\n\u202e漢", 20_000), "", `{"command":["a"]}`, `{"action":"` + strings.Repeat("\\n", 4000) + `","reason":"\u2028"}`,
	} {
		for _, tool := range []string{"bash", "fetch", "request_approval", strings.Repeat("t", 64)} {
			step := testStep(1, 1, call(tool, arguments), approval("a1-s1-c0", "a1-s1-c0", "", 40*sec, 0))
			p := Shown(approvalRun(v1alpha1.RunApproval{Required: v1alpha1.ApprovalAlways}), &step, OpenAsk(&step))
			shown, _, _ := strings.Cut(p.Question, "\n")
			for what, s := range map[string]string{"title": p.Title, "arguments": p.Action.Arguments, "reason": p.Action.Reason, "question": shown} {
				if strings.ContainsAny(s, "\n\x00\u202e\u2028") || s == "" && what != "reason" && what != "arguments" {
					t.Errorf("%s of %.40q: %q", what, arguments, s)
				}
			}
			if n := fit.EncodedSize(p.Action.Arguments); n > maxActionArguments {
				t.Errorf("%.40q: arguments of %d bytes", arguments, n)
			}
			if n := fit.EncodedSize(p.Question); n > 1500 || strings.Count(p.Question, "\n") != 2 {
				t.Errorf("%.40q: a question of %d bytes:\n%s", arguments, n, p.Question)
			}
		}
	}
}

func TestCloseApproval(t *testing.T) {
	t.Parallel()
	step := testStep(1, 1, call("bash", `{"command":"git push"}`), approval("a1-s1-c0", "a1-s1-c0", "", 40*sec, 0))
	digest, other := calls.ArgsDigest("bash", `{ "command": "git push" }`), calls.ArgsDigest("bash", `{"command":"git push -f"}`)
	const id = "a1-s1-c0-approval-00abc001"
	for name, tt := range map[string]struct {
		response v1alpha1.Response
		at       time.Duration
		want     v1alpha1.AskOutcome
		unasked  bool // the response answers nothing that was asked
	}{
		"nobody":                       {v1alpha1.Response{}, 99 * sec, "", false},
		"nobody, and its time is over": {v1alpha1.Response{}, 100 * sec, v1alpha1.AskExpired, false},
		"approved":                     {v1alpha1.Response{ID: id, Decision: "ApproveOnce", Digest: digest}, 50 * sec, v1alpha1.AskApproved, false},
		"denied":                       {v1alpha1.Response{ID: id, Decision: "Deny", Digest: digest}, 50 * sec, v1alpha1.AskDenied, false},
		"used too late":                {v1alpha1.Response{ID: id, Decision: "ApproveOnce", Digest: digest}, 100 * sec, v1alpha1.AskExpired, false},
		"another call":                 {v1alpha1.Response{ID: id, Decision: "ApproveOnce", Digest: other}, 50 * sec, "", true},
		"another call is denied":       {v1alpha1.Response{ID: id, Decision: "Deny", Digest: other}, 50 * sec, "", true},
		"without a digest":             {v1alpha1.Response{ID: id, Decision: "Deny"}, 50 * sec, "", true},
		"another decision":             {v1alpha1.Response{ID: id, Decision: "AllowRun", Digest: digest}, 50 * sec, "", true},
		"an answer":                    {v1alpha1.Response{ID: id, Answer: "yes"}, 50 * sec, "", true},
		"the id of the call":           {v1alpha1.Response{ID: "a1-s1-c0-00abc001", Decision: "ApproveOnce", Digest: digest}, 50 * sec, "", true},
		"another execution":            {v1alpha1.Response{ID: "a1-s1-c0-r1-approval-00abc001", Decision: "ApproveOnce", Digest: digest}, 50 * sec, "", true},
		"another step":                 {v1alpha1.Response{ID: "a1-s1-c0-approval-00abc002", Decision: "ApproveOnce", Digest: digest}, 50 * sec, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := approvalRun(v1alpha1.RunApproval{})
			tt.response.RespondedBy, tt.response.Reason = "anna", "it is Friday"
			if tt.response.ID != "" {
				run.Spec.Responses = []v1alpha1.Response{tt.response}
			}
			a, over := CloseAsk(run, step.Status.Asks[0], observed.Time{}, after(tt.at))
			if a.Outcome != tt.want || over != (tt.want != "") || (a.By == "anna" && a.Reason == "it is Friday") != (tt.want == v1alpha1.AskApproved || tt.want == v1alpha1.AskDenied) {
				t.Errorf("closed: %+v", a)
			}
			p := ReadJournal(run, []v1alpha1.MotorStep{step})
			if answered := Answered(run, p.Pending); answered != (tt.response.ID != "" && !tt.unasked) {
				t.Errorf("answered %t", answered)
			}
			if got := UnknownResponses(run, p); (len(got) > 0) != tt.unasked {
				t.Errorf("unknown responses %q", got)
			}
		})
	}
}

// The time of a person is not the run's, at no point of what becomes of a call.
func TestApprovalsDoNotCount(t *testing.T) {
	t.Parallel()
	const c0, r1 = "a1-s1-c0", "a1-s1-c0-r1"
	result := func(ms, waitedMs int64) stepOption {
		return func(s *v1alpha1.MotorStep) {
			s.Status.Results = append(s.Status.Results, v1alpha1.ToolResult{CallID: c0, OK: true, DurationMilliseconds: ms, WaitedMilliseconds: waitedMs})
		}
	}
	bash := call("bash", "{}")
	approved := approval(c0, c0, "Approved", 20*sec, 50*sec)
	lost := unknown(c0, c0, "Person", 55*sec)
	retried := func(s *v1alpha1.MotorStep) {
		lost(s)
		closed(v1alpha1.AskAnswered, 65*sec)(s)
	}
	again := approval(c0, r1, "Approved", 65*sec, 75*sec)
	for name, tt := range map[string]struct {
		options []stepOption
		waited  time.Duration
		// until is when the run is over that has 100 s.
		until time.Duration
	}{
		"open":                       {[]stepOption{bash, approval(c0, c0, "", 20*sec, 0)}, 0, 160 * sec},
		"approved":                   {[]stepOption{bash, approved}, 30 * sec, 130 * sec},
		"made":                       {[]stepOption{bash, approved, result(1000, 30_000)}, 30 * sec, 130 * sec},
		"denied":                     {[]stepOption{bash, approval(c0, c0, "Denied", 20*sec, 50*sec)}, 30 * sec, 130 * sec},
		"unknown":                    {[]stepOption{bash, approved, lost}, 30 * sec, 160 * sec},
		"asked again":                {[]stepOption{bash, approved, retried, approval(c0, r1, "", 65*sec, 0)}, 40 * sec, 200 * sec},
		"approved again":             {[]stepOption{bash, approved, retried, again}, 50 * sec, 150 * sec},
		"made again":                 {[]stepOption{bash, approved, retried, again, result(2000, 50_000)}, 50 * sec, 150 * sec},
		"unknown again":              {[]stepOption{bash, approved, retried, again, unknown(c0, r1, "Person", 80*sec)}, 50 * sec, 180 * sec},
		"made again without anybody": {[]stepOption{call("read", "{}"), approved, unknown(c0, c0, "Redo", 55*sec)}, 30 * sec, 130 * sec},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := approvalRun(v1alpha1.RunApproval{})
			p := ReadJournal(run, []v1alpha1.MotorStep{testStep(1, 1, tt.options...)})
			if p.Waited != tt.waited {
				t.Errorf("waited %s, want %s", p.Waited, tt.waited)
			}
			if got := Deadline(run, p); !got.Equal(after(tt.until)) {
				t.Errorf("over after %s, want %s", got.Sub(t0), tt.until)
			}
		})
	}
}

// A missing decision ends no run, and no step of the controller waits for the end of its time.
func TestApprovalEndsNoRun(t *testing.T) {
	t.Parallel()
	run := approvalRun(v1alpha1.RunApproval{})
	p := ReadJournal(run, []v1alpha1.MotorStep{testStep(1, 1, call("bash", "{}"), approval("a1-s1-c0", "a1-s1-c0", "", 20*sec, 0))})
	for _, at := range []time.Duration{30 * sec, 80 * sec, 159 * sec} {
		if d := Decide(Observation{Run: run, Progress: p}, after(at)); d.End != nil || d.Failure != nil || !d.WakeAt.Equal(after(160*sec)) {
			t.Errorf("after %s: %+v", at, d)
		}
	}
	if d := Decide(Observation{Run: run, Progress: p}, after(160*sec)); d.End == nil || d.End.Reason != v1alpha1.ReasonTimeout {
		t.Errorf("at the end of its own time: %+v", d)
	}
}

// A call that was not approved was not made, nor were those after it.
func TestUnapprovedCallsAreNotUnknown(t *testing.T) {
	t.Parallel()
	const c0, c1 = "a1-s1-c0", "a1-s1-c1"
	two := []stepOption{call("bash", "{}"), call("bash", "{}")}
	for name, tt := range map[string]struct {
		options []stepOption
		want    []string
	}{
		"nobody is asked":     {nil, []string{c0, c1}},
		"somebody is asked":   {[]stepOption{approval(c0, c0, "", 20*sec, 0)}, nil},
		"about the second":    {[]stepOption{approval(c1, c1, "", 20*sec, 0)}, []string{c0}},
		"denied":              {[]stepOption{approval(c0, c0, "Denied", 20*sec, 30*sec)}, nil},
		"approved":            {[]stepOption{approval(c0, c0, "Approved", 20*sec, 30*sec)}, []string{c0, c1}},
		"asked a second time": {[]stepOption{unknown(c0, c0, "Person", 15*sec), approval(c0, c0+"-r1", "", 20*sec, 0)}, []string{c0}},
		"another call's result": {[]stepOption{approval(c0, c0, "Denied", 20*sec, 30*sec), func(s *v1alpha1.MotorStep) {
			s.Status.Results = []v1alpha1.ToolResult{{CallID: c0, ErrorCode: "approval_denied"}}
		}}, []string{c1}},
	} {
		var got []string
		for _, c := range ReadJournal(testRun(), []v1alpha1.MotorStep{testStep(1, 1, append(slices.Clone(two), tt.options...)...)}).Unknown {
			got = append(got, c.ID)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

func TestCutMiddle(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"", "short", strings.Repeat("<", 500), strings.Repeat("漢\n", 300), "\xff" + strings.Repeat("a", 500) + "end"} {
		for _, max := range []int{20, 100, 3000} {
			got := fit.CutMiddle(s, max)
			valid := strings.ToValidUTF8(s, "\uFFFD")
			if fit.EncodedSize(got) > max || !utf8.ValidString(got) || fit.EncodedSize(valid) <= max && got != valid {
				t.Errorf("%.20q to %d: %q", s, max, got)
			}
			head, tail, cut := strings.Cut(got, " […] ")
			if cut && (!strings.HasPrefix(valid, head) || !strings.HasSuffix(valid, tail) || tail == "") {
				t.Errorf("%.20q to %d: %q", s, max, got)
			}
		}
	}
}

// The person sees the model's own reason where the model asks for approval by itself.
func TestReasonOfARequestForApproval(t *testing.T) {
	t.Parallel()
	for arguments, want := range map[string]string{
		`{"action":"delete all","reason":"it cannot\nbe undone"}`: "the model is in doubt: it cannot be undone",
		`{"action":"delete all"}`:                                 "the model is in doubt",
		`{"action":"delete all","reason":["x"]}`:                  "the model is in doubt",
	} {
		step := testStep(1, 1, call("request_approval", arguments), approval("a1-s1-c0", "a1-s1-c0", "", 40*sec, 0))
		p := Shown(approvalRun(v1alpha1.RunApproval{}), &step, OpenAsk(&step))
		if p.Action.Reason != want || !strings.Contains(p.Question, "It needs approval: "+want+".") {
			t.Errorf("%s: %q in %q", arguments, p.Action.Reason, p.Question)
		}
	}
}
