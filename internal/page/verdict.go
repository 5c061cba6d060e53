// SPDX-License-Identifier: Apache-2.0

package page

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"
	authorizationv1 "k8s.io/api/authorization/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/rights"
	"motorcortex.dev/motorcortex/internal/cli/show"
	"motorcortex.dev/motorcortex/internal/cli/skill/decision"
	"motorcortex.dev/motorcortex/internal/skill"
	skillstore "motorcortex.dev/motorcortex/internal/skill/store"
)

// mayApprove asks whether the person may decide about the skill.
func mayApprove(ctx context.Context, c client.Client, s *v1alpha1.Skill) (bool, error) {
	return may(ctx, c, &authorizationv1.ResourceAttributes{
		Namespace: s.Namespace, Name: s.Name, Verb: "approve", Group: v1alpha1.GroupVersion.Group, Resource: "skills",
	})
}

// unreadable says why the person cannot read the files of a revision, "" if they can. The files are in ConfigMaps.
func unreadable(ctx context.Context, c client.Client, rev *v1alpha1.SkillRevision) (string, error) {
	for _, name := range rev.Spec.ConfigMapNames {
		readable, err := may(ctx, c, &authorizationv1.ResourceAttributes{Namespace: rev.Namespace, Name: name, Verb: "get", Resource: "configmaps"})
		if err != nil {
			return "", err
		}
		if !readable {
			return fmt.Sprintf("You cannot read the content of the files, which is in ConfigMaps. Have %s bound to you in the namespace %s.", rights.ToReadFiles, rev.Namespace), nil
		}
	}
	return "", nil
}

func may(ctx context.Context, c client.Client, what *authorizationv1.ResourceAttributes) (bool, error) {
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: what}}
	if err := c.Create(ctx, review); err != nil {
		return false, fmt.Errorf("ask the cluster what you may do: %w", err)
	}
	return review.Status.Allowed, nil
}

// skillDiff compares one file of two revisions: revision, and base, which is "" where nothing was approved.
func skillDiff(ctx context.Context, q *query) (any, error) {
	s, err := q.readSkill(ctx)
	if err != nil {
		return nil, err
	}
	values := q.URL.Query()
	now, program, err := q.file(ctx, s, values.Get("revision"), values.Get("path"))
	if err != nil {
		return nil, err
	}
	var before []byte
	var was bool
	if base := values.Get("base"); base != "" {
		if before, was, err = q.file(ctx, s, base, values.Get("path")); err != nil {
			return nil, err
		}
	}
	v := map[string]any{"wasProgram": was, "program": program}
	if isText(before) && isText(now) {
		// Its time is bounded: it gives up on finding the common lines of long files.
		v["diff"] = udiff.Unified(cmp.Or(values.Get("base"), "nothing"), values.Get("revision"), show.Text(string(before)), show.Text(string(now)))
		if v["diff"] == "" && !bytes.Equal(before, now) {
			v["note"] = "The contents differ, though they look the same here: one has a character as it is, and the other has it spelled out."
		}
	} else {
		v["note"] = fmt.Sprintf("The file is no text: %d bytes are now %d.", len(before), len(now))
	}
	return v, nil
}

// file reads a file of a revision, nothing if the revision does not have it.
func (q *query) file(ctx context.Context, s *v1alpha1.Skill, revision, path string) (content []byte, program bool, err error) {
	if revision == "" {
		return nil, false, problem{http.StatusBadRequest, "The revision is missing."}
	}
	rev, err := q.readRevision(ctx, s, revision)
	if err != nil {
		return nil, false, err
	}
	if !slices.ContainsFunc(rev.Spec.Files, func(f v1alpha1.RevisionFile) bool { return f.Path == path }) {
		return nil, false, nil
	}
	f, err := (&skillstore.Store{Live: q.Client}).File(ctx, rev, path)
	return f.Content, f.Executable, err
}

func isText(content []byte) bool { return utf8.Valid(content) && !bytes.ContainsRune(content, 0) }

// verdict is what a person decided about a skill, with all that they were shown.
type verdict struct {
	UID         string    `json:"uid"`
	Revision    string    `json:"revision"`
	ContentHash string    `json:"contentHash"`
	PolicyHash  string    `json:"policyHash"`
	Seen        seenSkill `json:"seen"`
	Note        string    `json:"note"`
}

// decidedAbout reads the verdict, and the skill, which must be as the person was shown it.
func (q *query) decidedAbout(ctx context.Context) (*verdict, *v1alpha1.Skill, *v1alpha1.SkillRevision, error) {
	var d verdict
	if err := q.read(&d); err != nil {
		return nil, nil, nil, err
	}
	s, err := q.readSkill(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	if d.Revision == "" {
		return nil, nil, nil, problem{http.StatusBadRequest, "The revision is missing."}
	}
	rev, err := q.readRevision(ctx, s, d.Revision)
	if err != nil {
		return nil, nil, nil, err
	}
	if string(s.UID) != d.UID || rev.Spec.ContentHash != d.ContentHash || skill.PolicyHash(&s.Spec.Policy) != d.PolicyHash || seenOf(s) != d.Seen {
		return nil, nil, nil, problem{http.StatusConflict, fmt.Sprintf("%s/%s is not as you were shown it any more: look at it again. Nothing was sent.", s.Namespace, s.Name)}
	}
	return &d, s, rev, nil
}

// approveSkill approves the content and the policy that the person was shown.
func approveSkill(ctx context.Context, q *query) (any, error) {
	d, s, rev, err := q.decidedAbout(ctx)
	if err != nil {
		return nil, err
	}
	// A person who approves files must be able to look at them.
	switch why, err := unreadable(ctx, q.Client, rev); {
	case err != nil:
		return nil, err
	case why != "":
		return nil, problem{http.StatusForbidden, why + " Nothing was sent."}
	}
	if err := skill.CheckPolicy(&s.Spec.Policy); err != nil {
		return nil, refused("The policy cannot be granted: %s", err)
	}
	approval := v1alpha1.SkillApproval{Decision: v1alpha1.SkillDecisionApproved, ContentHash: d.ContentHash, PolicyHash: d.PolicyHash, Note: d.Note}
	if err := decision.Approve(ctx, q.Client, s, &s.Spec.Policy, &approval); err != nil {
		return nil, err
	}
	return map[string]string{"sent": "approved"}, nil
}

// rejectSkill rejects the content that the person was shown.
func rejectSkill(ctx context.Context, q *query) (any, error) {
	d, s, _, err := q.decidedAbout(ctx)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(s.Spec.Rejections, func(r v1alpha1.SkillRejection) bool { return r.ContentHash == d.ContentHash }) {
		return nil, problem{http.StatusConflict, "This content is rejected already."}
	}
	if err := decision.Reject(ctx, q.Client, s, &v1alpha1.SkillRejection{ContentHash: d.ContentHash, Note: d.Note}); err != nil {
		return nil, err
	}
	return map[string]string{"sent": "rejected"}, nil
}
