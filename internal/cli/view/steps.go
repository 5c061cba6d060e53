// SPDX-License-Identifier: Apache-2.0

package view

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/budget"
	"motorcortex.dev/motorcortex/internal/cli/lookup"
	"motorcortex.dev/motorcortex/internal/cli/output"
	"motorcortex.dev/motorcortex/internal/cli/show"
)

func (c Command) steps() *cobra.Command {
	cmd := c.ofRun(&cobra.Command{
		Use: "steps RUN", Short: "Show the steps of a run: programs as they were written, output as it came.",
		Example: `  kubectl motor steps portfolio
  kubectl motor steps portfolio --attempt 2 --step 3`,
	})
	attempt := cmd.Flags().Int32("attempt", 0, "only the steps of this attempt")
	step := cmd.Flags().Int32("step", 0, "only the step with this number")
	var format output.Format
	format.Bind(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s, err := c.find(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		list, err := lookup.Steps(cmd.Context(), s.client, s.MotorRun)
		if err != nil {
			return err
		}
		if list, err = chosen(s.MotorRun, list, *attempt, *step); err != nil {
			return err
		}
		if format != output.ForPeople {
			objects := make([]*v1alpha1.MotorStep, 0, len(list))
			for i := range list {
				objects = append(objects, &list[i])
			}
			return output.List(c.Out, format, s.client.Scheme(), objects)
		}
		if len(list) == 0 {
			fmt.Fprintf(c.Err, "%s has no steps.%s\n", s.Name, archived(s.MotorRun))
			return nil
		}
		for i := range list {
			printStep(c.Out, &list[i])
		}
		return nil
	}
	return cmd
}

// chosen are the steps of an attempt, of all if it is 0, and of those the one with a number, all if it is 0. A number that there is not is an error.
func chosen(run *v1alpha1.MotorRun, steps []v1alpha1.MotorStep, attempt, step int32) ([]v1alpha1.MotorStep, error) {
	if attempt != 0 {
		left := slices.DeleteFunc(slices.Clone(steps), func(s v1alpha1.MotorStep) bool { return s.Spec.Attempt != attempt })
		if len(left) == 0 {
			return nil, fmt.Errorf("there is no attempt %d: %s", attempt, has(run, steps, func(s *v1alpha1.MotorStep) int32 { return s.Spec.Attempt }))
		}
		steps = left
	}
	if step == 0 {
		return steps, nil
	}
	left := slices.DeleteFunc(slices.Clone(steps), func(s v1alpha1.MotorStep) bool { return s.Spec.Index != step })
	if len(left) > 0 {
		return left, nil
	}
	of := ""
	if attempt != 0 {
		of = fmt.Sprintf(" of attempt %d", attempt)
	}
	return nil, fmt.Errorf("there is no step %d%s: %s", step, of, has(run, steps, func(s *v1alpha1.MotorStep) int32 { return s.Spec.Index }))
}

// has says which numbers there are.
func has(run *v1alpha1.MotorRun, steps []v1alpha1.MotorStep, number func(*v1alpha1.MotorStep) int32) string {
	if len(steps) == 0 {
		return run.Name + " has no steps." + archived(run)
	}
	var all []int32
	for i := range steps {
		all = append(all, number(&steps[i]))
	}
	slices.Sort(all)
	all = slices.Compact(all)
	first, last := all[0], all[len(all)-1]
	switch {
	case first == last:
		return fmt.Sprintf("it has %d", first)
	case int(last-first) < len(all):
		return fmt.Sprintf("it has %d to %d", first, last)
	}
	return "it has " + strings.Trim(strings.ReplaceAll(fmt.Sprint(all), " ", ", "), "[]")
}

// archived says where steps are that are not in the cluster any more.
func archived(run *v1alpha1.MotorRun) string {
	if a := run.Status.Archive; a != nil {
		return fmt.Sprintf(" %d are in the archive, under the key %s.", a.Steps, a.Key)
	}
	return ""
}

// printStep prints a step whole. Everything that a model or a tool wrote has a mark before each line.
func printStep(w io.Writer, s *v1alpha1.MotorStep) {
	fmt.Fprintf(w, "=== attempt %d, step %d", s.Spec.Attempt, s.Spec.Index)
	switch s.Spec.Type {
	case v1alpha1.StepSummary:
		fmt.Fprintf(w, ": summary of the steps up to %d", s.Spec.Through)
	case v1alpha1.StepEnd:
		fmt.Fprint(w, ": the attempt failed")
	case v1alpha1.StepOutage:
		fmt.Fprint(w, ": the model cannot be had")
	case v1alpha1.StepTurn:
		if s.Spec.ModelMilliseconds > 0 {
			fmt.Fprintf(w, ", model %s, %d tokens%s", milliseconds(s.Spec.ModelMilliseconds), s.Spec.Usage.TotalTokens, costOf(s.Spec.Usage))
		}
	}
	fmt.Fprintln(w)
	if o := s.Spec.Outcome; o != nil {
		show.Block(w, "  | ", o.Reason+": "+o.Message)
		if o.Hint != "" {
			show.Block(w, "  | ", "hint: "+o.Hint)
		}
	}
	if o := s.Spec.Outage; o != nil {
		show.Block(w, "  | ", o.Reason+": "+o.Message)
	}
	if s.Spec.Content != "" {
		show.Block(w, "  | ", s.Spec.Content)
	}
	for i := range s.Spec.ToolCalls {
		printCall(w, s, &s.Spec.ToolCalls[i])
	}
	fmt.Fprintln(w)
}

func printCall(w io.Writer, s *v1alpha1.MotorStep, call *v1alpha1.ToolCall) {
	fmt.Fprintf(w, "--- call %s\n", call.ID)
	show.Call(w, call.Tool, call.Arguments)
	i := slices.IndexFunc(s.Status.Results, func(r v1alpha1.ToolResult) bool { return r.CallID == call.ID })
	if i < 0 {
		fmt.Fprintf(w, "no result (%s)\n", s.Status.Phase)
		return
	}
	r := &s.Status.Results[i]
	state := "ok"
	if !r.OK {
		state = "failed: " + show.Line(r.ErrorCode, maxColumn)
	}
	if r.Provenance == "Web" {
		state += ", from the web: not to be trusted"
	}
	fmt.Fprintf(w, "%s, %s\n", state, milliseconds(r.DurationMilliseconds))
	show.Output(w, "  > ", r.Output)
	if r.OutputFile != "" {
		fmt.Fprintf(w, "the whole output is in the workspace: %s\n", show.Line(r.OutputFile, unlimited))
	}
}

// costOf is the cost of a usage after its tokens, "" where no model has a price.
func costOf(u v1alpha1.Usage) string {
	cost := budget.Cost(u.Cost, u.Currency)
	switch {
	case cost == "" && !u.Unpriced:
		return ""
	case cost == "":
		return ", without a price"
	case u.Unpriced:
		return ", " + show.Line(cost, maxColumn) + " and more without a price"
	}
	return ", " + show.Line(cost, maxColumn)
}

func milliseconds(ms int64) string { return (time.Duration(ms) * time.Millisecond).String() }
