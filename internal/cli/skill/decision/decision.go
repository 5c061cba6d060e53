// SPDX-License-Identifier: Apache-2.0

// Package decision sends what a person decided about a Skill, and other files. Package decisions has the rules.
package decision

import (
	"context"
	"errors"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/pkg/client/motor/decisions"
)

// Approve writes an approval, and the policy that it is for if that is another one. It fills in who approves, and updates s.
func Approve(ctx context.Context, c client.Client, s *v1alpha1.Skill, policy *v1alpha1.SkillPolicy, approval *v1alpha1.SkillApproval) (err error) {
	if approval.Account, err = user(ctx, c); err != nil {
		return err
	}
	approval.ApprovedBy = approval.Account
	body, err := decisions.Approve(s, policy, approval)
	return send(ctx, c, s, body, err)
}

// Reject writes a rejection. It fills in who rejects, and updates s.
func Reject(ctx context.Context, c client.Client, s *v1alpha1.Skill, rejection *v1alpha1.SkillRejection) (err error) {
	if rejection.RejectedBy, err = user(ctx, c); err != nil {
		return err
	}
	body, err := decisions.Reject(s, *rejection)
	return send(ctx, c, s, body, err)
}

// Revoke takes the approval back that the skill has, and returns who did.
func Revoke(ctx context.Context, c client.Client, s *v1alpha1.Skill, note string) (account string, err error) {
	if account, err = user(ctx, c); err != nil {
		return "", err
	}
	body, err := decisions.Revoke(s, account, note)
	return account, send(ctx, c, s, body, err)
}

// Replace writes the source and the policy of a spec into the skill, and updates s. What else the spec has is not sent.
func Replace(ctx context.Context, c client.Client, s *v1alpha1.Skill, spec *v1alpha1.SkillSpec) error {
	body, err := decisions.Replace(s, spec)
	if body == nil && err == nil {
		return nil
	}
	return send(ctx, c, s, body, err)
}

// user asks the cluster who the user is.
func user(ctx context.Context, c client.Client) (string, error) {
	review := &authenticationv1.SelfSubjectReview{}
	if err := c.Create(ctx, review); err != nil {
		return "", fmt.Errorf("ask the cluster who you are: %w", err)
	}
	if review.Status.UserInfo.Username == "" {
		return "", errors.New("the cluster does not say who you are")
	}
	return review.Status.UserInfo.Username, nil
}

// send sends a patch unless making it failed with err.
func send(ctx context.Context, c client.Client, s *v1alpha1.Skill, body []byte, err error) error {
	if err != nil {
		return err
	}
	read := s.DeepCopy()
	err = c.Patch(ctx, s, client.RawPatch(types.JSONPatchType, body))
	now := &v1alpha1.Skill{}
	if err != nil && c.Get(ctx, client.ObjectKeyFromObject(read), now) == nil {
		return decisions.Refused(err, read, now)
	}
	return err
}
