// SPDX-License-Identifier: Apache-2.0

package motor

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
)

// A person who is asked about a call reads its keys. The call that is carried out must be that one.
func TestAKeyIsReadAsItIsShown(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ tool, arguments, says string }{
		{ToolTask, `{"action":"list","Action":"approve","runId":"a","askId":"p","digest":"` + digest + `"}`, `unknown field "Action": it is spelled "action"`},
		{ToolTask, `{"action":"list","action":"approve","runId":"a","askId":"p","digest":"` + digest + `"}`, `the key "action" is there twice`},
		{ToolTask, `{"action":"list","\u0061ction":"approve","runId":"a"}`, `the key "action" is there twice`},
		{ToolTask, `{"action":"status","runId":"a","runid":"b"}`, `"runid": it is spelled "runId"`},
		// The long s and the Kelvin sign are s and k to a decoder that ignores case.
		{ToolTask, `{"action":"status","runId":"a","a\u017fkId":"b"}`, `it is spelled "askId"`},
		{ToolAct, `{"mode":"agentic","task":"x","credentials":[{"name":"key","secret":"s","hosts":["a.org"],"Hosts":["b.org"]}]}`, `it is spelled "hosts"`},
		{ToolAct, `{"mode":"agentic","task":"x","credentials":[{"name":"key","secret":"s","hosts":["a.org"],"hosts":["b.org"]}]}`, `the key "hosts" is there twice`},
		{ToolAct, `{"mode":"agentic","task":"x","files":[{"path":"a","content":"b","CONTENT":"c"}]}`, `it is spelled "content"`},
		{ToolAct, `{"mode":"agentic","task":"x","skill":"s","inputs":{"a":"1","a":"2"}}`, `the key "a" is there twice`},
		{ToolAct, `{"mode":"agentic","task":{"a":1,"a":2}}`, "there twice"},
		{ToolTask, strings.Repeat(`[`, maxArguments), "nested more than 16 deep"},
		{ToolTask, `{"action":"list","` + strings.Repeat("x", 5000) + `":1}`, `xxx…"`},
		{ToolTask, `{"action":`, "not what the tool takes"},
	} {
		r := newRig(t, aRun("a", asking(asked...)))
		tools := &Toolset{Client: r.Client, Consent: func(context.Context, string, string) error { return nil }}
		_, err := tools.Call(t.Context(), tt.tool, json.RawMessage(tt.arguments), nil)
		wantError(t, err, tt.says)
		if err != nil && len(err.Error()) > 1000 {
			t.Errorf("the error has %d bytes", len(err.Error()))
		}
		if n := len(r.motor.Actions()) + len(r.meta.Actions()); n != 0 {
			t.Errorf("%.200s: %d requests were made", tt.arguments, n)
		}
	}
	// Names of inputs are those of the skill, which may differ in case alone.
	inputs := `{"mode":"agentic","task":"x","skill":"s","inputs":{"a":"1","A":"2"}}`
	if _, err := (&Toolset{Client: newRig(t).Client}).Call(t.Context(), ToolAct, json.RawMessage(inputs), nil); err != nil {
		t.Error(err)
	}
}
