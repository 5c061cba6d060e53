// SPDX-License-Identifier: Apache-2.0

package notice

import (
	"encoding/json"
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/signal"
)

// pressed are the buttons of a message, by their labels.
func pressed(t *testing.T, in *signal.Input) map[string]Button {
	t.Helper()
	s := askSignal("Which?", in)
	s.Data.(*signal.Result).UID = "u"
	body, err := SlackWithButtons(Of(s, ""))
	if err != nil {
		t.Fatal(err)
	}
	var got struct{ Blocks []block }
	if err := json.Unmarshal(body, &got); err != nil {
		t.Fatal(err)
	}
	all, ids := map[string]Button{}, map[string]bool{}
	for _, b := range got.Blocks {
		for _, e := range b.Elements {
			var value Button
			if err := json.Unmarshal([]byte(e.Value), &value); err != nil || e.Type != "button" || e.Text.Type != "plain_text" || len(e.Value) > 2000 || len(e.Text.Text) > 75 {
				t.Errorf("got %+v, %v", e, err)
			}
			if ids[e.ActionID] || !strings.HasPrefix(e.ActionID, ActionChoose) {
				t.Errorf("the action id is %q", e.ActionID)
			}
			ids[e.ActionID] = true
			all[e.Text.Text] = value
		}
	}
	return all
}

func TestAButtonNamesTheExactCall(t *testing.T) {
	t.Parallel()
	got := pressed(t, &signal.Input{ID: "a1", Kind: v1alpha1.InputApproval, Tool: "bash", Digest: "sha256:1"})
	ask := Button{Namespace: "team", Run: "fix", UID: "u", ID: "a1", Digest: "sha256:1"}
	approve, deny := ask, ask
	approve.Decision, deny.Decision = v1alpha1.DecisionApproveOnce, v1alpha1.DecisionDeny
	if len(got) != 2 || got["Approve once"] != approve || got["Deny"] != deny {
		t.Errorf("got %+v", got)
	}
}

func TestOptionsHaveButtonsUpToABound(t *testing.T) {
	t.Parallel()
	got := pressed(t, &signal.Input{ID: "a1", Kind: v1alpha1.InputQuestion, Options: []string{"yes", "no\n<!channel> " + strings.Repeat("x", 200)}})
	if len(got) != 2 || got["1. yes"].Option != 1 {
		t.Errorf("got %+v", got)
	}
	for _, in := range []*signal.Input{
		{ID: "a1", Kind: v1alpha1.InputQuestion}, {ID: "a1", Kind: v1alpha1.InputQuestion, Options: make([]string, maxButtons+1)}, {ID: "a1", Kind: v1alpha1.InputRetry},
		{ID: "a1", Kind: v1alpha1.InputOutcomeUnknown},
	} {
		if got := pressed(t, in); len(got) != 0 {
			t.Errorf("%+v has %+v", in, got)
		}
	}
}

func TestAMessageHasNoButtonsWithoutTheWish(t *testing.T) {
	t.Parallel()
	body, err := Slack(Of(askSignal("Push?", &signal.Input{ID: "a1", Kind: v1alpha1.InputApproval}), ""))
	if err != nil || strings.Contains(string(body), "button") {
		t.Errorf("got %s, %v", body, err)
	}
}
