// SPDX-License-Identifier: Apache-2.0

package view

import (
	"fmt"
	"io"
	"slices"
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
)

// lastSteps is how many steps are printed.
const lastSteps = 5

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
		explain(c.Out, s.MotorRun, steps, cluster.Selected(cmd), time.Now())
		return nil
	}
	return cmd
}

// explain prints causes, not conditions. where is in the commands.
func explain(w io.Writer, run *v1alpha1.MotorRun, steps []v1alpha1.MotorStep, where string, now time.Time) {
	stands(w, run, now)
	causes(w, run)
	if cost := costOf(run.Status.Usage); cost != "" {
		fmt.Fprintf(w, "\nSpent: %d tokens%s\n", run.Status.Usage.TotalTokens, cost)
	}
	lastFailure(w, run)
	if len(steps) > 0 {
		fmt.Fprintln(w, "\nLast steps:")
		p := follow.NewPrinter(w, run)
		p.Steps(steps[max(0, len(steps)-lastSteps):])
	}
	asks(w, run, where, now)
	if next := whatNext(run, where); next != "" {
		fmt.Fprintf(w, "\nNext: %s\n", next)
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

// lastFailure prints why the last attempt that failed did.
func lastFailure(w io.Writer, run *v1alpha1.MotorRun) {
	for _, a := range slices.Backward(run.Status.Attempts) {
		f := a.Failure
		if f == nil {
			continue
		}
		fmt.Fprintf(w, "\nAttempt %d failed: %s (%s)\n", a.Index, show.Line(f.Reason, maxColumn), f.Category)
		if f.Message != "" && f.Message != run.Status.Message {
			show.Block(w, "  ", f.Message)
		}
		if f.Hint != "" {
			show.Block(w, "  ", "a model guesses: "+f.Hint)
		}
		for _, call := range a.LastCalls {
			if !call.OK {
				show.Block(w, "  ", fmt.Sprintf("%s: %s %s", call.Tool, call.ErrorCode, show.Line(call.Head, maxColumn)))
			}
		}
		if s := suggestion(f); s != "" {
			fmt.Fprintf(w, "  %s\n", s)
		}
		return
	}
}

// suggestion is the suggested action in words.
func suggestion(f *v1alpha1.FailureSummary) string {
	switch f.SuggestedAction {
	case v1alpha1.ActionRetryWithGuidance:
		return "Suggested: try again, and say what to do differently."
	case v1alpha1.ActionAskUser:
		return "Suggested: a person has to change or decide something first."
	case v1alpha1.ActionStop:
		return "Suggested: stop. Another attempt would fail like this one."
	}
	return ""
}

// whatNext is the command to go on with, "" if what is asked has it.
func whatNext(run *v1alpha1.MotorRun, where string) string {
	at := run.Name + " -n " + run.Namespace + where
	st := &run.Status
	switch {
	case len(pending.Open(run)) > 0:
		return ""
	case st.CompletionTime == nil && run.Spec.Suspend:
		return "kubectl motor resume " + at
	case st.CompletionTime == nil:
		return "kubectl motor logs -f " + at
	case apimeta.IsStatusConditionTrue(st.Conditions, v1alpha1.ConditionSucceeded) && st.Result != nil && len(st.Result.Artifacts) > 0:
		return "kubectl motor artifacts " + at
	case apimeta.IsStatusConditionTrue(st.Conditions, v1alpha1.ConditionSucceeded):
		return "kubectl motor get " + at
	}
	return fmt.Sprintf("kubectl motor steps %s shows everything it did. A run that has ended stays so: create another one", at)
}
