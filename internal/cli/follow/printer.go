// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/output"
	"motorcortex.dev/motorcortex/internal/cli/show"
	"motorcortex.dev/motorcortex/internal/pending"
)

const (
	// maxBrief is the most bytes of the arguments of a call in its line.
	maxBrief = 44
	// maxSaid is the most bytes of a text in its line.
	maxSaid = 160
	// indent is before what stands below a line.
	indent = "              "
)

// NewPrinter is a Reporter that prints a line for each event, and below an ask the commands that answer it.
func NewPrinter(out io.Writer, run *v1alpha1.MotorRun) *Reporter {
	p := &printer{out: out, begin: run.CreationTimestamp.Time, commands: true}
	return NewReporter(run, p.print)
}

// NewScreenPrinter is NewPrinter without commands, for a screen that reads the answer itself.
func NewScreenPrinter(out io.Writer, run *v1alpha1.MotorRun) *Reporter {
	p := &printer{out: out, begin: run.CreationTimestamp.Time}
	return NewReporter(run, p.print)
}

// NewFormatter is NewPrinter, or of another format a Reporter that prints each event as a JSON object in a line.
func NewFormatter(out io.Writer, f output.Format, run *v1alpha1.MotorRun) *Reporter {
	if f == output.ForPeople {
		return NewPrinter(out, run)
	}
	lines := json.NewEncoder(out)
	lines.SetEscapeHTML(false)
	return NewReporter(run, func(e *Event) { _ = lines.Encode(e) }) // An Event has a JSON form, and a pipe that breaks ends the program.
}

// printer prints events for people.
type printer struct {
	out      io.Writer
	begin    time.Time
	last     time.Time
	commands bool
}

// line prints a line with the time since the run was created. What a call took is known to the millisecond, and everything else to the second: a
// line never has an earlier time than the one before.
func (p *printer) line(at time.Time, mark, format string, args ...any) {
	if at.Before(p.last) {
		at = p.last
	}
	p.last = at
	fmt.Fprintf(p.out, "[%s] %3s  %s\n", Clock(at.Sub(p.begin)), mark, strings.TrimRight(fmt.Sprintf(format, args...), " "))
}

// Clock is a duration in minutes and seconds.
func Clock(d time.Duration) string {
	s := int64(max(d, 0) / time.Second)
	if s >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
	}
	return fmt.Sprintf("%2d:%02d", s/60, s%60)
}

func (p *printer) print(e *Event) {
	mark := number(e)
	switch e.Type {
	case NotAccepted:
		p.line(e.Time, mark, "not accepted yet: %s", show.Line(e.Reason+": "+e.Message, 8*maxSaid))
	case Says:
		p.line(e.Time, mark, "says    %s", show.Line(e.Message, maxSaid))
	case Called:
		brief := show.Brief(e.Call.Tool, e.Call.Arguments, maxBrief)
		p.line(e.Time, mark, "%-7s %-*s  %s", show.Line(e.Call.Tool, 128), maxBrief, brief, outcome(e.Result))
	case Summarized:
		p.line(e.Time, mark, "summary of the steps up to %d", e.Through)
	case AttemptFailed:
		p.line(e.Time, mark, "attempt %d failed: %s", e.Attempt, failure(e.Reason, e.Message))
	case ModelOutage:
		p.line(e.Time, mark, "the model cannot be had: %s", failure(e.Reason, e.Message))
	case Asks:
		p.ask(e)
	case Answered:
		p.answer(e.Answer)
	case Ended:
		first, more, _ := strings.Cut(strings.TrimSpace(show.Text(e.Message)), "\n")
		p.line(e.Time, "", "%s: %s", e.Reason, first)
		show.Block(p.out, indent, more)
	case Created:
		fmt.Fprintf(p.out, "motorrun/%s\n", e.Run)
	}
}

func (p *printer) ask(e *Event) {
	p.line(e.Time, "?", "%s%s", show.Line(e.Ask.Question, 4*maxSaid), show.Expiry(e.Ask.AskTime.Time, e.Ask.ExpirationTime))
	for _, f := range e.Ask.Files {
		fmt.Fprintf(p.out, "%swants the file: %s\n", indent, show.Line(f, maxSaid))
	}
	if e.Ask.Kind == v1alpha1.InputQuestion {
		for i, o := range e.Ask.Options {
			fmt.Fprintf(p.out, "%s%d  %s\n", indent, i+1, show.Line(o, maxSaid))
		}
	}
	if !p.commands {
		return
	}
	for _, c := range e.Commands {
		fmt.Fprintf(p.out, "%s%s\n", indent, c)
	}
}

func (p *printer) answer(a *v1alpha1.StepAsk) {
	what := string(a.Decision)
	if what == "" {
		what = string(a.Outcome)
	}
	if a.By != "" {
		what += " by " + show.Line(a.By, maxSaid)
	}
	p.line(a.CloseTime.Time, "!", "%s: %s", pending.Word(a.Kind), what)
}

// number is that of a step, with its attempt if it is not of the first.
func number(e *Event) string {
	if e.Step == 0 {
		return ""
	}
	if e.Attempt > 1 {
		return fmt.Sprintf("%d.%d", e.Attempt, e.Step)
	}
	return strconv.Itoa(int(e.Step))
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
