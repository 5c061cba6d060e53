// SPDX-License-Identifier: Apache-2.0

package ask

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/show"
	"motorcortex.dev/motorcortex/internal/cli/verb"
)

func (c Command) deny() *cobra.Command {
	cmd, ch := c.verb(&cobra.Command{
		Use: "deny [RUN]", Short: "Deny a tool call or a domain. The run goes on.", Args: verb.Args("the name of the RUN?"),
		Example: `  kubectl motor deny release --reason "push to a branch, not to main"`,
	}, v1alpha1.InputApproval, v1alpha1.InputDomainRequest)
	cmd.Flags().StringVar(&ch.digest, "digest", "", "deny only the call with this digest")
	reason := cmd.Flags().String("reason", "", "told to the model as your words: what to do instead")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := words("--reason", *reason); err != nil {
			return err
		}
		s, err := c.find(cmd.Context(), verb.Arg(args, 0), ch)
		if err != nil {
			return err
		}
		r := v1alpha1.Response{Decision: v1alpha1.DecisionDeny, Reason: *reason}
		if s.Action != nil {
			r.Digest = s.Action.ArgsDigest
		}
		if ch.digest != "" && ch.digest != r.Digest {
			return fmt.Errorf("the run asks about a call with the digest %q, and not %s: nothing was denied", r.Digest, ch.digest)
		}
		what := subject(s.PendingInput)
		if ch.unseen() {
			if s.Show(cmd.Context(), c.Err, time.Now()) != nil {
				// A call that cannot be shown whole can be denied.
				s.Print(c.Err, time.Now())
			}
		}
		if err := c.sure(cmd.Context(), ch, "Deny "+what+"?"); err != nil {
			return err
		}
		if err := c.send(cmd.Context(), s, r, "denied"); err != nil {
			return err
		}
		fmt.Fprintln(c.Err, "Denied "+what)
		return nil
	}
	return cmd
}

// subject is what a person allows or denies, in a line.
func subject(p *v1alpha1.PendingInput) string {
	if p.Action == nil {
		return show.Line(string(p.Domain), maxTitle)
	}
	return show.Line(p.Action.Tool+": "+show.Brief(p.Action.Tool, p.Action.Arguments, maxTitle), maxTitle)
}

func (c Command) allow() *cobra.Command {
	cmd, ch := c.verb(&cobra.Command{
		Use: "allow [RUN]", Short: "Allow the domain that a run asks for.", Args: verb.Args("the name of the RUN?"),
		Example: `  kubectl motor allow portfolio --once      # for one call
  kubectl motor allow portfolio --run       # until the run ends`,
	}, v1alpha1.InputDomainRequest)
	once := cmd.Flags().Bool("once", false, "for the next call that can use the network")
	wholeRun := cmd.Flags().Bool("run", false, "until the run ends")
	reason := cmd.Flags().String("reason", "", "told to the model as your words")
	cmd.MarkFlagsMutuallyExclusive("once", "run")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := words("--reason", *reason); err != nil {
			return err
		}
		s, err := c.find(cmd.Context(), verb.Arg(args, 0), ch)
		if err != nil {
			return err
		}
		s.Print(c.Err, time.Now())
		r := v1alpha1.Response{Decision: v1alpha1.DecisionAllowOnce, Reason: *reason}
		done := fmt.Sprintf("may reach %s, for one call", s.Domain)
		switch {
		case *wholeRun:
			r.Decision, done = v1alpha1.DecisionAllowRun, fmt.Sprintf("may reach %s until it ends", s.Domain)
		case !*once:
			// Without a flag a person may not know that there are two answers.
			if err := c.confirm(cmd.Context(), false, "Allow "+show.Line(string(s.Domain), 6*maxTitle)+" once?", "say for how long: --once or --run"); err != nil {
				return err
			}
			return c.send(cmd.Context(), s, r, done)
		}
		if err := c.sure(cmd.Context(), ch, fmt.Sprintf("Let %s reach %s?", s.Run.Name, show.Line(string(s.Domain), 6*maxTitle))); err != nil {
			return err
		}
		return c.send(cmd.Context(), s, r, done)
	}
	return cmd
}

func (c Command) settle() *cobra.Command {
	cmd, ch := c.verb(&cobra.Command{
		Use: "settle [RUN] [retry|done|skip]", Short: "Decide about a call whose end was not seen.",
		Args: verb.Args("the name of the RUN?", "DECISION?"),
		Long: `Decide about a call that was started and whose end was not seen. Find out what it did, then:

retry   make the call again
done    go on as if it succeeded; its output is lost
skip    go on without it`,
	}, v1alpha1.InputOutcomeUnknown)
	reason := cmd.Flags().String("reason", "", "told to the model as your words, with done and skip")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := words("--reason", *reason); err != nil {
			return err
		}
		s, err := c.find(cmd.Context(), verb.Arg(args, 0), ch)
		if err != nil {
			return err
		}
		s.Print(c.Err, time.Now())
		word := verb.Arg(args, 1)
		if word == "" && c.Terminal {
			if word, err = c.read(cmd.Context(), "retry, done or skip? "); err != nil {
				return err
			}
		}
		decision, ok := settlements[word]
		if !ok {
			return verb.Misusedf("%q is none of retry, done and skip", word)
		}
		if decision == v1alpha1.DecisionRetry && *reason != "" {
			return verb.Misusedf("the model is not told of a retry: --reason goes with done and skip")
		}
		return c.send(cmd.Context(), s, v1alpha1.Response{Decision: decision, Reason: *reason}, "settled: "+word)
	}
	return cmd
}

var settlements = map[string]v1alpha1.Decision{"retry": v1alpha1.DecisionRetry, "done": v1alpha1.DecisionDone, "skip": v1alpha1.DecisionSkip}

func (c Command) retry() *cobra.Command {
	cmd, ch := c.verb(&cobra.Command{
		Use: "retry [RUN]", Short: "Start another attempt after one that failed.", Args: verb.Args("the name of the RUN?"),
		Example: `  kubectl motor retry build --guidance "use port 8080"`,
	}, v1alpha1.InputRetry)
	guidance := cmd.Flags().String("guidance", "", "what the next attempt is to do differently")
	domains := cmd.Flags().StringSlice("add-domain", nil, "host that the run may reach from the next attempt on")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := words("--guidance", *guidance); err != nil {
			return err
		}
		s, err := c.find(cmd.Context(), verb.Arg(args, 0), ch)
		if err != nil {
			return err
		}
		s.Print(c.Err, time.Now())
		r := v1alpha1.Response{Decision: v1alpha1.DecisionRetry, Guidance: *guidance}
		for _, d := range *domains {
			r.AddDomains = append(r.AddDomains, v1alpha1.Domain(d))
		}
		done := "tries again"
		if s.Attempt != nil {
			done = fmt.Sprintf("tries again: attempt %d", *s.Attempt)
		}
		if err := c.sure(cmd.Context(), ch, "Try again?"); err != nil {
			return err
		}
		return c.send(cmd.Context(), s, r, done)
	}
	return cmd
}

func (c Command) stop() *cobra.Command {
	cmd, ch := c.verb(&cobra.Command{
		Use: "stop [RUN]", Short: "End a run after an attempt that failed, or at the bound of its budget.", Args: verb.Args("the name of the RUN?"),
		Long: "End a run after an attempt that failed, or at the bound of its budget. \"kubectl motor cancel\" ends a run that is under way.",
	}, v1alpha1.InputRetry, v1alpha1.InputBudgetExhausted)
	reason := cmd.Flags().String("reason", "", "why; the end of the run has it")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := words("--reason", *reason); err != nil {
			return err
		}
		s, err := c.find(cmd.Context(), verb.Arg(args, 0), ch)
		if err != nil {
			return err
		}
		if ch.unseen() {
			s.Print(c.Err, time.Now())
		}
		if err := c.sure(cmd.Context(), ch, "Stop "+s.Run.Name+"?"); err != nil {
			return err
		}
		return c.send(cmd.Context(), s, v1alpha1.Response{Decision: v1alpha1.DecisionStop, Reason: *reason}, "stopped")
	}
	return cmd
}
