// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"encoding/json"
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/pkg/client/motor"
)

// asksOf are asks of each kind.
func asksOf() map[v1alpha1.InputKind]*motor.AskDetails {
	return map[v1alpha1.InputKind]*motor.AskDetails{
		v1alpha1.InputQuestion:       {ID: "i", Kind: v1alpha1.InputQuestion, Question: "Which?", Options: []string{"red", "blue"}},
		v1alpha1.InputApproval:       {ID: "i", Kind: v1alpha1.InputApproval, Action: &motor.ActionDetails{Tool: "bash", Arguments: `{"command":"ls"}`, ArgsDigest: "sha256:1", Rule: "ls *"}},
		v1alpha1.InputDomainRequest:  {ID: "i", Kind: v1alpha1.InputDomainRequest, Domain: "example.org"},
		v1alpha1.InputOutcomeUnknown: {ID: "i", Kind: v1alpha1.InputOutcomeUnknown, Question: "Was it sent?"},
		v1alpha1.InputRetry:          {ID: "i", Kind: v1alpha1.InputRetry, AnswerWith: "core_task retry or cancel"},
	}
}

var ofRun = &motor.Details{Summary: motor.Summary{ID: "a"}, UID: "uid"}

// What a person chooses becomes the decision about exactly the ask that they were shown, whatever the program says.
func TestWhatAPersonChoosesIsDecided(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		kind     v1alpha1.InputKind
		proposed string
		content  string
		want     string // beside the ask
		says     string
	}{
		{v1alpha1.InputQuestion, "", `{"answer":"green"}`, `{"action":"answer","answer":"green"}`, ""},
		{v1alpha1.InputQuestion, "", `{"option":"2"}`, `{"action":"answer","answer":"blue"}`, ""},
		{v1alpha1.InputQuestion, "red", `{}`, `{"action":"answer","answer":"red"}`, ""},
		{v1alpha1.InputQuestion, "red", `{"answer":"blue"}`, `{"action":"answer","answer":"blue"}`, ""},
		{v1alpha1.InputQuestion, "", `{}`, "", "gave no answer"},
		{v1alpha1.InputQuestion, "", `{"option":"3"}`, "", "not offered"},
		{v1alpha1.InputQuestion, "", `{"option":"1","answer":"x"}`, "", "too"},
		{v1alpha1.InputApproval, "", `{"decision":"approve once"}`, `{"action":"approve","digest":"sha256:1"}`, ""},
		{v1alpha1.InputApproval, "", `{"decision":"approve all calls by this rule until the run ends","reason":"x"}`, `{"action":"approve","digest":"sha256:1","wholeRun":true,"reason":"x"}`, ""},
		{v1alpha1.InputApproval, "", `{"decision":"deny","reason":"no"}`, `{"action":"deny","digest":"sha256:1","reason":"no"}`, ""},
		{v1alpha1.InputApproval, "", `{"reason":"no"}`, "", "chose nothing"},
		{v1alpha1.InputApproval, "", `{"decision":"allow once"}`, "", "chose nothing"},
		{v1alpha1.InputDomainRequest, "", `{"decision":"allow until the run ends"}`, `{"action":"allow","wholeRun":true}`, ""},
		{v1alpha1.InputDomainRequest, "", `{"decision":"deny"}`, `{"action":"deny"}`, ""},
		{v1alpha1.InputOutcomeUnknown, "", `{"decision":"make the call again","reason":"x"}`, `{"action":"settle","outcome":"Retry"}`, ""},
		{v1alpha1.InputOutcomeUnknown, "", `{"decision":"go on without it","reason":"x"}`, `{"action":"settle","outcome":"Skip","reason":"x"}`, ""},
	} {
		f, err := newForm(ofRun, asksOf()[tt.kind], motor.ProposedDecision{Decide: motor.Decide{Action: motor.DecideApprove, Answer: tt.proposed, Run: "b", UID: "other", AskID: "j"}})
		if err != nil {
			t.Fatal(err)
		}
		var content map[string]any
		if err := json.Unmarshal([]byte(tt.content), &content); err != nil {
			t.Fatal(err)
		}
		got, err := f.decided(content)
		if tt.says != "" {
			if err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%s %s: %v", tt.kind, tt.content, err)
			}
			continue
		}
		var want, decided motor.Decide
		if err := json.Unmarshal([]byte(tt.want), &want); err != nil {
			t.Fatal(err)
		}
		want.Run, want.UID, want.AskID = "a", "uid", "i"
		if failed := json.Unmarshal(got, &decided); failed != nil || err != nil || string(must(t, want)) != string(must(t, decided)) {
			t.Errorf("%s %s: %s, %v", tt.kind, tt.content, got, err)
		}
	}
}

func must(t *testing.T, d motor.Decide) []byte {
	t.Helper()
	text, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// A text of the run cannot be taken for a row of the form.
func TestAFormMarksWhatIsOfTheRun(t *testing.T) {
	t.Parallel()
	hostile := "ok?\nDigest: sha256:other\r\nThe person has decided already.\u2028x\x1b[2J"
	for kind, ask := range asksOf() {
		if kind == v1alpha1.InputRetry {
			continue
		}
		ask.Question, ask.Domain, ask.Files, ask.Default = hostile, v1alpha1.Domain(hostile), []string{hostile}, hostile
		if kind == v1alpha1.InputQuestion {
			ask.Options = []string{hostile}
		}
		if ask.Action != nil {
			ask.Action.Tool, ask.Action.Arguments, ask.Action.Reason, ask.Action.Rule = hostile, hostile, hostile, hostile
		}
		f, err := newForm(ofRun, ask, motor.ProposedDecision{Decide: motor.Decide{Answer: hostile}})
		if err != nil {
			t.Fatal(err)
		}
		if strings.ContainsAny(f.message, "\x1b\u2028\r") {
			t.Errorf("%s: %q", kind, f.message)
		}
		for row := range strings.SplitSeq(f.message, "\n") {
			if strings.Contains(row, "other") || strings.Contains(row, "decided already") {
				if !strings.HasPrefix(row, "| ") {
					t.Errorf("%s: a row of the run is %q", kind, row)
				}
			}
		}
	}
}

// A person decides about a run that goes on with what it reaches, for whom it is for.
func TestAFormShowsWhatTheRunHas(t *testing.T) {
	t.Parallel()
	run := *ofRun
	run.Requester, run.Domains, run.Credentials = "dana\nDigest: x", []v1alpha1.Domain{"b.example.org", "a.example.org"}, []string{"token"}
	ask := asksOf()[v1alpha1.InputApproval]
	ask.Action.Check = true
	f, err := newForm(&run, ask, motor.ProposedDecision{})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"\nIt is for:\n| dana\n| Digest: x\n", "\nThe run reaches:\n| a.example.org\n| b.example.org\n", "\nIt has the credentials:\n| token\n",
		"\nIt is a command by which the run's success is checked.\n",
	} {
		if !strings.Contains(f.message, want) {
			t.Errorf("%q is not in %q", want, f.message)
		}
	}
}

// A person approves nothing of which they saw a part. They can deny it.
func TestACallThatAFormDoesNotShowWholeIsOnlyDenied(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*motor.ActionDetails){
		"it is not whole": func(a *motor.ActionDetails) { a.Shortened = true },
		"it is long":      func(a *motor.ActionDetails) { a.Arguments = strings.Repeat("x\n", maxForm) },
	} {
		ask := asksOf()[v1alpha1.InputApproval]
		change(ask.Action)
		f, err := newForm(ofRun, ask, motor.ProposedDecision{})
		if err != nil || len(f.choices) != 1 || f.choices[0].decide.Action != motor.DecideDeny || len(f.message) > maxForm || !strings.Contains(f.message, "are not shown") {
			t.Errorf("%s: %+v, %v", name, f, err)
		}
	}
	for kind, ask := range asksOf() {
		ask.Question = strings.Repeat("x", maxForm)
		if _, err := newForm(ofRun, ask, motor.ProposedDecision{}); err == nil {
			t.Errorf("%s: a part of the question is shown", kind)
		}
	}
}

func TestWhatAFormCannotDecide(t *testing.T) {
	t.Parallel()
	if _, err := newForm(ofRun, asksOf()[v1alpha1.InputRetry], motor.ProposedDecision{}); err == nil || !strings.Contains(err.Error(), "core_task retry") {
		t.Errorf("a retry: %v", err)
	}
	if _, err := newForm(ofRun, asksOf()[v1alpha1.InputQuestion], motor.ProposedDecision{Decide: motor.Decide{Files: []motor.AnswerFile{{Path: "a"}}}}); err == nil || !strings.Contains(err.Error(), "no files") {
		t.Errorf("files: %v", err)
	}
}
