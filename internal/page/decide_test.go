// SPDX-License-Identifier: Apache-2.0

package page_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/test/fakecluster"
)

const (
	gitPush = `{"command":"git push origin main"}`
	rule    = `spec.approval.bash.commands "git push *"`
)

// shownAsk is what a page needs of an ask to answer it.
type shownAsk struct {
	UID, Seen, ID string
	May           bool
	Role          string
	Choices       []struct{ Decision, Effect string }
	Action        *struct {
		Digest, Problem string
		Parts           []struct{ Name, Text string }
	}
}

// shown is the only ask of the inbox.
func (r *rig) shown() shownAsk {
	r.t.Helper()
	var answer struct{ Items []shownAsk }
	if status, raw := r.asks(http.MethodGet, "/api/inbox?namespace=ns", "", &answer); status != http.StatusOK || len(answer.Items) != 1 {
		r.t.Fatalf("%d: %s", status, raw)
	}
	return answer.Items[0]
}

// answers sends an answer about what was shown.
func (r *rig) answers(a shownAsk, fields string) (status int, raw string) {
	r.t.Helper()
	body := fmt.Sprintf(`{"uid":%q,"seen":%q%s}`, a.UID, a.Seen, fields)
	return r.asks(http.MethodPost, "/api/runs/ns/run/asks/"+a.ID, body, nil)
}

// Every ask takes the decisions that it offers, and no others.
func TestDecisions(t *testing.T) {
	t.Parallel()
	digest := fakecluster.Approval("q", "bash", gitPush, rule).Action.ArgsDigest
	approval := func(rule string) v1alpha1.PendingInput { return fakecluster.Approval("q", "bash", gitPush, rule) }
	question := v1alpha1.PendingInput{ID: "q", Kind: v1alpha1.InputQuestion, Question: "Which?", Options: []string{"a", "b\u200b"}}
	domain := v1alpha1.PendingInput{ID: "q", Kind: v1alpha1.InputDomainRequest, Domain: "api.example.org"}
	unknown := v1alpha1.PendingInput{ID: "q", Kind: v1alpha1.InputOutcomeUnknown}
	retry := v1alpha1.PendingInput{ID: "q", Kind: v1alpha1.InputRetry, Attempt: new(int32(2))}
	withDigest := `,"digest":"` + digest + `"`
	for name, tt := range map[string]struct {
		ask    v1alpha1.PendingInput
		fields string
		want   *v1alpha1.Response
		says   string
	}{
		"words":                     {question, `,"answer":" c "`, &v1alpha1.Response{Answer: " c "}, `"sent":" c "`},
		"an option":                 {question, `,"option":2`, &v1alpha1.Response{Answer: "b\u200b"}, `"sent":"b\\u200b"`},
		"an option too many":        {question, `,"option":3`, nil, "has 2 options"},
		"an option before the list": {question, `,"option":-1`, nil, "has 2 options"},
		"both":                      {question, `,"option":1,"answer":"x"`, nil, "or choose an option"},
		"nothing":                   {question, ``, nil, "or choose an option"},
		"a file":                    {question, `,"answer":"c","files":[{"path":"a.csv","content":"MTsyCg=="}]`, &v1alpha1.Response{Answer: "c", Files: []v1alpha1.ResponseFile{{Path: "a.csv", Content: new("1;2\n")}}}, ""},
		"an option with a file":     {question, `,"option":1,"files":[{"path":"raw","content":"AP8="}]`, &v1alpha1.Response{Answer: "a", Files: []v1alpha1.ResponseFile{{Path: "raw", BinaryContent: []byte("\x00\xff")}}}, ""},
		"a file alone":              {question, `,"files":[{"path":"a.csv","content":""}]`, &v1alpha1.Response{Answer: "Here: a.csv", Files: []v1alpha1.ResponseFile{{Path: "a.csv", Content: new("")}}}, ""},
		"a file above":              {question, `,"answer":"c","files":[{"path":"../a","content":""}]`, nil, "cannot be its name"},
		"a file twice":              {question, `,"answer":"c","files":[{"path":"a","content":""},{"path":"a","content":""}]`, nil, "two files have the name"},
		"a secret":                  {question, `,"answer":"c","files":[{"path":"a","content":"` + base64.StdEncoding.EncodeToString([]byte("AKIA"+"YRWSSQ3BPTB4DX7Z")) + `"}]`, nil, "what looks like a secret"},
		"a large file":              {question, `,"answer":"c","files":[{"path":"a","content":"` + strings.Repeat("AAAA", 128<<10/3+1) + `"}]`, nil, "put it into a ConfigMap"},
		"a file with a decision":    {domain, `,"decision":"Deny","files":[{"path":"a","content":""}]`, nil, "takes a decision"},
		"white space":               {question, `,"answer":" \n"`, nil, "is empty"},
		"a decision":                {question, `,"decision":"Deny"`, nil, "takes an answer"},

		"approve once":            {approval(rule), `,"decision":"ApproveOnce"` + withDigest, &v1alpha1.Response{Decision: "ApproveOnce", Digest: digest}, "ApproveOnce"},
		"approve for the run":     {approval(rule), `,"decision":"ApproveRun","reason":"fine"` + withDigest, &v1alpha1.Response{Decision: "ApproveRun", Digest: digest, Reason: "fine"}, ""},
		"for the run, no rule":    {approval(""), `,"decision":"ApproveRun"` + withDigest, nil, `does not offer`},
		"deny with a reason":      {approval(rule), `,"decision":"Deny","reason":"to a branch"` + withDigest, &v1alpha1.Response{Decision: "Deny", Digest: digest, Reason: "to a branch"}, ""},
		"approve without digest":  {approval(rule), `,"decision":"ApproveOnce"`, nil, "nothing was sent"},
		"approve another digest":  {approval(rule), `,"decision":"ApproveOnce","digest":"sha256:0"`, nil, "nothing was sent"},
		"approve with an answer":  {approval(rule), `,"decision":"ApproveOnce","answer":"yes"` + withDigest, nil, "takes a decision"},
		"approve with guidance":   {approval(rule), `,"decision":"ApproveOnce","guidance":"x"` + withDigest, nil, "does not go with"},
		"allow a call":            {approval(rule), `,"decision":"AllowRun"` + withDigest, nil, "does not offer"},
		"allow once":              {domain, `,"decision":"AllowOnce"`, &v1alpha1.Response{Decision: "AllowOnce"}, ""},
		"allow for the run":       {domain, `,"decision":"AllowRun"`, &v1alpha1.Response{Decision: "AllowRun"}, ""},
		"deny a domain":           {domain, `,"decision":"Deny","reason":"no"`, &v1alpha1.Response{Decision: "Deny", Reason: "no"}, ""},
		"allow with more domains": {domain, `,"decision":"AllowRun","domains":["evil.example.com"]`, nil, "does not go with"},

		"make it again":        {unknown, `,"decision":"Retry"`, &v1alpha1.Response{Decision: "Retry"}, ""},
		"again with a reason":  {unknown, `,"decision":"Retry","reason":"x"`, nil, "does not go with"},
		"done":                 {unknown, `,"decision":"Done","reason":"paid"`, &v1alpha1.Response{Decision: "Done", Reason: "paid"}, ""},
		"skip":                 {unknown, `,"decision":"Skip"`, &v1alpha1.Response{Decision: "Skip"}, ""},
		"try again":            {retry, `,"decision":"Retry","guidance":"port 8080","domains":["a.example.org"]`, &v1alpha1.Response{Decision: "Retry", Guidance: "port 8080", AddDomains: []v1alpha1.Domain{"a.example.org"}}, ""},
		"stop":                 {retry, `,"decision":"Stop","reason":"enough"`, &v1alpha1.Response{Decision: "Stop", Reason: "enough"}, ""},
		"stop with domains":    {retry, `,"decision":"Stop","domains":["a.example.org"]`, nil, "does not go with"},
		"of a later operator":  {v1alpha1.PendingInput{ID: "q", Kind: "Vote"}, `,"decision":"Retry"`, nil, "does not offer"},
		"without its action":   {v1alpha1.PendingInput{ID: "q", Kind: v1alpha1.InputApproval}, `,"decision":"ApproveOnce"`, nil, "does not offer"},
		"deny without an call": {v1alpha1.PendingInput{ID: "q", Kind: v1alpha1.InputApproval}, `,"decision":"Deny"`, nil, "does not offer"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, fakecluster.New(t, fakecluster.Run("ns", "run", tt.ask)))
			status, raw := r.answers(r.shown(), tt.fields)
			var want []v1alpha1.Response
			if tt.want != nil {
				tt.want.ID, tt.want.RespondedBy = "q", fakecluster.User
				want = append(want, *tt.want)
			}
			if (status == http.StatusOK) != (tt.want != nil) || !strings.Contains(unescaped(t, raw), tt.says) {
				t.Errorf("%d: %s", status, raw)
			}
			if diff := cmp.Diff(want, r.Sent()); diff != "" {
				t.Errorf("sent (-want +got):\n%s", diff)
			}
		})
	}
}

// unescaped is JSON without the escapes of markup.
func unescaped(t *testing.T, raw string) string {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(raw), &v); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// An answer counts for what the person was shown, and for nothing that came in its place.
func TestAnAnswerIsAboutWhatWasShown(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(*v1alpha1.MotorRun)
		says   string
	}{
		"another call": {func(run *v1alpha1.MotorRun) {
			run.Status.PendingInputs[0].Action.Arguments = `{"command":"git push -f"}`
		}, "look at it again"},
		"another question":  {func(run *v1alpha1.MotorRun) { run.Status.PendingInputs[0].Question = "Really?" }, "look at it again"},
		"it asks no more":   {func(run *v1alpha1.MotorRun) { run.Status.PendingInputs = nil }, "does not ask that any more"},
		"it asks otherwise": {func(run *v1alpha1.MotorRun) { run.Status.PendingInputs[0].ID = "other" }, "does not ask that any more"},
		"it is answered":    {func(run *v1alpha1.MotorRun) { run.Status.PendingInputs[0].Answered = true }, "does not ask that any more"},
		"it reaches more": {func(run *v1alpha1.MotorRun) {
			run.Status.Egress.Domains = append(run.Status.Egress.Domains, "evil.example.com")
		}, "look at it again"},
		"it has more credentials": {func(run *v1alpha1.MotorRun) {
			run.Status.Egress.Credentials = append(run.Status.Egress.Credentials, "payments")
		}, "look at it again"},
		"its deadline approves": {func(run *v1alpha1.MotorRun) { run.Status.PendingInputs[0].OnTimeout = "Approve" }, "look at it again"},
		"another order":         {func(run *v1alpha1.MotorRun) { slices.Reverse(run.Status.Egress.Domains) }, ""},
		"more time": {func(run *v1alpha1.MotorRun) {
			run.Status.PendingInputs[0].ExpirationTime.Time = run.CreationTimestamp.AddDate(1, 0, 0)
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := fakecluster.Run("ns", "run", fakecluster.Approval("q", "bash", gitPush, rule))
			run.Status.Egress = &v1alpha1.EgressStatus{Domains: []v1alpha1.Domain{"github.com", "example.org"}, Credentials: []string{"github"}}
			r := newRig(t, fakecluster.New(t, run))
			a := r.shown()
			r.Operate(t.Context(), t, keyOf(run), tt.change)
			status, raw := r.answers(a, `,"decision":"ApproveOnce","digest":"`+a.Action.Digest+`"`)
			if (status == http.StatusOK) != (tt.says == "") || !strings.Contains(raw, tt.says) || tt.says != "" && (status != http.StatusConflict || len(r.Sent()) > 0) {
				t.Errorf("%d: %s; sent are %+v", status, raw, r.Sent())
			}
		})
	}
}

// A run for another person is another decision, whatever the rules of the API server are.
func TestAnAnswerIsForTheRequesterWhoWasShown(t *testing.T) {
	t.Parallel()
	run := fakecluster.Run("ns", "run", fakecluster.Approval("q", "bash", gitPush, rule))
	r := newRig(t, fakecluster.New(t, run))
	a := r.shown()
	other := fakecluster.Run("ns", "run", run.Status.PendingInputs...)
	other.Spec.Requester.Username = "mallory@example.org"
	of := newRig(t, fakecluster.New(t, other))
	if b := of.shown(); a.UID != b.UID || a.Seen == b.Seen {
		t.Fatalf("shown are %+v and %+v", a, b)
	}
	if status, raw := of.answers(a, `,"decision":"ApproveOnce","digest":"`+a.Action.Digest+`"`); status != http.StatusConflict || len(of.Sent()) > 0 {
		t.Errorf("%d: %s", status, raw)
	}
}

func TestTheSecondAnswerIsToldOfTheFirst(t *testing.T) {
	t.Parallel()
	r := newRig(t, fakecluster.New(t, fakecluster.Run("ns", "run", v1alpha1.PendingInput{ID: "q", Kind: v1alpha1.InputQuestion})))
	a := r.shown()
	if status, raw := r.answers(a, `,"answer":"mine"`); status != http.StatusOK {
		t.Fatalf("%d: %s", status, raw)
	}
	if status, raw := r.answers(a, `,"answer":"hers"`); status != http.StatusConflict || !strings.Contains(raw, "answered already, by "+fakecluster.User) {
		t.Errorf("%d: %s", status, raw)
	}
	a.UID = "of-another"
	if status, raw := r.answers(a, `,"answer":"x"`); status != http.StatusConflict || !strings.Contains(raw, "the run that asked is gone") {
		t.Errorf("%d: %s", status, raw)
	}
}

func TestARefusalNamesTheRightThatIsMissing(t *testing.T) {
	t.Parallel()
	r := newRig(t, fakecluster.New(t, fakecluster.Run("ns", "run", fakecluster.Approval("q", "bash", gitPush, rule))))
	r.Deny("approve motorruns", "patch motorruns")
	a := r.shown()
	if a.May || a.Role != "motorcortex-approver" {
		t.Errorf("%+v", a)
	}
	if status, raw := r.answers(a, `,"decision":"Deny","digest":"`+a.Action.Digest+`"`); status != http.StatusForbidden || !strings.Contains(raw, "motorcortex-approver") {
		t.Errorf("%d: %s", status, raw)
	}
	r.Deny("list motorruns")
	r.want(http.StatusForbidden, http.MethodGet, "/api/inbox?namespace=ns", "", "You may not do this", "cannot list", "motorcortex-viewer")
}
