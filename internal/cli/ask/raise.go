// SPDX-License-Identifier: Apache-2.0

package ask

import (
	"fmt"
	"regexp"
	"time"

	"github.com/spf13/cobra"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/verb"
	"motorcortex.dev/motorcortex/pkg/client/motor/asks"
)

// amount is the pattern that the API has for an amount of money.
var amount = regexp.MustCompile(`^(0|[1-9][0-9]{0,8})(\.[0-9]{1,9})?$`)

// raise answers the ask of a run that has reached a bound of its budget.
func (c Command) raise() *cobra.Command {
	cmd, ch := c.verb(&cobra.Command{
		Use: "raise [RUN]", Short: "Let a run that has used up its budget spend more.", Args: verb.Args("the name of the RUN?"),
		Long: "Let a run that has used up its budget spend more. The amount is added to the bound that the run has reached: its own, or that of a day or a month, " +
			"which other runs share. \"kubectl motor stop\" ends the run instead.",
		Example: `  kubectl motor raise report --cost 0.50
  kubectl motor raise report --tokens 200000`,
	}, v1alpha1.InputBudgetExhausted)
	tokens := cmd.Flags().Int64("tokens", 0, "tokens to add")
	cost := cmd.Flags().String("cost", "", "money to add, as a decimal number in the currency of the MotorCortex")
	reason := cmd.Flags().String("reason", "", "why; the run keeps it with the answer")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := words("--reason", *reason); err != nil {
			return err
		}
		by, err := raiseBy(*tokens, *cost)
		if err != nil {
			return err
		}
		s, err := c.find(cmd.Context(), verb.Arg(args, 0), ch)
		if err != nil {
			return err
		}
		s.Print(c.Err, time.Now())
		if by == nil {
			if by = s.RaiseBy; by == nil {
				return verb.Misusedf("say by how much: --cost or --tokens")
			}
			if err := c.confirm(cmd.Context(), false, "Raise it by "+asks.AmountText(by)+"?", "say by how much: --cost or --tokens"); err != nil {
				return err
			}
		} else if err := c.sure(cmd.Context(), ch, "Raise it by "+asks.AmountText(by)+"?"); err != nil {
			return err
		}
		r := v1alpha1.Response{Decision: v1alpha1.DecisionRaise, Budget: by, Reason: *reason}
		return c.send(cmd.Context(), s, r, fmt.Sprintf("may spend %s more", asks.AmountText(by)))
	}
	return cmd
}

// raiseBy returns the amount of the flags, nil if there is none.
func raiseBy(tokens int64, cost string) (*v1alpha1.BudgetAmount, error) {
	if tokens == 0 && cost == "" {
		return nil, nil
	}
	by := &v1alpha1.BudgetAmount{}
	switch {
	case tokens < 0:
		return nil, verb.Misusedf("--tokens %d: a bound is raised, and not lowered", tokens)
	case tokens > 0:
		by.Tokens = &tokens
	}
	if cost != "" {
		if !amount.MatchString(cost) {
			return nil, verb.Misusedf("--cost %q is no decimal number such as 0.50", cost)
		}
		by.Cost = new(v1alpha1.Amount(cost))
	}
	return by, nil
}
