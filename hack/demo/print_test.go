// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

func TestCallLine(t *testing.T) {
	tests := map[string]struct {
		call call
		want string
	}{
		"read":   {call{"read", `{"path":"portfolio.csv"}`, ok("")}, " 1  read   portfolio.csv                        ok      3 ms"},
		"write":  {call{"write", `{"path":"out/report.md","content":"long"}`, ok("")}, " 1  write  out/report.md                        ok      3 ms"},
		"list":   {call{"list", `{}`, ok("")}, " 1  list   .                                    ok      3 ms"},
		"finish": {call{"finish", `{"status":"Succeeded","summary":"It is there.","files":["a"]}`, ok("")}, " 1  finish Succeeded                            ok      3 ms"},
		"code": {
			call{"code", `{"language":"javascript","source":"a\nb\n\n"}`, &v1alpha1.ToolResult{OK: true, DurationMilliseconds: 1212}},
			" 1  code   javascript, 2 lines                  ok   1212 ms",
		},
		"one line": {call{"code", `{"language":"python","source":"a"}`, ok("")}, " 1  code   python, 1 line                       ok      3 ms"},
		"failure": {
			call{"bash", `{"command":"for i in 1 2 3; do make everything; done\necho"}`, &v1alpha1.ToolResult{ErrorCode: "exit_1", DurationMilliseconds: 20}},
			" 1  bash   for i in 1 2 3; do make everything;… exit_1   20 ms",
		},
		"no JSON": {call{"read", `{"path":`, &v1alpha1.ToolResult{ErrorCode: "invalid_arguments"}}, " 1  read                                        invalid_arguments    0 ms"},
		"escapes": {call{"read", `{"path":"a\u001b[2Jb\u202e"}`, ok("")}, " 1  read   a·[2Jb·                              ok      3 ms"},
		"unknown": {call{"fly", `{"to":"the moon"}`, &v1alpha1.ToolResult{ErrorCode: "unknown_tool"}}, ` 1  fly    {"to":"the moon"}                    unknown_tool    0 ms`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := step(1, tt.call)
			if diff := cmp.Diff(tt.want, callLine(&s, &s.Spec.ToolCalls[0], &s.Status.Results[0])); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestClock(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: " 0:00", 59*time.Second + 900*time.Millisecond: " 0:59", 83 * time.Second: " 1:23", 75 * time.Minute: "75:00", -time.Second: " 0:00",
	} {
		if got := clock(d); got != want {
			t.Errorf("clock(%v) is %q, not %q", d, got, want)
		}
	}
}

func TestBlockIsBounded(t *testing.T) {
	var out bytes.Buffer
	p := &printer{out: &out}
	p.block(string(bytes.Repeat([]byte("x\n"), maxReportLines+7)))
	if !bytes.HasSuffix(out.Bytes(), []byte("    x\n    … 7 more lines\n")) {
		t.Errorf("the end is %q", out.Bytes()[out.Len()-60:])
	}
}
