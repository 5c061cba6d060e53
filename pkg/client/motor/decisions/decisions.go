// SPDX-License-Identifier: Apache-2.0

// Package decisions makes the JSON patches that write into a Skill what a person decided about it, and other files. It has no client: programs send them
// with their own. The API server refuses a patch if the skill is not the one that was read.
package decisions

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/api/equality"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// MaxRejections is the most rejections that a skill has.
const MaxRejections = 16

// Approve is an approval, and the policy that it is for if the skill has another one. The caller says who approves.
func Approve(s *v1alpha1.Skill, policy *v1alpha1.SkillPolicy, approval *v1alpha1.SkillApproval) ([]byte, error) {
	spec := s.Spec.DeepCopy()
	spec.Policy, spec.Approval = *policy, approval
	changes := []operation{{Op: "add", Path: "/spec/approval", Value: approval}}
	if !equality.Semantic.DeepEqual(spec.Policy, s.Spec.Policy) {
		changes = append(changes, operation{Op: "add", Path: "/spec/policy", Value: spec.Policy})
	}
	return patch(s, spec, changes, shows(s)...)
}

// Reject is one rejection more. At MaxRejections it takes the place of one whose content has no revision any more.
func Reject(s *v1alpha1.Skill, rejection v1alpha1.SkillRejection) ([]byte, error) {
	spec := s.Spec.DeepCopy()
	if len(spec.Rejections) == 0 {
		spec.Rejections = []v1alpha1.SkillRejection{rejection}
		return patch(s, spec, []operation{{Op: "add", Path: "/spec/rejections", Value: spec.Rejections}})
	}
	var changes []operation
	if len(spec.Rejections) >= MaxRejections {
		gone := slices.IndexFunc(spec.Rejections, func(r v1alpha1.SkillRejection) bool {
			return !slices.ContainsFunc(s.Status.Revisions, func(rev v1alpha1.RevisionSummary) bool { return rev.ContentHash == r.ContentHash })
		})
		if gone < 0 {
			return nil, fmt.Errorf("there are %d rejections already: take one out of spec.rejections", len(spec.Rejections))
		}
		changes = append(changes, operation{Op: "remove", Path: "/spec/rejections/" + strconv.Itoa(gone)})
	}
	return patch(s, spec, append(changes, operation{Op: "add", Path: "/spec/rejections/-", Value: rejection}))
}

// Revoke takes back the approval that the skill has. account is who does.
func Revoke(s *v1alpha1.Skill, account, note string) ([]byte, error) {
	if s.Spec.Approval == nil {
		return nil, errors.New("the skill has no approval that could be taken back")
	}
	spec := s.Spec.DeepCopy()
	a := spec.Approval
	a.Decision, a.Note, a.ApprovedBy, a.Account = v1alpha1.SkillDecisionRevoked, note, account, account
	return patch(s, spec, []operation{{Op: "add", Path: "/spec/approval", Value: a}})
}

// Replace is the source and the policy of a spec. What else the spec has is not in the patch. A patch that changes nothing is nil.
func Replace(s *v1alpha1.Skill, spec *v1alpha1.SkillSpec) ([]byte, error) {
	var changes []operation
	if !equality.Semantic.DeepEqual(spec.Source, s.Spec.Source) {
		changes = append(changes, operation{Op: "add", Path: "/spec/source", Value: spec.Source})
	}
	if !equality.Semantic.DeepEqual(spec.Policy, s.Spec.Policy) {
		changes = append(changes, operation{Op: "add", Path: "/spec/policy", Value: spec.Policy})
	}
	if len(changes) == 0 {
		return nil, nil
	}
	return patch(s, spec, changes)
}

// ErrChanged is of a skill that is not the one that was read.
var ErrChanged = errors.New("it has changed since it was read, look at it and decide again")

// Refused is err with the reason for which the API server did not take a patch: it does not report that a test failed. now is the skill as it is.
func Refused(err error, read, now *v1alpha1.Skill) error {
	if now.UID != read.UID || now.Generation != read.Generation || !slices.Equal(shows(now), shows(read)) {
		return fmt.Errorf("%w: %w", ErrChanged, err)
	}
	return err
}

// operation is one of a JSON patch.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// shows tests that the operator has seen nothing else since the skill was read: an approval counts as given in view of the status at its arrival.
func shows(s *v1alpha1.Skill) []operation {
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

func patch(s *v1alpha1.Skill, spec *v1alpha1.SkillSpec, changes []operation, tests ...operation) ([]byte, error) {
	if equality.Semantic.DeepEqual(s.Spec, v1alpha1.SkillSpec{}) {
		// Nothing can be added to a spec that is not there.
		changes = []operation{{Op: "add", Path: "/spec", Value: spec}}
	}
	return json.Marshal(slices.Concat([]operation{
		{Op: "test", Path: "/metadata/uid", Value: s.UID}, {Op: "test", Path: "/metadata/generation", Value: s.Generation},
	}, tests, changes))
}
