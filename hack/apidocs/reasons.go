// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"motorcortex.dev/motorcortex/hack/markdown"
)

// reason is a reason of conditions, as its comment says: of which, what it means and what to do.
type reason struct {
	name, value, means, do string
	of                     []condition
}

// condition is a type with a status, the category of a failure if there is one, and its kind where another kind has that type, too.
type condition struct{ name, status, category, kind string }

var (
	reasonOf    = regexp.MustCompile(`^(Reason\w+) is a reason of (.+?)(?: of a (\w+))?\.$`)
	conditionOf = regexp.MustCompile(`^(\w+)=(True|False|Unknown)(?: \((\w+)\))?$`)
	between     = regexp.MustCompile(`, | and `)
	// conditionTypes matches the comment of a block of condition types.
	conditionTypes = regexp.MustCompile(`^Condition types of a (\w+)\.`)
)

// parseReason reads the comment of a constant.
func parseReason(c constant) (reason, error) {
	r := reason{name: c.name, value: c.value}
	for i, paragraph := range strings.Split(c.doc.text, "\n\n") {
		text := oneLine(paragraph)
		means, isMeaning := strings.CutPrefix(text, "Meaning: ")
		do, isDo := strings.CutPrefix(text, "Do: ")
		switch {
		case i == 0:
			m := reasonOf.FindStringSubmatch(text)
			if m == nil || m[1] != c.name {
				return r, fmt.Errorf("the comment of %s does not begin with \"%s is a reason of TYPE=STATUS.\"", c.name, c.name)
			}
			for _, of := range between.Split(m[2], -1) {
				parts := conditionOf.FindStringSubmatch(of)
				if parts == nil {
					return r, fmt.Errorf("the comment of %s has %q, which is not TYPE=STATUS", c.name, of)
				}
				r.of = append(r.of, condition{parts[1], parts[2], parts[3], m[3]})
			}
		case isMeaning:
			r.means = means
		case isDo:
			r.do = do
		default:
			return r, fmt.Errorf("the comment of %s has a paragraph that begins with neither \"Meaning: \" nor \"Do: \"", c.name)
		}
	}
	if r.means == "" || r.do == "" {
		return r, fmt.Errorf("the comment of %s lacks \"Meaning: \" or \"Do: \"", c.name)
	}
	return r, nil
}

// readReasons returns those of the package, in its order.
func (s *source) readReasons() ([]reason, error) {
	var list []reason
	var problems []error
	for _, c := range s.constants {
		if c.typeName != "" || !strings.HasPrefix(c.name, "Reason") {
			continue
		}
		r, err := parseReason(c)
		if err != nil {
			problems = append(problems, err)
		}
		list = append(list, r)
	}
	return list, errors.Join(problems...)
}

// reasonsPage renders the conditions in the order of their constants, each with its reasons, and the Events.
func (s *source) reasonsPage(text string) (string, error) {
	list, format := s.reasons, s.format
	notes, used := readNotes(text), map[string]bool{}
	var b strings.Builder
	fmt.Fprintf(&b, "# Conditions and reasons\n\n<!-- Generated from the comments of api/v1alpha1 by `make generate`. -->\n\n%s\n\n",
		notes.take("Introduction", used))
	block := ""
	written := map[condition]bool{}
	for _, c := range s.constants {
		kind := conditionTypes.FindStringSubmatch(c.block)
		if kind == nil {
			continue
		}
		if c.block != block {
			block = c.block
			fmt.Fprintf(&b, "## %s\n\n", strings.Replace(strings.TrimSuffix(firstSentence(block), "."), "Condition types", "Conditions", 1))
		}
		text := strings.TrimPrefix(oneLine(c.doc.text), c.name+" is ")
		fmt.Fprintf(&b, "### %s\n\n`%s` is %s\n\n", c.value, c.value, format(text))
		// A reason that names no kind is of the first one with such a condition.
		for _, of := range []condition{{name: c.value, kind: kind[1]}, {name: c.value}} {
			if written[of] {
				continue
			}
			written[of] = true
			for _, r := range list {
				r.write(&b, of, format)
			}
		}
	}
	for _, r := range list {
		for _, of := range r.of {
			if !written[condition{name: of.name, kind: of.kind}] {
				return "", fmt.Errorf("%s is a reason of %s, which is no condition", r.name, of.name)
			}
		}
	}
	fmt.Fprintf(&b, "## Events\n\n%s\n", notes.take("Events", used))
	for _, c := range s.constants {
		if strings.HasPrefix(c.name, "Event") && c.typeName == "" {
			_, text, _ := strings.Cut(oneLine(c.doc.text), ": ")
			fmt.Fprintf(&b, "* `%s`: %s\n", c.value, format(text))
		}
	}
	return markdown.Wrap(b.String()), nil
}

// write renders a reason below a condition that it is of.
func (r reason) write(b *strings.Builder, at condition, format func(string) string) {
	var statuses []string
	category := ""
	for _, of := range r.of {
		if of.name == at.name && of.kind == at.kind {
			statuses = append(statuses, of.status)
			category = of.category
		}
	}
	if len(statuses) == 0 {
		return
	}
	suffix := ""
	if category != "" {
		suffix = " (" + category + ")"
	}
	fmt.Fprintf(b, "#### %s\n\n`%s=%s`%s: %s\n\n", r.value, at.name, strings.Join(statuses, "` or `"+at.name+"="), suffix, format(r.means))
	if r.do != "Nothing." {
		fmt.Fprintf(b, "**Do:** %s\n\n", format(r.do))
	}
}

func firstSentence(text string) string {
	text = oneLine(text)
	if i := strings.Index(text, ". "); i > 0 {
		return text[:i+1]
	}
	return text
}
