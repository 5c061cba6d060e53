// SPDX-License-Identifier: Apache-2.0

package motor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

var errNoPerson = errors.New("no person is there")

// Every call that only a person decides about is refused before anything is sent, whatever else it says.
func TestConsent(t *testing.T) {
	t.Parallel()
	gated := []struct{ tool, arguments string }{
		{ToolTask, `{"action":"respond","runId":"a","askId":"q","answer":"yes"}`},
		{ToolDecide, `{"action":"settle","runId":"a","runUid":"uid","askId":"u","outcome":"Done"}`},
		{ToolDecide, `{"action":"answer","runId":"a","runUid":"uid","askId":"q","answer":"yes"}`},
		{ToolDecide, `{"action":"approve","runId":"a","runUid":"uid","askId":"p","digest":"` + digest + `"}`},
		{ToolDecide, `{"action":"deny","runId":"a","runUid":"uid","askId":"p","digest":"` + digest + `"}`},
		{ToolDecide, `{"action":"allow","runId":"a","runUid":"uid","askId":"d"}`},
		{ToolTask, `{"action":"approve","runId":"a","askId":"p","digest":"` + digest + `"}`},
		{ToolTask, `{"action":"retry","runId":"a","domains":["example.org"]}`},
		{ToolSkill, `{"action":"update","name":"mail","tools":["bash"]}`},
		{ToolSkill, `{"action":"approve","name":"mail","contentHash":"x","policyHash":"y"}`},
		{ToolSkill, `{"action":"reject","name":"mail","contentHash":"x"}`},
		{ToolSkill, `{"action":"revoke","name":"mail"}`},
		{ToolSkill, `{"action":"delete","name":"mail"}`},
		{ToolCredential, `{"action":"set","secret":"key","value":"v","hosts":["example.org"]}`},
		{ToolCredential, `{"action":"delete","secret":"key"}`},
	}
	for _, tt := range gated {
		r := newRig(t, aRun("a", asking(asked...)))
		_, err := (&Toolset{Client: r.Client}).Call(t.Context(), tt.tool, json.RawMessage(tt.arguments), nil)
		if !errors.Is(err, errNoConsent) {
			t.Errorf("%s %s: %v", tt.tool, tt.arguments, err)
		}
		with := &Toolset{Client: r.Client, Consent: func(context.Context, string, string) error { return errNoPerson }}
		if _, err := with.Call(t.Context(), tt.tool, json.RawMessage(tt.arguments), nil); !errors.Is(err, errNoPerson) {
			t.Errorf("%s %s: %v", tt.tool, tt.arguments, err)
		}
		if n := len(r.motor.Actions()) + len(r.core.Actions()) + len(r.meta.Actions()); n != 0 {
			t.Errorf("%s %s: %d requests were made", tt.tool, tt.arguments, n)
		}
	}
}

// A value goes by itself to the hosts alone that its Secret names. A model has the rights of the person, who may choose others.
func TestAnotherHostOfACredentialNeedsConsent(t *testing.T) {
	t.Parallel()
	call := func(secret string, hosts ...string) json.RawMessage {
		text, err := json.Marshal(map[string]any{"mode": "agentic", "task": "x", "credentials": []any{map[string]any{"name": "key", "secret": secret, "hosts": hosts}}})
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	for _, tt := range []struct {
		arguments json.RawMessage
		says      string // a part of the error without consent, "" for a call that needs none
	}{
		{call("key", "a.example.org"), ""},
		{call("key", "b.example.org", "a.example.org"), ""},
		{call("unlabelled", "a.example.org"), ""},
		{call("key", "evil.example.net"), `does not name ["evil.example.net"]`},
		{call("key", "a.example.org", "evil.example.net"), `does not name ["evil.example.net"]`},
		{call("key", "a.example.org:8443"), "does not name"},
		{call("key", "*.example.org"), "does not name"},
		{call("key", "x.a.example.org"), "does not name"},
		{call("missing", "a.example.org"), "cannot be read"},
	} {
		for name, consents := range map[string]func(context.Context, string, string) error{
			"nothing decides": nil,
			"no":              func(context.Context, string, string) error { return errNoPerson },
			"yes": func(_ context.Context, tool, action string) error {
				if tool != ToolAct || action != actionCredentials {
					t.Errorf("consent is asked for %s %s", tool, action)
				}
				return nil
			},
		} {
			r := newRig(t)
			r.holds("key", ofCredential)
			r.holds("unlabelled", nil)
			_, err := (&Toolset{Client: r.Client, Consent: consents}).Call(t.Context(), ToolAct, tt.arguments, nil)
			runs, _, listed := r.Runs(t.Context(), "", 1)
			if listed != nil {
				t.Fatal(listed)
			}
			if tt.says == "" || name == "yes" {
				if err != nil || len(runs) != 1 {
					t.Errorf("%s, %s: %v, %d runs", tt.arguments, name, err, len(runs))
				}
				continue
			}
			wantError(t, err, tt.says)
			if !errors.Is(err, errNoConsent) && !errors.Is(err, errNoPerson) || len(runs) != 0 {
				t.Errorf("%s, %s: %v, %d runs", tt.arguments, name, err, len(runs))
			}
			if n := len(r.core.Actions()); n != 0 {
				t.Errorf("%s, %s: %d requests read more than metadata", tt.arguments, name, n)
			}
		}
	}
}

func TestCalls(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		tool, arguments string
		run             *v1alpha1.MotorRun
		want            string // a part of the result
		says            string // a part of the error
	}{
		"a task":               {ToolAct, `{"mode":"agentic","task":"x","credentials":[{"name":"key","secret":"s","hosts":["example.org"]}],"files":[{"path":"a","content":"b"}]}`, aRun("b", ended(true)), `"status":"created"`, ""},
		"a list":               {ToolTask, `{"action":"list"}`, aRun("a", asking(asked...)), `{"runs":[{"id":"a","status":"AwaitingInput","reason":"Running","task":"count","iterations":0,"waitsFor":"Question"}],"total":1}`, ""},
		"a status":             {ToolTask, `{"action":"status","runId":"a"}`, aRun("a", ended(true)), `"result":{"ok":true,"summary":"done",`, ""},
		"the uid of a run":     {ToolTask, `{"action":"status","runId":"a"}`, aRun("a"), `"uid":"uid"`, ""},
		"no run":               {ToolTask, `{"action":"status","runId":"a"}`, aRun("b"), "", "there is no run a"},
		"an answer":            {ToolTask, `{"action":"respond","runId":"a","askId":"q","answer":"yes"}`, aRun("a", asking(asked...)), `"runId":"a","previousStatus":"AwaitingInput"`, ""},
		"an answer to any":     {ToolTask, `{"action":"respond","runId":"a","answer":"yes"}`, aRun("a", asking(asked...)), "", "needs [askId]"},
		"an empty answer":      {ToolTask, `{"action":"respond","runId":"a","askId":"q"}`, aRun("a", asking(asked...)), "", "needs [answer]"},
		"an approval":          {ToolTask, `{"action":"approve","runId":"a","askId":"p","digest":"` + digest + `"}`, aRun("a", asking(asked...)), `"runId":"a"`, ""},
		"a domain":             {ToolTask, `{"action":"approve","runId":"a","askId":"d","digest":"x"}`, aRun("a", asking(asked...)), "", "it asks"},
		"an unseen approval":   {ToolTask, `{"action":"approve","runId":"a","askId":"p"}`, aRun("a", asking(asked...)), "", "has the digest " + digest},
		"a retry":              {ToolTask, `{"action":"retry","runId":"a","guidance":"x"}`, aRun("a", asking(asked...)), `{"runId":"a","attemptIndex":2,`, ""},
		"of the run shown":     {ToolTask, `{"action":"respond","runId":"a","runUid":"uid","askId":"q","answer":"yes"}`, aRun("a", asking(asked...)), `"runId":"a"`, ""},
		"of a former run":      {ToolTask, `{"action":"respond","runId":"a","runUid":"former","askId":"q","answer":"yes"}`, aRun("a", asking(asked...)), "", "another one of its name"},
		"a retry of a former":  {ToolTask, `{"action":"retry","runId":"a","runUid":"former"}`, aRun("a", asking(asked...)), "", "another one of its name"},
		"a cancellation":       {ToolTask, `{"action":"cancel","runId":"a"}`, aRun("a"), `"previousStatus":"Running"`, ""},
		"a log":                {ToolTask, `{"action":"log","runId":"a"}`, aRun("a"), `{"log":""}`, ""},
		"a wait for an end":    {ToolTask, `{"action":"wait","runId":"a"}`, aRun("a", ended(true)), `{"timeIsOver":false,"id":"a","status":"Completed"`, ""},
		"a wait for an ask":    {ToolTask, `{"action":"wait","runId":"a"}`, aRun("a", asking(asked[0])), `"asks":[{"id":"q","kind":"Question","answerWith":"core_decide answer","needs":"respond"}]`, ""},
		"a wait in vain":       {ToolTask, `{"action":"wait","runId":"a","timeoutSeconds":1}`, aRun("a"), `{"timeIsOver":true,"id":"a","status":"Running"`, ""},
		"a wait for no run":    {ToolTask, `{"action":"wait","runId":"a"}`, aRun("b"), "", "not found"},
		"a value":              {ToolCredential, `{"action":"set","secret":"key","value":"hidden","hosts":["example.org"]}`, aRun("a"), `{"hosts":["example.org"],"key":"value","secret":"key"}`, ""},
		"a value for no hosts": {ToolCredential, `{"action":"set","secret":"key","value":"hidden"}`, aRun("a"), "", "names no hosts"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, tt.run)
			tools := &Toolset{Client: r.Client, Consent: func(context.Context, string, string) error { return nil }}
			value, err := tools.Call(t.Context(), tt.tool, json.RawMessage(tt.arguments), nil)
			if tt.says != "" {
				wantError(t, err, tt.says)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if text, _ := json.Marshal(value); !strings.Contains(string(text), tt.want) {
				t.Errorf("%s, want %s", text, tt.want)
			}
		})
	}
}

// A call that waits tells of what happens meanwhile.
func TestAWaitTellsOfEvents(t *testing.T) {
	t.Parallel()
	r := newRig(t, aRun("a"))
	var told []string
	_, err := (&Toolset{Client: r.Client}).Call(t.Context(), ToolTask, json.RawMessage(`{"action":"wait","runId":"a"}`), func(e Event) {
		told = append(told, string(e.Type))
		if len(told) == 1 {
			r.becomes(aRun("a", asking(asked[0])))
		}
	})
	if got := fmt.Sprint(told); got != "[Changed Changed Asked]" || err != nil {
		t.Errorf("%s, %v", got, err)
	}
}
