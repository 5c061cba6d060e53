// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// maxDepth is how many functions of a stack are kept, the outermost ones. A recursion is as deep as it likes.
const maxDepth = 200

// box is a function in the place where it was called.
type box struct {
	name  string
	took  time.Duration
	calls map[string]*box
}

func (b *box) call(name string) *box {
	if b.calls == nil {
		b.calls = map[string]*box{}
	}
	if b.calls[name] == nil {
		b.calls[name] = &box{name: name}
	}
	return b.calls[name]
}

// add adds a stack, the outermost function first.
func (b *box) add(stack []string, took time.Duration) {
	b.took += took
	for _, name := range stack[:min(len(stack), maxDepth)] {
		b = b.call(name)
		b.took += took
	}
}

// sorted returns what a function called, the longest first.
func (b *box) sorted() []*box {
	list := make([]*box, 0, len(b.calls))
	for _, c := range b.calls {
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b *box) int {
		if a.took != b.took {
			return int(b.took - a.took)
		}
		return strings.Compare(a.name, b.name)
	})
	return list
}

// readTraces reads the output of go tool pprof -traces. Of each stack it takes the part from the function under on, or all of it if that is
// empty.
func readTraces(in io.Reader, under string) (*box, error) {
	root := &box{name: "all"}
	var stack []string
	var took time.Duration
	flush := func() {
		slices.Reverse(stack)
		if under != "" {
			at := slices.Index(stack, under)
			if at < 0 {
				stack = nil
				return
			}
			stack = stack[at:]
		}
		if len(stack) > 0 {
			root.add(stack, took)
		}
		stack = nil
	}
	lines := bufio.NewScanner(in)
	begun := false
	for lines.Scan() {
		line := lines.Text()
		switch {
		case strings.HasPrefix(line, "-----------+"):
			flush()
			begun = true
		case !begun || strings.TrimSpace(line) == "":
		case strings.HasPrefix(line, "             "):
			stack = append(stack, short(line))
		default:
			value, name, _ := strings.Cut(strings.TrimSpace(line), " ")
			d, err := time.ParseDuration(value)
			if err != nil {
				return nil, fmt.Errorf("a sample must begin with its time, and this one does not: %.80q", line)
			}
			took, stack = d, append(stack, short(name))
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read the stacks: %w", err)
	}
	flush()
	if root.took == 0 {
		return nil, errors.New("there are no samples: the input must be the output of go tool pprof -traces, of a profile of processor time")
	}
	return root, nil
}

// short takes the path of the package from the name of a function, and whether the function was inlined.
func short(name string) string {
	name = strings.TrimSuffix(strings.TrimSpace(name), " (inline)")
	types := strings.IndexByte(name, '[')
	if types < 0 {
		types = len(name)
	}
	if end := strings.IndexByte(name[:types], '('); end >= 0 {
		types = end
	}
	return name[strings.LastIndexByte(name[:types], '/')+1:]
}
