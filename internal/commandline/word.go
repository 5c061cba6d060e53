// SPDX-License-Identifier: Apache-2.0

package commandline

import (
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// dynamic is a word of which nothing is known, and many one of which not even that it is one word.
var (
	dynamic = Word{}
	many    = Word{Many: true}
)

func static(s string) Word { return Word{Text: s, Static: true} }

// words resolves the words of a command.
func words(list []*syntax.Word) []Word {
	out := make([]Word, 0, len(list))
	for _, w := range list {
		out = append(out, resolve(w))
	}
	return out
}

// resolve takes the quotes off a word, as bash does. A word that bash expands in any other way is not static.
func resolve(w *syntax.Word) Word {
	if braces(w) {
		return many
	}
	r := resolver{static: true}
	for i, part := range w.Parts {
		r.part(part, i == 0)
	}
	switch {
	case r.many:
		return many
	case !r.static:
		return dynamic
	}
	return static(r.text.String())
}

// resolver puts a word together.
type resolver struct {
	text         strings.Builder
	static, many bool
	// open is true if a bracket was opened that is not quoted.
	open bool
}

func (r *resolver) part(part syntax.WordPart, first bool) {
	switch x := part.(type) {
	case *syntax.Lit:
		r.unquoted(x.Value, first)
	case *syntax.SglQuoted:
		text, ok := x.Value, true
		if x.Dollar {
			text, ok = ansiC(x.Value)
		}
		r.text.WriteString(text)
		r.static = r.static && ok
	case *syntax.DblQuoted:
		r.quoted(x)
	case *syntax.ProcSubst:
		r.static = false
	case *syntax.ParamExp:
		r.static = false
		r.many = r.many || !counts(x)
	default:
		r.static, r.many = false, true
	}
}

// unquoted adds text that is not in quotes: a backslash keeps the next character as it is, and names of files come out
// of a pattern.
func (r *resolver) unquoted(s string, first bool) {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			if i++; i < len(s) {
				r.text.WriteByte(s[i])
			}
			continue
		case '*', '?':
			r.static, r.many = false, true
		case '[':
			r.open = true
		case ']':
			if r.open {
				r.static, r.many = false, true
			}
		case '~':
			if i == 0 && first || i > 0 && (s[i-1] == '=' || s[i-1] == ':') {
				r.static = false
			}
		}
		r.text.WriteByte(s[i])
	}
}

// quoted adds text in double quotes, where a backslash counts before a few characters only.
func (r *resolver) quoted(q *syntax.DblQuoted) {
	if q.Dollar {
		// The result depends on the locale.
		r.static = false
	}
	for _, part := range q.Parts {
		switch x := part.(type) {
		case *syntax.Lit:
			for i := 0; i < len(x.Value); i++ {
				if x.Value[i] == '\\' && i+1 < len(x.Value) && strings.IndexByte("$`\"\\", x.Value[i+1]) >= 0 {
					i++
				}
				r.text.WriteByte(x.Value[i])
			}
		case *syntax.ParamExp:
			r.static = false
			r.many = r.many || listed(x)
		default:
			r.static = false
		}
	}
}

// listed reports whether several words may come out of a parameter in double quotes, as out of "$@".
func listed(x *syntax.ParamExp) bool {
	if x.Names != 0 || x.Excl || x.Param != nil && x.Param.Value == "@" {
		return true
	}
	if x.Exp != nil && x.Exp.Word != nil {
		return true
	}
	return all(x.Index)
}

// all reports whether a subscript stands for all elements.
func all(index syntax.ArithmExpr) bool {
	w, ok := index.(*syntax.Word)
	return ok && (w.Lit() == "@" || w.Lit() == "*")
}

// braces reports whether bash may make several words out of one with braces, {a,b} or {1..9}. A false positive does no harm.
func braces(w *syntax.Word) bool {
	var opened, separated, closed bool
	for _, part := range w.Parts {
		lit, ok := part.(*syntax.Lit)
		if !ok {
			continue
		}
		opened = opened || strings.Contains(lit.Value, "{")
		separated = separated || strings.Contains(lit.Value, ",") || strings.Contains(lit.Value, "..")
		closed = closed || strings.Contains(lit.Value, "}")
	}
	return opened && separated && closed
}

// ansiC resolves the text of $'…'. It does not know characters outside of ASCII, which depend on the locale.
func ansiC(s string) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b.WriteByte(s[i])
			continue
		}
		if i++; i == len(s) {
			return "", false
		}
		c, n, ok := escape(s[i:])
		if !ok {
			return "", false
		}
		b.WriteByte(c)
		i += n - 1
	}
	return b.String(), true
}

// simpleEscapes are the characters after a backslash in $'…', and at the same index their values.
const (
	simpleEscapes = `abeEfnrtv\'"?`
	simpleMeaning = "\a\b\x1b\x1b\f\n\r\t\v\\'\"?"
)

// escape returns the character that an escape stands for, and how many bytes it takes after its backslash.
func escape(s string) (c byte, size int, ok bool) {
	if i := strings.IndexByte(simpleEscapes, s[0]); i >= 0 {
		return simpleMeaning[i], 1, true
	}
	base, from := 16, 1
	var most int
	switch s[0] {
	case 'x':
		most = 2
	case 'u':
		most = 4
	case 'U':
		most = 8
	default:
		base, from, most = 8, 0, 3
	}
	end := from
	for end < len(s) && end < from+most && isDigit(s[end], base) {
		end++
	}
	n, err := strconv.ParseUint(s[from:end], base, 32)
	if err != nil || n == 0 || n >= 0x80 {
		return 0, 0, false
	}
	return byte(n), end, true
}

func isDigit(c byte, base int) bool {
	_, err := strconv.ParseUint(string(rune(c)), base, 8)
	return c < 0x80 && err == nil
}
