// SPDX-License-Identifier: Apache-2.0

package skill

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/rights"
	"motorcortex.dev/motorcortex/internal/skill"
	skillstore "motorcortex.dev/motorcortex/internal/skill/store"
)

// subject is the skill that a verb is about.
type subject struct {
	client client.Client
	*v1alpha1.Skill
}

// find reads the skill.
func (c Command) find(ctx context.Context, o *options) (subject, error) {
	cl, namespace, err := c.Connect()
	if err != nil {
		return subject{}, err
	}
	s := subject{client: cl, Skill: &v1alpha1.Skill{}}
	if err := cl.Get(ctx, client.ObjectKey{Namespace: namespace, Name: o.name}, s.Skill); err != nil {
		return s, rights.Refused(fmt.Errorf("get the Skill %s/%s: %w", namespace, o.name, err), rights.ToRead, namespace)
	}
	return s, nil
}

// findRevision reads the skill, and the revision that the flags name.
func (c Command) findRevision(ctx context.Context, o *options) (subject, *v1alpha1.SkillRevision, error) {
	s, err := c.find(ctx, o)
	if err != nil {
		return s, nil, err
	}
	rev, err := s.revision(ctx, o.revision)
	return s, rev, err
}

// revision reads a revision of the skill, the newest if none is named.
func (s subject) revision(ctx context.Context, name string) (*v1alpha1.SkillRevision, error) {
	if name == "" {
		if name = s.Status.RevisionName; name == "" {
			return nil, fmt.Errorf("the Skill %s/%s has no revision yet: %s", s.Namespace, s.Name, shown(s.Status.Message))
		}
	}
	rev := &v1alpha1.SkillRevision{}
	if err := s.client.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: name}, rev); err != nil {
		return nil, rights.Refused(fmt.Errorf("get the SkillRevision %s/%s: %w", s.Namespace, name, err), rights.ToRead, s.Namespace)
	}
	if !metav1.IsControlledBy(rev, s.Skill) {
		return nil, fmt.Errorf("the SkillRevision %s/%s is not one of the Skill %s", s.Namespace, name, s.Name)
	}
	return rev, nil
}

// toApprove is the revision that an approval is for. A person who only widens the policy means the approved content. If there is other
// content as well, a revision that a run has proposed must be approved by its name: it may have come since the person looked.
func (s subject) toApprove(ctx context.Context, name string, widens bool) (*v1alpha1.SkillRevision, error) {
	if name == "" && widens && s.Status.Approved != nil {
		name = s.Status.Approved.RevisionName
	}
	rev, err := s.revision(ctx, name)
	if err != nil || name != "" || rev.Spec.ExtractedFrom == nil || len(s.Status.Revisions) < 2 {
		return rev, err
	}
	return nil, fmt.Errorf("the newest revision %s was proposed by the run %s: look at it with \"kubectl motor skill review %s -n %s --revision %s\", which prints the command that approves it",
		rev.Name, rev.Spec.ExtractedFrom.RunName, s.Name, s.Namespace, rev.Name)
}

// checkContent returns an error if a revision does not have the content that the person looked at, whose hash is looked; "" is any.
func (s subject) checkContent(rev *v1alpha1.SkillRevision, looked string) error {
	if is := rev.Spec.ContentHash; looked != "" && looked != is {
		return fmt.Errorf("the content of the SkillRevision %s/%s is %s, and not the one that you looked at: look at it again with \"kubectl motor skill review %s -n %s --revision %s\"",
			s.Namespace, rev.Name, shown(is), s.Name, s.Namespace, rev.Name)
	}
	return nil
}

// files reads the files of a revision.
func (s subject) files(ctx context.Context, rev *v1alpha1.SkillRevision) ([]skill.File, error) {
	files, err := (&skillstore.Store{Live: s.client}).Files(ctx, rev)
	return files, rights.Refused(err, rights.ToReadFiles, s.Namespace)
}

// shown is a foreign text in a form for a terminal: invisible characters, and bytes that are no character, are spelled out.
func shown(s string) string {
	var b strings.Builder
	for len(s) > 0 {
		c, n := utf8.DecodeRuneInString(s)
		switch {
		case c == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, "<%02X>", s[0])
		case skill.Visible(c) || c == '\t':
			b.WriteRune(c)
		default:
			fmt.Fprintf(&b, "<U+%04X>", c)
		}
		s = s[n:]
	}
	return b.String()
}
