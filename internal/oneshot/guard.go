// SPDX-License-Identifier: Apache-2.0

package oneshot

import (
	"fmt"

	"motorcortex.dev/motorcortex/internal/toolapi"
)

// What the constructs that Guard knows would do.
const (
	whyProcess = "starts, ends or changes processes"
	whyFiles   = "reads or writes files"
	whyNetwork = "uses the network"
	whyEval    = "runs a text as code"
	whySystem  = "reaches into the system or the runtime"
	whyObjects = "changes what every object inherits"
	whyUnknown = "loads a module whose name only the running code knows"
)

// Guard names what in the code plainly asks for processes, files, the network or the evaluation of text, with its line, or
// gives "". Comments and strings do not count.
//
// With network, code may use the network.
//
// It saves who wrote such code by accident a look at an odd error. It is no boundary, and easily deceived: what the code
// can do is decided by its sandbox, which has no credential, nothing in its workspace, and no network but the domains of the run.
func Guard(language, source string, network bool) string {
	var tokens []token
	var rule func([]token, int) finding
	switch language {
	case toolapi.LanguageJavaScript:
		tokens, rule = scanJavaScript(source), judgeJavaScript
	case toolapi.LanguagePython:
		tokens, rule = scanPython(source), judgePython
	}
	for i, t := range tokens {
		if t.kind != word {
			continue
		}
		if f := rule(tokens, i); f.why != "" && (f.why != whyNetwork || !network) {
			return fmt.Sprintf("line %d: %s %s, which the code of a Oneshot run may not do", t.line, f.construct, f.why)
		}
	}
	return ""
}

// finding is a construct that is refused, and why. The zero finding is none.
type finding struct{ construct, why string }

// at gives token i, and the zero token beyond the ends.
func at(tokens []token, i int) token {
	if i < 0 || i >= len(tokens) {
		return token{}
	}
	return tokens[i]
}

// is says whether token i is this word or sign.
func is(tokens []token, i int, s string) bool {
	t := at(tokens, i)
	return t.kind != quoted && t.text == s && s != ""
}
