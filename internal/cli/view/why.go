// SPDX-License-Identifier: Apache-2.0

package view

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/cluster"
	"motorcortex.dev/motorcortex/internal/cli/follow"
	"motorcortex.dev/motorcortex/internal/cli/lookup"
	"motorcortex.dev/motorcortex/internal/cli/show"
	"motorcortex.dev/motorcortex/internal/pending"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// lastSteps is how many steps are printed.
const lastSteps = 5

// lastDenials is how many denials are printed.
const lastDenials = 3

func (c Command) why() *cobra.Command {
	cmd := c.ofRun(&cobra.Command{Use: "why RUN", Short: "Say in one screen how a run stands, why, and what to do next."})
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s, err := c.find(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		steps, err := lookup.Steps(cmd.Context(), s.client, s.MotorRun)
		if err != nil {
			fmt.Fprintf(c.Err, "note: its steps are left out: %v\n", err)
		}
		explain(c.page(), s.MotorRun, steps, cluster.Selected(cmd), time.Now())
		return nil
	}
	return cmd
}

// explain prints causes, not conditions. What helps is in the first lines: a person's own words, and the commands. where is in the commands.
func explain(w io.Writer, run *v1alpha1.MotorRun, steps []v1alpha1.MotorStep, where string, now time.Time) {
	stands(w, run, now)
	said := denied(w, run, steps)
	asks(w, run, where, now)
	whatNext(w, run, where)
	causes(w, run)
	if cost := costOf(run.Status.Usage); cost != "" {
		fmt.Fprintf(w, "\nSpent: %d tokens%s\n", run.Status.Usage.TotalTokens, cost)
	}
	if lastFailure(w, run, said) {
		// It is said, and the end of an attempt would say it again.
		steps = slices.DeleteFunc(slices.Clone(steps), func(s v1alpha1.MotorStep) bool { return s.Spec.Type == v1alpha1.StepEnd })
	}
	if len(steps) > 0 {
		fmt.Fprintln(w, "\nLast steps:")
		p := follow.NewPrinter(w, run)
		p.Steps(steps[max(0, len(steps)-lastSteps):])
	}
}

// bad are the conditions that keep a run from going on, and the status that they have then.
var bad = []struct {
	kind   string
	status metav1.ConditionStatus
}{
	{v1alpha1.ConditionAccepted, metav1.ConditionFalse},
	{v1alpha1.ConditionSandboxReady, metav1.ConditionFalse},
	{v1alpha1.ConditionIsolationVerified, metav1.ConditionFalse},
	{v1alpha1.ConditionEgressReady, metav1.ConditionFalse},
	{v1alpha1.ConditionModelAvailable, metav1.ConditionFalse},
	{v1alpha1.ConditionToolsOffered, metav1.ConditionFalse},
	{v1alpha1.ConditionResponsesValid, metav1.ConditionFalse},
	{v1alpha1.ConditionSuspended, metav1.ConditionTrue},
}

// causes prints the messages of the conditions that block a run. Of a run that has ended, most say only that it has.
func causes(w io.Writer, run *v1alpha1.MotorRun) {
	shown := []string{run.Status.Message}
	first := true
	for _, b := range bad {
		c := apimeta.FindStatusCondition(run.Status.Conditions, b.kind)
		if c == nil || c.Status != b.status || c.Message == "" || c.Reason == v1alpha1.ReasonRunEnded || slices.Contains(shown, c.Message) {
			continue
		}
		if run.Status.CompletionTime != nil && b.kind != v1alpha1.ConditionResponsesValid && b.kind != v1alpha1.ConditionToolsOffered {
			continue
		}
		if first {
			fmt.Fprintln(w, "\nBecause:")
		}
		first = false
		shown = append(shown, c.Message)
		show.Block(w, "  ", c.Reason+": "+c.Message)
	}
}

// denied prints what people said when they denied calls and domains of the attempt that failed last, and reports whether there is any.
func denied(w io.Writer, run *v1alpha1.MotorRun, steps []v1alpha1.MotorStep) bool {
	last := run.Status.LatestAttempt()
	if last == nil || last.Failure == nil || apimeta.IsStatusConditionTrue(run.Status.Conditions, v1alpha1.ConditionSucceeded) {
		return false
	}
	var all []func()
	for i := range steps {
		s := &steps[i]
		for j := range s.Status.Asks {
			if a := &s.Status.Asks[j]; s.Spec.Attempt == last.Index && a.Outcome == v1alpha1.AskDenied {
				all = append(all, func() { denial(w, s, a) })
			}
		}
	}
	for _, tell := range all[max(0, len(all)-lastDenials):] {
		tell()
	}
	return len(all) > 0
}

// denial prints one denial, with the reason whole.
func denial(w io.Writer, s *v1alpha1.MotorStep, a *v1alpha1.StepAsk) {
	what := string(a.Domain)
	if i := slices.IndexFunc(s.Spec.ToolCalls, func(t v1alpha1.ToolCall) bool { return t.ID == a.CallID }); i >= 0 && what == "" {
		call := &s.Spec.ToolCalls[i]
		what = call.Tool + ": " + show.Brief(call.Tool, call.Arguments, maxColumn)
	}
	by := ""
	if a.By != "" {
		by = " by " + show.Line(a.By, unlimited)
	}
	fmt.Fprintf(w, "\nDenied%s: %s\n", by, show.Line(what, 2*maxColumn))
	if a.Reason != "" {
		show.Block(w, "  | ", a.Reason)
	}
}

// lastFailure prints why the last attempt that failed did, and reports whether there is one. told says that the denials were printed.
func lastFailure(w io.Writer, run *v1alpha1.MotorRun, told bool) bool {
	failed := slices.DeleteFunc(slices.Clone(run.Status.Attempts), func(a v1alpha1.AttemptStatus) bool { return a.Failure == nil })
	if len(failed) == 0 {
		return false
	}
	a := &failed[len(failed)-1]
	f := a.Failure
	same := 0
	for _, b := range slices.Backward(failed) {
		if b.Failure.Category != f.Category || b.Failure.Reason != f.Reason || b.Failure.Message != f.Message {
			break
		}
		same++
	}
	which := fmt.Sprintf("Attempt %d failed", a.Index)
	if same > 1 {
		which = fmt.Sprintf("Attempts %d to %d failed, %d times in the same way", failed[len(failed)-same].Index, a.Index, same)
	}
	fmt.Fprintf(w, "\n%s: %s (%s)\n", which, show.Line(f.Reason, maxColumn), f.Category)
	if f.Message != "" && !isShown(run, f.Message) {
		show.Block(w, "  ", f.Message)
	}
	if f.Hint != "" && !isShown(run, f.Hint) {
		show.Block(w, "  ", "a model guesses: "+f.Hint)
	}
	for _, call := range a.LastCalls {
		if denied := told && call.ErrorCode == toolapi.CodeApprovalDenied; !call.OK && !denied {
			show.Block(w, "  ", fmt.Sprintf("%s: %s %s", call.Tool, call.ErrorCode, show.Line(call.Head, unlimited)))
		}
	}
	if s := suggestion(run, f); s != "" {
		fmt.Fprintf(w, "  %s\n", s)
	}
	return true
}

// isShown reports whether a text is within the message of a run or what it asks, which are printed first.
func isShown(run *v1alpha1.MotorRun, text string) bool {
	return strings.Contains(run.Status.Message, text) ||
		slices.ContainsFunc(pending.Open(run), func(p *v1alpha1.PendingInput) bool { return strings.Contains(pending.Question(p), text) })
}

// suggestion is the suggested action in words, "" if it cannot be taken any more.
func suggestion(run *v1alpha1.MotorRun, f *v1alpha1.FailureSummary) string {
	ended := run.Status.CompletionTime != nil
	switch f.SuggestedAction {
	case v1alpha1.ActionRetryWithGuidance:
		if slices.ContainsFunc(pending.Open(run), func(p *v1alpha1.PendingInput) bool { return p.Kind == v1alpha1.InputRetry }) {
			return "Suggested: try again, and say what to do differently."
		}
		if ended {
			return "Suggested: create it again, and say in its task what to do differently."
		}
	case v1alpha1.ActionAskUser:
		return "Suggested: a person has to change or decide something first."
	case v1alpha1.ActionStop:
		if ended {
			return "Suggested: change something first. Another run like this one would fail like it."
		}
		return "Suggested: stop. Another attempt would fail like this one."
	}
	return ""
}

// whatNext prints the command to go on with, and nothing if what is asked has it.
func whatNext(w io.Writer, run *v1alpha1.MotorRun, where string) {
	at := run.Name + " -n " + run.Namespace + where
	st := &run.Status
	succeeded := apimeta.IsStatusConditionTrue(st.Conditions, v1alpha1.ConditionSucceeded)
	var command string
	switch {
	case len(pending.Open(run)) > 0:
		return
	case st.CompletionTime == nil && run.Spec.Suspend:
		command = "kubectl motor resume " + at
	case st.CompletionTime == nil:
		command = "kubectl motor logs -f " + at
	case succeeded && st.Result != nil && len(st.Result.Artifacts) > 0:
		command = "kubectl motor artifacts " + at
	case succeeded:
		command = "kubectl motor get " + at
	default:
		fmt.Fprintf(w, "\nIt has ended and cannot be tried again. What it did:\n  kubectl motor steps %s\n", at)
		again(w, run, where)
		return
	}
	fmt.Fprintf(w, "\nNext:\n  %s\n", command)
}

// again prints how to create a run again. The task is read by the command: it is no text to paste into a shell.
func again(w io.Writer, run *v1alpha1.MotorRun, where string) {
	s := &run.Spec
	if s.Task == "" || len(s.Inputs) > 0 {
		fmt.Fprintln(w, "Create it again from its manifest, under another name.")
		return
	}
	in := " -n " + run.Namespace + where
	command := "kubectl motor run" + in
	if len(s.Tools) > 0 {
		tools := make([]string, 0, len(s.Tools))
		for _, t := range s.Tools {
			tools = append(tools, string(t))
		}
		command += " --tools " + cluster.Quote(strings.Join(tools, ","))
	}
	if s.Model != nil && s.Model.Name != "" {
		command += " --model " + cluster.Quote(s.Model.Name)
	}
	if s.SkillRef != nil {
		command += " --skill " + cluster.Quote(s.SkillRef.Name)
	}
	// A task that begins with a dash is no flag.
	command += fmt.Sprintf(` -- "$(kubectl get motorrun %s%s -o jsonpath='{.spec.task}')"`, run.Name, in)
	fmt.Fprintf(w, "Another run with its task, tools, model and skill, and with nothing else of its spec:\n  %s\n", show.Line(command, unlimited))
}
