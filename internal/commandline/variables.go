// SPDX-License-Identifier: Apache-2.0

package commandline

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// scope is how far a variable reaches that is set.
type scope int

const (
	// plain: the shell has it, and its programs if they had it before.
	plain scope = iota
	// exported: the programs have it.
	exported
)

// setName records that a variable is set. Many variables of a program's environment make it run other programs, and PATH and its like do so
// with the shell. So only names with a lower-case letter count as the line's own, and a few as harmless.
func (p *parser) setName(name string, s scope) {
	switch {
	case harmless(name):
	case s == exported:
		p.unsure("it sets " + head(name) + " for programs")
	case !isName(name) || !strings.ContainsFunc(name, func(r rune) bool { return r >= 'a' && r <= 'z' }):
		p.unsure("it sets " + head(name))
	}
	if runsText(name) {
		p.unknown("the shell runs what is in "+name, name)
	}
}

// setForCommand notes a variable that is set for one command.
func (p *parser) setForCommand(name string) {
	p.setName(name, exported)
	p.setNumber(name, false)
}

// setNumber records whether the value of a variable is a number.
func (p *parser) setNumber(name string, number bool) {
	if before, set := p.names[name]; set {
		number = number && before
	}
	p.names[name] = number
}

// setWord notes a variable whose name is a word of the line.
func (p *parser) setWord(w Word, s scope) {
	if !w.Static || !isName(w.Text) {
		p.anyName = true
		p.unsure("it sets a variable whose name cannot be told")
		return
	}
	p.setName(w.Text, s)
	p.setNumber(w.Text, false)
}

// assign notes an assignment.
func (p *parser) assign(a *syntax.Assign, s scope) {
	p.setName(a.Name.Value, s)
	if a.Naked {
		// It retains its former value, which may come from the environment.
		p.kept = append(p.kept, a.Name.Value)
	}
	p.setNumber(a.Name.Value, a.Naked || a.Array == nil && numeric(a.Value))
}

// harmless reports whether a variable makes no program run another.
func harmless(name string) bool {
	return strings.HasPrefix(name, "LC_") && isName(name) ||
		slices.Contains([]string{"LANG", "LANGUAGE", "TZ", "CI", "TERM", "NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES"}, name)
}

// runsText reports whether bash runs the text of the variable, or the file that it names.
func runsText(name string) bool {
	return strings.HasPrefix(name, "BASH_FUNC_") || slices.Contains([]string{"BASH_ENV", "ENV", "PS4", "PROMPT_COMMAND", "SHELLOPTS", "BASHOPTS"}, name)
}

// declare adds declare, export and their like.
func (p *parser) declare(d *syntax.DeclClause, c call) {
	variant := d.Variant.Value
	list := []Word{static(variant)}
	s := plain
	if variant == "export" {
		s = exported
	}
	for _, a := range d.Args {
		w := argument(a)
		list = append(list, w)
		if a.Name != nil {
			continue
		}
		switch {
		case w.Static && (strings.HasPrefix(w.Text, "-") || strings.HasPrefix(w.Text, "+")):
			if strings.Contains(w.Text, "x") {
				s = exported
			}
			if strings.ContainsAny(w.Text, "in") && variant != "export" {
				p.unknown("what bash evaluates as a number, or as the name of a variable, may be text with commands in it", c.text)
			}
		case variant == "export" || variant == "readonly":
			p.setWord(w, s)
		default:
			p.setWord(w, s)
			p.unknown("the name of a variable cannot be told", c.text)
		}
	}
	for _, a := range d.Args {
		if a.Name != nil {
			p.assign(a, s)
		}
	}
	p.add(Command{Words: list, Text: c.text})
}

// argument is an argument of declare as a word.
func argument(a *syntax.Assign) Word {
	switch {
	case a.Name == nil:
		return resolve(a.Value)
	case a.Index != nil || a.Array != nil:
		return many
	case a.Naked:
		return static(a.Name.Value)
	}
	prefix := a.Name.Value + "="
	if a.Append {
		prefix = a.Name.Value + "+="
	}
	if a.Value == nil {
		return static(prefix)
	}
	w := resolve(a.Value)
	if w.Static {
		return static(prefix + w.Text)
	}
	return dynamic
}
