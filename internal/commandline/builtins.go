// SPDX-License-Identifier: Apache-2.0

package commandline

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// command adds a command, and the commands that it runs by its arguments.
func (p *parser) command(list []Word, c call) {
	if len(list) == 0 || p.full {
		return
	}
	if !list[0].Static {
		p.unknown("the name of the command cannot be told", c.text)
		return
	}
	name, args := base(list[0].Text), list[1:]
	added := Command{Words: list, Text: c.text, Script: strings.Contains(list[0].Text, "/") && isScript(name)}
	switch {
	case isShell(name):
		p.shell(added, args, c)
		return
	case startsOthers(name) && len(args) > 0:
		p.add(added)
		p.unknown("what "+name+" runs is not looked into", c.text)
		return
	}
	p.add(added)
	if w := wrapperOf(name); w != nil {
		p.wrapped(name, w, args, c)
		return
	}
	p.builtin(name, args, c)
}

// base is the last part of a path.
func base(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// isScript reports whether a program is a shell script, by its name.
func isScript(name string) bool {
	dot := strings.LastIndexByte(name, '.')
	return dot >= 0 && isShell(name[dot+1:])
}

// builtin adds what builtins of bash, and find and watch, run by their arguments.
func (p *parser) builtin(name string, args []Word, c call) {
	switch name {
	case "eval":
		p.joined("eval", args, c)
	case "trap":
		p.trap(args, c)
	case "find":
		p.find(args, c)
	case "watch":
		p.watch(args, c)
	case ".", "source":
		p.unknown("what a file makes the shell do cannot be told", c.text)
	case "alias", "enable", "bind", "complete", "compgen", "fc":
		if len(args) > 0 {
			p.unknown(name+" changes what commands are, or runs some", c.text)
		}
	case "hash":
		if hasFlag(args, "p") {
			p.unknown("hash changes what commands are", c.text)
		}
	case "jobs":
		if hasFlag(args, "x") {
			p.unknown("what jobs runs is not looked into", c.text)
		}
	case "shopt":
		p.unsure("it sets options of the shell")
	case "set":
		p.set(args)
	case "test", "[":
		p.test(args, c)
	default:
		p.setter(name, args, c)
	}
}

// hasFlag reports whether a short option is among the arguments, or may be.
func hasFlag(args []Word, letters string) bool {
	return slices.ContainsFunc(args, func(w Word) bool {
		return !w.Static || strings.HasPrefix(w.Text, "-") && strings.ContainsAny(w.Text, letters)
	})
}

// setter notes the variables that a builtin sets whose arguments are names of variables.
func (p *parser) setter(name string, args []Word, c call) {
	switch name {
	case "read", "unset", "getopts":
	case "mapfile", "readarray":
		if hasFlag(args, "C") {
			p.unknown(name+" runs what it is told to after each line", c.text)
		}
	case "printf":
		args = valueOf(args, "-v", len(args) > 0 && !args[0].Static)
	case "wait":
		args = valueOf(args, "-p", slices.ContainsFunc(args, func(w Word) bool { return w.Many }) || len(args) > 1 && !args[0].Static)
	default:
		return
	}
	for _, w := range args {
		switch {
		case w.Static && !strings.ContainsAny(w.Text, "[$`") && !isName(w.Text):
			// An option, or the value of one.
		case w.Static && isName(w.Text):
			p.setWord(w, plain)
		default:
			p.setWord(w, plain)
			p.unknown("the name of a variable cannot be told", c.text)
		}
	}
	if name == "read" {
		p.setNumber("REPLY", false)
	}
}

// valueOf is the word after an option, none if the option is not there. If it may be there all the same, or with its value
// in one word, the value is dynamic.
func valueOf(args []Word, option string, maybe bool) []Word {
	at := slices.IndexFunc(args, func(w Word) bool { return strings.HasPrefix(w.Text, option) })
	switch {
	case maybe || at >= 0 && (args[at].Text != option || at+1 == len(args)):
		return []Word{dynamic}
	case at < 0:
		return nil
	}
	return args[at+1 : at+2]
}

// test looks at what [ evaluates: the subscript of the variable that -v names.
func (p *parser) test(args []Word, c call) {
	if n := len(args); n > 0 && args[n-1].Text == "]" {
		args = args[:n-1]
	}
	for i, w := range args {
		names := w.Static && (w.Text == "-v" || w.Text == "-R")
		switch {
		case w.Many,
			names && i+1 < len(args) && !isName(args[i+1].Text),
			!w.Static && i+1 < len(args) && !comparison(args[i+1]) && (i == 0 || !comparison(args[i-1])) && !unary(args, i):
			p.unknown("the subscript of a variable may run commands", c.text)
			return
		}
	}
}

// comparison reports whether a word stands between two others in a test.
func comparison(w Word) bool {
	return w.Static && slices.Contains(strings.Fields("= == != < > -eq -ne -lt -le -gt -ge -nt -ot -ef -a -o"), w.Text)
}

// unary reports whether the word is the operand of an operator before it.
func unary(args []Word, i int) bool {
	return i > 0 && args[i-1].Static && len(args[i-1].Text) == 2 && args[i-1].Text[0] == '-'
}

// set checks the options of the shell: some change what is an assignment, or what the programs get.
func (p *parser) set(args []Word) {
	for i, w := range args {
		switch {
		case !w.Static,
			strings.HasPrefix(w.Text, "-") && strings.ContainsAny(w.Text, "akBPh"),
			i > 0 && strings.HasSuffix(args[i-1].Text, "o") && !slices.Contains(strings.Fields("errexit nounset pipefail xtrace verbose noclobber noglob"), w.Text):
			p.unsure("it sets options of the shell")
		}
	}
}

// joined adds the line that static words make together.
func (p *parser) joined(name string, args []Word, c call) {
	line, ok := join(args)
	if !ok {
		p.unknown("what "+name+" runs cannot be told", c.text)
		return
	}
	p.within(line, c, syntax.LangBash)
}

// join puts static words together.
func join(args []Word) (string, bool) {
	list := make([]string, 0, len(args))
	for _, w := range args {
		if !w.Static {
			return "", false
		}
		list = append(list, w.Text)
	}
	return strings.Join(list, " "), true
}

// trap adds the commands that a trap runs.
func (p *parser) trap(args []Word, c call) {
	if len(args) > 0 && args[0].Text == "--" {
		args = args[1:]
	}
	switch {
	case len(args) == 0, args[0].Static && (args[0].Text == "-" || args[0].Text == "-p" || args[0].Text == "-l"):
	case !args[0].Static:
		p.unknown("what trap runs cannot be told", c.text)
	default:
		p.within(args[0].Text, c, syntax.LangBash)
	}
}

// watch adds what watch runs, by a shell.
func (p *parser) watch(args []Word, c call) {
	w := wrapper{flags: "bcdegtCwn:q:", long: "beep color differences errexit chgexit no-title no-wrap interval= precise"}
	rest, ok := w.cut(args)
	line, told := join(rest)
	if !ok || !told {
		p.unknown("what watch runs cannot be told", c.text)
		return
	}
	p.within(line, c, syntax.LangBash, syntax.LangPOSIX)
}

func isShell(name string) bool {
	return slices.Contains([]string{"bash", "sh", "dash", "ash", "rbash", "ksh", "mksh"}, name)
}

// shell adds the commands of a shell that is started by its name.
func (p *parser) shell(added Command, args []Word, c call) {
	langs := []syntax.LangVariant{syntax.LangBash}
	if name := base(added.Words[0].Text); name != "bash" && name != "rbash" {
		// The shells differ in the meaning of [[ and ((.
		langs = append(langs, syntax.LangPOSIX)
	}
	operands, isLine, ok := shellOptions(args)
	switch {
	case !ok:
		p.unknown("what the shell runs cannot be told", c.text)
	case isLine && (len(operands) == 0 || !operands[0].Static):
		p.unknown("what the shell runs cannot be told", c.text)
	case isLine:
		p.within(operands[0].Text, c, langs...)
	case len(operands) > 0:
		added.Script, added.file = true, len(added.Words)-len(operands)
	default:
		p.input(c, langs)
	}
	p.add(added)
}

// shellOptions takes the options of a shell off its arguments. isLine is true if the first operand is a line to run.
func shellOptions(args []Word) (operands []Word, isLine, ok bool) {
	for len(args) > 0 {
		text := args[0].Text
		switch {
		case !args[0].Static:
			return nil, false, false
		case text == "--" || text == "-":
			return args[1:], isLine, true
		case text == "--version" || text == "--help":
			return []Word{static("")}, false, true
		case slices.Contains(strings.Fields("--norc --noprofile --posix --login --verbose --restricted --noediting"), text):
			args = args[1:]
			continue
		case len(text) < 2 || text[0] != '-' && text[0] != '+':
			return args, isLine, true
		case strings.HasPrefix(text, "--") || strings.ContainsAny(text, "is"):
			// An interactive shell reads files first, and -s takes the operands for something else.
			return nil, false, false
		}
		isLine = isLine || text[0] == '-' && strings.Contains(text, "c")
		values := strings.Count(text[1:], "o") + strings.Count(text[1:], "O")
		if values >= len(args) && values > 0 {
			return nil, false, false
		}
		args = args[1+values:]
	}
	return nil, isLine, true
}

// input adds the commands of a shell that reads its standard input: a static here-document, or unknown commands.
func (p *parser) input(c call, langs []syntax.LangVariant) {
	var line *syntax.Word
	told := true
	for _, r := range c.redirs {
		if r.N != nil && r.N.Value != "0" {
			continue
		}
		switch r.Op { //nolint:exhaustive // the others are outputs
		case syntax.Hdoc:
			line = r.Hdoc
		case syntax.WordHdoc:
			line = r.Word
		case syntax.DashHdoc, syntax.RdrIn, syntax.DplIn, syntax.RdrInOut:
			told = false
		}
	}
	text, ok := "", false
	if told && line != nil {
		text, ok = plainText(line, c)
	}
	if !ok {
		p.unknown("what the shell reads and runs cannot be told", c.text)
		return
	}
	p.within(text, c, langs...)
}

// plainText is the text of a here-document or a here-string in which nothing is expanded.
func plainText(w *syntax.Word, c call) (string, bool) {
	for _, r := range c.redirs {
		if r.Hdoc != w {
			continue
		}
		lit := w.Lit()
		if quoted, ok := delimiter(r.Word); !ok || !quoted && strings.ContainsAny(lit, "\\$`") {
			return "", false
		}
		return lit, lit != ""
	}
	got := resolve(w)
	return got.Text, got.Static
}
