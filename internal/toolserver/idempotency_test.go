// SPDX-License-Identifier: Apache-2.0

//go:build linux

package toolserver

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolclient"
)

// keyed makes a call with an idempotency key.
func (s *sandbox) keyed(id, tool, key string, args any) toolapi.Result {
	s.t.Helper()
	call := newCallOf(s.t, id, tool, args)
	call.IdempotencyKey = key
	return s.runCall(call)
}

func TestIdempotencyKey(t *testing.T) {
	s := newSandbox(t)
	effect := toolapi.BashArgs{Command: "echo run >> runs; echo \"key $IDEMPOTENCY_KEY\""}
	again := toolapi.AlreadyDoneText("a") + "key user:1\n"
	want := func(what string, r toolapi.Result, output string, runs int) {
		t.Helper()
		if r.OK == (output == again) || (r.ErrorCode == toolapi.CodeAlreadyDone) != (output == again) || r.Output != output {
			t.Errorf("%s: %+v", what, r)
		}
		s.wantRuns(runs)
	}
	want("first", s.keyed("a", toolapi.ToolBash, "user:1", effect), "key user:1\n", 1)
	want("same id", s.keyed("a", toolapi.ToolBash, "user:1", effect), "key user:1\n", 1)
	want("same key", s.keyed("b", toolapi.ToolBash, "user:1", effect), again, 1)
	want("same key, other arguments", s.keyed("c", toolapi.ToolBash, "user:1", toolapi.BashArgs{Command: "echo run >> runs"}), again, 1)
	want("another key", s.keyed("d", toolapi.ToolBash, "user:2", effect), "key user:2\n", 2)
	want("no key", s.keyed("e", toolapi.ToolBash, "", effect), "key \n", 3)
	want("no key again", s.keyed("f", toolapi.ToolBash, "", effect), "key \n", 4)
	code := toolapi.CodeArgs{Language: toolapi.LanguagePython, Source: "import os\nprint('run', file=open('runs', 'a'))\nprint(os.environ['IDEMPOTENCY_KEY'])"}
	want("another tool", s.keyed("g", toolapi.ToolCode, "user:1", code), "user:1\n", 5)
	s.restart()
	want("after another start", s.keyed("h", toolapi.ToolBash, "user:1", effect), again, 5)
	want("id after another start", s.keyed("b", toolapi.ToolBash, "user:1", effect), again, 5)
}

// A failed call may be repeated; a call with an unknown outcome may not, unless a person decides so.
func TestIdempotencyOfWhatDidNotSucceed(t *testing.T) {
	s := newSandbox(t)
	if r := s.keyed("a", toolapi.ToolBash, "k", toolapi.BashArgs{Command: "echo run >> runs; exit 1"}); r.ErrorCode != "exit_1" {
		t.Errorf("%+v", r)
	}
	s.stop()
	path := s.state + "/ledger"
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	started := `{"kind":"started","id":"lost","digest":"d","key":"k","tool":"bash","time":"2026-01-01T00:00:00Z"}` + "\n"
	// The next record is written over the zeros that are in the file beforehand.
	if err := os.WriteFile(path, append(bytes.TrimRight(content, "\x00"), started...), 0o600); err != nil {
		t.Fatal(err)
	}
	s.start()
	effect := toolapi.BashArgs{Command: "echo run >> runs"}
	r := s.keyed("b", toolapi.ToolBash, "k", effect)
	if r.ErrorCode != toolapi.CodeOutcomeUnknown || !strings.Contains(r.Output, "call lost ") {
		t.Errorf("%+v", r)
	}
	s.wantRuns(1)
	if r := s.keyed("lost-r1", toolapi.ToolBash, "k", effect); !r.OK || r.Output != "" {
		t.Errorf("%+v", r)
	}
	s.wantRuns(2)
	if r := s.keyed("c", toolapi.ToolBash, "k", effect); r.ErrorCode != toolapi.CodeAlreadyDone || !strings.HasPrefix(r.Output, toolapi.AlreadyDoneText("lost-r1")) {
		t.Errorf("%+v", r)
	}
	s.wantRuns(2)
}

func TestIdempotencyKeyOfARunningCall(t *testing.T) {
	for name, test := range map[string]struct {
		status string
		runs   int
	}{"succeeds": {"0", 1}, "fails": {"1", 2}} {
		t.Run(name, func(t *testing.T) {
			s := newSandbox(t)
			effect := toolapi.BashArgs{Command: "echo run >> runs; until [ -e go ]; do read -t 0.01 <> <(:); done; exit " + test.status}
			results := make(chan toolapi.Result, 3)
			start := func(id string) {
				call := newCallOf(t, id, toolapi.ToolBash, effect)
				call.IdempotencyKey = "k"
				go func() { r, _ := s.client(1).Call(testContext(t), call); results <- r }()
				await(t, "the start", func() bool { return s.server.ledger.Find(id) != nil })
			}
			start("a")
			await(t, "the effect", func() bool { return s.content("runs") != "" })
			start("b")
			if r := s.run(toolapi.ToolList, toolapi.ListArgs{}); !r.OK { // A waiting call does not block others.
				t.Errorf("%+v", r)
			}
			s.wantRuns(1)
			s.write("go", "")
			want := []string{"", toolapi.CodeAlreadyDone}
			if test.status != "0" {
				want = []string{"exit_" + test.status, "exit_" + test.status}
			}
			got := []string{(<-results).ErrorCode, (<-results).ErrorCode}
			if slices.Sort(got); !slices.Equal(got, want) {
				t.Errorf("the calls ended with %q, want %q", got, want)
			}
			s.wantRuns(test.runs)
		})
	}
}

func TestIdempotencyKeyWaiterIsCancelled(t *testing.T) {
	s := newSandbox(t)
	start := func(id string) chan toolapi.Result {
		call := newCallOf(t, id, toolapi.ToolBash, toolapi.BashArgs{Command: "sleep 1000"})
		call.IdempotencyKey = "k"
		result := make(chan toolapi.Result, 1)
		go func() { r, _ := s.client(1).Call(testContext(t), call); result <- r }()
		await(t, "the start", func() bool { return s.server.ledger.Find(id) != nil })
		return result
	}
	a := start("a")
	b := start("b")
	for id, result := range map[string]chan toolapi.Result{"b": b, "a": a} {
		if _, err := s.client(1).Cancel(testContext(t), id); err != nil {
			t.Fatal(err)
		}
		if r := <-result; r.ErrorCode != toolapi.CodeCancelled {
			t.Errorf("%s: %+v", id, r)
		}
	}
}

func TestIdempotencyKeyIsChecked(t *testing.T) {
	s := newSandbox(t)
	for key, good := range map[string]bool{
		strings.Repeat("k", toolapi.MaxIdempotencyKey): true, "user:a b~": true,
		strings.Repeat("k", toolapi.MaxIdempotencyKey+1): false, "a\nb": false, "a\x00": false, "é": false, "a\x7f": false,
	} {
		call := newCallOf(t, "", toolapi.ToolBash, toolapi.BashArgs{Command: "true"})
		call.IdempotencyKey = key
		_, err := s.client(1).Call(testContext(t), call)
		remote, refused := errors.AsType[*toolclient.RemoteError](err)
		if good != (err == nil) || refused && remote.Code != toolapi.ErrBadRequest {
			t.Errorf("%q: %v", key, err)
		}
	}
}
