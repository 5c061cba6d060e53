// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// names makes events comparable.
func names(events []event) []string {
	var list []string
	for _, e := range events {
		text := fmt.Sprintf("%T", e)
		switch e := e.(type) {
		case stepWritten:
			text += " " + e.step.Name
		case callEnded:
			text += " " + e.call.ID
		case asked:
			text += " " + e.input.ID
		case settled:
			text += " " + e.id + " " + e.answer
		}
		list = append(list, text[len("main."):])
	}
	return list
}

func TestStory(t *testing.T) {
	open := step(1, call{tool: "read", arguments: `{"path":"a"}`})
	done := step(1, call{"read", `{"path":"a"}`, ok("A")})
	question := step(2, call{tool: "ask_user"})
	answered := asking(runWith(), "q1")
	answered.Status.PendingInputs = nil
	answered.Spec.Responses = []v1alpha1.Response{{ID: "q1", Answer: "stop"}}
	other := step(1, call{"read", `{}`, ok("")})
	other.OwnerReferences[0].UID = "another run of that name"
	recreated := runWith()
	recreated.UID = "another"

	tests := map[string]struct {
		views []view
		want  []string
	}{
		"a run to its end": {
			[]view{
				{},
				{run: runWith()},
				{steps: []v1alpha1.MotorStep{open}},
				{steps: []v1alpha1.MotorStep{done}},
				{steps: []v1alpha1.MotorStep{question, done}},
				{run: asking(runWith(), "q1")},
				{run: answered},
				{run: runWith("Finished=True")},
			},
			[]string{"stepWritten portfolio-a01-s0001", "callEnded a1-s1-c0", "stepWritten portfolio-a01-s0002", "asked q1", "settled q1 stop", "ended"},
		},
		"nothing twice": {
			[]view{{run: asking(runWith(), "q1")}, {steps: []v1alpha1.MotorStep{done}}, {run: asking(runWith(), "q1")}, {steps: []v1alpha1.MotorStep{done}}},
			[]string{"asked q1", "stepWritten portfolio-a01-s0001", "callEnded a1-s1-c0"},
		},
		"steps before their run": {
			[]view{{steps: []v1alpha1.MotorStep{done}}, {run: runWith()}},
			[]string{"stepWritten portfolio-a01-s0001", "callEnded a1-s1-c0"},
		},
		"steps of an earlier run": {[]view{{run: runWith()}, {steps: []v1alpha1.MotorStep{other}}}, nil},
		"a second question": {
			[]view{{run: asking(runWith(), "q1")}, {run: asking(runWith(), "q2")}},
			[]string{"asked q1", "settled q1 ", "asked q2"},
		},
		"a stall that passes": {
			[]view{{run: runWith("Stalled=True")}, {run: runWith("Stalled=True")}, {run: runWith()}},
			[]string{"stalledNow", "goesOn"},
		},
		"a failed run is stalled for kstatus only": {[]view{{run: runWith("Stalled=True", "Finished=True")}}, []string{"ended"}},
		"deleted":                  {[]view{{run: runWith()}, {}, {}}, []string{"vanished"}},
		"deleted and made again":   {[]view{{run: runWith()}, {run: recreated}}, []string{"vanished"}},
		"deleted after its end":    {[]view{{run: runWith("Finished=True")}, {}}, []string{"ended"}},
		"a sandbox without status": {[]view{{run: runWith("SandboxReady=True")}}, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var s story
			var got []string
			for _, v := range tt.views {
				got = append(got, names(s.see(v))...)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}

func TestReport(t *testing.T) {
	written := step(1, call{"write", `{"path":"./out/report.md","content":"as written"}`, ok("42 bytes")})
	tests := map[string]struct {
		steps []v1alpha1.MotorStep
		want  string
	}{
		"none":    {[]v1alpha1.MotorStep{step(1, call{"read", `{"path":"a.csv"}`, ok("data")})}, ""},
		"written": {[]v1alpha1.MotorStep{written}, "as written"},
		"twice":   {[]v1alpha1.MotorStep{written, step(2, call{"write", `{"path":"out/report.md","content":"again"}`, ok("")})}, "again"},
		"failed":  {[]v1alpha1.MotorStep{written, step(2, call{"write", `{"path":"report.md","content":"lost"}`, &v1alpha1.ToolResult{Output: "the workspace is full"}})}, "as written"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := (&story{steps: tt.steps}).report(); got != tt.want {
				t.Errorf("report is %q, not %q", got, tt.want)
			}
		})
	}
}
