// SPDX-License-Identifier: Apache-2.0

package notice

import (
	"testing"
	"time"
)

func TestPlainTextHasALineForEachPart(t *testing.T) {
	t.Parallel()
	at := time.Unix(0, 0)
	got := Plain(Notice{
		Title: "Run team/fix waits for an answer", Text: "Push it?", Action: "bash git push", Deadline: &at, Command: "kubectl motor approve fix -n team --id a1",
		Link: "https://motor.example.org/#/runs/team/fix",
	})
	want := "Run team/fix waits for an answer.\n\nText: Push it?\nAction: bash git push\nUntil: 1970-01-01T00:00:00Z\n" +
		"Command: kubectl motor approve fix -n team --id a1\nPage: https://motor.example.org/#/runs/team/fix\n"
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := Plain(Notice{Title: "Run team/fix succeeded"}); got != "Run team/fix succeeded.\n\n" {
		t.Errorf("got %q", got)
	}
}
