// SPDX-License-Identifier: Apache-2.0

package runpolicy

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/runpolicy/calls"
	"motorcortex.dev/motorcortex/internal/runpolicy/fit"
)

func pendingQuestion(id, question, step string, asked time.Duration) *v1alpha1.PendingInput {
	return &v1alpha1.PendingInput{
		ID: id, Kind: v1alpha1.InputQuestion, Title: question, Question: question, Options: []string{}, StepName: step,
		AskTime: metav1.NewTime(after(asked)), ExpirationTime: metav1.NewTime(after(asked + 30*time.Second)), OnTimeout: v1alpha1.OnTimeoutFail,
	}
}

func askedQuestions(ids ...string) map[string]v1alpha1.StepAsk {
	asked := map[string]v1alpha1.StepAsk{}
	for _, id := range ids {
		asked[id] = v1alpha1.StepAsk{Kind: v1alpha1.InputQuestion}
	}
	return asked
}

func head(id, tool string, ok bool, ms int64, output string) v1alpha1.CallHead {
	h := v1alpha1.CallHead{ID: id, Tool: tool, OK: ok, DurationMilliseconds: ms, Head: output}
	if !ok {
		h.ErrorCode = "exit_1"
	}
	return h
}

func TestReadJournal(t *testing.T) {
	t.Parallel()
	const q1, q2 = "a1-s1-c0-00abc001", "a1-s1-c1-00abc001"
	verified := &v1alpha1.StepSandbox{PodUID: "uid", IsolationTries: 3, IsolationMilliseconds: 5}
	tests := map[string]struct {
		steps []v1alpha1.MotorStep
		want  Progress
	}{
		"empty": {nil, Progress{}},
		"calls in flight": {
			[]v1alpha1.MotorStep{testStep(1, 1, done("bash", true, 5, "out"), call("read", "{}"))},
			Progress{Turns: 1, ToolCalls: 1, Tool: 5 * time.Millisecond, LastCalls: []v1alpha1.CallHead{
				head("a1-s1-c0", "bash", true, 5, "out"), {ID: "a1-s1-c1", Tool: "read", StartTime: new(metav1.NewTime(after(11 * time.Second)))},
			}},
		},
		"sums over all turns": {
			[]v1alpha1.MotorStep{
				testStep(1, 1, usage(10, 2), done("bash", true, 5, "a")), testStep(1, 2, usage(30, 4), done("read", false, 7, "b")),
				testStep(1, 3, usage(50, 6), final("done")),
			},
			Progress{
				Turns: 3, ModelName: "model-1", Model: 3 * time.Second, Tool: 12 * time.Millisecond, ToolCalls: 2, Errors: 1, Final: new("done"),
				Usage:     v1alpha1.Usage{PromptTokens: 90, CompletionTokens: 12, CachedTokens: 3, TotalTokens: 102},
				LastCalls: []v1alpha1.CallHead{head("a1-s1-c0", "bash", true, 5, "a"), head("a1-s2-c0", "read", false, 7, "b")},
			},
		},
		"last calls are the last five": {
			[]v1alpha1.MotorStep{
				testStep(1, 1, done("t1", true, 0, ""), done("t2", true, 0, ""), done("t3", true, 0, "")),
				testStep(1, 2, done("t4", true, 0, ""), done("t5", true, 0, ""), done("t6", true, 0, ""), done("t7", true, 0, "")),
			},
			Progress{Turns: 2, ToolCalls: 7, LastCalls: []v1alpha1.CallHead{
				head("a1-s1-c2", "t3", true, 0, ""), head("a1-s2-c0", "t4", true, 0, ""), head("a1-s2-c1", "t5", true, 0, ""),
				head("a1-s2-c2", "t6", true, 0, ""), head("a1-s2-c3", "t7", true, 0, ""),
			}},
		},
		"a question": {
			[]v1alpha1.MotorStep{testStep(1, 1, asking("Which?", 10*time.Second))},
			Progress{Turns: 1, Pending: pendingQuestion(q1, "Which?", "run-a01-s0001", 10*time.Second), Asked: askedQuestions(q1)},
		},
		"a question before other calls are done": {
			[]v1alpha1.MotorStep{testStep(1, 1, ask("Which?"), call("bash", "{}"))},
			Progress{
				Turns: 1, LastCalls: []v1alpha1.CallHead{{ID: "a1-s1-c1", Tool: "bash", StartTime: new(metav1.NewTime(after(10 * time.Second)))}},
			},
		},
		"a question after the other calls": {
			[]v1alpha1.MotorStep{testStep(1, 1, asking("Which?", 13*time.Second), done("bash", false, 2500, "no"))},
			Progress{
				Turns: 1, ToolCalls: 1, Errors: 1, Tool: 2500 * time.Millisecond, LastCalls: []v1alpha1.CallHead{head("a1-s1-c1", "bash", false, 2500, "no")},
				Pending: pendingQuestion(q1, "Which?", "run-a01-s0001", 13*time.Second), Asked: askedQuestions(q1),
			},
		},
		"two questions, one after the other": {
			[]v1alpha1.MotorStep{testStep(1, 1, asking("First?", 10*time.Second), ask("Second?"))},
			Progress{Turns: 1, Pending: pendingQuestion(q1, "First?", "run-a01-s0001", 10*time.Second), Asked: askedQuestions(q1)},
		},
		"the second of two questions": {
			[]v1alpha1.MotorStep{testStep(1, 1, done("ask_user", true, 20_000, "yes"), asking("Second?", 30*time.Second))},
			Progress{
				Turns: 1, ToolCalls: 1, Waited: 20 * time.Second, LastCalls: []v1alpha1.CallHead{head("a1-s1-c0", "ask_user", true, 20_000, "yes")},
				Pending: pendingQuestion(q2, "Second?", "run-a01-s0001", 30*time.Second), Asked: askedQuestions(q1, q2),
			},
		},
		"an answered question": {
			[]v1alpha1.MotorStep{testStep(1, 1, done("ask_user", true, 7000, "yes")), testStep(1, 2)},
			Progress{
				Turns: 2, ToolCalls: 1, Waited: 7 * time.Second, Asked: askedQuestions(q1),
				LastCalls: []v1alpha1.CallHead{head("a1-s1-c0", "ask_user", true, 7000, "yes")},
			},
		},
		"a refused question was never asked": {
			[]v1alpha1.MotorStep{testStep(1, 1, done("ask_user", false, 0, "bad arguments"))},
			Progress{Turns: 1, ToolCalls: 1, Errors: 1, LastCalls: []v1alpha1.CallHead{head("a1-s1-c0", "ask_user", false, 0, "bad arguments")}},
		},
		"a question that is not asked yet": {[]v1alpha1.MotorStep{testStep(1, 1, ask("Which?"))}, Progress{Turns: 1}},
		"an end without success": {
			[]v1alpha1.MotorStep{testStep(1, 1, usage(1, 1)), testStep(1, 2, outcome("Why"))},
			Progress{
				Turns: 1, ModelName: "model-1", Model: time.Second, Usage: v1alpha1.Usage{PromptTokens: 1, CompletionTokens: 1, CachedTokens: 1, TotalTokens: 2},
				Failure: &v1alpha1.StepOutcome{Category: v1alpha1.CategoryToolFailure, Reason: "Why", Message: "It failed.", Retryable: true},
			},
		},
		"a second attempt after a failed one": {
			[]v1alpha1.MotorStep{testStep(1, 1, done("bash", true, 1, "")), testStep(1, 2, outcome("Why")), testStep(2, 1, done("read", true, 1, ""))},
			Progress{Attempt: 2, Turns: 2, ToolCalls: 2, Tool: 2 * time.Millisecond, LastCalls: []v1alpha1.CallHead{head("a2-s1-c0", "read", true, 1, "")}},
		},
		"a second attempt forgets the first one's question and text": {
			[]v1alpha1.MotorStep{testStep(1, 1, asking("Which?", 10*time.Second)), testStep(1, 2, final("done")), testStep(2, 1, outcome("Why"))},
			Progress{
				Attempt: 2, Turns: 2, Asked: askedQuestions(q1),
				Failure: &v1alpha1.StepOutcome{Category: v1alpha1.CategoryToolFailure, Reason: "Why", Message: "It failed.", Retryable: true},
			},
		},
		"the sandbox of the last step that verified it": {
			[]v1alpha1.MotorStep{
				testStep(1, 1, func(s *v1alpha1.MotorStep) { s.Spec.Sandbox = &v1alpha1.StepSandbox{PodUID: "unverified"} }),
				testStep(1, 2, func(s *v1alpha1.MotorStep) {
					s.Spec.Sandbox = &v1alpha1.StepSandbox{PodUID: "uid", IsolationTries: 9}
				}),
				testStep(1, 2, func(s *v1alpha1.MotorStep) { s.Spec.Sandbox = verified }),
				testStep(1, 3, func(s *v1alpha1.MotorStep) {
					s.Spec.Sandbox = &v1alpha1.StepSandbox{PodUID: "uid"}
				}),
			},
			Progress{Turns: 4, Sandbox: verified},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// TestReadJournalOfTheAttempt is about those.
			others := cmpopts.IgnoreFields(Progress{}, "Calls", "Iterations", "AttemptUsage", "LastStep", "Unknown", "Partial", "Running", "Epoch")
			if len(tt.steps) > 0 {
				tt.want.Attempt = max(tt.want.Attempt, 1)
			}
			if diff := cmp.Diff(tt.want, ReadJournal(testRun(), tt.steps), cmpopts.EquateEmpty(), others, cmpopts.IgnoreFields(v1alpha1.StepAsk{}, "ID", "CallID", "Execution", "AskTime", "ExpirationTime", "CloseTime", "OnTimeout", "Outcome")); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestReadJournalLeavesStepsAlone(t *testing.T) {
	t.Parallel()
	steps := []v1alpha1.MotorStep{testStep(1, 1, done("bash", true, 1, strings.Repeat("x", 500)), asking("Which?", 12*time.Second))}
	before := steps[0].DeepCopy()
	_ = ReadJournal(testRun(), steps)
	if diff := cmp.Diff(*before, steps[0]); diff != "" {
		t.Errorf("the cached step changed:\n%s", diff)
	}
}

// A question must fit the schema of the status in whatever characters the model wrote it.
func TestQuestionIsCut(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("漢字 ", 1365)
	option := strings.Repeat("漢字 ", 170)
	options := make([]string, 10)
	for i := range options {
		options[i] = fmt.Sprint(i, option)
	}
	arguments, err := json.Marshal(map[string]any{"question": long, "options": options, "default": option})
	if err != nil {
		t.Fatal(err)
	}
	p := ReadJournal(testRun(), []v1alpha1.MotorStep{testStep(1, 1, call("ask_user", string(arguments)), asked(v1alpha1.InputQuestion, 10*time.Second))}).Pending
	if p == nil {
		t.Fatal("not pending")
	}
	if len(p.Options) != 10 || !strings.HasPrefix(p.Options[9], "9") {
		t.Errorf("%d options", len(p.Options))
	}
	for name, v := range map[string]struct {
		text string
		max  int
	}{
		"title": {p.Title, 40}, "question": {p.Question, 4096}, "option": {p.Options[0], 512}, "default": {p.Default, 512},
	} {
		if n := utf8.RuneCountInString(v.text); n > v.max || !strings.HasSuffix(v.text, "…") || !utf8.ValidString(v.text) {
			t.Errorf("%s has %d characters, ends with %q", name, n, v.text[len(v.text)-3:])
		}
	}
	if strings.Contains(p.Title, "\n") {
		t.Errorf("title %q", p.Title)
	}
}

func TestAskID(t *testing.T) {
	t.Parallel()
	for uid, want := range map[string]string{
		"12345678-9abc-4000-8000-000000000000": "c-12345678", "1-2-3-4-5-6-7-8-9": "c-12345678", "abc": "c-abc", "": "c-",
	} {
		s := testStep(1, 1)
		s.UID = types.UID(uid)
		if got := calls.AskID(&s, v1alpha1.InputQuestion, "c"); got != want {
			t.Errorf("%q gives %q, want %q", uid, got, want)
		}
	}
}

func TestUnknownResponses(t *testing.T) {
	t.Parallel()
	const q1, q2 = "a1-s1-c0-00abc001", "a1-s2-c1-00abc002"
	steps := []v1alpha1.MotorStep{
		testStep(1, 1, done("ask_user", true, 1, "old")),
		testStep(1, 2, done("bash", true, 1, ""), asking("Which?", 12*time.Second)),
	}
	tests := map[string]struct {
		responses []string
		unknown   []string
	}{
		"none":      {nil, nil},
		"both":      {[]string{q1, q2}, nil},
		"the last":  {[]string{q2}, nil},
		"a call id": {[]string{"a1-s2-c1", q2}, []string{`spec.responses[0].id "a1-s2-c1"`}},
		"of another tool": {
			[]string{"a1-s2-c0-00abc002"}, []string{`spec.responses[0].id "a1-s2-c0-00abc002"`},
		},
		"of another step": {[]string{"a1-s2-c1-00abc001"}, []string{`spec.responses[0].id "a1-s2-c1-00abc001"`}},
		"two unknown":     {[]string{"x", q1, "y"}, []string{`spec.responses[0].id "x"`, `spec.responses[2].id "y"`}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := testRun(tt.responses...)
			if diff := cmp.Diff(tt.unknown, UnknownResponses(run, ReadJournal(run, steps))); diff != "" {
				t.Errorf("unknown (-want +got):\n%s", diff)
			}
		})
	}
	if Answered(testRun("q"), nil) {
		t.Error("nothing was asked and yet it was answered")
	}
}

func TestCut(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		in           string
		max          int
		cut, encoded string
	}{
		"empty":         {"", 3, "", ""},
		"fits":          {"abcd", 4, "abcd", "abcd"},
		"too long":      {"abcde", 4, "abc…", "a…"},
		"multi-byte":    {"漢字漢字", 4, "漢字漢字", "…"},
		"multi-byte, 7": {"漢字漢字漢字漢字", 7, "漢字漢字漢字…", "漢…"},
		"escaped":       {"\x01\x01", 9, "\x01\x01", "\x01…"},
		"quotes":        {`""""`, 8, `""""`, `""""`},
		"quotes, cut":   {`"""""`, 8, `"""""`, `""…`},
		"html":          {"<&>", 18, "<&>", "<&>"},
		"emoji":         {"😀😀😀", 8, "😀😀😀", "😀…"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := fit.Cut(tt.in, tt.max); got != tt.cut {
				t.Errorf("Cut gives %q, want %q", got, tt.cut)
			}
			got := fit.CutEncoded(tt.in, tt.max)
			if got != tt.encoded {
				t.Errorf("CutEncoded gives %q, want %q", got, tt.encoded)
			}
			if b, err := json.Marshal(got); err != nil || len(b)-2 > tt.max {
				t.Errorf("CutEncoded gives %d bytes (%v), want at most %d", len(b)-2, err, tt.max)
			}
		})
	}
}

// The status and the end of a run name the call that runs, and since when.
func TestReadJournalNamesTheCallThatRuns(t *testing.T) {
	t.Parallel()
	s := testStep(1, 2, done("read", true, 1500, "x"))
	s.Spec.ToolCalls = append(s.Spec.ToolCalls, v1alpha1.ToolCall{ID: "a1-s2-c1", Tool: "bash", Arguments: `{"command":"sleep 40"}`})
	p := ReadJournal(testRun(), []v1alpha1.MotorStep{s})
	since := s.CreationTimestamp.Add(2 * time.Second)
	want := &RunningCall{ID: "a1-s2-c1", Tool: "bash", Step: 2, Since: since}
	if diff := cmp.Diff(want, p.Running); diff != "" {
		t.Errorf("running (-want +got):\n%s", diff)
	}
	if got := p.LastCalls[len(p.LastCalls)-1]; got.ID != want.ID || got.StartTime == nil || !got.StartTime.Equal(&metav1.Time{Time: since}) || got.OK {
		t.Errorf("the last call is %+v", got)
	}
	text := "step 2: bash (a1-s2-c1), since " + since.UTC().Format(time.RFC3339)
	if p.Running.String() != text {
		t.Errorf("it is shown as %q, want %q", p.Running, text)
	}
	o := Observation{Run: testRun(), Progress: p}
	if e := timedOut(o, o.Run.CreationTimestamp.Add(24*time.Hour)); e == nil || !strings.Contains(e.Message, "It was at "+text) {
		t.Errorf("the end is %+v", e)
	}
	s.Status.Results = append(s.Status.Results, v1alpha1.ToolResult{CallID: "a1-s2-c1", OK: true})
	if p := ReadJournal(testRun(), []v1alpha1.MotorStep{s}); p.Running != nil {
		t.Errorf("when all calls have ended, %s runs", p.Running)
	}
}

// BenchmarkReadJournal is the time in which the controller learns from all steps of a run where it is. It does that in each of its passes.
func BenchmarkReadJournal(b *testing.B) {
	for _, n := range []int32{10, 100, 1000} {
		var steps []v1alpha1.MotorStep
		for i := range n {
			steps = append(steps, testStep(1, i+1, done("bash", true, 1, strings.Repeat("x", 500))))
		}
		run := testRun()
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				ReadJournal(run, steps)
			}
		})
	}
}
