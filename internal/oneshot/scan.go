// SPDX-License-Identifier: Apache-2.0

package oneshot

import (
	"strings"
	"unicode/utf8"
)

// kind is what a token is.
type kind int

const (
	// sign is one character that is none of the others.
	sign kind = iota
	// word is a name, a keyword or a number.
	word
	// quoted is a string; its token has what is between the quotes, as it is written.
	quoted
	// lineEnd ends a statement of Python.
	lineEnd
)

// token is a piece of a program. Comments and space are none.
type token struct {
	kind kind
	text string
	line int
}

// scanner takes a program apart. What is no program in the language comes apart too, in some way.
type scanner struct {
	src    string
	pos    int
	line   int
	tokens []token
}

func (s *scanner) add(k kind, t string) { s.tokens = append(s.tokens, token{k, t, s.line}) }

// skip goes on by n bytes, and counts the lines.
func (s *scanner) skip(n int) {
	n = min(n, len(s.src)-s.pos)
	s.line += strings.Count(s.src[s.pos:s.pos+n], "\n")
	s.pos += n
}

func (s *scanner) rest() string { return s.src[s.pos:] }

func (s *scanner) has(prefix string) bool { return strings.HasPrefix(s.rest(), prefix) }

func firstLineOf(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// upTo gives the length of the rest up to and with the end, or of all of the rest.
func (s *scanner) upTo(from int, end string) int {
	rest := s.rest()
	from = min(from, len(rest))
	if i := strings.Index(rest[from:], end); i >= 0 {
		return from + i + len(end)
	}
	return len(rest)
}

func isWordByte(c byte) bool {
	return c == '_' || c == '$' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= utf8.RuneSelf
}

func (s *scanner) scanWord() {
	end := s.pos
	for end < len(s.src) && isWordByte(s.src[end]) {
		end++
	}
	s.add(word, s.src[s.pos:end])
	s.pos = end
}

// scanString reads a string whose beginning has the length begin and that ends with end, or with the line where it may not
// have more than one.
func (s *scanner) scanString(begin int, end string, lines bool) {
	i := s.pos + begin
	from := min(i, len(s.src))
	for i < len(s.src) && !strings.HasPrefix(s.src[i:], end) && (lines || s.src[i] != '\n') {
		if s.src[i] == '\\' {
			i++
		}
		i++
	}
	i = min(i, len(s.src))
	s.add(quoted, s.src[from:i])
	s.skip(i - s.pos)
	if s.has(end) {
		s.skip(len(end))
	}
}

// scanJavaScript takes JavaScript apart.
func scanJavaScript(source string) []token {
	s := &scanner{src: source, line: 1}
	// open has, for each template that the present place is within, how many braces are open in it.
	var open []int
	for s.pos < len(s.src) {
		c, within := s.src[s.pos], len(open)-1
		switch {
		case s.skipJavaScriptSpace(), s.scanRegexp():
		case c == '"' || c == '\'':
			s.scanString(1, string(c), false)
		case c == '`':
			if s.scanTemplate() {
				open = append(open, 0)
			}
		case c == '}' && within >= 0 && open[within] == 0:
			if !s.scanTemplate() {
				open = open[:within]
			}
		case isWordByte(c):
			s.scanWord()
		default:
			if within >= 0 {
				open[within] += strings.Count("{", string(c)) - strings.Count("}", string(c))
			}
			s.add(sign, string(c))
			s.skip(1)
		}
	}
	return s.tokens
}

// skipJavaScriptSpace goes on beyond space or a comment, if either is here.
func (s *scanner) skipJavaScriptSpace() bool {
	switch c := s.src[s.pos]; {
	case s.has("//"):
		s.skip(len(firstLineOf(s.rest())))
	case s.has("/*"):
		s.skip(s.upTo(2, "*/"))
	case c == ' ' || c == '\t' || c == '\r' || c == '\n':
		s.skip(1)
	default:
		return false
	}
	return true
}

// scanTemplate reads a piece of a template, after one character, up to its end, or to where an expression begins in it.
func (s *scanner) scanTemplate() (expression bool) {
	i := s.pos + 1
	from := i
	for i < len(s.src) && s.src[i] != '`' && !strings.HasPrefix(s.src[i:], "${") {
		if s.src[i] == '\\' {
			i++
		}
		i++
	}
	i = min(i, len(s.src))
	s.add(quoted, s.src[min(from, i):i])
	s.skip(i - s.pos)
	if s.has("${") {
		// A string is put together here, as with a plus.
		s.add(sign, "+")
		s.skip(2)
		return true
	}
	s.skip(1)
	return false
}

// beforeRegexp are words after which a slash begins a regular expression. After other words it divides.
var beforeRegexp = map[string]bool{
	"return": true, "typeof": true, "case": true, "in": true, "of": true, "delete": true, "void": true, "throw": true, "new": true,
	"instanceof": true, "else": true, "do": true, "await": true, "yield": true,
}

// scanRegexp reads a regular expression, if one begins here.
func (s *scanner) scanRegexp() bool {
	n := 0
	if s.has("/") {
		n = s.regexpLength()
	}
	if n > 0 {
		s.add(quoted, "")
		s.skip(n)
	}
	return n > 0
}

// maxRegexp is the longest regular expression that is known as one. Without a bound each slash of a line could have the
// rest of the line looked at.
const maxRegexp = 512

// regexpLength is how long the regular expression is that begins here, 0 if the slash divides.
func (s *scanner) regexpLength() int {
	if n := len(s.tokens); n > 0 {
		switch last := s.tokens[n-1]; {
		case last.kind == quoted, last.kind == word && !beforeRegexp[last.text]:
			return 0
		case last.text == ")", last.text == "]", last.text == "}":
			return 0
		}
	}
	class := false
	rest := s.rest()
	rest = rest[:min(len(rest), maxRegexp)]
	for i := 1; i < len(rest) && rest[i] != '\n'; i++ {
		switch rest[i] {
		case '\\':
			i++
		case '[':
			class = true
		case ']':
			class = false
		case '/':
			if !class {
				return i + 1
			}
		}
	}
	return 0
}

// scanPython takes Python apart.
func scanPython(source string) []token {
	s := &scanner{src: source, line: 1}
	depth := 0
	for s.pos < len(s.src) {
		c := s.src[s.pos]
		quote := s.stringPrefix()
		switch {
		case c == '#':
			s.skip(len(firstLineOf(s.rest())))
		case quote >= 0:
			s.scanPythonString(quote)
		case isWordByte(c):
			s.scanWord()
		case c == '\n':
			if depth <= 0 {
				s.add(lineEnd, "")
			}
			s.skip(1)
		case s.has("\\\n"):
			s.skip(2)
		case c == ' ' || c == '\t' || c == '\r':
			s.skip(1)
		default:
			depth += strings.Count("([{", string(c)) - strings.Count(")]}", string(c))
			s.add(sign, string(c))
			s.skip(1)
		}
	}
	return s.tokens
}

// stringPrefix is how many letters come before the quote of a string that begins here, -1 if none begins.
func (s *scanner) stringPrefix() int {
	rest := s.rest()
	for n := range min(len(rest), 3) {
		switch {
		case rest[n] == '"' || rest[n] == '\'':
			return n
		case !strings.ContainsRune("rRbBuUfFtT", rune(rest[n])):
			return -1
		}
	}
	return -1
}

func (s *scanner) scanPythonString(prefix int) {
	quote := s.src[s.pos+prefix : s.pos+prefix+1]
	if triple := strings.Repeat(quote, 3); strings.HasPrefix(s.src[s.pos+prefix:], triple) {
		s.scanString(prefix+3, triple, true)
		return
	}
	s.scanString(prefix+1, quote, false)
}
