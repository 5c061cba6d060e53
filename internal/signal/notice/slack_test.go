// SPDX-License-Identifier: Apache-2.0

package notice

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

func TestSlackMakesNoMarkupOfTheTextOfARun(t *testing.T) {
	t.Parallel()
	hostile := "<!channel> <https://evil.example|here> *x* & https://evil.example"
	at := time.Unix(0, 0)
	body, err := Slack(Notice{
		Title: "Run team/fix waits for an answer", Text: hostile, Action: hostile, Deadline: &at, Command: "kubectl motor answer fix -n team",
		Link: "https://motor.example.org/?a=1&b=2#/runs/team/fix",
	})
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Text   string
		Blocks []block
	}
	if err := json.Unmarshal(body, &got); err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, b := range got.Blocks {
		if b.Text != nil && strings.Contains(b.Text.Text, "evil") {
			seen++
			if b.Text.Type != "plain_text" {
				t.Errorf("the text of a run is %s", b.Text.Type)
			}
		}
	}
	if got.Blocks[1].Text.Text != "| "+hostile || got.Blocks[2].Text.Text != "Action:\n| "+hostile || strings.Count(string(body), `"emoji":false`) != 3 {
		t.Errorf("the text of a run has no mark, or emoji: %s", body)
	}
	if seen != 2 || strings.Contains(got.Text, "evil") {
		t.Errorf("got %s", body)
	}
	last := got.Blocks[len(got.Blocks)-1].Text
	want := "Until 1970-01-01T00:00:00Z\n`kubectl motor answer fix -n team`\n<https://motor.example.org/?a=1&amp;b=2#/runs/team/fix|Open the page>"
	if last.Text != want || !last.Verbatim {
		t.Errorf("got %+v, want %q", last, want)
	}
}
