// SPDX-License-Identifier: Apache-2.0

package oneshot

import (
	"fmt"
	"strings"
)

var javaScriptModules = map[string]string{
	"child_process": whyProcess, "cluster": whyProcess, "worker_threads": whyProcess, "process": whyProcess,
	"fs": whyFiles, "fs/promises": whyFiles, "sqlite": whyFiles,
	"net": whyNetwork, "tls": whyNetwork, "dgram": whyNetwork, "dns": whyNetwork, "dns/promises": whyNetwork, "http": whyNetwork, "https": whyNetwork,
	"http2": whyNetwork, "inspector": whyNetwork, "inspector/promises": whyNetwork, "undici": whyNetwork,
	"vm": whyEval, "repl": whyEval, "module": whyEval,
	"os": whySystem, "v8": whySystem, "wasi": whySystem, "trace_events": whySystem,
}

// processMembers are those of process that do more than tell something about it or print.
var processMembers = map[string]string{
	"exit": whyProcess, "reallyExit": whyProcess, "abort": whyProcess, "kill": whyProcess, "_kill": whyProcess, "_debugProcess": whyProcess,
	"chdir": whyFiles, "binding": whySystem, "_linkedBinding": whySystem, "dlopen": whySystem, "mainModule": whySystem, "getBuiltinModule": whySystem,
	"setuid": whySystem, "setgid": whySystem, "seteuid": whySystem, "setegid": whySystem, "setgroups": whySystem, "initgroups": whySystem,
}

// javaScriptRules judge the word at a place, by the word.
var javaScriptRules = map[string]func(tokens []token, i int) finding{
	"require":        judgeRequire,
	"import":         judgeImport,
	"from":           judgeFrom,
	"eval":           judgeEval,
	"Function":       judgeEval,
	"constructor":    judgeConstructor,
	"globalThis":     judgeGlobal,
	"__proto__":      judgePrototype,
	"fetch":          judgeFetch,
	"WebSocket":      judgeSocket,
	"XMLHttpRequest": judgeSocket,
	"EventSource":    judgeSocket,
	"process":        judgeProcess,
}

func judgeJavaScript(tokens []token, i int) finding {
	if rule := javaScriptRules[tokens[i].text]; rule != nil {
		return rule(tokens, i)
	}
	return finding{}
}

func judgeRequire(tokens []token, i int) finding {
	if !isGlobalCall(tokens, i) {
		return finding{}
	}
	return javaScriptModule(tokens, i, i+2)
}

func judgeImport(tokens []token, i int) finding {
	switch {
	case is(tokens, i-1, "."):
	case is(tokens, i+1, "("):
		return javaScriptModule(tokens, i, i+2)
	case at(tokens, i+1).kind == quoted:
		return javaScriptModule(tokens, i, i+1)
	}
	return finding{}
}

func judgeFrom(tokens []token, i int) finding {
	if at(tokens, i+1).kind != quoted {
		return finding{}
	}
	return javaScriptModule(tokens, i, i+1)
}

func judgeEval(tokens []token, i int) finding {
	if !isGlobalCall(tokens, i) {
		return finding{}
	}
	return finding{tokens[i].text + "(…)", whyEval}
}

// judgeGlobal refuses the global object by its name: what is on it can be had without it.
func judgeGlobal(tokens []token, i int) finding {
	if !isGlobal(tokens, i) {
		return finding{}
	}
	return finding{"globalThis", whySystem}
}

func judgePrototype([]token, int) finding { return finding{"__proto__", whyObjects} }

// judgeConstructor looks for the constructor of a function, which is Function, and for members of one that only a text names.
func judgeConstructor(tokens []token, i int) finding {
	if is(tokens, i+1, "[") {
		return finding{"constructor[…]", whyEval}
	}
	ofText := is(tokens, i+1, "(") && at(tokens, i+2).kind == quoted
	ofItself := is(tokens, i+1, ".") && is(tokens, i+2, "constructor")
	if !is(tokens, i-1, ".") || !ofText && !ofItself {
		return finding{}
	}
	return finding{".constructor(…)", whyEval}
}

func judgeFetch(tokens []token, i int) finding {
	if !isGlobalCall(tokens, i) {
		return finding{}
	}
	return finding{"fetch(…)", whyNetwork}
}

func judgeSocket(tokens []token, i int) finding {
	if !is(tokens, i-1, "new") {
		return finding{}
	}
	return finding{"new " + tokens[i].text, whyNetwork}
}

func judgeProcess(tokens []token, i int) finding {
	member := at(tokens, i+2)
	access := is(tokens, i+1, ".") && member.kind == word || is(tokens, i+1, "[") && member.kind == quoted
	if !access || !isGlobal(tokens, i) {
		return finding{}
	}
	return finding{"process." + member.text, processMembers[member.text]}
}

// isGlobalCall says whether the global function of that name is called.
func isGlobalCall(tokens []token, i int) bool { return isGlobal(tokens, i) && is(tokens, i+1, "(") }

// isGlobal says whether a name is not that of a member of something, but for the global object, nor of a function that
// is being declared.
func isGlobal(tokens []token, i int) bool {
	if !is(tokens, i-1, ".") {
		return !is(tokens, i-1, "function")
	}
	owner := i - 2
	if is(tokens, owner, "?") {
		owner--
	}
	switch at(tokens, owner).text {
	case "globalThis", "global", "window", "self":
		return true
	}
	return false
}

// javaScriptModule judges the module that token arg names, which the word at i loads.
func javaScriptModule(tokens []token, i, arg int) finding {
	name := at(tokens, arg)
	if name.kind != quoted || is(tokens, arg+1, "+") {
		return finding{tokens[i].text + "(…)", whyUnknown}
	}
	module := strings.TrimPrefix(name.text, "node:")
	return finding{fmt.Sprintf("%s %q", tokens[i].text, module), javaScriptModules[module]}
}
