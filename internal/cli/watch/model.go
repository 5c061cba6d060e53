// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/show"
	"motorcortex.dev/motorcortex/internal/pending"
	"motorcortex.dev/motorcortex/pkg/client/motor/asks"
)

// beat is how often the clock of the screen and its spinner move.
const beat = 200 * time.Millisecond

// beatMsg moves the clock.
type beatMsg struct{}

// model is the state of the screen. bubbletea calls its methods one after the other.
type model struct {
	//nolint:containedctx // The commands of bubbletea have no context of their own.
	ctx    context.Context
	client client.Client
	now    func() time.Time

	run   *v1alpha1.MotorRun
	steps []v1alpha1.MotorStep
	log   pager
	panel *panel
	// answered are the asks that were answered here, which the run may not show as answered yet.
	answered []string
	// note is what became of the last answer, and trouble why the cluster cannot be asked.
	note, trouble string

	width, height int
	// done says that the run has ended or cannot be read any more, with that result, and left that the person leaves.
	done, left bool
	result     error
}

func newModel(ctx context.Context, c client.Client, run *v1alpha1.MotorRun, now func() time.Time) *model {
	return &model{ctx: ctx, client: c, now: now, run: run, log: pager{follows: true, tail: true}}
}

// Init implements tea.Model.
func (m *model) Init() tea.Cmd { return tick() }

func tick() tea.Cmd { return tea.Tick(beat, func(time.Time) tea.Msg { return beatMsg{} }) }

// Update implements tea.Model.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	var cmd tea.Cmd
	switch msg := msg.(type) {
	case beatMsg:
		cmd = tick()
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case seenMsg:
		m.seen(msg)
	case troubleMsg:
		m.trouble = show.Line(msg.err.Error(), 4*maxBrief)
	case doneMsg:
		m.done, m.result = true, msg.result
	case shownMsg:
		if m.panel != nil && m.panel.ask.ID == msg.id {
			m.panel.shown(msg)
		}
	case sentMsg:
		m.sent(msg)
	case tea.PasteMsg:
		if p := m.panel; p != nil && p.way != nil && p.way.Words != asks.NoWords && !p.sending {
			p.input, cmd = p.input.Update(msg)
		}
	case tea.KeyPressMsg:
		cmd = m.key(msg)
	}
	if m.done || m.left {
		return m, tea.Quit
	}
	return m, cmd
}

// seen takes in the run as it is now. A panel about what is not asked any more is closed, whatever the person was about to decide.
func (m *model) seen(msg seenMsg) {
	m.run, m.steps, m.trouble = msg.run, msg.steps, ""
	m.log.add(msg.lines...)
	p := m.panel
	if p == nil || p.sending || slices.ContainsFunc(pending.Open(m.run), func(o *v1alpha1.PendingInput) bool { return o.ID == p.ask.ID }) {
		return
	}
	m.panel, m.note = nil, "it is not asked any more: nothing was sent"
}

// sent takes in what became of a response.
func (m *model) sent(msg sentMsg) {
	p := m.panel
	if p == nil || p.ask.ID != msg.id {
		return
	}
	p.sending = false
	if msg.err != nil {
		p.problem = show.Line(msg.err.Error(), 4*maxBrief)
		return
	}
	m.answered = append(m.answered, msg.id)
	m.panel, m.note = nil, "sent: "+msg.done
}

// open is the ask that the person can open, nil if there is none.
func (m *model) open() *v1alpha1.PendingInput {
	for _, p := range pending.Open(m.run) {
		if !slices.Contains(m.answered, p.ID) && len(decisions(p)) > 0 {
			return p
		}
	}
	return nil
}

func (m *model) key(msg tea.KeyPressMsg) (cmd tea.Cmd) {
	name := msg.String()
	if name == "ctrl+c" {
		m.left = true
		return nil
	}
	if m.panel != nil {
		cmd, closed := m.panelKey(msg)
		if closed {
			m.panel, m.note = nil, "nothing was sent"
		}
		return cmd
	}
	switch {
	case name == "q":
		m.left = true
	case m.log.key(name):
	case name == "enter":
		if p := m.open(); p != nil {
			m.panel, m.note = newPanel(p), ""
			return m.load(p)
		}
	}
	return nil
}
