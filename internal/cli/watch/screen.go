// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"motorcortex.dev/motorcortex/internal/budget"
	"motorcortex.dev/motorcortex/internal/cli/follow"
	"motorcortex.dev/motorcortex/internal/cli/show"
	"motorcortex.dev/motorcortex/internal/pending"
	"motorcortex.dev/motorcortex/pkg/client/motor/asks"
)

const (
	// frames are those of the spinner.
	frames = `|/-\`
	// leastText is how many rows there must be for what is asked.
	leastText = 2
)

// View implements tea.Model.
func (m *model) View() tea.View {
	view := tea.NewView("")
	view.AltScreen = true
	if m.width == 0 || m.height == 0 {
		return view
	}
	below, cursor := m.below()
	if m.panel != nil && m.height-2-len(below) < leastText {
		below, cursor = []string{fit("make the window larger to see what is asked", m.width)}, nil
	}
	rows := append([]string{fit(m.header(), m.width)}, m.body(max(m.height-2-len(below), 0))...)
	first := len(rows)
	rows = append(rows, below...)
	if cursor != nil {
		cursor.Y += first
		view.Cursor = cursor
	}
	rows = append(rows[:min(len(rows), m.height-1)], fit(m.help(), m.width))
	view.SetContent(strings.Join(rows, "\n"))
	return view
}

// header is what the run came to so far.
func (m *model) header() string {
	st := &m.run.Status
	end := m.now()
	if st.CompletionTime != nil {
		end = st.CompletionTime.Time
	}
	s := fmt.Sprintf("%s  %s  %s", m.run.Name, strings.TrimSpace(follow.Clock(end.Sub(m.run.CreationTimestamp.Time))), phase(string(st.Phase)))
	if a := st.LatestAttempt(); a != nil && a.Index > 1 {
		s += fmt.Sprintf("  attempt %d", a.Index)
	}
	s += fmt.Sprintf("  step %d  %d tokens", st.Steps, st.Usage.TotalTokens)
	if st.Usage.Cost != "" {
		s += "  " + show.Line(budget.Cost(st.Usage.Cost, st.Usage.Currency), maxName)
	}
	if st.Model != "" {
		s += "  " + show.Line(st.Model, maxName)
	}
	return s
}

func phase(p string) string {
	if p == "" {
		return "Created"
	}
	return p
}

// body fills the rows between header and status: with the log, and below it with what is asked, which goes first where there is little room.
func (m *model) body(height int) []string {
	m.log.resize(m.width)
	p := m.panel
	if p == nil {
		return fill(m.log.window(height), height)
	}
	p.text.resize(m.width)
	asks := min(len(p.text.rows), height)
	rows := fill(m.log.window(height-asks), height-asks)
	return append(rows, fill(p.text.window(asks), asks)...)
}

// fill appends empty rows.
func fill(rows []string, height int) []string {
	rows = append([]string{}, rows...)
	for len(rows) < height {
		rows = append(rows, "")
	}
	return rows
}

// below are the rows below the body but for the last, and the cursor in them.
func (m *model) below() (rows []string, cursor *tea.Cursor) {
	if m.panel != nil {
		rows, cursor = m.panelRows()
		return rows, cursor
	}
	if m.trouble != "" {
		rows = wrapWords("the cluster cannot be asked, trying again: "+m.trouble, m.width)
	} else {
		rows = []string{fit(m.status(), m.width)}
	}
	if m.note != "" {
		rows = append(rows, fit(m.note, m.width))
	}
	return rows, nil
}

// status is what the run does now.
func (m *model) status() string {
	now := m.now()
	a := activityOf(m.run, m.steps, now)
	mark := "  "
	if a.works {
		mark = frames[now.UnixMilli()/beat.Milliseconds()%int64(len(frames)):][:1] + " "
	}
	if a.since.IsZero() {
		return mark + a.what
	}
	return fmt.Sprintf("%s%s  %s", mark, strings.TrimSpace(follow.Clock(now.Sub(a.since))), a.what)
}

// help is the last row: the keys, and how much of what is asked is not in sight.
func (m *model) help() string {
	if m.panel != nil {
		return m.panel.help()
	}
	if m.open() != nil {
		return "Enter answer · ↑ ↓ PgUp PgDn scroll · q leave, the run goes on"
	}
	return "↑ ↓ PgUp PgDn scroll · q leave, the run goes on"
}

// panelRows are those of a panel: what can be decided, or is written.
func (m *model) panelRows() (rows []string, cursor *tea.Cursor) {
	p := m.panel
	// What a decision is about must not be cut off.
	add := func(row string) { rows = append(rows, wrapWords(row, m.width)...) }
	if left := show.Until(m.now(), p.ask.ExpirationTime); left == "now" {
		add("the time for an answer is over")
	}
	switch {
	case p.sending:
		add("sending …")
	case p.way != nil && p.way.Words == asks.NoWords:
		add("Enter sends: " + p.way.label)
	case p.way != nil:
		p.input.SetWidth(max(m.width-len(p.way.prompt())-1, 1))
		if cursor = p.input.Cursor(); cursor != nil {
			cursor.Y = len(rows)
		}
		rows = append(rows, fit(p.input.View(), m.width))
		says := ""
		if _, words, err := m.answer(); err == nil {
			says = "Enter sends: " + words
		}
		if p.way.Words == asks.Answer {
			says = fit(says, m.width)
		}
		add(says)
	case len(p.ways) > 0:
		for i := range p.ways {
			add(p.ways[i].key + "  " + p.ways[i].label)
		}
	case p.problem == "":
		add("reading what is asked …")
	}
	if p.problem != "" {
		add(p.problem)
	}
	return rows, cursor
}

func (p *panel) help() string {
	help := "Esc back · Ctrl-C leave, the run goes on"
	if p.way == nil {
		help = "Esc close · q leave, the run goes on"
	}
	if n := p.text.more(); n > 0 {
		help = fmt.Sprintf("%d more rows, ↓ PgDn · %s", n, help)
	}
	return pending.Word(p.ask.Kind) + " · " + help
}
