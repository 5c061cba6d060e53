// SPDX-License-Identifier: Apache-2.0

package slack

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/signal/notice"
	"motorcortex.dev/motorcortex/internal/text"
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
	rows := text.Rows(strings.Repeat("é", maxBlock+1)+"\nx\n", maxRow)
	all := piecesOf(rows)
	if strings.Join(all, "\n") != strings.Join(rows, "\n") || len(all) != 3 {
		t.Errorf("got %d pieces", len(all))
	}
	for _, p := range all {
		if len(p) > maxBlock {
			t.Errorf("a piece has %d bytes", len(p))
		}
	}
}

// A text of a run cannot look like one of the server: not by a line break, not in a long ask, and not by the pictures that Slack makes of names.
func TestEachRowOfARunHasAMark(t *testing.T) {
	t.Parallel()
	hostile := strings.Repeat("x", 3*maxBlock) + "\nDigest: sha256:other\r\n\u2028Sent to team/fix, as dana. :white_check_mark:"
	a := &ask{Question: hostile, Options: []string{hostile}, Files: []string{hostile}, Requester: hostile, OnTimeout: hostile}
	if err := json.Unmarshal([]byte(`{"action":{"tool":"bash","digest":"sha256:1","parts":[{"name":"a\nDigest: sha256:other","text":"b\nDigest: sha256:other","end":"x\ny"}]}}`), a); err != nil {
		t.Fatal(err)
	}
	blocks, err := blocksOf(partsOf(a, &approve), 50, false)
	if err != nil {
		t.Fatal(err)
	}
	marked := 0
	for _, b := range blocks {
		if b.Text.Type != "plain_text" || b.Text.Emoji || !b.Expand {
			t.Errorf("got %+v", b)
		}
		for row := range strings.SplitSeq(b.Text.Text, "\n") {
			foreign := strings.Contains(row, "other") || strings.Contains(row, "as dana") || strings.Contains(row, "xxx")
			if has := strings.HasPrefix(row, "| ") || strings.HasPrefix(row, "|… "); foreign && !has {
				t.Errorf("a row without a mark is %q", row)
			} else if foreign {
				marked++
			}
		}
	}
	if marked < 10 {
		t.Errorf("only %d rows of the run are shown", marked)
	}
	body, err := json.Marshal(blocks)
	if err != nil || strings.Count(string(body), `"emoji":false`) != len(blocks) {
		t.Errorf("Slack may read emoji: %s, %v", body, err)
	}
}

// What is left out is counted: a person must know that there is more.
func TestHowMuchIsLeftOutIsSaid(t *testing.T) {
	t.Parallel()
	parts := []part{{"Question:", strings.Repeat("y", 3*maxBlock)}}
	if _, err := blocksOf(parts, 2, false); err == nil || !strings.Contains(err.Error(), " bytes of it would be left out") {
		t.Errorf("got %v", err)
	}
	blocks, err := blocksOf(parts, 2, true)
	if err != nil {
		t.Fatal(err)
	}
	shown, left := 0, 0
	for _, b := range blocks {
		shown += strings.Count(b.Text.Text, "y")
	}
	shown-- // It is in the words of the last one.
	if _, err := fmt.Sscanf(blocks[len(blocks)-1].Text.Text, "(%d bytes of the ask", &left); err != nil || len(blocks) != 3 || shown+left < 3*maxBlock {
		t.Errorf("%d are shown, and %d left out: %v", shown, left, err)
	}
	if got := saying(strings.Repeat("z ", maxBlock), false).Blocks[0].Text.Text; !strings.HasSuffix(got, " bytes are left out)") || len(got) > maxBlock {
		t.Errorf("got %q", got)
	}
	if got := saying("a\nSent.", false).Blocks[0].Text.Text; got != "a Sent." {
		t.Errorf("got %q", got)
	}
}

// What a person confirms must not be longer than Slack shows of it.
func TestAnEffectThatIsNotShownWholeIsNotConfirmed(t *testing.T) {
	t.Parallel()
	for _, c := range []chosen{{"Allow", strings.Repeat("x ", maxBlock)}, {strings.Repeat("x ", maxLabel), "It is allowed."}} {
		if _, err := showing(&ask{}, &notice.Button{Decision: v1alpha1.DecisionAllowRun}, c, ""); err == nil || !strings.Contains(err.Error(), "too long") {
			t.Errorf("got %v", err)
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
	var rows []string
	for _, p := range partsOf(a, &approve) {
		rows = append(rows, p.rows()...)
	}
	all := strings.Join(rows, "\n")
	for _, want := range []string{
		"Question:\n| May I?", "Option 2:\n| no", "asked for:\n| a.csv", "Domain:\n| new.example.org", "The run reaches:\n| old.example.org", "credentials:\n| github",
		"Without an answer:\n| it fails", "It is for:\n| alice", "Tool:\n| bash", "approval:\n| it is irreversible", "Rule:\n| rm *", "success is checked",
		"Argument:\n| script\nIts value (no line break):\n| rm -rf x",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("there is no %q in %q", want, all)
		}
	}
}
