// SPDX-License-Identifier: Apache-2.0

package script

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// checker gathers what is wrong in one file. It says where by the path of the
// field and finds the line in the tree, so that the checks need not carry lines
// around.
type checker struct {
	file string
	root *yaml.Node
	errs []error
}

// field is the way to a field of the file: strings are keys, integers are indices.
type field []any

func (p field) at(steps ...any) field {
	return append(append(field{}, p...), steps...)
}

// String writes it as turns[2].toolCalls[0].name.
func (p field) String() string {
	var b strings.Builder
	for _, step := range p {
		switch step := step.(type) {
		case int:
			fmt.Fprintf(&b, "[%d]", step)
		case string:
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(step)
		}
	}
	return b.String()
}

func (c *checker) fail(p field, format string, args ...any) {
	c.failLine(lineOf(c.root, p), p.String()+": "+fmt.Sprintf(format, args...))
}

func (c *checker) failLine(line int, what string) {
	c.errs = append(c.errs, fmt.Errorf("%s:%d: %s", c.file, line, what))
}

// lineOf returns the line of the field, or of the nearest thing around it where the
// field itself is what is missing.
func lineOf(node *yaml.Node, p field) int {
	if node == nil {
		return 1
	}
	line := node.Line
	for _, step := range p {
		key, value := child(node, step)
		if value == nil {
			break
		}
		node, line = value, key.Line
	}
	return line
}

// child returns the node that a step leads to, and the node whose line names it:
// the key in a mapping, the item itself in a sequence.
func child(node *yaml.Node, step any) (at, value *yaml.Node) {
	if node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	switch step := step.(type) {
	case int:
		if node.Kind == yaml.SequenceNode && step < len(node.Content) {
			return node.Content[step], node.Content[step]
		}
	case string:
		for i := 0; node.Kind == yaml.MappingNode && i+1 < len(node.Content); i += 2 {
			if node.Content[i].Value == step {
				return node.Content[i], node.Content[i+1]
			}
		}
	}
	return nil, nil
}

var (
	lineOfError  = regexp.MustCompile(`^line (\d+): (.*)$`)
	unknownField = regexp.MustCompile(`^field (\S+) not found in type \S+$`)
	wrongType    = regexp.MustCompile("^cannot unmarshal \\S+(?: `(.*)`)? into (\\S+)$")
)

// decodeError turns the YAML package's messages, which name a line and a Go type,
// into ones that name a line and a field.
func (c *checker) decodeError(err error) {
	texts := []string{strings.TrimPrefix(err.Error(), "yaml: ")}
	if typeErr, ok := errors.AsType[*yaml.TypeError](err); ok {
		texts = typeErr.Errors
	}
	for _, text := range texts {
		line := 1
		if m := lineOfError.FindStringSubmatch(text); m != nil {
			line, _ = strconv.Atoi(m[1]) // The expression matched digits.
			text = m[2]
		}
		if f := unknownField.FindStringSubmatch(text); f != nil {
			text = f[1] + ": there is no such field here"
		} else if w := wrongType.FindStringSubmatch(text); w != nil {
			at := c.fieldAt(line, strings.TrimSuffix(w[1], "..."))
			text = at.String() + ": " + strings.ReplaceAll(text, "script.raw", "")
		}
		c.failLine(line, text)
	}
}

// fieldAt finds the field on a line whose value begins with text, or failing that
// the first field there.
func (c *checker) fieldAt(line int, text string) field {
	var first, best field
	var walk func(*yaml.Node, field)
	walk = func(node *yaml.Node, p field) {
		if node.Line == line && len(p) > 0 {
			if first == nil {
				first = p
			}
			if best == nil && node.Kind == yaml.ScalarNode && strings.HasPrefix(node.Value, text) {
				best = p
			}
		}
		switch node.Kind {
		case yaml.MappingNode:
			for i := 0; i+1 < len(node.Content); i += 2 {
				walk(node.Content[i+1], p.at(node.Content[i].Value))
			}
		case yaml.SequenceNode:
			for i, item := range node.Content {
				walk(item, p.at(i))
			}
		default: // Scalars have nothing below; an alias was walked at its anchor.
		}
	}
	if c.root != nil {
		walk(c.root, nil)
	}
	if best != nil {
		return best
	}
	return first
}
