// SPDX-License-Identifier: Apache-2.0

package motor

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// A person is asked about what only a person decides, and about no call that is refused in any case.
func TestWhatACallProposesToAPerson(t *testing.T) {
	t.Parallel()
	for arguments, tt := range map[string]struct {
		tool string
		want *ProposedDecision
		says string
	}{
		`{"action":"deny","runId":"a","runUid":"u","askId":"i","reason":"no"}`: {
			tool: ToolDecide, want: &ProposedDecision{Decide: Decide{Action: DecideDeny, Run: "a", UID: "u", AskID: "i", Reason: "no"}},
		},
		`{"action":"respond","runId":"a","askId":"i","answer":"x"}`: {
			tool: ToolTask, want: &ProposedDecision{Decide: Decide{Action: "respond", Run: "a", AskID: "i", Answer: "x"}},
		},
		`{"action":"retry","runId":"a","guidance":"g","domains":["example.org"]}`: {
			tool: ToolTask, want: &ProposedDecision{
				Decide: Decide{Action: "retry", Run: "a"}, Retry: &ProposedRetry{Guidance: "g", Domains: []v1alpha1.Domain{"example.org"}},
			},
		},
		`{"action":"retry","runId":"a","guidance":"g"}`:                        {tool: ToolTask},
		`{"action":"list"}`:                                                    {tool: ToolTask},
		`{"mode":"agentic","task":"x"}`:                                        {tool: ToolAct},
		`{"action":"deny","runId":"a","askId":"i"}`:                            {tool: ToolDecide, says: "needs [runUid]"},
		`{"action":"ask","runId":"a","runUid":"u","askId":"i","answer":"x"}`:   {tool: ToolDecide, says: "takes no answer"},
		`{"action":"deny","runId":"a","runUid":"u","askId":"i","runid":"b"}`:   {tool: ToolDecide, says: "not what the tool takes"},
		`{"action":"respond","runId":"a","askId":"i"}`:                         {tool: ToolTask, says: "needs [answer]"},
		`{"action":"approve","runId":"a","digest":"sha256:1"}`:                 {tool: ToolTask, says: "needs [askId]"},
		`{"action":"retry","domains":["example.org"]}`:                         {tool: ToolTask, says: "needs [runId]"},
		`{"action":"approve","runId":"a","askId":"i","digest":"x"} {"more":1}`: {tool: ToolTask, says: "the arguments are"},
	} {
		got, err := Proposes(tt.tool, json.RawMessage(arguments))
		if tt.says != "" {
			if err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%s: %v", arguments, err)
			}
			continue
		}
		if err != nil || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: %+v, %v", arguments, got, err)
		}
	}
}

// What a person let through must be what the tool takes.
func TestArgumentsOfARetryAreThoseOfTheTool(t *testing.T) {
	t.Parallel()
	retry := ProposedRetry{Guidance: "g", Domains: []v1alpha1.Domain{"example.org"}}
	arguments, err := RetryArguments(Ref{Run: "a", UID: "u", ID: "i"}, retry)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Proposes(ToolTask, arguments)
	want := &ProposedDecision{Decide: Decide{Action: "retry", Run: "a", UID: "u", AskID: "i"}, Retry: &retry}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
}
