// SPDX-License-Identifier: Apache-2.0

//go:build linux

package program

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolserver/output"
	"motorcortex.dev/motorcortex/internal/toolserver/plaintext"
	"motorcortex.dev/motorcortex/internal/toolserver/proc"
	"motorcortex.dev/motorcortex/internal/toolserver/workspace"
)

func TestBash(t *testing.T) {
	s := newSandbox(t)
	s.write("data.txt", "hello\n")
	tests := map[string]struct {
		args   toolapi.BashArgs
		code   string
		output string // exactly
		has    string // somewhere
	}{
		"output":                {args: toolapi.BashArgs{Command: "cat data.txt"}, output: "hello\n"},
		"silence":               {args: toolapi.BashArgs{Command: "true"}, output: ""},
		"both streams in order": {args: toolapi.BashArgs{Command: "echo a; echo b >&2; echo c"}, output: "a\nb\nc\n"},
		"exit status":           {args: toolapi.BashArgs{Command: "echo no; exit 3"}, code: "exit_3", output: "no\n"},
		"no newline at the end": {args: toolapi.BashArgs{Command: "printf x; exit 1"}, code: "exit_1", output: "x"},
		"unknown program":       {args: toolapi.BashArgs{Command: "no-such-program"}, code: "exit_127", has: "no-such-program"},
		"killed":                {args: toolapi.BashArgs{Command: "kill -9 $$"}, code: toolapi.CodeKilled, has: "signal 9"},
		"segfault":              {args: toolapi.BashArgs{Command: "kill -SEGV $$"}, code: toolapi.CodeKilled, has: "signal 11"},
		"begins with a dash":    {args: toolapi.BashArgs{Command: "-x"}, code: "exit_127"},
		"folder":                {args: toolapi.BashArgs{Command: "pwd"}, output: s.workspace + "\n"},
		"no input":              {args: toolapi.BashArgs{Command: "cat; echo end"}, output: "end\n"},
		"no terminal":           {args: toolapi.BashArgs{Command: "cat </dev/tty"}, code: "exit_1"},
		"invalid UTF-8":         {args: toolapi.BashArgs{Command: `printf 'a\xffb\n'`}, output: "a\uFFFDb\n"},
		"escape sequences":      {args: toolapi.BashArgs{Command: `printf '\e[31mred\e[0m\a\n'`}, output: "red\uFFFD\n"},
		"tab and return":        {args: toolapi.BashArgs{Command: `printf 'a\tb\r\n'`}, output: "a\tb\r\n"},
		"empty":                 {args: toolapi.BashArgs{Command: " "}, code: toolapi.CodeInvalidArguments},
		"NUL":                   {args: toolapi.BashArgs{Command: "echo a\x00b"}, code: toolapi.CodeInvalidArguments, has: "NUL"},
		"too long a timeout":    {args: toolapi.BashArgs{Command: "true", TimeoutSeconds: 301}, code: toolapi.CodeInvalidArguments, has: "300"},
		"negative timeout":      {args: toolapi.BashArgs{Command: "true", TimeoutSeconds: -1}, code: toolapi.CodeInvalidArguments},
		"binary":                {args: toolapi.BashArgs{Command: `printf '\x89PNG\r\n\x1a\n\0\0\0\1\0\0\xff\xfe'`}, has: "[the output is not shown: it is no UTF-8 text but image/png, 16 bytes;"},
		"no way out":            {args: toolapi.BashArgs{Command: "echo curl"}, output: "curl\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := s.run(toolapi.ToolBash, test.args)
			if r.ErrorCode != test.code || r.OK != (test.code == "") {
				t.Fatalf("code %q ok %v, want %q: %s", r.ErrorCode, r.OK, test.code, r.Output)
			}
			if test.has == "" && (test.code == "" || test.output != "") && r.Output != test.output || !strings.Contains(r.Output, test.has) {
				t.Errorf("output %q, want %q%q", r.Output, test.output, test.has)
			}
			if r.Provenance != toolapi.ProvenanceInternal {
				t.Errorf("provenance %s", r.Provenance)
			}
		})
	}
}

func TestCode(t *testing.T) {
	s := newSandbox(t)
	s.write("helper.js", "module.exports = 42\n")
	s.write("helper.py", "answer = 42\n")
	s.write("rows.json", `[1,2]`)
	const js, py = toolapi.LanguageJavaScript, toolapi.LanguagePython
	tests := map[string]struct{ language, source, code, has string }{
		"javascript":                 {js, `console.log(1+1)`, "", "2\n"},
		"require of a module":        {js, `console.log(require("fs").readFileSync("rows.json","utf8"))`, "", "[1,2]"},
		"require of the workspace's": {js, `console.log(require("./helper.js"))`, "", "42\n"},
		"import":                     {js, `import h from "./helper.js"; console.log(h)`, "", "42\n"},
		"await":                      {js, `console.log(await Promise.resolve(7))`, "", "7\n"},
		"await and require":          {js, `const h = require("./helper.js"); console.log(await h)`, "", "42\n"},
		"sloppy":                     {js, `x = 5; console.log(x, typeof __dirname)`, "", "5 string\n"},
		"thrown":                     {js, `throw new Error("boom")`, "exit_1", "boom"},
		"syntax":                     {js, `let x = ;`, "exit_1", "SyntaxError"},
		"exit":                       {js, `process.exit(4)`, "exit_4", ""},
		"python":                     {py, `print(1+1)`, "", "2\n"},
		"python of the workspace's":  {py, "import helper\nprint(helper.answer)", "", "42\n"},
		"python's file":              {py, `print(open("rows.json").read())`, "", "[1,2]"},
		"python quotes the line":     {py, "x = 1\nx / 0", "exit_1", "x / 0"},
		"python's input":             {py, "import sys\nprint(repr(sys.stdin.read()))", "", "''"},
		"another language":           {"perl", "print 1", toolapi.CodeInvalidArguments, "perl"},
		"no source":                  {py, "", toolapi.CodeInvalidArguments, "empty"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := s.run(toolapi.ToolCode, toolapi.CodeArgs{Language: test.language, Source: test.source})
			if r.ErrorCode != test.code || r.OK != (test.code == "") || !strings.Contains(r.Output, test.has) {
				t.Errorf("code %q ok %v output %q, want %q %q", r.ErrorCode, r.OK, r.Output, test.code, test.has)
			}
		})
	}
	if left, err := os.ReadDir(s.workspace + "/" + workspace.CodeDir); err != nil || len(left) > 0 {
		t.Errorf("programs are left: %v %v", left, err)
	}
}

func TestEnvironmentIsMinimal(t *testing.T) {
	t.Setenv("MOTOR_SECRET", "hidden")
	s := newSandbox(t)
	r := s.bash("env -u _ -u SHLVL -u PWD -u OLDPWD | cut -d= -f1 | sort | tr '\n' ' '")
	if want := "CARGO_NET_OFFLINE GIT_CONFIG_COUNT GIT_CONFIG_KEY_0 GIT_CONFIG_SYSTEM GIT_CONFIG_VALUE_0 GOPROXY HOME LANG PATH " +
		"PIP_BREAK_SYSTEM_PACKAGES PIP_DISABLE_PIP_VERSION_CHECK PIP_NO_INDEX PYTHONDONTWRITEBYTECODE PYTHONPATH PYTHONUNBUFFERED TERM TMPDIR " +
		"UV_OFFLINE npm_config_offline "; r.Output != want {
		t.Errorf("environment %q, want %q", r.Output, want)
	}
}

func TestStateIsClosedToTools(t *testing.T) {
	if proc.LandlockABI() < proc.MinLandlock {
		t.Fatal("this test needs a kernel with Landlock")
	}
	s := newSandbox(t)
	before, err := os.ReadFile(s.state + "/ledger")
	if err != nil {
		t.Fatal(err)
	}
	for name, command := range map[string]string{
		"read the key":      "cat " + s.state + "/server.key",
		"read by a link":    "ln -s " + s.state + " l && cat l/server.key",
		"write the ledger":  "echo x >> " + s.state + "/ledger",
		"remove the ledger": "rm -f " + s.state + "/ledger",
		"move the ledger":   "mv " + s.state + "/ledger .",
		"add a file":        "touch " + s.state + "/new",
		"link the key":      "ln " + s.state + "/server.key .",
		"read its memory":   "head -c 1 /proc/" + strconv.Itoa(os.Getpid()) + "/mem",
		"see its files":     "readlink /proc/" + strconv.Itoa(os.Getpid()) + "/fd/0",
		"signal it":         "kill -URG " + strconv.Itoa(os.Getpid()),
	} {
		t.Run(name, func(t *testing.T) {
			if r := s.bash(command); r.OK {
				t.Errorf("%s succeeded", command)
			}
		})
	}
	if r := s.bash("mkdir -p a b && echo x > a/f && mv a/f b/g && ln b/g a/h && cat a/h && : > b/g && echo x > " + s.temp + "/f"); !r.OK {
		t.Errorf("ordinary work with files fails: %s", r.Output)
	}
	after, err := os.ReadFile(s.state + "/ledger")
	if err != nil || !strings.HasPrefix(string(after), string(before)) {
		t.Errorf("the ledger was changed: %v", err)
	}
}

// escapees starts processes that try to survive: in the background, in a session of its own, as an orphan of two forks, and deaf to
// signals. Each carries the mark in its command line and writes a file to show that it runs.
func escapees(mark string) string {
	return fmt.Sprintf(`
cat > escape.py <<'END'
import os, signal, sys, threading, time
kind = sys.argv[1]
if kind == "double":
    if os.fork(): os._exit(0)
    os.setsid()
    if os.fork(): os._exit(0)
for s in range(1, 32):
    if s not in (9, 19, 17): signal.signal(s, signal.SIG_IGN)
open("up-" + kind, "w").close()
if kind == "thread":
    # The first thread ends, which makes the process look like a zombie while this one goes on.
    def on():
        time.sleep(60)
    threading.Thread(target=on).start()
    import ctypes
    ctypes.CDLL(None).syscall(60 if os.uname().machine == "x86_64" else 93, 0)
time.sleep(60)
END
python3 escape.py plain %[1]s &
setsid python3 escape.py session %[1]s &
setsid python3 escape.py thread %[1]s &
(python3 escape.py double %[1]s &)
nohup bash -c 'setsid python3 escape.py nested %[1]s & wait' %[1]s >/dev/null 2>&1 &
until [ -e up-plain ] && [ -e up-session ] && [ -e up-double ] && [ -e up-nested ] && [ -e up-thread ]; do read -t 0.01 <> <(:) ; done
echo started
touch all-up
`, mark)
}

func TestNothingOutlivesItsCall(t *testing.T) {
	tests := map[string]struct {
		end    string // the action of the main process after the others run
		cancel bool
		code   string
	}{
		"the program ends":      {end: "exit 0"},
		"the program fails":     {end: "exit 9", code: "exit_9"},
		"the program is killed": {end: "kill -9 $$", code: toolapi.CodeKilled},
		"timeout":               {end: "wait", code: toolapi.CodeTimeout},
		"cancel":                {end: "wait", cancel: true, code: toolapi.CodeCancelled},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := newSandbox(t)
			mark := fmt.Sprintf("mark-%d-%s", os.Getpid(), strings.ReplaceAll(name, " ", "-"))
			args := toolapi.BashArgs{Command: escapees(mark) + test.end}
			if test.code == toolapi.CodeTimeout {
				args.TimeoutSeconds = 15 // All of them have to start before.
			}
			call := newCallOf(t, "", toolapi.ToolBash, args)
			cancelled := make(chan struct{})
			if test.cancel {
				go func() {
					defer close(cancelled)
					await(t, "processes", func() bool { _, err := os.Stat(s.workspace + "/all-up"); return err == nil })
					s.cancel(call.ID)
				}()
			} else {
				close(cancelled)
			}
			r := s.runCall(call)
			<-cancelled // The call and its cancellation are answered in any order; the test's end would end the latter.
			if r.ErrorCode != test.code || !strings.HasPrefix(r.Output, "started\n") {
				t.Errorf("code %q output %q, want %q", r.ErrorCode, r.Output, test.code)
			}
			if _, err := os.Stat(s.workspace + "/all-up"); err != nil {
				t.Errorf("the processes did not all start: %v", err)
			}
			if left := marked(t, mark); len(left) > 0 {
				t.Errorf("processes are left: %q", left)
			}
		})
	}
}

func TestTimeoutSaysWhatWasPrintedAndTheLimit(t *testing.T) {
	s := newSandbox(t)
	r := s.run(toolapi.ToolCode, toolapi.CodeArgs{Language: toolapi.LanguagePython, Source: "print('half')\nwhile True: pass", TimeoutSeconds: 4})
	if r.ErrorCode != toolapi.CodeTimeout || !r.Retryable || !strings.HasPrefix(r.Output, "half\n") || !strings.Contains(r.Output, "4 seconds") {
		t.Errorf("%+v", r)
	}
	if r.DurationMs < 4000 || r.DurationMs > 60_000 {
		t.Errorf("took %d ms", r.DurationMs)
	}
}

// A program that only the server can collect must not stay a zombie.
func TestOrphansAreCollectedDuringACall(t *testing.T) {
	s := newSandbox(t)
	r := s.bash(`
for i in 1 2 3 4 5 6 7 8; do (true &) ; done
zombies() { cat /proc/[0-9]*/stat 2>/dev/null | sed 's/.*) //' | grep -c "^Z $PPID "; }
for try in $(seq 500); do [ "$(zombies)" = 0 ] && echo none && exit; read -t 0.01 <> <(:); done
echo left`)
	if r.Output != "none\n" {
		t.Errorf("%q", r.Output)
	}
}

func TestEndlessOutputIsBounded(t *testing.T) {
	s := newSandbox(t)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r := s.run(toolapi.ToolBash, toolapi.BashArgs{Command: "yes 0123456789012345678901234567890123456789", TimeoutSeconds: 3})
	runtime.ReadMemStats(&after)
	if r.ErrorCode != toolapi.CodeTimeout || !strings.Contains(r.Output, timeoutNote) || r.OutputFile == "" {
		t.Errorf("%+v", r)
	}
	if len(r.Output) > toolapi.MaxBashOutputBytes || len(r.Output) < toolapi.MaxBashOutputBytes-500 {
		t.Errorf("%d bytes", len(r.Output))
	}
	if grown := int64(after.HeapSys) - int64(before.HeapSys); grown > 64<<20 {
		t.Errorf("the heap grew by %d bytes", grown)
	}
}

func TestKeptOutputIsBounded(t *testing.T) {
	s := newSandbox(t)
	r := s.bash("yes 0123456789012345678901234567890123456789 | head -c 18m")
	if !r.OK || !strings.Contains(r.Output, "first 16 MiB") {
		t.Errorf("%+v", r)
	}
	info, err := os.Stat(s.workspace + "/" + r.OutputFile)
	if err != nil || info.Size() < output.MaxSpillBytes || info.Size() > output.MaxSpillBytes+1000 {
		t.Errorf("%q has %d bytes: %v", r.OutputFile, info.Size(), err)
	}
}

// Much output in many odd pieces costs neither the server its memory nor the result its form.
func TestMuchOutput(t *testing.T) {
	s := newSandbox(t)
	for name, command := range map[string]string{
		"100 MB of text":  "yes 0123456789 | head -c 100m; echo end",
		"escape":          `yes $'\e[31m' | head -c 6m; echo end`,
		"one long line":   "yes | tr -d '\\n' | head -c 50m; echo end",
		"both streams":    "(yes out | head -c 20m) & (yes err | head -c 20m >&2) & wait; echo end",
		"closed and open": "exec 2>&1; yes | head -c 1m; exec 1>&-; exec 1>&2; echo end",
	} {
		t.Run(name, func(t *testing.T) {
			r := s.run(toolapi.ToolBash, toolapi.BashArgs{Command: command, TimeoutSeconds: 280})
			data, notes := r.Parts()
			if !r.OK || len(r.Output) > toolapi.MaxBashOutputBytes || r.Output != plaintext.Clean(r.Output) || !strings.HasSuffix(data, "end\n") || !strings.HasPrefix(notes, "[output cut: ") {
				t.Errorf("code %q, %d bytes: %.200q", r.ErrorCode, len(r.Output), r.Output)
			}
			if info, err := os.Stat(s.workspace + "/" + r.OutputFile); err != nil || info.Size() > output.MaxSpillBytes+1000 {
				t.Errorf("%s: %v %v", r.OutputFile, info, err)
			}
		})
	}
	for name, command := range map[string]string{
		"NUL": "head -c 20m /dev/zero; echo end", "no text": "head -c 5m /dev/urandom; echo end", "cut runes": `yes $'\xe2\x82' | head -c 5m; echo end`,
	} {
		r := s.run(toolapi.ToolBash, toolapi.BashArgs{Command: command, TimeoutSeconds: 280})
		if !r.OK || !r.NotesOnly() || !strings.HasPrefix(r.Output, "[the output is not shown: it is no UTF-8 text but ") || r.OutputFile != "" {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

func TestLongOutputIsKeptWhole(t *testing.T) {
	s := newSandbox(t)
	call := newCallOf(t, "long", toolapi.ToolCode, toolapi.CodeArgs{
		Language: toolapi.LanguagePython, Source: `for i in range(20000): print("line", i, "é")`,
	})
	call.MaxOutputBytes = 2000
	r := s.runCall(call)
	if !r.OK || r.OutputFile != toolapi.OutputDir+"/long.txt" || len(r.Output) > 2000 {
		t.Fatalf("%+v", r)
	}
	if data, _ := r.Parts(); !strings.HasPrefix(data, "line 0 é\n") || !strings.HasSuffix(data, "line 19999 é\n") || !strings.Contains(r.Output, "bytes left out") {
		t.Errorf("%q", r.Output)
	}
	whole := s.content(r.OutputFile)
	if strings.Count(whole, "\n") != 20000 || !strings.Contains(whole, "\nline 9999 é\nline 10000 é\n") {
		t.Errorf("the whole output has %d bytes", len(whole))
	}
}

func TestOldOutputsMakeRoom(t *testing.T) {
	s := newSandbox(t)
	for i, name := range []string{"oldest", "older", "newest"} {
		file := toolapi.OutputDir + "/" + name + ".txt"
		s.write(file, "")
		when := time.Unix(int64(1000+i), 0)
		if err := errors.Join(os.Truncate(s.workspace+"/"+file, output.MaxOutputsBytes/2-1<<20), os.Chtimes(s.workspace+"/"+file, when, when)); err != nil {
			t.Fatal(err)
		}
	}
	if r := s.runCall(newCallOf(t, "long", toolapi.ToolBash, toolapi.BashArgs{Command: "seq 100000"})); r.OutputFile == "" {
		t.Errorf("%+v", r)
	}
	if r := s.bash("ls .motor/output | tr '\n' ' '"); r.Output != "long.txt newest.txt " {
		t.Errorf("kept: %q", r.Output)
	}
}

// A hostile program prepares the paths that the server is about to write to.
func TestSpillIsNotFooled(t *testing.T) {
	const big = "; seq 100000"
	for name, prepare := range map[string]string{
		"pipe":            "mkdir -p .motor/output && mkfifo .motor/output/spill.txt",
		"link to outside": "mkdir -p .motor/output && ln -s /etc/hostname .motor/output/spill.txt",
		"file":            "mkdir -p .motor/output && echo old > .motor/output/spill.txt",
		"folder":          "mkdir -p .motor/output/spill.txt/x",
	} {
		t.Run(name, func(t *testing.T) {
			s := newSandbox(t)
			r := s.runCall(newCallOf(t, "spill", toolapi.ToolBash, toolapi.BashArgs{Command: prepare + big}))
			if !r.OK || r.OutputFile == "" || !strings.HasPrefix(s.content(r.OutputFile), "1\n2\n") {
				t.Errorf("%+v", r)
			}
		})
	}
	for name, prepare := range map[string]string{
		"no folder":      "touch .motor",
		"folder outside": "ln -s /tmp .motor",
	} {
		t.Run(name, func(t *testing.T) {
			s := newSandbox(t)
			r := s.runCall(newCallOf(t, "spill", toolapi.ToolBash, toolapi.BashArgs{Command: prepare + big}))
			if !r.OK || r.OutputFile != "" || !strings.Contains(r.Output, "lost") {
				t.Errorf("%+v", r)
			}
		})
	}
}

// A process that keeps the pipe open must not keep the call.
func TestBackgroundProcessDoesNotHoldTheCall(t *testing.T) {
	s := newSandbox(t)
	began := time.Now()
	r := s.bash("sleep 300 & echo done")
	if !r.OK || r.Output != "done\n" || time.Since(began) > time.Minute {
		t.Errorf("%+v after %s", r, time.Since(began))
	}
}

func TestMissingProgram(t *testing.T) {
	s := stoppedSandbox(t)
	s.path = s.temp
	s.start()
	if r := s.bash("true"); r.ErrorCode != toolapi.CodeNotFound || !strings.Contains(r.Output, "bash") {
		t.Errorf("%+v", r)
	}
}
