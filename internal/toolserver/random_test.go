// SPDX-License-Identifier: Apache-2.0

//go:build linux

package toolserver

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolserver/ledger"
	"motorcortex.dev/motorcortex/internal/toolserver/proc"
	"motorcortex.dev/motorcortex/internal/toolserver/program"
	"motorcortex.dev/motorcortex/internal/toolserver/tool"
)

// hostileCommands leave something behind, or try to.
var hostileCommands = []string{
	"true", "exit 3", "kill -9 $$", "kill -9 0", "kill -SEGV $$", "echo hello; echo no >&2", "cat; cat missing", "exec 1>&- 2>&-",
	"sleep 100 &", "setsid sleep 100 &", "(setsid bash -c 'sleep 100 & sleep 100' &) ; true", "trap '' TERM HUP; sleep 100 & echo $!",
	"(exec -a hidden sleep 100) & disown", "for i in 1 2 3 4 5 6 7 8 9; do (sleep 100 &) ; done", "coproc cat; echo $COPROC_PID",
	"seq 20000", "yes | head -c 3000000", "head -c 100000 /dev/zero", "head -c 30000 /dev/urandom", `printf 'a\0b\377\033[31m\n'`,
	"rm -rf .motor", "mkdir -p .motor/output; ln -sf /etc/passwd .motor/output/x.txt", "mkfifo pipe; ls -l", "ln -s / root; ln -s loop loop", "mkdir closed; chmod 0 closed",
	"exec 9<>pipe; echo opened", "sleep 100 > file 2>&1 &", "ulimit -n 20; true", "cat /proc/self/environ | tr '\\0' '\\n'", "touch $'a\\nb' $'\\377'",
}

// randomCall is any call at all. Most are of some use, some are not even arguments.
func randomCall(r *rand.Rand, tools []string, n int) toolapi.Call {
	pick := func(from ...string) string { return from[r.IntN(len(from))] }
	path := func() string {
		return pick("a.txt", "dir/b.txt", "dir", ".", "../up", "/etc/passwd", "pipe", "root/etc/hostname", "loop", "a\x00b", "", "closed/x", "\xff",
			".motor/output/r1.txt", strings.Repeat("x/", 3000))
	}
	text := func() string {
		return pick("", "one\ntwo\nthree\n", strings.Repeat("line é\n", 3000), "\x00\xff\x1b[31m", "two", "{}", "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+zwei\n three\n", "*** Begin Patch\n*** Update File: a.txt\n@@\n-two\n+zwei\n*** Add File: dir/b.txt\n+b\n*** End Patch\n")
	}
	code := func() (language, source string) {
		language = pick(toolapi.LanguagePython, toolapi.LanguageJavaScript, "perl")
		if language == toolapi.LanguagePython {
			return language, pick("1 + 1", "import os\nos.fork() or os.setsid() or __import__('time').sleep(100)", "x = = 1", "import os\nos._exit(3)", "print('x' * 10**6)\n'y' * 10**6")
		}
		return language, pick("1 + 1", "require('child_process').spawn('sleep', ['100'], {detached: true}).unref()", "let x = ;", "process.exit(3)", "[1, 'x'.repeat(1e6)]")
	}
	call := toolapi.Call{ID: fmt.Sprintf("r%d", n), Tool: tools[r.IntN(len(tools))], IdempotencyKey: pick("", "", "", "", "", "", "", "", "one", "two")}
	if r.IntN(4) == 0 {
		call.Tool = toolapi.ToolBash
	}
	if r.IntN(5) > 0 { // These start processes, and are slow.
		for call.Tool == toolapi.ToolCode || call.Tool == toolapi.ToolOneshot {
			call.Tool = tools[r.IntN(len(tools))]
		}
	}
	if r.IntN(10) == 0 {
		call.MaxOutputBytes = int32(200 + r.IntN(3000))
	}
	var args any
	switch call.Tool {
	case toolapi.ToolBash:
		args = toolapi.BashArgs{Command: pick(hostileCommands...), Background: r.IntN(3) == 0, TimeoutSeconds: int32(r.IntN(3))}
	case toolapi.ToolCode:
		language, source := code()
		args = toolapi.CodeArgs{Language: language, Source: source, TimeoutSeconds: int32(r.IntN(4))}
	case toolapi.ToolOneshot:
		language, source := code()
		args = toolapi.OneshotArgs{Language: language, Source: source, TimeoutMs: int32(50 + r.IntN(1000))}
	case toolapi.ToolWrite:
		args = toolapi.WriteArgs{Path: path(), Content: text(), Append: r.IntN(2) == 0}
	case toolapi.ToolEdit:
		args = toolapi.EditArgs{Path: path(), OldText: text(), NewText: text(), ReplaceAll: r.IntN(2) == 0}
	case toolapi.ToolPatch:
		args = toolapi.PatchArgs{Patch: text()}
	case toolapi.ToolGlob:
		args = toolapi.GlobArgs{Pattern: pick("**/*", "*.txt", "[", "{a,b}/**", ""), Path: path()}
	case toolapi.ToolGrep:
		args = toolapi.GrepArgs{Pattern: pick("one", "(", "", "."), Path: path()}
	case toolapi.ToolRead:
		args = toolapi.ReadArgs{Path: path(), Offset: int32(r.IntN(10) - 1)}
	case toolapi.ToolFetch:
		args = toolapi.FetchArgs{URL: pick("https://example.org/", "http://127.0.0.1:1/", "file:///etc/passwd", ":"), Method: pick("", "GET", "POST"), BodyFile: path()}
	default:
		args = map[string]any{"path": path()}
	}
	if call.Arguments, _ = json.Marshal(args); r.IntN(20) == 0 {
		call.Arguments = json.RawMessage(pick("null", "[]", "5", `{"command":5}`, `{"unknown":true}`, `""`))
	}
	return call
}

// leftovers counts the resources of a process: open files by their kind, and processes below it by their names.
func leftovers(t *testing.T) map[string]int {
	t.Helper()
	found := map[string]int{}
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range fds {
		if target, err := os.Readlink("/proc/self/fd/" + fd.Name()); err == nil { // The folder that is read is gone by now.
			kind, _, _ := strings.Cut(target, ":[")
			found["file "+kind]++
		}
	}
	table, _, err := proc.ProcessTable()
	if err != nil {
		t.Fatal(err)
	}
	for pid := range table {
		if table.Below(pid, os.Getpid()) {
			line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			found["process "+strings.ReplaceAll(string(line), "\x00", " ")]++
		}
	}
	return found
}

// wantLeftovers fails the test unless the resources are the same as before.
func wantLeftovers(t *testing.T, when string, before map[string]int) {
	t.Helper()
	var now map[string]int
	defer func() {
		if t.Failed() {
			t.Logf("%s: %v, and before %v", when, now, before)
		}
	}()
	await(t, when, func() bool { now = leftovers(t); return maps.Equal(now, before) })
}

// Any thousand calls end in envelopes and leave nothing behind.
func TestRandomCallsLeaveNothing(t *testing.T) {
	const calls, workers = 1000, 4
	warm := newSandbox(t) // Resources that a process takes for its first server do not count.
	warm.bash("true")
	warm.stop()
	before := leftovers(t)
	s := stoppedSandbox(t)
	s.start()
	s.server.processes.WatchBackground(0)
	serving := leftovers(t)
	tools := s.server.toolNames()
	var all sync.WaitGroup
	var mu sync.Mutex
	tally := map[string]int{}
	for w := range workers {
		seed := uint64(w + 1)
		all.Go(func() {
			r := rand.New(rand.NewPCG(seed, seed))
			for n := w; n < calls; n += workers {
				call := randomCall(r, tools, n)
				result := s.check(call, r.IntN(50) == 0)
				mu.Lock()
				tally[call.Tool+" "+result.ErrorCode]++
				mu.Unlock()
			}
		})
	}
	all.Wait()
	t.Log(tally)
	if t.Failed() {
		return
	}
	s.server.processes.StopSupervised()
	wantLeftovers(t, "with the server", serving)
	if result := s.call(toolapi.Call{ID: "last", Tool: toolapi.ToolBash, Arguments: []byte(`{"command":"chmod 700 . ; echo well"}`)}, false); !strings.HasPrefix(result.Output, "well\n") {
		t.Errorf("%+v", result)
	}
	s.stop()
	wantLeftovers(t, "without the server", before)
}

// call makes a call without a connection, and perhaps cancels it.
func (s *sandbox) call(call toolapi.Call, cancel bool) toolapi.Result {
	digest, err := ledger.DigestOf(call.Tool, call.Arguments)
	if err != nil {
		s.t.Errorf("%s: %v", call.Arguments, err)
		return toolapi.Result{}
	}
	c, err := s.server.start(1, call, digest)
	if err != nil {
		s.t.Errorf("%s: %v", call.Arguments, err)
		return toolapi.Result{}
	}
	if cancel {
		c.Cancel(tool.ErrCancelled)
	}
	ctx, giveUp := context.WithTimeout(context.Background(), program.MaxTimeout)
	defer giveUp()
	select {
	case <-c.Done:
	case <-ctx.Done():
		s.t.Errorf("%s %s does not end", call.Tool, call.Arguments)
		return toolapi.Result{}
	}
	state, err := s.server.ledger.State(1, call.ID, c)
	if err != nil || state.Result == nil {
		s.t.Errorf("%s: %v", call.Arguments, err)
		return toolapi.Result{}
	}
	return *state.Result
}

// check makes a call and looks at its envelope.
func (s *sandbox) check(call toolapi.Call, cancel bool) toolapi.Result {
	r := s.call(call, cancel)
	limit := toolapi.MaxOutputBytes
	if call.MaxOutputBytes > 0 {
		limit = int(call.MaxOutputBytes)
	}
	if r.OK != (r.ErrorCode == "") || len(r.Output) > limit || !utf8.ValidString(r.Output) || strings.ContainsAny(r.Output, "\x00\x1b") || r.Provenance == "" {
		s.t.Errorf("%s %.200s gives %+v", call.Tool, call.Arguments, r)
	}
	if r.ErrorCode == toolapi.CodeInternal || r.ErrorCode == toolapi.CodeUnknownTool {
		s.t.Errorf("%s %.200s gives %+v", call.Tool, call.Arguments, r)
	}
	return r
}
