// SPDX-License-Identifier: Apache-2.0

package notice

import (
	"slices"
	"strings"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/signal"
)

func askSignal(question string, in *signal.Input) *signal.Signal {
	return &signal.Signal{
		Event: v1alpha1.SignalRunAwaitingInput, ID: "u/run.awaitinginput/a1", Subject: "fix", Time: time.Unix(0, 0).UTC(),
		Data: &signal.Result{Namespace: "team", RunID: "fix", Question: question, Input: in},
	}
}

func TestAnAskHasTheCommandThatAnswersIt(t *testing.T) {
	t.Parallel()
	for kind, verb := range map[v1alpha1.InputKind]string{
		v1alpha1.InputQuestion: "answer", v1alpha1.InputApproval: "approve", v1alpha1.InputDomainRequest: "allow",
		v1alpha1.InputOutcomeUnknown: "settle", v1alpha1.InputRetry: "retry",
	} {
		n := Of(askSignal("Which?", &signal.Input{ID: "a1", Kind: kind}), "https://motor.example.org/")
		if want := "kubectl motor " + verb + " fix -n team --id a1"; n.Command != want {
			t.Errorf("%s: got %q, want %q", kind, n.Command, want)
		}
		if want := "https://motor.example.org/#/runs/team/fix"; n.Link != want {
			t.Errorf("got %q, want %q", n.Link, want)
		}
	}
	if n := Of(askSignal("Which?", &signal.Input{ID: "a1", Kind: "Later"}), ""); n.Command != "kubectl motor why fix -n team" || n.Link != "" {
		t.Errorf("an ask of an unknown kind without a page has %q and %q", n.Command, n.Link)
	}
}

func TestTextsAreOneBoundedLineWithoutControlCharacters(t *testing.T) {
	t.Parallel()
	n := Of(askSignal("a\r\nb\x1b[31m\u202e "+strings.Repeat("x", 2000), &signal.Input{
		ID: "a1", Kind: v1alpha1.InputApproval, Tool: "bash", Arguments: "{\n\"x\": \"" + strings.Repeat("y", 2000) + "\"}",
	}), "")
	for _, s := range []string{n.Text, n.Action} {
		if strings.ContainsAny(s, "\r\n\x1b\u202e") || len(s) > maxText+len("…") {
			t.Errorf("got %q", s)
		}
	}
	if !strings.HasPrefix(n.Text, "a b") || !strings.HasPrefix(n.Action, "bash {") {
		t.Errorf("got %q and %q", n.Text, n.Action)
	}
}

func TestAnEndHasItsSummaryOrItsFailure(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		event v1alpha1.SignalEvent
		data  any
		title string
		text  string
	}{
		{v1alpha1.SignalRunCompleted, &signal.Result{Namespace: "team", Task: &signal.Task{Summary: "Done."}}, "Run team/x succeeded", "Done."},
		{v1alpha1.SignalRunFailed, &signal.Result{Namespace: "team", Error: &signal.Failure{Message: "No."}}, "Run team/x failed", "No."},
		{v1alpha1.SignalSkillAwaitingApproval, &signal.SkillData{Namespace: "team", Description: "Reads."}, "Skill team/x waits for approval", "Reads."},
	} {
		n := Of(&signal.Signal{Event: c.event, Subject: "x", Data: c.data}, "")
		if n.Title != c.title || n.Text != c.text {
			t.Errorf("%s: got %q and %q", c.event, n.Title, n.Text)
		}
	}
}

func TestEventsOfAReceiverAreThoseItNames(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		of        []v1alpha1.NotificationEvent
		has, lack v1alpha1.SignalEvent
	}{
		{nil, v1alpha1.SignalSkillAwaitingApproval, v1alpha1.SignalRunProgress},
		{[]v1alpha1.NotificationEvent{v1alpha1.NotifyAsks}, v1alpha1.SignalRunAwaitingInput, v1alpha1.SignalRunFailed},
		{[]v1alpha1.NotificationEvent{v1alpha1.NotifyEnds}, v1alpha1.SignalRunFailed, v1alpha1.SignalRunAwaitingInput},
		{[]v1alpha1.NotificationEvent{v1alpha1.NotifyFailures}, v1alpha1.SignalRunFailed, v1alpha1.SignalRunCompleted},
		{[]v1alpha1.NotificationEvent{v1alpha1.NotifySkills}, v1alpha1.SignalSkillNeedsReapproval, v1alpha1.SignalRunFailed},
	} {
		if got := Events(c.of); !slices.Contains(got, c.has) || slices.Contains(got, c.lack) {
			t.Errorf("%v: got %v", c.of, got)
		}
	}
}

func TestADigestListsItsAsks(t *testing.T) {
	t.Parallel()
	asks := signal.Gathering{Namespace: "team"}
	for range 25 {
		asks.Add(askSignal("Which <!channel>?", &signal.Input{ID: "a1", Kind: v1alpha1.InputQuestion, ExpirationTime: new(time.Unix(60, 0))}))
	}
	n := Of(asks.Signal(time.Unix(0, 0)), "https://motor.example.org")
	if n.Title != "25 asks in team wait for an answer" || len(n.Asks) != signal.MaxListed || n.More != 5 || n.Command != "kubectl motor inbox -n team" ||
		n.Link != "https://motor.example.org/#/inbox" || n.Asks[0].Command != "kubectl motor answer fix -n team --id a1" {
		t.Errorf("got %+v", n)
	}
	for _, got := range []string{Plain(n), slackOf(t, n)} {
		if strings.Count(got, "fix: Which") != signal.MaxListed || !strings.Contains(got, "and 5 more") || !strings.Contains(got, "(until 1970-01-01T00:01:00Z)") {
			t.Errorf("got %q", got)
		}
	}
}

func slackOf(t *testing.T, n Notice) string {
	t.Helper()
	body, err := Slack(n)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func TestAReminderSaysThatItIsOne(t *testing.T) {
	t.Parallel()
	s := askSignal("Which?", &signal.Input{ID: "a1", Kind: v1alpha1.InputQuestion})
	s.Data.(*signal.Result).Reminder = true
	if n := Of(s, ""); n.Title != "Run team/fix still waits for an answer" || !n.Reminder {
		t.Errorf("got %+v", n)
	}
}
