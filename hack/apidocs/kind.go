// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"motorcortex.dev/motorcortex/hack/markdown"
)

// maxHeading is how deep a field may be to have a heading: spec.a and spec.a.b have one, what is in them is an item.
const maxHeading = 2

// kindPage renders the page of a kind in the order of its notes: text, example, spec, text, status. A note whose heading is the path of a
// field is put below that field.
func (s *source) kindPage(kind, text string) (string, error) {
	sections := readNotes(text)
	used := map[string]bool{}
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n<!-- Generated from api/v1alpha1 and hack/apidocs/kinds by `make generate`. -->\n\n%s\n", kind, sections.take("Introduction", used))
	if example := sections.take("Example", used); example != "" {
		fmt.Fprintf(&b, "\n## Example\n\n%s\n", example)
	}
	spec := "Writing a spec"
	if byOperator(kind) {
		spec = "Spec"
	}
	for _, half := range []struct{ field, heading, before string }{{"spec", spec, ""}, {"status", "Status", "Working with it"}} {
		if half.before != "" {
			if work := sections.take(half.before, used); work != "" {
				fmt.Fprintf(&b, "\n## %s\n\n%s\n", half.before, work)
			}
		}
		typeName := s.typeOf(kind, half.field)
		if typeName == "" {
			continue
		}
		fmt.Fprintf(&b, "\n## %s\n", half.heading)
		if note := sections.take(half.field, used); note != "" {
			fmt.Fprintf(&b, "\n%s\n", note)
		}
		inItems := false
		for _, f := range s.fieldsOf(kind, typeName, half.field, 1) {
			note := sections.take(f.path, used)
			inItems = f.write(&b, note, inItems)
		}
	}
	for heading := range maps.Keys(sections.text) {
		if !used[heading] {
			return "", fmt.Errorf("the notes have %q, which is no field of it", heading)
		}
	}
	return markdown.Wrap(b.String()), nil
}

// write renders a field, and reports whether it is an item of a list.
func (f documented) write(b *strings.Builder, note string, inItems bool) bool {
	if f.depth > maxHeading {
		if !inItems {
			b.WriteString("\n")
		}
		indent := strings.Repeat("  ", f.depth-maxHeading-1)
		fmt.Fprintf(b, "%s* **`%s`** (%s)", indent, f.path[strings.LastIndex(f.path, ".")+1:], f.kind)
		if text := oneLine(f.text + " " + note); text != "" {
			b.WriteString(": " + text)
		}
		b.WriteString("\n")
		for _, item := range f.items {
			fmt.Fprintf(b, "%s  * %s\n", indent, oneLine(item))
		}
		return true
	}
	fmt.Fprintf(b, "\n%s %s\n\n*%s*\n", strings.Repeat("#", f.depth+2), f.path, f.kind)
	if f.text != "" {
		fmt.Fprintf(b, "\n%s\n", f.text)
	}
	if len(f.items) > 0 {
		b.WriteString("\n")
		for _, item := range f.items {
			fmt.Fprintf(b, "* %s\n", oneLine(item))
		}
	}
	if note != "" {
		fmt.Fprintf(b, "\n%s\n", note)
	}
	return false
}

// typeOf returns the name of the type of a field of a kind.
func (s *source) typeOf(kind, name string) string {
	t := s.types[kind]
	if t == nil {
		return ""
	}
	i := slices.IndexFunc(t.fields, func(f field) bool { return f.name == name })
	if i < 0 {
		return ""
	}
	inner, _ := elementOf(t.fields[i].expr)
	return inner
}

// sections are the notes about a kind by their headings.
type sections struct{ text map[string]string }

// readNotes splits notes at their headings of the first level. Those in code blocks are none.
func readNotes(text string) sections {
	found, heading, inCode := map[string]string{}, "", false
	for line := range strings.SplitSeq(text, "\n") {
		if strings.HasPrefix(line, "```") {
			inCode = !inCode
		}
		if title, ok := strings.CutPrefix(line, "# "); ok && !inCode {
			heading = strings.TrimSpace(title)
			found[heading] = ""
			continue
		}
		if heading != "" {
			found[heading] += line + "\n"
		}
	}
	for title, body := range found {
		found[title] = strings.TrimSpace(body)
	}
	return sections{found}
}

func (s sections) take(heading string, used map[string]bool) string {
	used[heading] = true
	return s.text[heading]
}
