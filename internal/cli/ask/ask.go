// SPDX-License-Identifier: Apache-2.0

// Package ask has the verbs by which a person answers what a run asks.
package ask

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/cluster"
	"motorcortex.dev/motorcortex/internal/cli/complete"
	"motorcortex.dev/motorcortex/internal/cli/lookup"
	"motorcortex.dev/motorcortex/internal/cli/reply"
	"motorcortex.dev/motorcortex/internal/cli/show"
	"motorcortex.dev/motorcortex/internal/cli/verb"
	"motorcortex.dev/motorcortex/internal/pending"
	"motorcortex.dev/motorcortex/pkg/client/motor/asks"
)

// maxTitle is the most bytes of an ask in a line.
const maxTitle = 72

// Command has the dependencies of the verbs.
type Command struct {
	verb.Streams

	Connect cluster.Connect
}

// New are the verbs.
func New(c Command) []*cobra.Command {
	// Two readers of one terminal would each keep a part of what is typed.
	if c.In != nil {
		c.In = bufio.NewReader(c.In)
	}
	return []*cobra.Command{c.answer(), c.approve(), c.deny(), c.allow(), c.settle(), c.retry(), c.raise(), c.stop()}
}

// choice is which ask of a run a verb is about.
type choice struct {
	cmd    *cobra.Command
	kinds  []v1alpha1.InputKind
	id     string
	uid    string
	number int
	// digest is that of the call that is meant, of verbs with --digest.
	digest string
	// chosen is true if the person did not name the run.
	chosen bool
}

// verb makes a command that answers asks of these kinds, with flags to choose among them.
func (c Command) verb(cmd *cobra.Command, kinds ...v1alpha1.InputKind) (*cobra.Command, *choice) {
	ch := &choice{cmd: cmd, kinds: kinds}
	cmd.Flags().StringVar(&ch.id, "id", "", "id of the ask, if the run asks several things")
	cmd.Flags().StringVar(&ch.uid, "uid", "", "metadata.uid of the run that you saw: another one of its name gets no answer")
	cmd.Flags().IntVar(&ch.number, "number", 0, "number of the ask in the list that is printed then")
	cmd.MarkFlagsMutuallyExclusive("id", "number")
	cmd.ValidArgsFunction = complete.Runs(c.Connect, func(run *v1alpha1.MotorRun) bool {
		return slices.ContainsFunc(pending.Open(run), func(p *v1alpha1.PendingInput) bool { return slices.Contains(kinds, p.Kind) })
	})
	return cmd, ch
}

// find reads the run and chooses the ask. Without a name it is the only run that waits.
func (c Command) find(ctx context.Context, name string, ch *choice) (*reply.Ask, error) {
	cl, namespace, err := c.Connect()
	if err != nil {
		return nil, err
	}
	s := &reply.Ask{Client: cl}
	if ch.chosen = name == ""; ch.chosen {
		if s.Run, err = c.only(ctx, cl, namespace, ch); err != nil {
			return nil, err
		}
		name = s.Run.Name
	} else if s.Run, err = lookup.Run(ctx, cl, namespace, name); err != nil {
		return nil, err
	}
	if ch.uid != "" && ch.uid != string(s.Run.UID) {
		return nil, fmt.Errorf("%s: the run that asked is gone, and there is another one of its name: nothing was answered. Look at it with \"kubectl motor get %s\"", name, name)
	}
	open := pending.Open(s.Run)
	var fit []*v1alpha1.PendingInput
	for _, p := range open {
		if slices.Contains(ch.kinds, p.Kind) {
			fit = append(fit, p)
		}
	}
	switch {
	case ch.id != "":
		i := slices.IndexFunc(fit, func(p *v1alpha1.PendingInput) bool { return p.ID == ch.id })
		if i < 0 {
			return nil, fmt.Errorf("no such ask: %s does not ask under the id %s, %s", name, ch.id, ch.otherwise(s, open))
		}
		s.PendingInput = fit[i]
	case len(fit) == 0:
		return nil, fmt.Errorf("%s: %s", name, ch.otherwise(s, open))
	case ch.number < 0 || ch.number > len(fit):
		return nil, verb.Misusedf("--number %d: %s asks %d such things", ch.number, name, len(fit))
	case ch.number > 0:
		s.PendingInput = fit[ch.number-1]
	case len(fit) > 1:
		s.PendingInput, err = c.chooseOne(ctx, fit)
		return s, err
	default:
		s.PendingInput = fit[0]
	}
	return s, nil
}

// otherwise says what the run waits for, if that is not what the verb answers.
func (ch *choice) otherwise(s *reply.Ask, open []*v1alpha1.PendingInput) string {
	st, where := &s.Run.Status, cluster.Selected(ch.cmd)
	if r := pending.ResponseTo(s.Run, ch.id); r != nil {
		return "it was answered already, " + reply.Said(r)
	}
	if len(open) > 0 {
		p := open[0]
		return fmt.Sprintf("it waits for something else (%s): %s. Try %q", pending.Word(p.Kind), show.Line(p.Title, maxTitle), pending.Command(s.Run, p, where))
	}
	for _, p := range st.PendingInputs {
		if r := pending.ResponseTo(s.Run, p.ID); r != nil {
			return "it was answered already, " + reply.Said(r)
		}
	}
	last := ""
	if r := ch.last(s.Run); r != nil {
		last = " The last answer was given " + reply.Said(r)
	}
	if st.CompletionTime != nil {
		return fmt.Sprintf("the run asks nothing any more, it has ended (%s).%s", st.Reason, last)
	}
	return "the run asks nothing now. " + show.Line(st.Message, 256) + last
}

// last is the newest response of the run to what the choice is about, nil if there is none.
func (ch *choice) last(run *v1alpha1.MotorRun) *v1alpha1.Response {
	for i := range slices.Backward(run.Spec.Responses) {
		r := &run.Spec.Responses[i]
		if slices.ContainsFunc(ch.kinds, func(k v1alpha1.InputKind) bool { return answers(r, k) }) {
			return r
		}
	}
	return nil
}

// answers reports whether a response is one to an ask of that kind. The ask may be gone.
func answers(r *v1alpha1.Response, kind v1alpha1.InputKind) bool {
	if r.Decision == v1alpha1.DecisionDeny && (r.Digest != "") != (kind == v1alpha1.InputApproval) {
		return false
	}
	if strings.HasPrefix(r.ID, "retry-") != (kind == v1alpha1.InputRetry) || strings.HasPrefix(r.ID, "budget-") != (kind == v1alpha1.InputBudgetExhausted) {
		return false
	}
	all := asks.Choices(&v1alpha1.PendingInput{Kind: kind, Action: &v1alpha1.PendingAction{Rule: "any"}, RaiseBy: &v1alpha1.BudgetAmount{}})
	return slices.ContainsFunc(all, func(c asks.Choice) bool { return c.Decision == r.Decision })
}

// chooseOne lists asks, and has a person at a terminal choose one.
func (c Command) chooseOne(ctx context.Context, fit []*v1alpha1.PendingInput) (*v1alpha1.PendingInput, error) {
	for i, p := range fit {
		fmt.Fprintf(c.Err, "%d  %s  %s  %s\n", i+1, p.ID, pending.Word(p.Kind), show.Line(p.Title, maxTitle))
	}
	if !c.Terminal {
		return nil, verb.Misusedf("the run asks %d things: give --number or --id", len(fit))
	}
	line, err := c.read(ctx, "Which? ")
	if err != nil {
		return nil, err
	}
	n, err := strconv.Atoi(line)
	if err != nil || n < 1 || n > len(fit) {
		return nil, verb.Misusedf("%q is none of the numbers", line)
	}
	return fit[n-1], nil
}

// read asks the person at the terminal for a line. It ends with the context: else nothing but a line would end it.
func (c Command) read(ctx context.Context, prompt string) (string, error) {
	fmt.Fprint(c.Err, prompt)
	in, ok := c.In.(*bufio.Reader)
	if !ok {
		return "", io.ErrUnexpectedEOF
	}
	type answer struct {
		line string
		err  error
	}
	answers := make(chan answer, 1)
	// The program ends with this verb, and the goroutine with it.
	go func() {
		line, err := in.ReadString('\n')
		answers <- answer{line, err}
	}()
	select {
	case a := <-answers:
		if a.err != nil && a.line == "" {
			fmt.Fprintln(c.Err)
			return "", fmt.Errorf("nothing was answered: %w", a.err)
		}
		return strings.TrimSpace(a.line), nil
	case <-ctx.Done():
		fmt.Fprintln(c.Err)
		return "", fmt.Errorf("nothing was answered: %w", context.Cause(ctx))
	}
}

// words checks that a person wrote a text, and did not leave the blank of a command that this program printed.
func words(flag, s string) error {
	if strings.TrimSpace(s) == pending.Blank {
		return verb.Misusedf("%s is still %q: write your own words there", flag, pending.Blank)
	}
	return nil
}

// send sends the response, and prints what came of it.
func (c Command) send(ctx context.Context, s *reply.Ask, r v1alpha1.Response, done string) error {
	if err := s.Send(ctx, r); err != nil {
		return err
	}
	fmt.Fprintf(c.Out, "motorrun/%s %s\n", s.Run.Name, done)
	return nil
}

// confirm asks for a yes at the terminal, or for the flag that stands for it.
func (c Command) confirm(ctx context.Context, yes bool, question, without string) error {
	if yes {
		return nil
	}
	if !c.Terminal {
		return verb.Misused(errors.New(without))
	}
	line, err := c.read(ctx, question+" [y/N] ")
	if err != nil {
		return err
	}
	if line = strings.ToLower(line); line != "y" && line != "yes" {
		return errors.New("nothing was sent")
	}
	return nil
}
