// SPDX-License-Identifier: Apache-2.0

package commandline

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// call is where a command stands.
type call struct {
	src  *source
	text string
	// redirs are the redirections of the command.
	redirs []*syntax.Redirect
	// wrappers is how many programs start one another to run it.
	wrappers int
}

// inner is where a command stands that another one there starts.
func (c call) inner() call {
	c.wrappers++
	return c
}

// walk adds the commands of a statement, with all that is within its words.
func (p *parser) walk(n syntax.Node, src *source) {
	if !inspect(n, func(n syntax.Node) bool { return p.visit(n, src) }) {
		p.unknown("it is nested too deep", src.of(n))
	}
}

// visit adds the commands that one node runs. It reports whether the nodes within it are to be visited.
func (p *parser) visit(n syntax.Node, src *source) bool {
	switch x := n.(type) {
	case *syntax.Stmt:
		p.statement(x, src)
	case *syntax.FuncDecl:
		p.unsure("it defines a function")
	case *syntax.TestDecl:
		p.unknown("it is a test of Bats", src.of(x))
	case *syntax.CoprocClause:
		// The parser does not distinguish its name from an assignment.
		p.unknown("what coproc runs is not looked into", src.of(x))
	case *syntax.WordIter:
		p.setName(x.Name.Value, plain)
		p.setNumber(x.Name.Value, allNumbers(x.Items))
	case *syntax.Redirect:
		return p.redirect(x, src)
	case *syntax.CmdSubst:
		p.substitution(x, src)
	case *syntax.ExtGlob:
		p.unknown("extended patterns mean something else unless a shell option is set", src.of(x))
	case *syntax.ParamExp:
		p.parameter(x, src)
	case *syntax.Lit:
		if hidesCommand(x.Value) {
			p.unknown("part of it could not be parsed", src.of(x))
		}
	default:
		p.visitArithmetic(n, src)
	}
	return true
}

// statement adds the commands that are the statement itself.
func (p *parser) statement(s *syntax.Stmt, src *source) {
	c := call{src: src, text: src.of(s), redirs: s.Redirs}
	switch x := s.Cmd.(type) {
	case *syntax.CallExpr:
		for _, a := range x.Assigns {
			switch {
			case len(x.Args) == 0:
				p.assign(a, plain)
			case a.Name.Value != "IFS" || x.Args[0].Lit() != "read":
				p.setForCommand(a.Name.Value)
			}
		}
		if len(x.Args) > 0 {
			p.command(words(x.Args), c)
		}
	case *syntax.DeclClause:
		p.declare(x, c)
	case *syntax.LetClause:
		p.add(Command{Words: []Word{static("let"), many}, Text: c.text})
	}
}

// redirect checks a redirection. The content of a quoted here-document is text, and not visited.
func (p *parser) redirect(r *syntax.Redirect, src *source) bool {
	if r.N != nil && strings.ContainsAny(r.N.Value, "{") {
		name := strings.Trim(r.N.Value, "{}")
		if !isName(name) {
			p.unknown("the subscript of a variable may run commands", src.of(r))
		}
		p.setName(name, plain)
		p.setNumber(name, true)
	}
	if r.Hdoc == nil {
		// Bash makes a connection of a file of that name.
		if to := resolve(r.Word); strings.HasPrefix(to.Text, "/dev/tcp/") || strings.HasPrefix(to.Text, "/dev/udp/") {
			p.unknown("it connects to another host", src.of(r))
		} else if !to.Static && r.Op != syntax.WordHdoc && r.Op != syntax.DplIn && !p.duplicates(r, src) {
			p.add(Command{Unknown: whyRedirect, Input: r.Op == syntax.RdrIn && r.N == nil, Text: src.of(r)})
		}
		return true
	}
	quoted, ok := delimiter(r.Word)
	body := src.of(r.Hdoc)
	switch {
	case !ok:
		p.unknown("where its here-document ends cannot be told", src.of(r))
	case quoted:
		return false
	case strings.Contains(body, "\\\n"):
		// Bash joins such lines before it looks for the end, so that an end may be where the parser sees none.
		p.unknown("its here-document has a backslash at the end of a line", src.of(r))
	}
	return true
}

// whyRedirect describes the problem of a redirection to a word that is not static.
const whyRedirect = "where it redirects to cannot be told"

// duplicates notes a redirection such as >&$fd. It duplicates a descriptor if the variable holds a number or "-". Bash
// takes any other text for the name of a file, or of a connection. It is false if the word is anything but a variable.
func (p *parser) duplicates(r *syntax.Redirect, src *source) bool {
	if r.Op != syntax.DplOut || len(r.Word.Parts) != 1 {
		return false
	}
	part := r.Word.Parts[0]
	if q, ok := part.(*syntax.DblQuoted); ok && len(q.Parts) == 1 {
		part = q.Parts[0]
	}
	v, ok := part.(*syntax.ParamExp)
	if !ok || v.Param == nil || !isName(v.Param.Value) || !bare(v) {
		return false
	}
	p.descriptors = append(p.descriptors, sum{names: []string{v.Param.Value}, text: src.of(r)})
	return true
}

// bare reports whether x is the value of a variable as it is.
func bare(x *syntax.ParamExp) bool {
	return !x.Excl && !x.Length && !x.Width && !x.IsSet && x.Index == nil && x.Slice == nil && x.Repl == nil && x.Names == 0 && x.Exp == nil
}

// settleDescriptors judges the redirections when all variables that the line sets are known. A variable that the line does not set may have
// any value of the environment.
func (p *parser) settleDescriptors() {
	for _, d := range p.descriptors {
		if p.anyName || !p.names[d.names[0]] || slices.Contains(p.kept, d.names[0]) {
			p.unknown(whyRedirect, d.text)
		}
	}
}

// delimiter reports whether the delimiter of a here-document is quoted, so that nothing in it is expanded. It is not ok if it is not a
// plain word.
func delimiter(w *syntax.Word) (quoted, ok bool) {
	if len(w.Parts) != 1 {
		return false, false
	}
	text := ""
	switch x := w.Parts[0].(type) {
	case *syntax.Lit:
		text, quoted = x.Value, strings.HasPrefix(x.Value, `\`)
		text = strings.TrimPrefix(text, `\`)
	case *syntax.SglQuoted:
		if x.Dollar {
			return false, false
		}
		text, quoted = x.Value, true
	case *syntax.DblQuoted:
		lit, isLit := syntax.WordPart(nil), false
		if len(x.Parts) == 1 && !x.Dollar {
			lit = x.Parts[0]
			_, isLit = lit.(*syntax.Lit)
		}
		if !isLit {
			return false, false
		}
		text, quoted = lit.(*syntax.Lit).Value, true
	}
	return quoted, text != "" && !strings.ContainsFunc(text, func(r rune) bool {
		return !isNameRune(r) && r != '-' && r != '.' && r != '!'
	})
}

// substitution checks a command substitution. Its content is visited after it.
func (p *parser) substitution(x *syntax.CmdSubst, src *source) {
	if !x.Backquotes {
		return
	}
	// Bash first removes backslashes within backquotes, and parses the resulting text.
	if text := src.of(x); strings.ContainsAny(text, `\`) || strings.Contains(text, "<<") {
		p.unknown("backslashes and here-documents within backquotes cannot be told", text)
	}
}

// parameter looks at the expansions that run commands which come out of a variable.
func (p *parser) parameter(x *syntax.ParamExp, src *source) {
	name := ""
	if x.Param != nil {
		name = x.Param.Value
	}
	switch {
	case x.Excl && x.Names == 0 && !all(x.Index):
		p.unknown("the value of a variable is used as the name of another", src.of(x))
	case x.NestedParam != nil || x.Flags != nil:
		p.unknown("the expansion is not one of bash", src.of(x))
	}
	if x.Exp == nil {
		p.subscripts(x, src)
		return
	}
	switch x.Exp.Op { //nolint:exhaustive // the others expand to what is there
	case syntax.OtherParamOps:
		// ${x@P} expands the value like a prompt, with the commands in it.
		if w := x.Exp.Word; w == nil || w.Lit() == "" || strings.ContainsAny(w.Lit(), "PA") {
			p.unknown("the value of a variable is expanded", src.of(x))
		}
	case syntax.AssignUnset, syntax.AssignUnsetOrNull:
		p.setNumber(name, x.Exp.Word == nil || allNumbers([]*syntax.Word{x.Exp.Word}))
		p.setName(name, plain)
	}
	p.subscripts(x, src)
}

// hidesCommand reports whether text that the parser took for literal has the beginning of a substitution in it.
func hidesCommand(s string) bool {
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\':
			i++
		case s[i] == '`', s[i] == '$' && i+1 < len(s) && strings.IndexByte("({[", s[i+1]) >= 0:
			return true
		}
	}
	return false
}

func isName(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return !isNameRune(r) }) && (s[0] < '0' || s[0] > '9')
}

func isNameRune(r rune) bool {
	return r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}

// allNumbers reports whether every word is a number as it is written.
func allNumbers(list []*syntax.Word) bool {
	return !slices.ContainsFunc(list, func(w *syntax.Word) bool { return !numeric(w) })
}

// numeric reports whether a word is a number whenever the line is run.
func numeric(w *syntax.Word) bool {
	if w == nil {
		return true
	}
	for _, part := range w.Parts {
		switch x := part.(type) {
		case *syntax.Lit:
			if strings.ContainsFunc(x.Value, func(r rune) bool { return (r < '0' || r > '9') && r != '-' && r != '.' && r != '{' && r != '}' }) {
				return false
			}
		case *syntax.ArithmExp:
		case *syntax.ParamExp:
			if !counts(x) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// counts reports whether a parameter is a number by definition: ${#x}, $#, $?, $$ and $!.
func counts(x *syntax.ParamExp) bool {
	if x.Length {
		return true
	}
	return x.Param != nil && x.Exp == nil && x.Index == nil && !x.Excl && slices.Contains([]string{"#", "?", "$", "!"}, x.Param.Value)
}
