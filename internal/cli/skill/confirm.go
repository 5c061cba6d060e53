// SPDX-License-Identifier: Apache-2.0

package skill

import (
	"context"
	"errors"
	"fmt"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/rights"
	"motorcortex.dev/motorcortex/internal/cli/verb"
)

// confirmApproval shows a person at a terminal what they are about to approve, and asks for a yes. Without a terminal the person names the hashes of what
// they looked at: otherwise the approval would be of whatever is there by now.
func (c Command) confirmApproval(ctx context.Context, s subject, rev *v1alpha1.SkillRevision, policy *v1alpha1.SkillPolicy, where string) error {
	// A person without the right looks at nothing in vain.
	switch may, err := rights.Of(s.client).Approve(ctx, s.Skill); {
	case err != nil:
		return err
	case !may:
		return fmt.Errorf("you may not approve the Skill %s/%s. Have %s bound to you in the namespace %s", s.Namespace, s.Name, rights.ToApproveSkills, s.Namespace)
	}
	if !c.Terminal {
		return verb.Misusedf("there is no terminal to ask at: \"kubectl motor skill review %s -n %s --revision %s%s\" shows what it is, and prints the command with --content-hash and --policy-hash that approves that and nothing else",
			s.Name, s.Namespace, rev.Name, where)
	}
	shown := s
	shown.Skill = s.DeepCopy()
	shown.Spec.Policy = *policy
	quiet := c
	quiet.Out = c.Err
	if err := quiet.shows(ctx, shown, rev, where); err != nil {
		return err
	}
	fmt.Fprintln(c.Err)
	return c.confirm(ctx, fmt.Sprintf("Approve the content of %s with this policy?", rev.Name))
}

// confirm asks for a yes at the terminal.
func (c Command) confirm(ctx context.Context, question string) error {
	switch yes, err := c.Confirm(ctx, question); {
	case err != nil:
		return fmt.Errorf("nothing was sent: %w", err)
	case !yes:
		return errors.New("nothing was sent")
	}
	return nil
}
