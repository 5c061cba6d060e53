// SPDX-License-Identifier: Apache-2.0

package oneshot

import (
	"fmt"
	"regexp"
	"strings"

	"motorcortex.dev/motorcortex/internal/text"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// The effects of the constructs that Guard knows.
const (
	whyProcess = "starts, ends or changes processes"
	whyFiles   = "reads or writes files"
	whyNetwork = "uses the network"
	whyEval    = "runs a text as code"
	whySystem  = "reaches into the system or the runtime"
	whyObjects = "changes what every object inherits"
	whyUnknown = "loads a module whose name only the running code knows"
)

// Guard returns the first construct in the code that plainly requests processes, files, the network or the evaluation of text, with its line, or
// "". Comments and texts do not count.
//
// With network, code may use the network.
//
// It is a list of regular expressions and makes a best effort: it saves an author who wrote such code by accident from an obscure error. It is no
// boundary, and easily deceived. The sandbox decides what the code can do: it has no credential, nothing in its workspace, and no network
// but the domains of the run.
func Guard(language, source string, network bool) string {
	g, known := guards[language]
	if !known {
		return ""
	}
	for _, at := range g.parts.FindAllStringSubmatchIndex(source, -1) {
		for i, r := range g.refused {
			from, to := at[2*i+2], at[2*i+3]
			if from < 0 || network && r.why == whyNetwork {
				continue
			}
			line := 1 + strings.Count(source[:from], "\n")
			return fmt.Sprintf("line %d: %s %s, which the code of a Oneshot run may not do", line, shown(source[from:to]), r.why)
		}
	}
	return ""
}

// guard has the constructs that are refused in a program of one language.
type guard struct {
	refused []refusal
	// parts matches one part of a program after the other. Its groups are the refused constructs, in their order. It matches all other parts
	// whole, so that no part of a comment, a text or a longer name counts as a construct. A regular expression of JavaScript is
	// read as code.
	parts *regexp.Regexp
}

// refusal is an expression for constructs, and why they are refused.
type refusal struct{ why, expression string }

func newGuard(refused []refusal, others ...string) guard {
	all := make([]string, 0, len(refused)+len(others))
	for _, r := range refused {
		all = append(all, "("+r.expression+")")
	}
	return guard{refused, regexp.MustCompile(strings.Join(append(all, others...), "|"))}
}

// Parts of programs. A text or a comment without an end extends to the end of its line, or of the program. A search for its end from every
// beginning would take a time that grows with the square of the length.
const (
	name       = `[\w$\x{80}-\x{10FFFF}]+`
	anyQuote   = "[\"'`]"
	lineText   = `'(?:[^'\\\n]|\\(?s:.?))*'?|"(?:[^"\\\n]|\\(?s:.?))*"?`
	template   = "`(?:[^`\\\\]|\\\\(?s:.?))*(?:`|\\z)"
	tripleText = `'''(?:[^\\]|\\(?s:.?))*?(?:'''|\z)|"""(?:[^\\]|\\(?s:.?))*?(?:"""|\z)`
	comment    = `//.*|/\*(?s:.*?)(?:\*/|\z)`
	// beforeModule matches the text between the word that loads a module and its name.
	beforeModule = `\s*\(?\s*` + anyQuote + `(?:node:)?`
)

var guards = map[string]guard{
	toolapi.LanguageJavaScript: newGuard([]refusal{
		{whyProcess, javaScriptModule(`child_process|cluster|worker_threads|process`)},
		{whyFiles, javaScriptModule(`fs|fs/promises|sqlite`)},
		{whyNetwork, javaScriptModule(`net|tls|dgram|dns|dns/promises|https?|http2|inspector|inspector/promises|undici`)},
		{whyEval, javaScriptModule(`vm|repl|module`)},
		{whySystem, javaScriptModule(`os|v8|wasi|trace_events`)},
		{whyUnknown, `(?:require|import)\s*\(\s*(?:[^\s"'` + "`]|" + anyQuote + `[\w:/]*` + anyQuote + `\s*\+)`},
		{whyProcess, processMember(`exit|reallyExit|abort|_?kill|_debugProcess`)},
		{whyFiles, processMember(`chdir`)},
		{whySystem, processMember(`binding|_linkedBinding|dlopen|mainModule|getBuiltinModule|sete?[ug]id|setgroups|initgroups`)},
		{whyNetwork, `fetch\s*\(|new\s+(?:WebSocket|XMLHttpRequest|EventSource)\b`},
		{whyEval, `(?:eval|Function)\s*\(|\.constructor\s*(?:\.\s*constructor\b|\(\s*` + anyQuote + `)|\.?constructor\s*\[`},
		{whySystem, `globalThis\b`},
		{whyObjects, `\.?__proto__\b`},
	}, comment, lineText, template, `function[\s*]+`+name, `\.\s*`+name, name),

	toolapi.LanguagePython: newGuard([]refusal{
		{whyProcess, pythonModule(`subprocess|multiprocessing|signal|pty|concurrent\.futures\.process`)},
		{whyFiles, pythonModule(`shutil|pathlib|tempfile|glob|fileinput|mmap|sqlite3|dbm|shelve`)},
		{whyEval, pythonModule(`code|codeop|runpy|importlib|imp`)},
		{whySystem, pythonModule(`os|posix|_posixsubprocess|_?ctypes|cffi|builtins|fcntl|resource|pwd|gc`)},
		{whyNetwork, pythonModule(`_?socket|socketserver|ssl|select|selectors|http|urllib\.request|urllib3|requests|httpx|aiohttp|` +
			`ftplib|smtplib|imaplib|poplib|xmlrpc|webbrowser`)},
		{whyNetwork, `from\s+urllib\s+import\s*(?:\([\w\s,]{0,200}|[\w ,]{0,200})\brequest\b`},
		{whyFiles, `open\s*\(`},
		{whyEval, `(?:eval|exec)\s*\(`},
		{whySystem, `\.?__(?:import|subclasses|globals|builtins|loader)__\b`},
	}, `#.*`, tripleText, lineText, `(?:def|class)\s+`+name, `from\s+[\w.]+\s+import\b`, `\.`+name, name),
}

// javaScriptModule returns a pattern for code that loads one of the modules.
func javaScriptModule(names string) string {
	return `(?:require|import|from)` + beforeModule + `(?:` + names + `)` + anyQuote
}

// processMember returns a pattern for the use of one of the members of process.
func processMember(names string) string {
	return `process\s*(?:\.\s*|\[\s*` + anyQuote + `)(?:` + names + `)\b(?:` + anyQuote + `\s*\])?`
}

// pythonModule returns a pattern for code that loads one of the modules, or a part of it.
func pythonModule(names string) string {
	names = `(?:` + names + `)\b(?:\.\w+)*`
	return `import\s+(?:[\w.]+(?:\s+as\s+\w+)?\s*,\s*)*` + names + `|from\s+` + names + `\s+import\b`
}

var quotedModule = regexp.MustCompile(beforeModule + `([\w/]+)` + anyQuote + `$`)

// shown returns a construct for a message: short, in one line, and without the arguments of a call.
func shown(construct string) string {
	construct = quotedModule.ReplaceAllString(construct, ` "$1"`)
	if function, _, called := strings.Cut(construct, "("); called {
		construct = function + "(…)"
	}
	construct = strings.TrimSuffix(strings.Join(strings.Fields(construct), " "), " import")
	return text.CutBytes(strings.TrimPrefix(construct, "."), 80)
}
