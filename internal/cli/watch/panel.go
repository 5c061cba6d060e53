// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	"charm.land/bubbles/v2/key"
	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/reply"
	"motorcortex.dev/motorcortex/internal/cli/show"
	"motorcortex.dev/motorcortex/pkg/client/motor/asks"
)

// requestTime is the most that a request of the panel takes.
const requestTime = 30 * time.Second

// panel is an ask that a person has opened.
//
//	closed ──Enter──▶ loading ──▶ choosing ──key──▶ writing ──Enter──▶ sending ──▶ closed
//	                                  ▲───────Esc──────┘◀───refused───────┘
//
// A question has nothing to choose, and is written at once.
type panel struct {
	ask *v1alpha1.PendingInput
	// text is what is asked. It has no line while it is loaded.
	text pager
	// ways are the decisions, and way the one that is chosen.
	ways []decision
	way  *decision

	input   textinput.Model
	sending bool
	// problem is why nothing was sent.
	problem string
}

// The messages of the requests of a panel.
type (
	// shownMsg has what an ask says, or why it cannot be shown.
	shownMsg struct {
		id    string
		lines []string
		err   error
	}
	// sentMsg says what became of a response.
	sentMsg struct {
		id   string
		done string
		err  error
	}
)

func newPanel(p *v1alpha1.PendingInput) *panel {
	input := textinput.New()
	input.SetStyles(textinput.Styles{})
	input.SetVirtualCursor(false)
	// It would paste what a clipboard has, line breaks and all, past the terminal's own paste.
	input.KeyMap.Paste = key.NewBinding(key.WithDisabled())
	return &panel{ask: p, input: input}
}

// about is an ask of the run.
func (m *model) about(p *v1alpha1.PendingInput) *reply.Ask {
	return &reply.Ask{Client: m.client, Run: m.run, PendingInput: p}
}

// load asks for the text. A call that is longer than the status holds is read from its step.
func (m *model) load(p *v1alpha1.PendingInput) tea.Cmd {
	s, now := m.about(p), m.now()
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(m.ctx, requestTime)
		defer cancel()
		var b bytes.Buffer
		err := s.Show(ctx, &b, now)
		return shownMsg{p.ID, strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n"), err}
	}
}

// shown fills the panel. An ask that cannot be shown is not decided about here.
func (p *panel) shown(msg shownMsg) {
	p.ways = decisions(p.ask)
	if msg.err != nil {
		p.problem = show.Line(msg.err.Error(), 4*maxBrief)
		p.ways = nil
		return
	}
	p.text.add(msg.lines...)
	if p.ask.Kind == v1alpha1.InputQuestion {
		p.choose(&p.ways[0])
	}
}

// choose begins to write the words of a decision.
func (p *panel) choose(d *decision) {
	p.way, p.problem = d, ""
	p.input.Reset()
	p.input.Prompt, p.input.CharLimit = d.prompt(), d.most()
	p.input.Focus()
}

// panelKey takes a key. It returns a command, and reports whether the panel is to be closed.
func (m *model) panelKey(msg tea.KeyPressMsg) (cmd tea.Cmd, closed bool) {
	p := m.panel
	name := msg.String()
	switch {
	case p.sending:
		return nil, false
	case p.text.key(name):
		return nil, false
	case p.way == nil:
		return nil, m.chooseKey(name)
	case name == "enter":
		return m.submit(), false
	case name == "esc":
		p.way, p.problem = nil, ""
		return nil, p.ask.Kind == v1alpha1.InputQuestion
	case p.way.Words == asks.NoWords:
		return nil, false
	}
	p.problem = ""
	p.input, cmd = p.input.Update(msg)
	return cmd, false
}

// chooseKey takes a key while there is a decision to choose, and reports whether the panel is to be closed.
func (m *model) chooseKey(name string) (closed bool) {
	p := m.panel
	switch name {
	case "esc":
		return true
	case "q":
		m.left = true
		return false
	}
	for i := range p.ways {
		d := &p.ways[i]
		switch {
		case d.key != name:
		case d.Permits && !p.text.read:
			p.problem = "there is more below: read to the end first (↓ or PgDn)"
		default:
			p.choose(d)
		}
	}
	return false
}

// answer is what would be sent, in words. For a question the number of an option stands for it.
func (m *model) answer() (text, says string, err error) {
	p := m.panel
	text = strings.TrimSpace(p.input.Value())
	if p.way.Words != asks.Answer {
		return text, p.way.label, nil
	}
	text, option, err := m.about(p.ask).Answer(text)
	switch {
	case err != nil:
		return "", "", err
	case option > 0:
		return text, fmt.Sprintf("option %d: %s", option, show.Line(text, maxAnswer)), nil
	}
	return text, show.Line(text, 6*maxAnswer), nil
}

// submit sends the decision about the ask that was shown.
func (m *model) submit() tea.Cmd {
	p := m.panel
	text, says, err := m.answer()
	if err != nil {
		p.problem = err.Error()
		return nil
	}
	p.sending, p.problem = true, ""
	s, r := m.about(p.ask), p.way.Response(p.ask, text)
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(m.ctx, requestTime)
		defer cancel()
		return sentMsg{p.ask.ID, says, s.Send(ctx, r)}
	}
}
