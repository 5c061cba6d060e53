// SPDX-License-Identifier: Apache-2.0

package commandline

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Bash evaluates the value of a variable in an arithmetic expression as an expression of its own, and runs the command substitutions in the
// subscripts in it. After x='a[$(rm f)]' the line ((x)) removes a file. So every value in an arithmetic expression must be a number.

// sum is an arithmetic expression in which variables are evaluated.
type sum struct {
	names []string
	text  string
}

// whyArithmetic describes the problem of an expression whose variables may be no numbers.
const whyArithmetic = "what bash evaluates as a number may be text with commands in it"

// visitArithmetic notes the arithmetic expressions of a node.
func (p *parser) visitArithmetic(n syntax.Node, src *source) {
	switch x := n.(type) {
	case *syntax.ArithmExp:
		p.arithmetic(x.X, src)
	case *syntax.ArithmCmd:
		p.arithmetic(x.X, src)
	case *syntax.CStyleLoop:
		p.arithmetic(x.Init, src)
		p.arithmetic(x.Cond, src)
		p.arithmetic(x.Post, src)
	case *syntax.LetClause:
		for _, e := range x.Exprs {
			p.arithmetic(e, src)
		}
	case *syntax.Assign:
		p.arithmetic(x.Index, src)
	case *syntax.ArrayElem:
		p.arithmetic(x.Index, src)
	case *syntax.BinaryTest:
		p.compare(x, src)
	case *syntax.UnaryTest:
		if x.Op == syntax.TsVarSet || x.Op == syntax.TsRefVar {
			p.variableName(x.X, src)
		}
	}
}

// compare looks at a comparison in [[ ]]: those of numbers evaluate both sides.
func (p *parser) compare(x *syntax.BinaryTest, src *source) {
	switch x.Op { //nolint:exhaustive // the others compare no numbers
	case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
		for _, side := range []syntax.TestExpr{x.X, x.Y} {
			if w, ok := side.(*syntax.Word); ok {
				p.arithmetic(w, src)
			} else {
				p.unknown(whyArithmetic, src.of(x))
			}
		}
	}
}

// variableName looks at what must be the name of a variable.
func (p *parser) variableName(x syntax.TestExpr, src *source) {
	if w, ok := x.(*syntax.Word); !ok || !isName(resolve(w).Text) {
		p.unknown("the subscript of a variable may run commands", src.of(x))
	}
}

// subscripts checks the expressions in the expansion of a parameter.
func (p *parser) subscripts(x *syntax.ParamExp, src *source) {
	if !all(x.Index) {
		p.arithmetic(x.Index, src)
	}
	if x.Slice != nil {
		p.arithmetic(x.Slice.Offset, src)
		p.arithmetic(x.Slice.Length, src)
	}
}

// arithmetic notes the variables of an expression, nil being none.
func (p *parser) arithmetic(x syntax.ArithmExpr, src *source) {
	if x == nil {
		return
	}
	s := sum{text: src.of(x)}
	if !p.operands(x, &s) {
		p.unknown(whyArithmetic, s.text)
	}
	p.sums = append(p.sums, s)
}

// operands gathers the variables of an expression. It is false if something else is evaluated in it.
func (p *parser) operands(x syntax.ArithmExpr, s *sum) bool {
	switch x := x.(type) {
	case *syntax.BinaryArithm:
		if w, ok := x.X.(*syntax.Word); ok && assigns(x.Op) {
			p.setNumber(w.Lit(), true)
			p.setName(w.Lit(), plain)
		}
		return p.operands(x.X, s) && p.operands(x.Y, s)
	case *syntax.UnaryArithm:
		if w, ok := x.X.(*syntax.Word); ok && (x.Op == syntax.Inc || x.Op == syntax.Dec) {
			p.setNumber(w.Lit(), true)
			p.setName(w.Lit(), plain)
		}
		return p.operands(x.X, s)
	case *syntax.ParenArithm:
		return p.operands(x.X, s)
	case *syntax.Word:
		for _, part := range x.Parts {
			if !operand(part, s) {
				return false
			}
		}
		return true
	}
	return false
}

// operand gathers the variables of a part of a word.
func operand(part syntax.WordPart, s *sum) bool {
	switch x := part.(type) {
	case *syntax.Lit:
		return s.formula(x.Value)
	case *syntax.SglQuoted:
		return !x.Dollar && s.formula(x.Value)
	case *syntax.DblQuoted:
		for _, inner := range x.Parts {
			if !operand(inner, s) {
				return false
			}
		}
		return !x.Dollar
	case *syntax.ParamExp:
		switch {
		case counts(x):
			return true
		case x.Param == nil || x.Excl || x.Slice != nil || x.Repl != nil || x.Exp != nil || x.Names != 0:
			return false
		}
		s.names = append(s.names, x.Param.Value)
		return true
	case *syntax.ArithmExp:
		return true
	}
	return false
}

// formula gathers the variables of an expression that is passed as text. An expression with a subscript, a quote or a substitution in it is
// not parsed.
func (s *sum) formula(text string) bool {
	if strings.ContainsAny(text, "[]$`\\\"'{}") {
		return false
	}
	for _, name := range strings.FieldsFunc(text, func(r rune) bool { return !isNameRune(r) }) {
		if isName(name) {
			s.names = append(s.names, name)
		}
	}
	return true
}

func assigns(op syntax.BinAritOperator) bool {
	switch op { //nolint:exhaustive // the others assign nothing
	case syntax.Assgn, syntax.AddAssgn, syntax.SubAssgn, syntax.MulAssgn, syntax.QuoAssgn, syntax.RemAssgn, syntax.AndAssgn,
		syntax.OrAssgn, syntax.XorAssgn, syntax.ShlAssgn, syntax.ShrAssgn:
		return true
	}
	return false
}

// settleArithmetic judges the expressions when all variables that the line sets are known.
func (p *parser) settleArithmetic() {
	for _, s := range p.sums {
		for _, name := range s.names {
			if !p.isNumber(name) {
				p.unknown(whyArithmetic+": "+name, s.text)
				break
			}
		}
	}
}

// shellNumbers are variables of the shell that are numbers unless the line sets them.
var shellNumbers = map[string]bool{
	"RANDOM": true, "SRANDOM": true, "SECONDS": true, "EPOCHSECONDS": true, "LINENO": true, "UID": true, "EUID": true, "PPID": true,
	"BASHPID": true, "SHLVL": true, "OPTIND": true, "COLUMNS": true, "LINES": true,
}

// isNumber reports whether a variable holds nothing but a number, if anything. Bash itself sets some of the variables that the line does
// not set, to text of the line for example.
func (p *parser) isNumber(name string) bool {
	if number, set := p.names[name]; set {
		return number
	}
	if p.anyName || name == "_" || !isName(name) {
		return false
	}
	return shellNumbers[name] || strings.ContainsFunc(name, func(r rune) bool { return r >= 'a' && r <= 'z' })
}
