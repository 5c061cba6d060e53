// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/follow"
)

// The messages of the goroutine that reads the run.
type (
	// seenMsg is the run as it was read, and the lines that are new. The screen owns what is in it.
	seenMsg struct {
		run   *v1alpha1.MotorRun
		steps []v1alpha1.MotorStep
		lines []string
	}
	// troubleMsg says that the API server cannot be asked.
	troubleMsg struct{ err error }
	// doneMsg says that nothing more is read, with the outcome of the run.
	doneMsg struct{ result error }
)

// feed is a follow.Reader that sends what it is shown.
type feed struct {
	*follow.Reporter

	run   *v1alpha1.MotorRun
	steps []v1alpha1.MotorStep
	text  *strings.Builder
	send  func(tea.Msg)
}

func newFeed(run *v1alpha1.MotorRun, send func(tea.Msg)) *feed {
	text := &strings.Builder{}
	return &feed{Reporter: follow.NewScreenPrinter(text, run), run: run, text: text, send: send}
}

// Steps implements follow.Reader.
func (f *feed) Steps(steps []v1alpha1.MotorStep) {
	f.steps = steps
	f.Reporter.Steps(steps)
}

// Run implements follow.Reader.
func (f *feed) Run(run *v1alpha1.MotorRun) (ended bool) {
	f.run = run
	ended = f.Reporter.Run(run)
	f.flush()
	return ended
}

// End implements follow.Reader.
func (f *feed) End() {
	f.Reporter.End()
	f.flush()
}

func (f *feed) flush() {
	var lines []string
	for line := range strings.Lines(f.text.String()) {
		lines = append(lines, strings.TrimSuffix(line, "\n"))
	}
	f.text.Reset()
	f.send(seenMsg{f.run, f.steps, lines})
}
