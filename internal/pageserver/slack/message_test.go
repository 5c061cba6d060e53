// SPDX-License-Identifier: Apache-2.0

package slack

import (
	"encoding/json"
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/signal/notice"
)

func TestNoTextOfARunIsMarkup(t *testing.T) {
	t.Parallel()
	const hostile = "<!channel> <https://evil.example|here> *x* \x1b[31m"
	a := &ask{ID: "a1", Kind: v1alpha1.InputQuestion, Question: hostile, Options: []string{hostile}, Requester: hostile, Domain: hostile, May: true}
	b := &notice.Button{Namespace: "team", Run: "fix", ID: "a1", Option: 1}
	c, err := choose(a, b)
	if err != nil {
		t.Fatal(err)
	}
	r, err := showing(a, b, c, "value")
	if err != nil {
		t.Fatal(err)
	}
	body, err := r.encode()
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range r.Blocks {
		if b.Text != nil && b.Text.Type != "plain_text" {
			t.Errorf("got %+v", b.Text)
		}
		for _, e := range b.Elements {
			if e.Text.Type != "plain_text" || len(e.Text.Text) > 75 {
				t.Errorf("got %+v", e)
			}
		}
	}
	if strings.Contains(string(body), `\u001b`) || strings.Contains(r.Text, "<") {
		t.Errorf("got %s", body)
	}
	if got := saying(hostile, false).Text; strings.ContainsAny(got, "<>\x1b") {
		t.Errorf("got %q", got)
	}
}

func TestAPersonWithoutTheRightIsToldTheRole(t *testing.T) {
	t.Parallel()
	_, err := choose(&ask{Kind: v1alpha1.InputQuestion, Options: []string{"a"}, Role: "motorcortex-responder"}, &notice.Button{Option: 1})
	if err == nil || !strings.Contains(err.Error(), "motorcortex-responder") {
		t.Errorf("got %v", err)
	}
}

func TestAnAskThatThePageCannotShowIsNotApproved(t *testing.T) {
	t.Parallel()
	var a ask
	if err := json.Unmarshal([]byte(`{"kind":"Approval","action":{"tool":"bash","digest":"d","problem":"The arguments are not there."}}`), &a); err != nil {
		t.Fatal(err)
	}
	if _, err := showing(&a, &notice.Button{Decision: v1alpha1.DecisionApproveOnce}, chosen{}, ""); err == nil || err.Error() != "The arguments are not there." {
		t.Errorf("got %v", err)
	}
	if _, err := showing(&a, &notice.Button{Decision: v1alpha1.DecisionDeny}, chosen{}, ""); err != nil {
		t.Errorf("a denial: %v", err)
	}
}

func TestPiecesLoseNothing(t *testing.T) {
	t.Parallel()
	s := strings.Repeat("é", maxBlock+1)
	all := pieces(s)
	if strings.Join(all, "") != s || len(all) != 3 {
		t.Errorf("got %d pieces", len(all))
	}
	for _, p := range all {
		if len(p) > maxBlock {
			t.Errorf("a piece has %d bytes", len(p))
		}
	}
}

// All that the page counts as shown is shown: an answer is recorded as one about that.
func TestAnAskIsShownWithAllThatDecides(t *testing.T) {
	t.Parallel()
	a := &ask{}
	if err := json.Unmarshal([]byte(`{"question":"May I?","options":["yes","no"],"files":["a.csv"],"domain":"new.example.org","reaches":["old.example.org"],
		"credentials":["github"],"onTimeout":"it fails","requester":"alice",
		"action":{"tool":"bash","digest":"sha256:1","reason":"it is irreversible","rule":"rm *","check":true,"parts":[{"name":"script","text":"rm -rf x","end":"no line break"}]}}`), a); err != nil {
		t.Fatal(err)
	}
	text := strings.Join(partsOf(a, &approve), "\n")
	for _, want := range []string{
		"Question: May I?", "Option 2: no", "asked for: a.csv", "Domain: new.example.org", "The run reaches: old.example.org", "credentials: github",
		"Without an answer: it fails", "It is for: alice", "Tool: bash", "approval: it is irreversible", "Rule: rm *", "success is checked", "Argument script (no line break):\nrm -rf x",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %q in %q", want, text)
		}
	}
}
