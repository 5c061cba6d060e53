// SPDX-License-Identifier: Apache-2.0

package commandline

import (
	"errors"
	"fmt"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Bounds of the parser. The text is hostile, and the process that parses it serves every tenant. The cost of one line in memory, stack and
// time, times maxAtOnce, must be small beside the resources of the process. TestWorst measures it.
const (
	// maxLine is the longest line, in bytes, with everything in it that is parsed as a line of its own. The tree of a line takes
	// up to 400 bytes for each byte of it.
	maxLine = 32 << 10
	// maxLevels is the most positions of a line at which the parser may call itself. Each takes up to 8 KiB of stack.
	maxLevels = 1 << 10
	// maxNodes is how deep the tree of a line may be: a|b|c has no brackets, and a tree that is as deep as it is long.
	maxNodes = 4 << 10
	// maxDepth is how deep lines may be within lines, as in sh -c "sh -c …".
	maxDepth = 8
	// maxWrappers is how many programs may start one another, as in env nice env ….
	maxWrappers = 16
	// maxCommands is the most commands of a line, and maxWords the most words of them together.
	maxCommands = 4096
	maxWords    = 8192
	// maxText is the most bytes of a command that are repeated in a message.
	maxText = 200
	// maxAtOnce is how many lines the process parses at the same time. Further ones wait: each takes milliseconds, so that
	// a wait ends by itself and needs no context.
	maxAtOnce = 2
)

var (
	errTooLong = fmt.Errorf("it is longer than %d bytes", maxLine)
	errTooDeep = fmt.Errorf("it has more than %d brackets, operators and keywords that may be within one another", maxLevels)
	errNUL     = errors.New("it has a NUL byte in it")
)

// slots has a slot for each line that is parsed.
var slots = make(chan struct{}, maxAtOnce)

const (
	// openers begin a level wherever they stand.
	openers = "([{`!"
	// arithmeticOpeners do so in arithmetic, and in tests.
	arithmeticOpeners = "~+-?=*"
)

// keywords begin a level without a bracket.
var keywords = map[string]bool{
	"if": true, "elif": true, "while": true, "until": true, "for": true, "select": true, "case": true, "time": true, "coproc": true,
	"function": true, "do": true, "then": true, "else": true,
}

// levels is at least how deep the parser calls itself for the line. It ignores quotes and comments: only a parser can determine where these
// end.
func levels(line string) int {
	counted := openers
	if hasArithmetic(line) {
		counted += arithmeticOpeners
	}
	n, word := 0, 0
	for i := range len(line) {
		c := line[i]
		if c >= 'a' && c <= 'z' {
			continue
		}
		if keywords[line[word:i]] {
			n++
		}
		word = i + 1
		if strings.IndexByte(counted, c) >= 0 {
			n++
		}
	}
	if keywords[line[word:]] {
		n++
	}
	return n
}

// hasArithmetic reports whether the line may have arithmetic in it, or a test.
func hasArithmetic(line string) bool {
	for _, mark := range []string{"((", "[", "${", "let"} {
		if strings.Contains(line, mark) {
			return true
		}
	}
	return false
}

// inspect calls visit for each node of a tree, as syntax.Walk does, down to maxNodes. It reports whether that was all of it.
func inspect(root syntax.Node, visit func(syntax.Node) bool) (all bool) {
	depth, all := 0, true
	syntax.Walk(root, func(n syntax.Node) bool {
		switch {
		case n == nil:
			depth--
			return false
		case depth >= maxNodes:
			all = false
			return false
		case !visit(n):
			return false
		}
		depth++
		return true
	})
	return all
}
