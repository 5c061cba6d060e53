// SPDX-License-Identifier: Apache-2.0

package prompt

import (
	"strconv"
	"strings"
)

// page is a text that grows by lines. The prompt is written by code and not by text/template: that calls methods by names which the linker cannot
// know, so every exported method of every type would be in the program. The manager's had 107 MiB with it, and 79 without.
type page struct{ b strings.Builder }

// line begins a line with the parts.
func (p *page) line(parts ...string) {
	p.b.WriteByte('\n')
	p.add(parts...)
}

// add goes on in the same line.
func (p *page) add(parts ...string) {
	for _, part := range parts {
		p.b.WriteString(part)
	}
}

// section begins a section, after an empty line.
func (p *page) section(title string) { p.add("\n\n# ", title) }

// list has a line for each item, below the line before.
func (p *page) list(items []string, shown func(string) string) {
	for _, item := range items {
		p.line("  - ", shown(item))
	}
}

// more ends a list that leaves out some items.
func (p *page) more(left int) {
	if left > 0 {
		p.line("  - and ", strconv.Itoa(left), " more")
	}
}

// text returns the prompt.
func (v *view) text() string {
	p := &page{}
	p.add("You carry out one task in a sandbox by calling tools, on your own, until it is done. The task is the first user message.")
	v.workspace(p)
	v.environment(p)
	v.credentials(p)
	v.work(p)
	v.tools(p)
	v.servers(p)
	v.aboutSkill(p)
	v.belief(p)
	v.asking(p)
	v.finishing(p)
	v.earlier(p)
	p.line()
	return p.b.String()
}
