// SPDX-License-Identifier: Apache-2.0

// Package decision writes into a Skill what a person decided about it, and other files, in one request. The API server refuses the request if the skill is not the one
// that was read.
package decision

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// maxRejections is the most rejections that a skill has.
const maxRejections = 16

// subject is the skill that a decision is about.
type subject struct {
	client client.Client
	*v1alpha1.Skill
}

// Approve writes an approval, and the policy that it is for if that is another one. It fills in who approves, and updates sk.
func Approve(ctx context.Context, c client.Client, sk *v1alpha1.Skill, policy *v1alpha1.SkillPolicy, approval *v1alpha1.SkillApproval) error {
	s := subject{c, sk}
	var err error
	if approval.Account, err = s.user(ctx); err != nil {
		return err
	}
	approval.ApprovedBy = approval.Account
	spec := s.Spec.DeepCopy()
	spec.Policy, spec.Approval = *policy, approval
	changes := []operation{{Op: "add", Path: "/spec/approval", Value: approval}}
	if !equality.Semantic.DeepEqual(spec.Policy, s.Spec.Policy) {
		changes = append(changes, operation{Op: "add", Path: "/spec/policy", Value: spec.Policy})
	}
	return s.patch(ctx, spec, changes, s.shows()...)
}

// Reject writes a rejection. It fills in who rejects, and updates sk.
func Reject(ctx context.Context, c client.Client, sk *v1alpha1.Skill, rejection *v1alpha1.SkillRejection) error {
	s := subject{c, sk}
	var err error
	if rejection.RejectedBy, err = s.user(ctx); err != nil {
		return err
	}
	spec, changes, err := s.withRejection(*rejection)
	if err != nil {
		return err
	}
	return s.patch(ctx, spec, changes)
}

// Revoke takes the approval back that the skill has, and returns who did.
func Revoke(ctx context.Context, c client.Client, sk *v1alpha1.Skill, note string) (account string, err error) {
	s := subject{c, sk}
	spec := s.Spec.DeepCopy()
	spec.Approval.Decision, spec.Approval.Note = v1alpha1.SkillDecisionRevoked, note
	if spec.Approval.Account, err = s.user(ctx); err != nil {
		return "", err
	}
	spec.Approval.ApprovedBy = spec.Approval.Account
	return spec.Approval.Account, s.patch(ctx, spec, []operation{{Op: "add", Path: "/spec/approval", Value: spec.Approval}})
}

// Replace writes the source and the policy of a spec into the skill, and updates sk. What else the spec has is not sent.
func Replace(ctx context.Context, c client.Client, sk *v1alpha1.Skill, spec *v1alpha1.SkillSpec) error {
	var changes []operation
	if !equality.Semantic.DeepEqual(spec.Source, sk.Spec.Source) {
		changes = append(changes, operation{Op: "add", Path: "/spec/source", Value: spec.Source})
	}
	if !equality.Semantic.DeepEqual(spec.Policy, sk.Spec.Policy) {
		changes = append(changes, operation{Op: "add", Path: "/spec/policy", Value: spec.Policy})
	}
	return subject{c, sk}.patch(ctx, spec, changes)
}

// withRejection is the spec with one rejection more. If the maximum is reached, it removes one of a content that is not there any more.
func (s subject) withRejection(rejection v1alpha1.SkillRejection) (*v1alpha1.SkillSpec, []operation, error) {
	spec := s.Spec.DeepCopy()
	if len(spec.Rejections) == 0 {
		spec.Rejections = []v1alpha1.SkillRejection{rejection}
		return spec, []operation{{Op: "add", Path: "/spec/rejections", Value: spec.Rejections}}, nil
	}
	var changes []operation
	if len(spec.Rejections) >= maxRejections {
		gone := slices.IndexFunc(spec.Rejections, func(r v1alpha1.SkillRejection) bool {
			return !slices.ContainsFunc(s.Status.Revisions, func(rev v1alpha1.RevisionSummary) bool { return rev.ContentHash == r.ContentHash })
		})
		if gone < 0 {
			return nil, nil, fmt.Errorf("there are %d rejections already: take one out of spec.rejections", len(spec.Rejections))
		}
		changes = append(changes, operation{Op: "remove", Path: "/spec/rejections/" + strconv.Itoa(gone)})
	}
	return spec, append(changes, operation{Op: "add", Path: "/spec/rejections/-", Value: rejection}), nil
}

// user asks the cluster who the user is.
func (s subject) user(ctx context.Context) (string, error) {
	review := &authenticationv1.SelfSubjectReview{}
	if err := s.client.Create(ctx, review); err != nil {
		return "", fmt.Errorf("ask the cluster who you are: %w", err)
	}
	if review.Status.UserInfo.Username == "" {
		return "", errors.New("the cluster does not say who you are")
	}
	return review.Status.UserInfo.Username, nil
}

// operation is one of a JSON patch.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// shows tests that the operator has seen nothing else since the skill was read: an approval counts as given in view of the status at its
// arrival.
func (s subject) shows() []operation {
	var tests []operation
	if s.Status.RevisionName != "" {
		tests = append(tests, operation{Op: "test", Path: "/status/revisionName", Value: s.Status.RevisionName})
	}
	// A source can go back to a former content while the newest revision stays.
	if src := s.Status.Source; src != nil && src.ContentHash != "" {
		tests = append(tests, operation{Op: "test", Path: "/status/source/contentHash", Value: src.ContentHash})
	}
	return tests
}

// patch sends the changes of the spec in one request. The API server refuses it if the skill is not the one that was read, or a test fails.
func (s subject) patch(ctx context.Context, spec *v1alpha1.SkillSpec, changes []operation, tests ...operation) error {
	if equality.Semantic.DeepEqual(s.Spec, v1alpha1.SkillSpec{}) {
		// Nothing can be added to a spec that is not there.
		changes = []operation{{Op: "add", Path: "/spec", Value: spec}}
	}
	body, err := json.Marshal(slices.Concat([]operation{
		{Op: "test", Path: "/metadata/uid", Value: s.UID}, {Op: "test", Path: "/metadata/generation", Value: s.Generation},
	}, tests, changes))
	if err != nil {
		return err
	}
	err = s.client.Patch(ctx, s.Skill, client.RawPatch(types.JSONPatchType, body))
	// The API server does not report that a test failed.
	now := subject{Skill: &v1alpha1.Skill{}}
	if err != nil && s.client.Get(ctx, client.ObjectKeyFromObject(s.Skill), now.Skill) == nil &&
		(now.UID != s.UID || now.Generation != s.Generation || len(tests) > 0 && !slices.Equal(now.shows(), tests)) {
		return fmt.Errorf("it has changed since it was read, look at it and decide again: %w", err)
	}
	return err
}
