// SPDX-License-Identifier: Apache-2.0

package skills

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/egress/allowlist"
	"motorcortex.dev/motorcortex/internal/engine/runenv"
	"motorcortex.dev/motorcortex/internal/engine/savedcredential"
	"motorcortex.dev/motorcortex/internal/skill"
	skillstore "motorcortex.dev/motorcortex/internal/skill/store"
	"motorcortex.dev/motorcortex/internal/text"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// maxCredentials is how many credentials a proposal names.
const maxCredentials = 16

// proposal is a skill in the workspace.
type proposal struct {
	name, description string
	files             []skill.File
}

// base returns the files of the revision that the run began with, nil if it began with none, or the revision no longer exists.
func (c *Collector) base(ctx context.Context) ([]v1alpha1.RevisionFile, error) {
	pinned := c.env.Run.Status.Skill
	if pinned == nil {
		return nil, nil
	}
	rev, err := c.revision(ctx, pinned.RevisionName)
	if err != nil || rev == nil || rev.Spec.SkillName != pinned.Name || skill.HashOf(rev.Spec.Files) != pinned.ContentHash {
		return nil, err
	}
	return rev.Spec.Files, nil
}

// revision returns the revision of that name, nil if there is none.
func (c *Collector) revision(ctx context.Context, name string) (*v1alpha1.SkillRevision, error) {
	rev := &v1alpha1.SkillRevision{}
	err := c.env.Live.Get(ctx, types.NamespacedName{Namespace: c.env.Run.Namespace, Name: name}, rev)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("get the SkillRevision %s: %w", name, err)
	}
	return rev, nil
}

// propose stores a skill as an unapproved revision, unless there is one with these files. why is the reason not to.
// Repeating it has no further effect, and returns the same.
func (c *Collector) propose(ctx context.Context, p proposal, found *found) (why string, err error) {
	if found.names[p.name] {
		return "another folder of the workspace is the skill " + p.name + " already", nil
	}
	if found.names[p.name] = true; c.looks {
		return "", nil
	}
	listed, pinned := skill.Listed(p.files), c.env.Run.Status.Skill
	hash := skill.HashOf(listed)
	own := pinned != nil && pinned.Name == p.name
	if own && pinned.ContentHash == hash {
		return "", nil
	}
	there, err := c.revision(ctx, skillstore.RevisionName(p.name, hash))
	if err != nil || there != nil && there.Spec.ContentHash == hash && !c.wrote(there) {
		return "", err
	}
	sk, created, why, err := c.skill(ctx, p.name, own)
	if err == nil && why == "" && there == nil {
		why, err = c.tooManyProposals(ctx, sk)
	}
	if err != nil || why != "" {
		return why, err
	}
	if !c.env.Lease.MayDecide() {
		return "", runenv.ErrNoLease
	}
	from := c.extractedFrom(listed, found.base, own)
	rev, err := c.store.Put(ctx, sk, v1alpha1.SkillRevisionSpec{Description: p.description, ExtractedFrom: from}, p.files)
	if err != nil {
		return storeProblem(err)
	}
	c.env.Log.Info("the run proposes a skill", "skill", p.name, "revision", rev.Name, "created", created)
	proposed := v1alpha1.ProposedSkill{
		Name: p.name, RevisionName: rev.Name, ChangedFiles: int32(len(from.ChangedFiles)), DeletedFiles: int32(len(from.DeletedFiles)),
	}
	if created {
		found.Created = append(found.Created, proposed)
	} else {
		found.Updated = append(found.Updated, proposed)
	}
	return "", nil
}

// wrote reports whether a revision is one that this run proposed.
func (c *Collector) wrote(rev *v1alpha1.SkillRevision) bool {
	return rev.Spec.ExtractedFrom != nil && rev.Spec.ExtractedFrom.RunUID == string(c.env.Run.UID)
}

// storeProblem distinguishes objects that the cluster rejects from failures that may pass.
func storeProblem(err error) (why string, _ error) {
	if NotTaken(err) || errors.Is(err, skillstore.ErrFormer) {
		return fmt.Sprintf("the cluster does not take it: %v", err), nil
	}
	return "", err
}

// extractedFrom describes the run's changes to the files that it began with.
func (c *Collector) extractedFrom(listed, base []v1alpha1.RevisionFile, own bool) *v1alpha1.ExtractedFrom {
	run := c.env.Run
	from := &v1alpha1.ExtractedFrom{RunName: run.Name, RunUID: string(run.UID)}
	if own {
		from.RevisionName = run.Status.Skill.RevisionName
	} else {
		base = nil // The new skill has nothing to do with those files.
	}
	from.Credentials, _ = c.saved()
	from.Sources = c.sources()
	diff := skill.Compare(base, listed)
	from.ChangedFiles, from.DeletedFiles = slices.Sorted(slices.Values(slices.Concat(diff.Changed, diff.Added))), diff.Deleted
	return from
}

// maxSources is how many sources of a revision are named.
const maxSources = 16

// sources returns the web pages that the run fetched, each once. Only the sandbox knows what programs fetched.
func (c *Collector) sources() (sources []v1alpha1.WebSource) {
	seen := map[string]bool{}
	for _, s := range c.env.Entries.AllSteps() {
		for _, call := range s.Spec.ToolCalls {
			var args toolapi.FetchArgs
			if call.Tool != toolapi.ToolFetch || !succeeded(&s, call.ID) || json.Unmarshal([]byte(call.Arguments), &args) != nil {
				continue
			}
			at := c.env.Known.Hide(plainURL(args.URL))
			if at == "" || seen[at] || len(sources) == maxSources {
				continue
			}
			seen[at] = true
			sources = append(sources, v1alpha1.WebSource{URL: at, FetchTime: s.CreationTimestamp})
		}
	}
	return sources
}

// plainURL returns an address without its credentials and parameters, "" if it is invalid.
func plainURL(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return ""
	}
	u.User, u.RawQuery, u.Fragment, u.RawFragment, u.ForceQuery = nil, "", "", "", false
	return text.CutBytes(text.Printable(u.String()), maxSource)
}

// maxSource is the most bytes of the address of a source.
const maxSource = 512

// saved returns the credentials that the run has saved: their names, and the form in which a skill declares them for later runs. They have no
// domains; a person decides about those.
func (c *Collector) saved() (names []string, credentials []v1alpha1.SkillCredential) {
	for _, s := range c.env.Entries.AllSteps() {
		for _, call := range s.Spec.ToolCalls {
			if call.Tool != toolapi.ToolSaveCredential || !succeeded(&s, call.ID) {
				continue
			}
			args, err := savedcredential.ParseSave(call.Arguments)
			hosts := hostRules(args.Hosts)
			if err != nil || len(hosts) == 0 {
				continue
			}
			cred := v1alpha1.SkillCredential{
				Name: args.Name, Hosts: hosts, SecretRef: &v1alpha1.SecretKeyRef{Name: savedcredential.SecretName(args.Name), Key: savedcredential.Key},
			}
			if i := slices.Index(names, args.Name); i >= 0 {
				credentials[i] = cred
			} else if len(names) < maxCredentials {
				names, credentials = append(names, args.Name), append(credentials, cred)
			}
		}
	}
	return names, fitPolicy(credentials)
}

func succeeded(s *v1alpha1.MotorStep, callID string) bool {
	return slices.ContainsFunc(s.Status.Results, func(r v1alpha1.ToolResult) bool { return r.CallID == callID && r.OK })
}

// hostRules are hosts as they are written in a policy. They were checked when the credential was saved.
func hostRules(hosts []string) []v1alpha1.Domain {
	var rules []v1alpha1.Domain
	for _, h := range hosts {
		if r, err := allowlist.ParseRule(h); err == nil && !slices.Contains(rules, v1alpha1.Domain(r.String())) {
			rules = append(rules, v1alpha1.Domain(r.String()))
		}
	}
	return rules
}

// fitPolicy returns as many of the credentials as a policy may have.
func fitPolicy(credentials []v1alpha1.SkillCredential) []v1alpha1.SkillCredential {
	for n := len(credentials); n > 0; n-- {
		b, err := json.Marshal(v1alpha1.SkillPolicy{Credentials: credentials[:n]})
		if err == nil && len(b) <= skill.MaxPolicyBytes {
			return credentials[:n]
		}
	}
	return nil
}

// NotTaken reports whether an object cannot be stored, however often that is tried.
func NotTaken(err error) bool {
	return runenv.RefusedForGood(err) || errors.Is(err, skillstore.ErrTaken) || errors.Is(err, skillstore.ErrDamaged)
}
