// SPDX-License-Identifier: Apache-2.0

package commandline

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// lineEnds looks at the backslashes that end a line. Bash and the parser do not join the same lines where the backslash is
// in a comment, or comes after another one.
func (p *parser) lineEnds(file *syntax.File, src *source) {
	if !strings.Contains(src.text, "\\\n") {
		return
	}
	literal := literals(file)
	from := 0
	for {
		at := strings.Index(src.text[from:], "\\\n")
		if at < 0 {
			return
		}
		at += from
		line := src.text[strings.LastIndexByte(src.text[:at], '\n')+1 : at]
		if strings.HasSuffix(line, `\`) && !literal.has(at) || hasComment(line, at-len(line), literal) {
			p.unknown("a backslash ends a line that may not go on in the next", line)
			return
		}
		from = at + 2
	}
}

// hasComment reports whether a comment may begin in a line, which begins at an offset of the source.
func hasComment(line string, offset int, literal spans) bool {
	for i := range len(line) {
		if line[i] == '#' && (i == 0 || strings.IndexByte(" \t;&|()<>`", line[i-1]) >= 0) && !literal.has(offset+i) {
			return true
		}
	}
	return false
}

// spans are the offsets of a source at which text stands for itself.
type spans []bool

func (s spans) has(offset int) bool { return offset < len(s) && s[offset] }

// literals are the spans of literal text. A comment is none.
func literals(file *syntax.File) spans {
	s := make(spans, file.End().Offset()+1)
	mark := func(from, to uint) {
		for i := from; i < to && i < uint(len(s)); i++ {
			s[i] = true
		}
	}
	// The omitted part of a tree that is too deep counts as no literal text, which errs to the safe side.
	inspect(file, func(n syntax.Node) bool {
		switch x := n.(type) {
		case *syntax.Lit:
			mark(x.ValuePos.Offset(), x.ValueEnd.Offset())
		case *syntax.SglQuoted:
			mark(x.Pos().Offset(), x.End().Offset())
		}
		return true
	})
	return s
}
