// SPDX-License-Identifier: Apache-2.0

//go:build linux

package program

import (
	"strings"
	"testing"
	"unicode/utf8"

	"motorcortex.dev/motorcortex/internal/toolapi"
)

func TestCodeValue(t *testing.T) {
	s := newSandbox(t)
	s.write("helper.mjs", "export const answer = 42\n")
	s.write("json.py", "raise Exception('the workspace has a module of this name')")
	s.write("ast.py", "raise Exception('the workspace has a module of this name')")
	const js, py = toolapi.LanguageJavaScript, toolapi.LanguagePython
	const value = "[value]\n"
	tests := map[string]struct{ language, source, output string }{
		"number":                  {js, "1 + 1", value + "2\n"},
		"console and value":       {js, "console.log('shown'); ({a: [1, null, 'x']})", "shown\n" + value + `{"a":[1,null,"x"]}` + "\n"},
		"console without an end":  {js, "process.stdout.write('shown'); 'x'", "shown\n" + value + "\"x\"\n"},
		"nothing":                 {js, "let x = 5", ""},
		"undefined":               {js, "console.log(1)", "1\n"},
		"null":                    {js, "null", ""},
		"semicolons and comments": {js, "let x = 5 // five\n// more\nx * 2 // ten\n;;\n/* end */", value + "10\n"},
		"no semicolon before":     {js, "let f = 5\n;[f].map(x => x + 1)", value + "[6]\n"},
		"a comment to the end":    {js, "7 // seven", value + "7\n"},
		"sequence":                {js, "let x; x = 1, x + 1", value + "2\n"},
		"sequence in parentheses": {js, "(1, 3)", value + "3\n"},
		"declaration last":        {js, "7; function f() {}", ""},
		"directive":               {js, "'use strict'", ""},
		"hash bang":               {js, "#!/usr/bin/env node\n7", value + "7\n"},
		"sloppy":                  {js, "with ({a: 1}) { b = a }\nb + 010", value + "9\n"},
		"await":                   {js, "const x = await Promise.resolve(7)\nx + await 1", value + "8\n"},
		"await alone":             {js, "await Promise.resolve(7)", value + "7\n"},
		"promise":                 {js, "new Promise(r => setTimeout(r, 10, 'late'))", value + "\"late\"\n"},
		"promise without end":     {js, "new Promise(() => {})", value + "Promise { <pending> }\n"},
		"import":                  {js, "import {answer} from './helper.mjs'\nanswer + 1", value + "43\n"},
		"dynamic import":          {js, "(await import('./helper.mjs')).answer", value + "42\n"},
		"default export":          {js, "export default {a: 1}; console.log('shown')", "shown\n" + value + `{"a":1}` + "\n"},
		"default function":        {js, "export default function f() {}", ""},
		"module.exports":          {js, "module.exports = [1]", value + "[1]\n"},
		"no JSON":                 {js, "new Map([[1, 2]])", value + "Map(1) { 1 => 2 }\n"},
		"no JSON within":          {js, "({a: new Set([1])})", value + "{ a: Set(1) { 1 } }\n"},
		"no number":               {js, "0 / 0", value + "NaN\n"},
		"big integer":             {js, "2n ** 70n", value + "1180591620717411303424n\n"},
		"function":                {js, "x => x", value + "[Function (anonymous)]\n"},
		"ring":                    {js, "const a = {}; a.a = a; a", value + "<ref *1> { a: [Circular *1] }\n"},
		"date":                    {js, "new Date(0)", value + "\"1970-01-01T00:00:00.000Z\"\n"},
		"hostile object":          {js, "({toJSON() { throw 1 }, [Symbol.for('nodejs.util.inspect.custom')]() { throw 2 }})", value + "[the value cannot be shown: 2]\n"},
		"its own words":           {js, "require('fs').readdirSync('/proc/self/fd').forEach(fd => { try { if (fd > 3) require('fs').writeSync(+fd, 'x'.repeat(9)) } catch {} }); 5", value + "5\n"},
		"own arguments":           {js, "process.execArgv.length", value + "0\n"},
		"own input":               {js, "require('fs').readFileSync(0, 'utf8')", value + "\"\"\n"},
		"fork":                    {js, "require('fs').writeFileSync('child.js', 'console.log(1 + 1); 5'); require('child_process').spawnSync(process.execPath, ['child.js']).stdout.toString()", value + "\"2\\n\"\n"},
		"worker":                  {js, "new (require('worker_threads').Worker)('console.log(6); 7', {eval: true}); undefined", "6\n"},
		"globals":                 {js, "Object.keys(globalThis).filter(n => n.includes('$'))", value + "[]\n"},
		"python":                  {py, "x = 5\nx * 2  # ten\n", value + "10\n"},
		"python prints":           {py, "print('shown')\n{'a': [1, None, True, 1.5, 'é\"\\n']}", "shown\n" + value + `{"a": [1, null, true, 1.5, "é\"\n"]}` + "\n"},
		"python none":             {py, "print(1)", "1\n"},
		"python statement":        {py, "x = 5", ""},
		"python no JSON":          {py, "(1, {2})", value + "(1, {2})\n"},
		"python keys":             {py, "{1: 2}", value + "{1: 2}\n"},
		"python infinity":         {py, "[float('inf')]", value + "[inf]\n"},
		"python ring":             {py, "a = []; a.append(a); a", value + "[[...]]\n"},
		"python future":           {py, "from __future__ import annotations\ndef f(x: undefined_name): pass\nf.__annotations__", value + `{"x": "undefined_name"}` + "\n"},
		"python main":             {py, "import sys\nif __name__ == '__main__': print(sys.argv[1:], '_motor' in globals())\n__file__.endswith('.py')", "[] False\n" + value + "true\n"},
		"python pickles":          {py, "import pickle\nclass A: pass\ntype(pickle.loads(pickle.dumps(A()))) is A", value + "true\n"},
		"python exits":            {py, "import sys\n5\nsys.exit(0)", ""},
		"python closed":           {py, "import os\nos.closerange(3, 200)\n5", ""},
		"python hostile":          {py, "class A:\n  def __repr__(self): raise ValueError('no')\nA()", value + "[the value cannot be shown: ValueError]\n"},
		"python child":            {py, "import subprocess\nsubprocess.run(['bash', '-c', 'echo {} >&3'], close_fds=False, stderr=-3).returncode", value + "1\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := s.run(toolapi.ToolCode, toolapi.CodeArgs{Language: test.language, Source: test.source})
			if !r.OK || r.Output != test.output {
				t.Errorf("code %q, output\n%s\nwant\n%s", r.ErrorCode, r.Output, test.output)
			}
		})
	}
}

// The error messages of a program are about the program.
func TestCodeErrors(t *testing.T) {
	s := newSandbox(t)
	const js, py = toolapi.LanguageJavaScript, toolapi.LanguagePython
	tests := map[string]struct {
		language, source string
		has              []string
	}{
		"javascript last line": {js, "let a = 1\n// note\na.b.c\n", []string{":3\na.b.c\n    ^\n", "TypeError"}},
		"javascript module":    {js, "import 'fs'\nlet a = 1\na.b.c\n", []string{":3\na.b.c\n    ^\n", "TypeError"}},
		"javascript syntax":    {js, "1\nlet x = ;\n", []string{":2\nlet x = ;\n        ^\n", "SyntaxError"}},
		"rejected":             {js, "let a = 1\nPromise.reject(new Error('late'))", []string{"late"}},
		"python last line":     {py, "a = 1\na.b", []string{`.py", line 2, in <module>` + "\n    a.b\n", "AttributeError"}},
		"python syntax":        {py, "1\nx = = 2\n", []string{`.py", line 2` + "\n    x = = 2\n", "SyntaxError"}},
		"python function":      {py, "def f():\n  return 1 / 0\nf()", []string{"    f()\n", "    return 1 / 0\n", "ZeroDivisionError"}},
		"python cause":         {py, "try:\n  1 / 0\nexcept Exception as e:\n  raise KeyError('x') from e", []string{"ZeroDivisionError", "KeyError: 'x'"}},
		"python hook":          {py, "import sys\nsys.excepthook = lambda *a: print('hooked', a[1])\n1 / 0", []string{"hooked division by zero"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := s.run(toolapi.ToolCode, toolapi.CodeArgs{Language: test.language, Source: test.source})
			if r.ErrorCode != "exit_1" {
				t.Errorf("%+v", r)
			}
			for _, want := range test.has {
				if !strings.Contains(r.Output, want) {
					t.Errorf("%q is missing in\n%s", want, r.Output)
				}
			}
			for _, not := range []string{"$_", "_motor", "<string>", "javascript;base64", "[value]"} {
				if strings.Contains(r.Output, not) {
					t.Errorf("%q is in\n%s", not, r.Output)
				}
			}
		})
	}
}

// flood writes to the file for the value.
const flood = `import os, stat
for fd in map(int, os.listdir("/proc/self/fd")):
    try:
        if fd > 2 and not os.get_inheritable(fd) and stat.S_ISFIFO(os.fstat(fd).st_mode):
            for _ in range(50): os.write(fd, b"x" * 10**6)
    except OSError: pass
print("done")
5`

func TestCodeValueIsBounded(t *testing.T) {
	s := newSandbox(t)
	const js, py = toolapi.LanguageJavaScript, toolapi.LanguagePython
	for name, test := range map[string]struct{ language, source, begins, has string }{
		"long":               {js, "'é'.repeat(1e6)", "[value]\n\"ééé", "the rest of the value is left out"},
		"long console":       {js, "console.log('c'.repeat(1e6)); 'v'.repeat(1e6)", "ccc", "[value]\n\"vvv"},
		"long list":          {py, "list(range(10**6))", "[value]\n[0, 1, 2", "the rest of the value is left out"},
		"long text":          {py, "print('c' * 10**6)\n'v' * 10**6", "ccc", "[value]\n\"vvv"},
		"a number":           {py, "[None, 1]", "[value]\n[null, 1]", ""},
		"flood":              {py, flood, "done", "[value]\n5"},
		"long and no JSON":   {py, "set(range(10**5))", "[value]\n{0, 1", "left out"},
		"control characters": {js, "console.log('\\x1b[31m'); new Error('\\x1b[31m\\x00')", "\n[value]\nError", ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := s.run(toolapi.ToolCode, toolapi.CodeArgs{Language: test.language, Source: test.source})
			if !r.OK || !strings.HasPrefix(r.Output, test.begins) || !strings.Contains(r.Output, test.has) {
				t.Errorf("code %q, %d bytes: %.200q", r.ErrorCode, len(r.Output), r.Output)
			}
			if len(r.Output) > toolapi.MaxOutputBytes || !utf8.ValidString(r.Output) {
				t.Errorf("%d bytes", len(r.Output))
			}
		})
	}
}
