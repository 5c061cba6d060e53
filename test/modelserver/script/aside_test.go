// SPDX-License-Identifier: Apache-2.0

package script

import (
	"testing"
)

func TestAside(t *testing.T) {
	ask := func(system, user string) []Message {
		return []Message{{Role: RoleSystem, Content: system}, {Role: RoleUser, Content: user}}
	}
	const record = "# The record\n{\"answer\":11,\"calls\":[]}\n{\"answer\":12,\"said\":\"x\"}\n"
	for name, tc := range map[string]struct {
		messages []Message
		aside    Aside
		want     string
	}{
		"summary":       {ask("Your older answers do not fit any more.", record), AsideSummary, "Answers 1 to 12 went as planned. What they did is in the workspace, and the plan goes on."},
		"partial":       {ask("You have no answers left.", record+"The summary so far"), AsidePartial, "After 12 answers a part of the plan is done, and the rest is not."},
		"hint":          {ask("An attempt has failed.", "x"), AsideHint, "What was tried does not work however often it is made. Do it in another way."},
		"nothing of it": {ask("You carry out a task.", "write a summary"), "", ""},
		"in the middle": {append(ask("Write a summary.", ""), assistant("")), "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			aside := AsideOf(tc.messages)
			if aside != tc.aside {
				t.Fatalf("it is %q", aside)
			}
			if aside == "" {
				return
			}
			if play := aside.Play(tc.messages); play.Content != tc.want || play.Turn != -1 || play.FinishReason != "stop" {
				t.Errorf("play %+v", play)
			}
		})
	}
}

func TestValuesOfTheTest(t *testing.T) {
	s := mustParse(t, `turns: [{content: '{{ .Task | regexFind "counter=([^ ]+)" }} {{ .System }}'}]`)
	if got := said(s, start("Do it. counter=10.0.0.1:80 sleep=1")); got != "10.0.0.1:80 You are a test." {
		t.Errorf("said %q", got)
	}
}

func TestAsksForSummary(t *testing.T) {
	talk := []Message{
		{Role: RoleSystem, Content: "You carry out a task."}, {Role: RoleUser, Content: "the task"}, {Role: RoleAssistant, Content: "one"},
		{Role: RoleUser, Content: "go on"}, {Role: RoleAssistant, Content: "two"}, {Role: RoleUser, Content: summarySign + "now."},
	}
	if !AsksForSummary(talk) || AsksForSummary(talk[:5]) || AsksForSummary(talk[4:]) {
		t.Error("the last message of a conversation decides")
	}
	if play := AsideSummary.Play(talk); play.Content != "Answers 1 to 2 went as planned. What they did is in the workspace, and the plan goes on." {
		t.Errorf("said %+v", play)
	}
}
