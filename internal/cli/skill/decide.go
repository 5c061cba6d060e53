// SPDX-License-Identifier: Apache-2.0

package skill

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/cluster"
	"motorcortex.dev/motorcortex/internal/cli/rights"
	"motorcortex.dev/motorcortex/internal/cli/skill/decision"
	"motorcortex.dev/motorcortex/internal/cli/verb"
	"motorcortex.dev/motorcortex/internal/skill"
)

// pollInterval is how often to check for the operator's reaction to a decision.
const pollInterval = 200 * time.Millisecond

func (c Command) approve() *cobra.Command {
	cmd := &cobra.Command{
		Use: "approve NAME", Short: "Approve a skill: the content of a revision, and the policy.", Args: ofSkill(),
		Long: `Approve a skill. The approval binds the content of a revision and the policy. Flags change the policy in the same request.

With --content-hash and --policy-hash, which "kubectl motor skill review" prints, what you looked at is approved, and nothing else. Without them the review
is shown at a terminal, and you are asked for a yes. Elsewhere both are needed.`,
		Example: `  kubectl motor skill approve weather
  kubectl motor skill approve weather --revision weather-4be1… --content-hash sha256:4be1… --policy-hash sha256:77ab…`,
	}
	var o options
	o.bindRevision(cmd)
	o.bindContentHash(cmd)
	o.bindNote(cmd)
	var wide widening
	wide.bind(cmd.Flags())
	cmd.Flags().StringVar(&o.policyHash, "policy-hash", "", "hash of the policy that you looked at: the approval is refused if the skill has another one by now")
	expires := cmd.Flags().String("expires", "", "how long the approval lasts, as in 12h or 30d; unset, it does not end")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		o.name, o.where = args[0], cluster.Selected(cmd)
		return c.approveSkill(cmd.Context(), &o, &wide, *expires)
	}
	return cmd
}

func (c Command) approveSkill(ctx context.Context, o *options, wide *widening, expires string) error {
	approval := v1alpha1.SkillApproval{Decision: v1alpha1.SkillDecisionApproved, Note: o.note}
	if expires != "" {
		lasts, err := duration(expires)
		if err != nil {
			return verb.Misused(err)
		}
		approval.ExpirationTime = new(metav1.NewTime(time.Now().Add(lasts).UTC().Truncate(time.Second)))
	}
	s, err := c.find(ctx, o)
	if err != nil {
		return err
	}
	if is := skill.PolicyHash(&s.Spec.Policy); o.policyHash != "" && o.policyHash != is {
		return fmt.Errorf("the policy of the Skill %s/%s is %s, and not the one that you looked at: look at it again with \"kubectl motor skill review %s -n %s\"", s.Namespace, s.Name, is, s.Name, s.Namespace)
	}
	rev, err := s.toApprove(ctx, o.revision, wide.any())
	if err != nil {
		return err
	}
	if err := s.checkContent(rev, o.contentHash); err != nil {
		return err
	}
	spec := s.Spec.DeepCopy()
	if err := wide.apply(&spec.Policy); err != nil {
		return err
	}
	if err := skill.CheckPolicy(&spec.Policy); err != nil {
		return fmt.Errorf("the policy cannot be granted: %w", err)
	}
	if o.contentHash == "" || o.policyHash == "" {
		if err := c.confirmApproval(ctx, s, rev, &spec.Policy, o.where); err != nil {
			return err
		}
	}
	approval.ContentHash, approval.PolicyHash = rev.Spec.ContentHash, skill.PolicyHash(&spec.Policy)
	if err := decision.Approve(ctx, s.client, s.Skill, &spec.Policy, &approval); err != nil {
		return rights.Refused(fmt.Errorf("approve the Skill %s/%s: %w", s.Namespace, s.Name, err), rights.ToApproveSkills, s.Namespace)
	}
	fmt.Fprintf(c.Out, "revision:    %s\ncontentHash: %s\npolicyHash:  %s\napprovedBy:  %s\n", rev.Name, approval.ContentHash, approval.PolicyHash, approval.ApprovedBy)
	c.printState(ctx, s)
	return nil
}

func (c Command) reject() *cobra.Command {
	cmd := &cobra.Command{Use: "reject NAME", Short: "Reject the content of a revision.", Args: ofSkill()}
	var o options
	o.bindRevision(cmd)
	o.bindContentHash(cmd)
	o.bindNote(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		o.name = args[0]
		return c.rejectSkill(cmd.Context(), &o)
	}
	return cmd
}

func (c Command) rejectSkill(ctx context.Context, o *options) error {
	s, rev, err := c.findRevision(ctx, o)
	if err != nil {
		return err
	}
	if err := s.checkContent(rev, o.contentHash); err != nil {
		return err
	}
	rejection := v1alpha1.SkillRejection{ContentHash: rev.Spec.ContentHash, Note: o.note}
	if slices.ContainsFunc(s.Spec.Rejections, func(r v1alpha1.SkillRejection) bool { return r.ContentHash == rejection.ContentHash }) {
		return fmt.Errorf("the SkillRevision %s is rejected already", rev.Name)
	}
	if err := decision.Reject(ctx, s.client, s.Skill, &rejection); err != nil {
		return rights.Refused(fmt.Errorf("reject the SkillRevision %s/%s: %w", s.Namespace, rev.Name, err), rights.ToApproveSkills, s.Namespace)
	}
	fmt.Fprintf(c.Out, "revision:    %s\ncontentHash: %s\nrejectedBy:  %s\n", rev.Name, rejection.ContentHash, rejection.RejectedBy)
	if a := s.Spec.Approval; a != nil && a.ContentHash == rejection.ContentHash && a.Decision != v1alpha1.SkillDecisionRevoked {
		fmt.Fprintf(c.Err, "note: this content is approved, and stays so: kubectl motor skill revoke %s -n %s takes the approval back\n", s.Name, s.Namespace)
	}
	c.printState(ctx, s)
	return nil
}

func (c Command) revoke() *cobra.Command {
	cmd := &cobra.Command{Use: "revoke NAME", Short: "Take an approval back.", Args: ofSkill(), Long: "Take an approval back. At a terminal you are asked for a yes."}
	var o options
	o.bindNote(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		o.name = args[0]
		return c.revokeSkill(cmd.Context(), &o)
	}
	return cmd
}

func (c Command) revokeSkill(ctx context.Context, o *options) error {
	s, err := c.find(ctx, o)
	if err != nil {
		return err
	}
	if s.Spec.Approval == nil {
		return fmt.Errorf("the Skill %s/%s has no approval that could be taken back", s.Namespace, s.Name)
	}
	if c.Terminal {
		question := fmt.Sprintf("Take the approval of %s/%s back, so that no further run can use the skill?", s.Namespace, s.Name)
		if err := c.confirm(ctx, question); err != nil {
			return err
		}
	}
	account, err := decision.Revoke(ctx, s.client, s.Skill, o.note)
	if err != nil {
		return rights.Refused(fmt.Errorf("revoke the Skill %s/%s: %w", s.Namespace, s.Name, err), rights.ToApproveSkills, s.Namespace)
	}
	fmt.Fprintf(c.Out, "revokedBy:   %s\n", account)
	c.printState(ctx, s)
	return nil
}

// printState waits until the operator has looked at the skill, and prints the resulting state.
func (c Command) printState(ctx context.Context, s subject) {
	waiting, cancel := context.WithTimeout(ctx, c.Wait)
	defer cancel()
	generation := s.Generation
	err := wait.PollUntilContextCancel(waiting, pollInterval, true, func(ctx context.Context) (bool, error) {
		err := s.client.Get(ctx, client.ObjectKeyFromObject(s.Skill), s.Skill)
		return err == nil && s.Status.ObservedGeneration >= generation && s.Status.State != "", nil
	})
	if err != nil {
		fmt.Fprintln(c.Err, "note: the operator has not looked at it yet: see kubectl get skill "+s.Name+" -n "+s.Namespace)
		return
	}
	fmt.Fprintf(c.Out, "state:       %s\n", s.Status.State)
	if s.Status.Message != "" {
		fmt.Fprintf(c.Out, "             %s\n", shown(s.Status.Message))
	}
}

// duration reads what time.ParseDuration reads, and days.
func duration(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if days, ok := strings.CutSuffix(s, "d"); ok {
		var n int64
		n, err = strconv.ParseInt(days, 10, 16)
		d = time.Duration(n) * 24 * time.Hour
	}
	if err != nil || d < time.Second {
		return 0, fmt.Errorf("--expires %q is no time to come, as in 12h or 30d", s)
	}
	return d, nil
}
