// SPDX-License-Identifier: Apache-2.0

// Package follow prints what a run does, a line for each thing that happens.
package follow

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/pending"
	"motorcortex.dev/motorcortex/internal/cli/show"
)

const (
	// maxBrief is the most bytes of the arguments of a call in its line.
	maxBrief = 44
	// maxSaid is the most bytes of a text in its line.
	maxSaid = 160
)

// Printer prints each thing once, however often it is shown the same objects.
type Printer struct {
	Out io.Writer

	run     *v1alpha1.MotorRun
	printed map[string]bool
	last    time.Time
}

// NewPrinter is for one run.
func NewPrinter(out io.Writer, run *v1alpha1.MotorRun) *Printer {
	return &Printer{Out: out, run: run, printed: map[string]bool{}}
}

// once reports whether a thing is new.
func (p *Printer) once(parts ...string) bool {
	key := strings.Join(parts, "\x00")
	was := p.printed[key]
	p.printed[key] = true
	return !was
}

// line prints a line with the time since the run was created. What a call took is known to the millisecond, and everything else to the second: a
// line never has an earlier time than the one before.
func (p *Printer) line(at time.Time, mark, format string, args ...any) {
	if at.Before(p.last) {
		at = p.last
	}
	p.last = at
	fmt.Fprintf(p.Out, "[%s] %3s  %s\n", clock(at.Sub(p.run.CreationTimestamp.Time)), mark, strings.TrimRight(fmt.Sprintf(format, args...), " "))
}

// clock is a duration in minutes and seconds.
func clock(d time.Duration) string {
	s := int64(max(d, 0) / time.Second)
	if s >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
	}
	return fmt.Sprintf("%2d:%02d", s/60, s%60)
}

// Steps prints what is new in the steps, which are in their order.
func (p *Printer) Steps(steps []v1alpha1.MotorStep) {
	for i := range steps {
		p.step(&steps[i])
	}
}

func (p *Printer) step(s *v1alpha1.MotorStep) {
	at, mark := s.CreationTimestamp.Time, number(s)
	switch s.Spec.Type {
	case v1alpha1.StepTurn:
		if s.Spec.Content != "" && !s.Spec.Final && p.once(s.Name) {
			p.line(at, mark, "says    %s", show.Line(s.Spec.Content, maxSaid))
		}
	case v1alpha1.StepSummary:
		if p.once(s.Name) {
			p.line(at, mark, "summary of the steps up to %d", s.Spec.Through)
		}
		return
	case v1alpha1.StepEnd:
		if p.once(s.Name) && s.Spec.Outcome != nil {
			p.line(at, mark, "attempt %d failed: %s", s.Spec.Attempt, failure(s.Spec.Outcome.Reason, s.Spec.Outcome.Message))
		}
		return
	case v1alpha1.StepOutage:
		if p.once(s.Name) && s.Spec.Outage != nil {
			p.line(at, mark, "the model cannot be had: %s", failure(s.Spec.Outage.Reason, s.Spec.Outage.Message))
		}
		return
	}
	// Calls are carried out one after the other, so their results come in their order.
	for _, c := range s.Spec.ToolCalls {
		p.asks(s, c.ID)
		for i := range s.Status.Results {
			if r := &s.Status.Results[i]; r.CallID == c.ID && p.once(s.Name, c.ID) {
				at = at.Add(time.Duration(r.DurationMilliseconds+r.WaitedMilliseconds) * time.Millisecond)
				p.line(at, mark, "%-7s %-*s  %s", show.Line(c.Tool, 128), maxBrief, show.Brief(c.Tool, c.Arguments, maxBrief), outcome(r))
			}
		}
	}
}

// asks prints what became of the asks about a call.
func (p *Printer) asks(s *v1alpha1.MotorStep, call string) {
	for i := range s.Status.Asks {
		a := &s.Status.Asks[i]
		if a.CallID != call || a.Outcome == "" || !p.once(s.Name, "ask", a.ID) {
			continue
		}
		what := string(a.Decision)
		if what == "" {
			what = string(a.Outcome)
		}
		if a.By != "" {
			what += " by " + show.Line(a.By, maxSaid)
		}
		p.line(a.CloseTime.Time, "!", "%s: %s", pending.Word(a.Kind), what)
	}
}

// number is that of a step, with its attempt if it is not of the first.
func number(s *v1alpha1.MotorStep) string {
	if s.Spec.Attempt > 1 {
		return fmt.Sprintf("%d.%d", s.Spec.Attempt, s.Spec.Index)
	}
	return strconv.Itoa(int(s.Spec.Index))
}

func outcome(r *v1alpha1.ToolResult) string {
	took := time.Duration(r.DurationMilliseconds) * time.Millisecond
	if r.OK {
		return fmt.Sprintf("ok  %s", took)
	}
	code := r.ErrorCode
	if code == "" {
		code = "failed"
	}
	return fmt.Sprintf("%s  %s", show.Line(code, 64), took)
}

func failure(reason, message string) string {
	return show.Line(strings.TrimSuffix(reason+": "+message, ": "), 2*maxSaid)
}

// Run prints what is new of the run itself: what it waits for, and its end. It reports whether the run has ended.
func (p *Printer) Run(run *v1alpha1.MotorRun) (ended bool) {
	p.run = run
	for _, ask := range pending.Open(run) {
		if !p.once("ask", ask.ID) {
			continue
		}
		p.line(ask.AskTime.Time, "?", "%s%s", show.Line(ask.Question, 4*maxSaid), show.Expiry(ask.AskTime.Time, ask.ExpirationTime))
		for i, o := range ask.Options {
			if ask.Kind == v1alpha1.InputQuestion {
				fmt.Fprintf(p.Out, "%14s%d  %s\n", "", i+1, show.Line(o, maxSaid))
			}
		}
		for _, c := range pending.Commands(run, ask) {
			fmt.Fprintf(p.Out, "%14s%s\n", "", c)
		}
	}
	return run.Status.CompletionTime != nil
}

// End prints how the run ended.
func (p *Printer) End() {
	st := &p.run.Status
	if st.CompletionTime == nil || !p.once("end") {
		return
	}
	said := st.Message
	if st.Result != nil && st.Result.Summary != "" {
		said = st.Result.Summary
	}
	first, more, _ := strings.Cut(strings.TrimSpace(show.Text(said)), "\n")
	p.line(st.CompletionTime.Time, "", "%s: %s", st.Reason, first)
	show.Block(p.Out, strings.Repeat(" ", 14), more)
}
