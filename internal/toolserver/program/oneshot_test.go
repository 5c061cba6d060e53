// SPDX-License-Identifier: Apache-2.0

//go:build linux

package program

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolserver/workspace"
)

func (s *sandbox) oneshot(language, source string, ms int32) (toolapi.Result, toolapi.OneshotResult) {
	s.t.Helper()
	r := s.run(toolapi.ToolOneshot, toolapi.OneshotArgs{Language: language, Source: source, TimeoutMs: ms})
	var shown toolapi.OneshotResult
	if err := json.Unmarshal([]byte(r.Output), &shown); err != nil || shown.OK != r.OK || len(r.Output) > toolapi.MaxOutputBytes {
		s.t.Errorf("%d bytes, ok %t: %v: %.500s", len(r.Output), r.OK, err, r.Output)
	}
	return r, shown
}

func TestOneshot(t *testing.T) {
	s := newSandbox(t)
	const js, py = toolapi.LanguageJavaScript, toolapi.LanguagePython
	failed := func(message string) *toolapi.OneshotError {
		return &toolapi.OneshotError{Code: toolapi.ExecutionError, Message: message}
	}
	late := func(ms int) *toolapi.OneshotError {
		return &toolapi.OneshotError{Code: toolapi.ExecutionTimeout, Message: fmt.Sprintf("the program was killed after %d ms", ms)}
	}
	tests := map[string]struct {
		language, source string
		ms               int32
		value, console   string
		err              *toolapi.OneshotError
	}{
		"value":             {js, "({a: [1, 'é']})", 5000, `{"a":[1,"é"]}`, "", nil},
		"console":           {js, "console.log('shown'); console.error('too')", 5000, "", "shown\ntoo\n", nil},
		"null":              {js, "null", 5000, "null", "", nil},
		"no JSON":           {js, "new Map()", 5000, "", "", failed("the value is none that JSON has: Map(0) {}")},
		"a circle":          {js, "const a = {}; a.a = a; a", 5000, "", "", failed("the value is none that JSON has: <ref *1> { a: [Circular *1] }")},
		"python's no JSON":  {py, "{1}", 5000, "", "", failed("the value is none that JSON has: {1}")},
		"returned":          {js, "const p=10000, r=0.05, n=10; return p * Math.pow(1+r, n);", 5000, "16288.946267774423", "", nil},
		"returned early":    {js, "#!/usr/bin/env node\nconst x = await 2\nif (x > 1) return {x}\nreturn 3", 5000, `{"x":2}`, "", nil},
		"returns nothing":   {js, "console.log(1); return", 5000, "", "1\n", nil},
		"thrown for return": {js, "const a = 1\nif (!a) return 1\nthrow new Error('no')", 5000, "", "", failed("Error: no (line 3)")},
		"python returned":   {py, "from __future__ import annotations\nimport math\ndef area(r): return math.pi * r\nfor r in range(3):\n  if r == 2: return [r, area(0)]", 5000, "[2,0.0]", "", nil},
		"python's tuple":    {py, "return (1, 2)", 5000, "[1,2]", "", nil},
		"python's thrown":   {py, "x = 1\nif x:\n  raise ValueError('no')\nreturn x", 5000, "", "", failed("ValueError: no (line 3)")},
		"await":             {js, "await new Promise(r => setTimeout(r, 10, 7))", 5000, "7", "", nil},
		"environment":       {js, "Object.keys(process.env).sort()", 5000, `["HOME","LANG","PATH","TMPDIR"]`, "", nil},
		"folder":            {js, "const fs = require('fs'); fs.writeFileSync('x', ''); [fs.readdirSync('.'), process.cwd() === process.env.HOME]", 5000, `[["x"],true]`, "", nil},
		"folder again":      {py, "import os\nos.listdir('.')", 5000, `[]`, "", nil},
		"thrown":            {js, "let a = 1\nthrow new TypeError('no')", 5000, "", "", failed("TypeError: no (line 2)")},
		"thrown by a part":  {js, "function f() {\n  throw new Error('no') }\nf()", 5000, "", "", failed("Error: no (line 2)")},
		"thrown text":       {js, "throw 'no'", 5000, "", "", failed("'no'")},
		"rejected":          {js, "await 1\nawait Promise.reject(new Error('no'))", 5000, "", "", failed("Error: no (line 2)")},
		"syntax":            {js, "1\n2\nlet x = ;", 5000, "", "", failed("SyntaxError: Unexpected token ';' (line 3)")},
		"exit":              {js, "process.exit(3)", 5000, "", "", failed("the program ended with exit status 3")},
		"killed":            {js, "process.kill(process.pid, 'SIGKILL')", 5000, "", "", failed("the program was killed by signal 9 (killed), perhaps for want of memory")},
		"endless":           {js, "console.log('begun'); for (;;) {}", 3000, "", "begun\n", late(3000)},
		"waits":             {js, "setTimeout(() => {}, 1e6); 5", 300, "", "", late(300)},
		"deaf":              {py, "import signal, time\nsignal.signal(15, signal.SIG_IGN)\nprint('begun')\ntime.sleep(60)", 3000, "", "begun\n", late(3000)},
		"python":            {py, "x = {'a': [1, None]}\nx", 5000, `{"a":[1,null]}`, "", nil},
		"python thrown":     {py, "def f():\n  1 / 0\nf()", 5000, "", "", failed("ZeroDivisionError: division by zero (line 2)")},
		"python syntax":     {py, "x = 1\nx = = 2", 5000, "", "", failed("SyntaxError: invalid syntax (line 2)")},
		"python exit":       {py, "import sys\nsys.exit(4)", 5000, "", "", failed("the program ended with exit status 4")},
		"python text":       {py, "raise SystemExit('no')", 5000, "", "no\n", failed("the program ended with exit status 1")},
		"value of a failed": {js, "process.exitCode = 2; 5", 5000, "", "", failed("the program ended with exit status 2")},
		"control":           {js, "console.log('\\x1b[31m\\x00'); '\\x1b\\x7f\\x9b\\u2028'", 5000, `"\u001b\u007f\u009b` + "\u2028\"", "\uFFFD\n", nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r, shown := s.oneshot(test.language, test.source, test.ms)
			if shown.DurationMs < 1 {
				t.Errorf("it took %d ms", shown.DurationMs)
			}
			if test.err == nil && (!shown.OK || shown.Error != nil || shown.Console != test.console) || string(shown.Value) != test.value || shown.Truncated {
				t.Errorf("%s", r.Output)
			}
			if test.err == nil {
				return
			}
			if shown.OK || shown.Error == nil || *shown.Error != *test.err || !strings.HasPrefix(shown.Console, test.console) {
				t.Errorf("%s, want %+v", r.Output, test.err)
			}
			want := map[string]string{toolapi.ExecutionError: toolapi.CodeExecutionError, toolapi.ExecutionTimeout: toolapi.CodeExecutionTimeout}
			if r.ErrorCode != want[test.err.Code] {
				t.Errorf("code %s", r.ErrorCode)
			}
		})
	}
	for _, dir := range []string{s.temp + "/" + workspace.OwnDir, s.workspace + "/" + workspace.CodeDir} {
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("left in %s: %v %v", dir, left, err)
		}
	}
}

func TestOneshotTimeIsThatOfTheProgram(t *testing.T) {
	s := newSandbox(t)
	began := time.Now()
	r, shown := s.oneshot(toolapi.LanguagePython, "import subprocess\nsubprocess.Popen(['setsid', 'sleep', '100'])\nwhile True: pass", 1000)
	if took := time.Since(began); took < time.Second || took > 50*time.Second || shown.Error.Code != toolapi.ExecutionTimeout {
		t.Errorf("after %s: %+v", took, r)
	}
	for _, ms := range []int32{0, 99, 5001, -1} {
		if r, shown := s.oneshot(toolapi.LanguagePython, "1", ms); r.ErrorCode != toolapi.CodeInvalidArguments || shown.Error == nil {
			t.Errorf("%d ms: %+v", ms, r)
		}
	}
}

// Code with domains has the time that hosts need, and its result is from the web.
func TestOneshotNetwork(t *testing.T) {
	s := newSandbox(t)
	for ms, ok := range map[int32]bool{5001: true, 30000: true, 30001: false} {
		r := s.run(toolapi.ToolOneshotNetwork, toolapi.OneshotArgs{Language: toolapi.LanguageJavaScript, Source: "return process.env.HTTPS_PROXY ?? null", TimeoutMs: ms})
		if r.OK != ok || r.Provenance != toolapi.ProvenanceWeb {
			t.Errorf("%d ms: %+v", ms, r)
		}
	}
}

func TestOneshotIsBounded(t *testing.T) {
	s := newSandbox(t)
	const js, py = toolapi.LanguageJavaScript, toolapi.LanguagePython
	for name, test := range map[string]struct {
		language, source string
		value            bool
	}{
		"console":           {js, "console.log('c'.repeat(1e6)); 5", true},
		"console of quotes": {js, "console.log('\"'.repeat(1e6)); 5", true},
		"lines":             {py, "for i in range(2 * 10**4): print(i)\n5", true},
		"value":             {js, "'v'.repeat(1e6)", false},
		"value of 33 KiB":   {js, "'v'.repeat(33 * 1024)", false},
		"both":              {py, "print('c' * 30000)\n'v' * 30000", true},
		"endless":           {py, "while True: print('x' * 10**5)", false},
		"no UTF-8":          {py, "import os\nos.write(1, b'\\xff' * 10**6)\n5", true},
	} {
		t.Run(name, func(t *testing.T) {
			r, shown := s.oneshot(test.language, test.source, 5000)
			if headed := strings.Contains(test.source, "'v'") && !test.value; headed && !strings.HasPrefix(shown.Head, `"vvv`) || len(shown.Head) > toolapi.MaxOneshotHead {
				t.Errorf("the head is %.100q", shown.Head)
			}
			if !shown.Truncated || (len(shown.Value) > 0) != test.value {
				t.Errorf("%d bytes: %.300s", len(r.Output), r.Output)
			}
			if test.value && len(r.Output) < toolapi.MaxOutputBytes*9/10 {
				t.Errorf("%d bytes only", len(r.Output))
			}
		})
	}
}
