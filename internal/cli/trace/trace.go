// SPDX-License-Identifier: Apache-2.0

// Package trace has the verb that prints a run as a tree of spans.
package trace

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"motorcortex.dev/motorcortex"
	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/cluster"
	"motorcortex.dev/motorcortex/internal/cli/complete"
	"motorcortex.dev/motorcortex/internal/cli/follow"
	"motorcortex.dev/motorcortex/internal/cli/lookup"
	"motorcortex.dev/motorcortex/internal/cli/output"
	"motorcortex.dev/motorcortex/internal/cli/show"
	"motorcortex.dev/motorcortex/internal/cli/verb"
	"motorcortex.dev/motorcortex/internal/telemetry/span"
)

// OTLP is the JSON form of the OpenTelemetry protocol: the traces of a run in one line.
const OTLP output.Format = "otlp"

// New is the verb.
func New(s verb.Streams, connect cluster.Connect) *cobra.Command {
	cmd := &cobra.Command{
		Use: "trace RUN", Short: "Print where the time of a run went: attempts, steps, model calls and tool calls.", Args: verb.Args("the name of the RUN"),
		Long: `Print where the time of a run went, as a tree: attempts, their steps, and in these model calls, tool calls and asks.

START counts from the creation of the run. Steps are recorded to the second: starts can be a second off, and durations of calls are exact.

-o otlp is for programs that read OpenTelemetry: one line of OTLP/JSON, as a file exporter writes it, with the names of the semantic conventions for
generative AI. It has spans that have ended, and neither arguments nor output.`,
		Example: `  kubectl motor trace portfolio
  kubectl motor trace portfolio -o jsonl | jq 'select(.kind == "Tool")'
  kubectl motor trace portfolio -o otlp > portfolio.jsonl`,
	}
	cmd.ValidArgsFunction = complete.Runs(connect, func(*v1alpha1.MotorRun) bool { return true })
	var format output.Format
	format.BindOnly(cmd, "jsonl: a JSON object for each span in a line; otlp: OTLP/JSON in one line", output.JSONL, OTLP)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, namespace, err := connect()
		if err != nil {
			return err
		}
		run, err := lookup.Run(cmd.Context(), c, namespace, args[0])
		if err != nil {
			return err
		}
		steps, err := lookup.Steps(cmd.Context(), c, run)
		if err != nil {
			return err
		}
		if a := run.Status.Archive; a != nil && len(steps) == 0 {
			fmt.Fprintf(s.Err, "note: its %d steps are in the archive, under the key %s\n", a.Steps, a.Key)
		}
		spans := spansOf(run, steps)
		if format == output.JSONL {
			return output.Lines(s.Out, spans)
		}
		if format == OTLP {
			return writeOTLP(s.Out, run, spans)
		}
		tree(s.Out, run, spans, time.Now())
		return nil
	}
	return cmd
}

// maxDetail is the most bytes of the arguments of a call.
const maxDetail = 44

// spansOf are the spans of a run, with the beginning of the arguments of calls.
func spansOf(run *v1alpha1.MotorRun, steps []v1alpha1.MotorStep) []span.Span {
	spans := span.Of(run, steps)
	for i := range spans {
		if s := &spans[i]; s.Kind == span.KindTool {
			s.Detail = show.Brief(s.Name, s.Arguments, maxDetail)
		}
	}
	return spans
}

// writeOTLP writes the spans that have ended as OTLP/JSON in one line.
func writeOTLP(w io.Writer, run *v1alpha1.MotorRun, spans []span.Span) error {
	of := span.Resource{Version: motorcortex.Version()}
	traces, err := of.OTLP(run, spans)
	if err != nil {
		return err
	}
	line, err := span.JSON(traces)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s\n", line)
	return err
}

// tree prints spans for people. A span that has not ended takes until now.
func tree(w io.Writer, run *v1alpha1.MotorRun, spans []span.Span, now time.Time) {
	depth := map[string]int{}
	rows := make([][]string, 0, len(spans))
	for i := range spans {
		s := &spans[i]
		// The parent of the run itself can be a span of its caller.
		if above, ok := depth[s.ParentSpanID]; ok {
			depth[s.SpanID] = above + 1
		} else {
			depth[s.SpanID] = 0
		}
		name := s.Name
		if s.Detail != "" {
			name += " " + s.Detail
		}
		start, took := "", ""
		if !s.StartTime.IsZero() {
			start = strings.TrimSpace(follow.Clock(s.StartTime.Sub(run.CreationTimestamp.Time)))
			took = duration(s, now)
		}
		tokens := ""
		if s.Tokens != nil && s.Tokens.TotalTokens > 0 {
			tokens = strconv.FormatInt(s.Tokens.TotalTokens, 10)
		}
		rows = append(rows, []string{strings.Repeat("  ", depth[s.SpanID]) + show.Line(name, maxName), start, took, tokens, show.Line(s.Result, maxName)})
	}
	show.Table(w, []string{"SPAN", "START", "DURATION", "TOKENS", "RESULT"}, rows)
}

// maxName is the most bytes of a name in the tree.
const maxName = 72

func duration(s *span.Span, now time.Time) string {
	if s.DurationMilliseconds == nil {
		return max(now.Sub(s.StartTime), 0).Truncate(time.Second).String() + " …"
	}
	return (time.Duration(*s.DurationMilliseconds) * time.Millisecond).String()
}
