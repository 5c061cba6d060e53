// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

const (
	// argumentsWidth leaves room for what comes of a call on a line of 80 characters.
	argumentsWidth = 36
	maxReportLines = 150
)

// printer writes what happens, with the time since the start in front.
type printer struct {
	out   io.Writer
	now   func() time.Time
	start time.Time
}

// linef writes one line. What stands in it may come from a model or a tool, so it is cleaned.
func (p *printer) linef(format string, args ...any) {
	p.rawf("[%s] %s\n", clock(p.now().Sub(p.start)), clean(fmt.Sprintf(format, args...)))
}

func (p *printer) rawf(format string, args ...any) {
	// There is nobody to tell when the terminal is gone.
	_, _ = fmt.Fprintf(p.out, format, args...)
}

// block writes a text of several lines, indented.
func (p *printer) block(text string) {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i, line := range lines {
		if i == maxReportLines {
			p.rawf("    … %d more lines\n", len(lines)-i)
			return
		}
		p.rawf("%s\n", strings.TrimRight("    "+clean(line), " "))
	}
}

// clock formats a duration like the lines of devcluster do, which stand above those of the demo.
func clock(d time.Duration) string {
	seconds := max(0, int(d.Seconds()))
	return fmt.Sprintf("%2d:%02d", seconds/60, seconds%60)
}

// clean takes out what could move the cursor, colour the screen or reverse the text: it is printed on a terminal and
// may come from a stranger.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return ' '
		case unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == unicode.ReplacementChar:
			return '·'
		}
		return r
	}, text)
}

// callLine is one tool call and what came of it.
func callLine(step *v1alpha1.MotorStep, call *v1alpha1.ToolCall, result *v1alpha1.ToolResult) string {
	outcome := "ok"
	if !result.OK {
		outcome = cmp.Or(result.ErrorCode, "failed")
	}
	return fmt.Sprintf("%2d  %-6s %-*s %-4s %4d ms", step.Spec.Index, call.Tool, argumentsWidth, shortArguments(call), outcome, result.DurationMilliseconds)
}

// arguments are those of all tools that mean something to a reader.
type arguments struct {
	Path, Command, Language, Source, Content, Question, Status string
}

// decodeArgs returns what it can: a model may write arguments that do not fit.
func decodeArgs(call *v1alpha1.ToolCall) arguments {
	var args arguments
	if json.Unmarshal([]byte(call.Arguments), &args) != nil {
		return arguments{}
	}
	return args
}

// shortArguments says in a few words what a call is to do.
func shortArguments(call *v1alpha1.ToolCall) string {
	args := decodeArgs(call)
	text := call.Arguments
	switch call.Tool {
	case toolapi.ToolRead, toolapi.ToolWrite:
		text = args.Path
	case toolapi.ToolList:
		text = cmp.Or(args.Path, ".")
	case toolapi.ToolBash:
		text = args.Command
	case toolapi.ToolAskUser:
		text = args.Question
	case toolapi.ToolFinish:
		text = args.Status
	case toolapi.ToolCode:
		text = fmt.Sprintf("%s, %s", args.Language, plural(len(strings.Split(strings.TrimSpace(args.Source), "\n")), "line"))
	}
	return shorten(clean(text), argumentsWidth)
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func shorten(text string, width int) string {
	runes := []rune(text)
	if len(runes) <= width {
		return text
	}
	return string(runes[:width-1]) + "…"
}

// conditionLines lists a run's conditions, those that tell why it failed.
func conditionLines(run *v1alpha1.MotorRun) string {
	var b strings.Builder
	for _, c := range run.Status.Conditions {
		fmt.Fprintf(&b, "%-18s %-8s %-22s %s\n", c.Type, c.Status, c.Reason, clean(c.Message))
	}
	if b.Len() == 0 {
		return "The run has no conditions: the operator has not looked at it. Does it run?"
	}
	return b.String()
}

// outcomeLine says how the run ended.
func outcomeLine(run *v1alpha1.MotorRun) string {
	summary := run.Status.Message
	if run.Status.Result != nil {
		summary = cmp.Or(run.Status.Result.Summary, summary)
	}
	return fmt.Sprintf("%s: %s", run.Status.Phase, summary)
}

// lookFurther are the commands to go on with.
func lookFurther(namespace, run string) string {
	return fmt.Sprintf(`To look further (make cluster-shell opens a shell with kubectl):
  kubectl -n %[1]s get motorruns
  kubectl -n %[1]s get motorsteps -l %[3]s=%[2]s
  kubectl -n %[1]s describe motorrun %[2]s
  kubectl -n %[1]s get motorstep %[2]s-a01-s0001 -o yaml
To remove the cluster: make cluster-down
`, namespace, run, v1alpha1.LabelRun)
}
