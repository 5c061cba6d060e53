// SPDX-License-Identifier: Apache-2.0

package oneshot

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"motorcortex.dev/motorcortex/internal/toolapi"
)

func TestTimeout(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		asked   int32
		network bool
		want    int32
	}{{0, false, 5000}, {0, true, 30000}, {100, false, 100}, {30000, true, 30000}} {
		if got := Timeout(c.asked, c.network); got != c.want {
			t.Errorf("Timeout(%d, %t) = %d, want %d", c.asked, c.network, got, c.want)
		}
	}
}

func TestRefuse(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ source, want string }{
		"nothing to say":             {"1 < 2", ""},
		"as long as it may be":       {strings.Repeat("x", 90<<10), ""},
		"too long":                   {strings.Repeat("x", 96<<10), "the code is too long: it takes 98"},
		"too long as it is recorded": {strings.Repeat("<", 20<<10), "the code is too long: it takes 122"},
		"plainly no computation":     {"require('fs')", `line 1: require "fs" reads or writes files`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := toolapi.OneshotArgs{Language: "javascript", Source: tt.source, TimeoutMs: 100}
			var back toolapi.OneshotArgs
			if err := json.Unmarshal([]byte(Arguments(a)), &back); err != nil || back != a {
				t.Errorf("the arguments are %.100s", Arguments(a))
			}
			r := Refuse(a, false)
			if tt.want == "" {
				if r != nil {
					t.Errorf("got %+v", r)
				}
				return
			}
			if r == nil || r.OK || r.ErrorCode != "execution_blocked" || r.Provenance != "Internal" {
				t.Fatalf("got %+v", r)
			}
			o := Read(r.OK, r.ErrorCode, r.Output)
			if o.Code != "EXECUTION_BLOCKED" || !strings.HasPrefix(o.Message, tt.want) || o.Value != r.Output {
				t.Errorf("got %+v", o)
			}
		})
	}
}

// The possible results of the sandbox for the code, and their record and display.
func TestCleanAndRead(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("漢<\"\n", 20<<10)
	value := func(n int) string { return `"` + strings.Repeat("v", n-2) + `"` }
	tests := map[string]struct {
		ok                  bool
		code, output        string
		wantCode, wantValue string
		wantMessage         string
		wantCut             bool
	}{
		"a value":            {ok: true, output: `{"ok":true, "value":{"a":[1,"<é>"]},"console":"hi\n"}`, wantValue: `{"ok":true,"value":{"a":[1,"<é>"]},"console":"hi\n"}`},
		"no value":           {ok: true, output: `{"ok":true,"value":null}`, wantValue: `{"ok":true,"value":null}`},
		"cut by the sandbox": {ok: true, output: `{"ok":true,"console":"a","truncated":true}`, wantValue: `{"ok":true,"console":"a","truncated":true}`},
		"an error": {
			code: "execution_error", output: `{"ok":false,"console":"hi","error":{"code":"EXECUTION_ERROR","message":"no x\u001b[31m"}}`,
			wantCode: "EXECUTION_ERROR", wantMessage: "no x\uFFFD[31m", wantValue: `{"ok":false,"console":"hi","error":{"code":"EXECUTION_ERROR","message":"no x�[31m"}}`,
		},
		"no time left": {
			code: "execution_timeout", output: `{"ok":false,"error":{"code":"EXECUTION_TIMEOUT","message":"100 ms are over"}}`,
			wantCode: "EXECUTION_TIMEOUT", wantMessage: "100 ms are over", wantValue: `{"ok":false,"error":{"code":"EXECUTION_TIMEOUT","message":"100 ms are over"}}`,
		},
		"blocked in the sandbox": {
			code: "execution_blocked", output: `{"ok":false,"error":{"code":"","message":"no"}}`,
			wantCode: "EXECUTION_BLOCKED", wantMessage: "no", wantValue: `{"ok":false,"error":{"code":"EXECUTION_BLOCKED","message":"no"}}`,
		},
		"a code of its own": {
			code: "all_is_well", output: `{"ok":false,"error":{"code":"COMPLETED","message":"no"}}`,
			wantCode: "EXECUTION_ERROR", wantMessage: "no", wantValue: `{"ok":false,"error":{"code":"EXECUTION_ERROR","message":"no"}}`,
		},
		"no JSON": {
			code: "internal", output: "node: not\n found",
			wantCode: "EXECUTION_ERROR", wantMessage: "The sandbox could not run the code: node: not found",
			wantValue: `{"ok":false,"error":{"code":"EXECUTION_ERROR","message":"The sandbox could not run the code: node: not found"}}`,
		},
		"no JSON, but a success": {
			ok: true, output: "42",
			wantCode: "EXECUTION_ERROR", wantMessage: "The sandbox could not run the code: 42",
			wantValue: `{"ok":false,"error":{"code":"EXECUTION_ERROR","message":"The sandbox could not run the code: 42"}}`,
		},
		"a success that failed": {
			ok: true, output: `{"ok":true,"value":1,"error":{"code":"EXECUTION_ERROR","message":"x"}}`,
			wantCode: "EXECUTION_ERROR", wantMessage: "The sandbox says both that the code ended and that it did not.",
			wantValue: `{"ok":false,"error":{"code":"EXECUTION_ERROR","message":"The sandbox says both that the code ended and that it did not."}}`,
		},
		"a failure without an error": {
			output:   `{"ok":false}`,
			wantCode: "EXECUTION_ERROR", wantMessage: "The sandbox says both that the code ended and that it did not.",
			wantValue: `{"ok":false,"error":{"code":"EXECUTION_ERROR","message":"The sandbox says both that the code ended and that it did not."}}`,
		},
		"a long console": {
			ok: true, output: `{"ok":true,"value":7,"console":` + quote(t, long) + `}`, wantValue: `{"ok":true,"value":7,"truncated":true}`,
		},
		"a long value": {
			ok: true, output: `{"ok":true,"value":` + value(40<<10) + `}`, wantCut: true,
			wantValue: `{"ok":true,"head":` + quote(t, value(40 << 10)[:4093]+"…") + `,"truncated":true}`,
		},
		"32 KiB with all around it": {ok: true, output: `{"ok":true,"value":` + value(32<<10-20) + `}`, wantValue: `{"ok":true,"value":` + value(32<<10-20) + `}`},
		"a value that the sandbox cut": {
			ok: true, output: `{"ok":true,"head":"[1,","durationMs":7,"truncated":true}`, wantCut: true, wantValue: `{"ok":true,"head":"[1,","durationMs":7,"truncated":true}`,
		},
		"a time that cannot be": {ok: true, output: `{"ok":true,"value":1,"durationMs":-5}`, wantValue: `{"ok":true,"value":1}`},
		"invalid UTF-8":         {ok: true, output: "{\"ok\":true,\"value\":\"a\xff\"}", wantValue: `{"ok":true,"value":"a` + "\uFFFD" + `"}`},
		"too deep": {
			ok: true, output: `{"ok":true,"value":` + strings.Repeat("[", 15_000) + strings.Repeat("]", 15_000) + `}`,
			wantCode: "EXECUTION_ERROR", wantMessage: `The sandbox could not run the code: {"ok":true,"value":` + strings.Repeat("[", 281),
			wantValue: `{"ok":false,"error":{"code":"EXECUTION_ERROR","message":"The sandbox could not run the code: {\"ok\":true,\"value\":` + strings.Repeat("[", 281) + `"}}`,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clean := Clean(toolapi.Result{OK: tt.ok, ErrorCode: tt.code, Output: tt.output, OutputFile: "f", Retryable: true, DurationMs: 5})
			if len(clean.Output) > toolapi.MaxOutputBytes || quotedLen(clean.Output) > MaxQuotedBytes {
				t.Errorf("what is recorded has %d bytes, as JSON %d", len(clean.Output), quotedLen(clean.Output))
			}
			if clean.OK != (tt.wantCode == "") || clean.Retryable || clean.OutputFile != "" || clean.DurationMs != 5 || clean.OK != (clean.ErrorCode == "") {
				t.Errorf("the result is %+v", clean)
			}
			if diff := cmp.Diff(clean, Clean(clean)); diff != "" {
				t.Errorf("what is clean was made cleaner:\n%s", diff)
			}
			want := Outcome{Code: tt.wantCode, Message: tt.wantMessage, Value: tt.wantValue, Cut: tt.wantCut}
			got := Read(clean.OK, clean.ErrorCode, clean.Output)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if diff := cmp.Diff(want, Read(clean.OK, clean.ErrorCode, got.Value)); diff != "" {
				t.Errorf("read from its value (-want +got):\n%s", diff)
			}
			if n := quotedLen(got.Value); n > MaxQuotedBytes || len(got.Value) > MaxValueBytes {
				t.Errorf("the value has %d bytes, as JSON %d", len(got.Value), n)
			}
		})
	}
}

func TestCleanKeepsTheUnknownOutcome(t *testing.T) {
	t.Parallel()
	r := toolapi.Result{ErrorCode: toolapi.CodeOutcomeUnknown, Output: "nobody saw it"}
	if got := Clean(r); got != r {
		t.Errorf("got %+v", got)
	}
	o := Read(false, r.ErrorCode, r.Output)
	if o.Code != "EXECUTION_ERROR" || !strings.Contains(o.Message, "more memory") {
		t.Errorf("got %+v", o)
	}
	if again := Read(false, r.ErrorCode, o.Value); again != o {
		t.Errorf("read from its value: %+v", again)
	}
}

// The tool server was stopped while the code ran: the code can end in its next execution.
func TestCleanOfCodeThatWasBrokenOff(t *testing.T) {
	t.Parallel()
	for _, code := range []string{"killed", "cancelled"} {
		if got := Clean(toolapi.Result{ErrorCode: code, Output: "[the tool server was stopped]"}); got.OK || got.ErrorCode != toolapi.CodeOutcomeUnknown {
			t.Errorf("%s: %+v", code, got)
		}
	}
}

func TestLongMessage(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"x", "<", "漢", "\n.", "\xff", "\u202e"} {
		m := strings.Repeat(s, 10_000)
		o := Read(false, "execution_error", `{"ok":false,"error":{"code":"EXECUTION_ERROR","message":`+quote(t, m)+`}}`)
		if n := quotedLen(o.Message); n > maxMessage || len(o.Value) > 3*maxMessage {
			t.Errorf("%q: a message of %d bytes, a value of %d", s, n, len(o.Value))
		}
		if s != "\u202e" && !strings.HasSuffix(o.Message, "…") {
			t.Errorf("%q: does not say that it was cut", s)
		}
	}
}

func quote(t *testing.T, s string) string {
	t.Helper()
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
