// SPDX-License-Identifier: Apache-2.0

package motor

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// Each decision of a person reaches the ask that the person saw, in the person's words.
func TestDecisions(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		arguments string // those beside the run and its UID
		want      v1alpha1.Response
		says      string
	}{
		"an answer":            {`"action":"answer","askId":"q","answer":"yes"`, v1alpha1.Response{ID: "q", Answer: "yes"}, ""},
		"an approval":          {`"action":"approve","askId":"p","digest":"` + digest + `","reason":"fine"`, v1alpha1.Response{ID: "p", Decision: v1alpha1.DecisionApproveOnce, Digest: digest, Reason: "fine"}, ""},
		"one for the run":      {`"action":"approve","askId":"p","digest":"` + digest + `","wholeRun":true`, v1alpha1.Response{ID: "p", Decision: v1alpha1.DecisionApproveRun, Digest: digest}, ""},
		"a denial":             {`"action":"deny","askId":"p","digest":"` + digest + `","reason":"no"`, v1alpha1.Response{ID: "p", Decision: v1alpha1.DecisionDeny, Digest: digest, Reason: "no"}, ""},
		"a domain":             {`"action":"allow","askId":"d"`, v1alpha1.Response{ID: "d", Decision: v1alpha1.DecisionAllowOnce}, ""},
		"a domain for the run": {`"action":"allow","askId":"d","wholeRun":true`, v1alpha1.Response{ID: "d", Decision: v1alpha1.DecisionAllowRun}, ""},
		"a domain that is not": {`"action":"deny","askId":"d"`, v1alpha1.Response{ID: "d", Decision: v1alpha1.DecisionDeny}, ""},
		"an unknown outcome":   {`"action":"settle","askId":"u","outcome":"Skip","reason":"late"`, v1alpha1.Response{ID: "u", Decision: v1alpha1.DecisionSkip, Reason: "late"}, ""},
		"no ask":               {`"action":"answer","answer":"yes"`, v1alpha1.Response{}, "needs [askId]"},
		"no answer":            {`"action":"answer","askId":"q"`, v1alpha1.Response{}, "needs [answer]"},
		"no digest":            {`"action":"approve","askId":"p"`, v1alpha1.Response{}, "needs [digest]"},
		"another digest":       {`"action":"approve","askId":"p","digest":"sha256:x"`, v1alpha1.Response{}, "nothing was decided"},
		"a call of no digest":  {`"action":"deny","askId":"p"`, v1alpha1.Response{}, "nothing was decided"},
		"no outcome":           {`"action":"settle","askId":"u"`, v1alpha1.Response{}, "needs [outcome]"},
		"another kind":         {`"action":"allow","askId":"p"`, v1alpha1.Response{}, "does not ask that"},
		"words for nothing":    {`"action":"answer","askId":"q","answer":"x","reason":"y"`, v1alpha1.Response{}, "answer takes no reason"},
		"files of a decision":  {`"action":"settle","askId":"u","outcome":"Skip","files":[{"path":"a","content":"1"}]`, v1alpha1.Response{}, "settle takes no files"},
		"a file of no name":    {`"action":"answer","askId":"q","answer":"x","files":[{"path":"../a","content":"1"}]`, v1alpha1.Response{}, "cannot be its name"},
		"a form":               {`"action":"ask","askId":"q"`, v1alpha1.Response{}, "cannot ask a person"},
		"no action":            {`"action":"respond","askId":"q"`, v1alpha1.Response{}, "none of answer, approve"},
		"a former run":         {`"action":"answer","askId":"q","answer":"yes","runUid":"former"`, v1alpha1.Response{}, "another one of its name"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, aRun("a", asking(asked...)))
			tools := &Toolset{Client: r.Client, Consent: func(context.Context, string, string) error { return nil }}
			arguments := `{"runId":"a",` + tt.arguments
			if !strings.Contains(arguments, "runUid") {
				arguments += `,"runUid":"uid"`
			}
			_, err := tools.Call(t.Context(), ToolDecide, json.RawMessage(arguments+"}"), nil)
			if tt.says != "" {
				wantError(t, err, tt.says)
				if n := len(r.run("a").Spec.Responses); n != 1 {
					t.Errorf("%d responses were sent", n-1)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := r.run("a").Spec.Responses[1:]; !reflect.DeepEqual(got, []v1alpha1.Response{tt.want}) {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

func TestADecisionNeedsTheRunThatWasShown(t *testing.T) {
	t.Parallel()
	r := newRig(t, aRun("a", asking(asked...)))
	tools := &Toolset{Client: r.Client, Consent: func(context.Context, string, string) error { return nil }}
	_, err := tools.Call(t.Context(), ToolDecide, json.RawMessage(`{"action":"answer","runId":"a","askId":"q","answer":"yes"}`), nil)
	wantError(t, err, "needs [runUid]")
}

func TestFilesGoWithAnAnswer(t *testing.T) {
	t.Parallel()
	r := newRig(t, aRun("a", asking(asked...)))
	tools := &Toolset{Client: r.Client, Consent: func(context.Context, string, string) error { return nil }}
	if _, err := tools.Call(t.Context(), ToolDecide, json.RawMessage(
		`{"action":"answer","runId":"a","runUid":"uid","askId":"q","answer":"x","files":[{"path":"a.csv","content":"1"}]}`), nil); err != nil {
		t.Fatal(err)
	}
	if files := r.run("a").Spec.Responses[1].Files; len(files) != 1 || files[0].Path != "a.csv" {
		t.Errorf("the files are %+v", files)
	}
}
