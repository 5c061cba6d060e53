// SPDX-License-Identifier: Apache-2.0

package motor

import (
	"context"
	"errors"
	"fmt"
	"unicode/utf8"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

const (
	// maxCatalogue is the most skills of a list.
	maxCatalogue = 200
	// maxRead is the most bytes of a file that one call returns.
	maxRead = 64 << 10
)

// SkillSummary is a skill in the catalogue.
type SkillSummary struct {
	Name        string              `json:"name"`
	Description string              `json:"description,omitempty"`
	State       v1alpha1.SkillState `json:"state"`
	// Usable says that runs can use the skill with its policy.
	Usable      bool   `json:"usable"`
	Revision    string `json:"revision,omitempty"`
	ContentHash string `json:"contentHash,omitempty"`
	PolicyHash  string `json:"policyHash,omitempty"`
	Approved    string `json:"approvedRevision,omitempty"`
	ApprovedBy  string `json:"approvedBy,omitempty"`
	Runs        int64  `json:"runs"`
	Succeeded   int64  `json:"succeeded"`
	Message     string `json:"message,omitempty"`
}

// Catalogue is the skills of a namespace with their states of trust.
type Catalogue struct {
	Skills []SkillSummary `json:"skills"`
	Total  int            `json:"total"`
}

// Catalogue returns the skills of the namespace, 200 at most.
func (c *Client) Catalogue(ctx context.Context) (*Catalogue, error) {
	skills, total, err := c.Skills(ctx, maxCatalogue)
	if err != nil {
		return nil, err
	}
	all := &Catalogue{Skills: make([]SkillSummary, 0, len(skills)), Total: total}
	for i := range skills {
		all.Skills = append(all.Skills, SummarizeSkill(&skills[i]))
	}
	return all, nil
}

// SummarizeSkill is a skill in a few words.
func SummarizeSkill(skill *v1alpha1.Skill) SkillSummary {
	st := &skill.Status
	s := SkillSummary{
		Name: skill.Name, Description: st.Description, State: st.State, Revision: st.RevisionName, ContentHash: st.ContentHash, PolicyHash: st.PolicyHash,
		Runs: st.Usage.Runs, Succeeded: st.Usage.Succeeded, Message: st.Message, Usable: st.State == v1alpha1.SkillApproved,
	}
	if s.State == "" {
		s.State = v1alpha1.SkillPendingReview
	}
	if a := st.Approved; a != nil {
		s.Approved, s.ApprovedBy = a.RevisionName, a.ApprovedBy
	}
	return s
}

type skillArguments struct {
	Action      string               `json:"action"`
	Name        string               `json:"name"`
	Revision    string               `json:"revision"`
	Path        string               `json:"path"`
	Offset      int                  `json:"offset"`
	Files       []fileArgument       `json:"files"`
	Tools       []v1alpha1.ToolName  `json:"tools"`
	Domains     []v1alpha1.Domain    `json:"domains"`
	Credentials []credentialArgument `json:"credentials"`
	ContentHash string               `json:"contentHash"`
	PolicyHash  string               `json:"policyHash"`
	Note        string               `json:"note"`
}

func (t *Toolset) skill(ctx context.Context, a skillArguments) (any, error) {
	if a.Action != "list" && a.Name == "" {
		return nil, missing(a.Action, "name")
	}
	switch a.Action {
	case "list":
		return t.Client.Catalogue(ctx)
	case "read":
		return t.readSkill(ctx, a)
	case "review":
		return t.reviewSkill(ctx, a)
	case "propose":
		p := Proposal{Name: a.Name, Files: filesOf(a.Files), Policy: policyOf(a.Tools, a.Domains, a.Credentials)}
		return summarized(t.Client.ProposeSkill(ctx, p))
	case "update", actionApprove, "reject", "revoke", "delete":
		if err := t.consent(ctx, ToolSkill, a.Action); err != nil {
			return nil, err
		}
		return t.decideSkill(ctx, a)
	}
	return nil, fmt.Errorf("the action %q is none of list, read, review, propose, update, approve, reject, revoke and delete", a.Action)
}

func (t *Toolset) decideSkill(ctx context.Context, a skillArguments) (any, error) {
	switch {
	case a.Action == "update":
		return summarized(t.Client.UpdateSkill(ctx, a.Name, a.update))
	case a.Action == actionApprove && (a.ContentHash == "" || a.PolicyHash == ""):
		return nil, missing(a.Action, "contentHash", "policyHash")
	case a.Action == actionApprove:
		return summarized(t.Client.ApproveSkill(ctx, a.Name, a.ContentHash, a.PolicyHash, a.Note))
	case a.Action == "reject":
		return summarized(t.Client.RejectSkill(ctx, a.Name, a.ContentHash, a.Note))
	case a.Action == "revoke":
		return summarized(t.Client.RevokeSkill(ctx, a.Name, a.Note))
	}
	return map[string]string{"deleted": a.Name}, t.Client.DeleteSkill(ctx, a.Name)
}

// update makes the spec what the call names. What it does not name stays.
func (a *skillArguments) update(spec *v1alpha1.SkillSpec) error {
	if a.Files != nil {
		spec.Source = &v1alpha1.SkillSource{Files: filesOf(a.Files)}
	}
	given := policyOf(a.Tools, a.Domains, a.Credentials)
	if a.Tools != nil {
		spec.Policy.Tools = given.Tools
	}
	if a.Domains != nil {
		spec.Policy.Domains = given.Domains
	}
	if a.Credentials != nil {
		spec.Policy.Credentials = given.Credentials
	}
	if a.Files == nil && a.Tools == nil && a.Domains == nil && a.Credentials == nil {
		return missing("update", "files, tools, domains or credentials")
	}
	return nil
}

func summarized(skill *v1alpha1.Skill, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return SummarizeSkill(skill), nil
}

func filesOf(files []fileArgument) []v1alpha1.SkillFile {
	all := make([]v1alpha1.SkillFile, 0, len(files))
	for _, f := range files {
		all = append(all, v1alpha1.SkillFile{Path: f.Path, Content: f.Content, Executable: f.Executable})
	}
	return all
}

func policyOf(tools []v1alpha1.ToolName, domains []v1alpha1.Domain, credentials []credentialArgument) v1alpha1.SkillPolicy {
	p := v1alpha1.SkillPolicy{Tools: tools, Domains: domains}
	for i := range credentials {
		c := &credentials[i]
		needed := v1alpha1.SkillCredential{Name: c.Name, Hosts: c.Hosts, Slot: v1alpha1.CredentialSlot{Type: v1alpha1.SlotBearer}}
		if c.Secret != "" {
			ref := c.ref()
			needed.SecretRef = &ref
		}
		p.Credentials = append(p.Credentials, needed)
	}
	return p
}

// skillRead is a skill with its policy and the list of its files.
type skillRead struct {
	SkillSummary
	Policy    v1alpha1.SkillPolicy       `json:"policy"`
	Files     []v1alpha1.RevisionFile    `json:"files,omitempty"`
	Revisions []v1alpha1.RevisionSummary `json:"revisions,omitempty"`
}

// fileRead is a part of a file of a skill.
type fileRead struct {
	Path    string `json:"path"`
	Size    int    `json:"size"`
	Offset  int    `json:"offset"`
	Content string `json:"content"`
	// Next is where to go on reading, 0 at the end.
	Next int `json:"nextOffset,omitempty"`
}

func (t *Toolset) readSkill(ctx context.Context, a skillArguments) (any, error) {
	skill, err := t.Client.Skill(ctx, a.Name)
	if err != nil {
		return nil, err
	}
	if a.Path == "" && skill.Status.RevisionName == "" && a.Revision == "" {
		return skillRead{SkillSummary: SummarizeSkill(skill), Policy: skill.Spec.Policy}, nil
	}
	rev, err := t.Client.SkillRevision(ctx, skill, a.Revision)
	if err != nil {
		return nil, err
	}
	if a.Path == "" {
		return skillRead{SkillSummary: SummarizeSkill(skill), Policy: skill.Spec.Policy, Files: rev.Spec.Files, Revisions: skill.Status.Revisions}, nil
	}
	content, err := t.Client.SkillFile(ctx, rev, a.Path)
	switch {
	case err != nil:
		return nil, err
	case !utf8.Valid(content):
		return nil, fmt.Errorf("the file %q is no text: it has %d bytes", a.Path, len(content))
	case a.Offset < 0 || a.Offset > len(content):
		return nil, fmt.Errorf("the offset %d is not within the %d bytes of the file %q", a.Offset, len(content), a.Path)
	case a.Offset < len(content) && !utf8.RuneStart(content[a.Offset]):
		return nil, errors.New("the offset is within a character: take nextOffset of the part before")
	}
	end := min(a.Offset+maxRead, len(content))
	for end < len(content) && !utf8.RuneStart(content[end]) {
		end--
	}
	r := fileRead{Path: a.Path, Size: len(content), Offset: a.Offset, Content: string(content[a.Offset:end])}
	if end < len(content) {
		r.Next = end
	}
	return r, nil
}

// skillReview is what a person should see before they decide.
type skillReview struct {
	SkillSummary
	Policy v1alpha1.SkillPolicy         `json:"policy"`
	Review *v1alpha1.PolicyReview       `json:"review,omitempty"`
	Facts  v1alpha1.SkillRevisionStatus `json:"facts"`
	From   *v1alpha1.ExtractedFrom      `json:"extractedFrom,omitempty"`
}

func (t *Toolset) reviewSkill(ctx context.Context, a skillArguments) (any, error) {
	skill, err := t.Client.Skill(ctx, a.Name)
	if err != nil {
		return nil, err
	}
	rev, err := t.Client.SkillRevision(ctx, skill, a.Revision)
	if err != nil {
		return nil, err
	}
	r := skillReview{SkillSummary: SummarizeSkill(skill), Policy: skill.Spec.Policy, Facts: rev.Status, From: rev.Spec.ExtractedFrom}
	if review := skill.Status.Review; review != nil && review.RevisionName == rev.Name {
		r.Review = review
	}
	// The hash is that of what is looked at: it is the one to decide by.
	r.Revision, r.ContentHash = rev.Name, rev.Spec.ContentHash
	return r, nil
}

type consolidateArguments struct {
	Name        string               `json:"name"`
	Runs        []string             `json:"runs"`
	Files       []fileArgument       `json:"files"`
	Inputs      []inputArgument      `json:"inputs"`
	Tools       []v1alpha1.ToolName  `json:"tools"`
	Domains     []v1alpha1.Domain    `json:"domains"`
	Credentials []credentialArgument `json:"credentials"`
}

type inputArgument struct {
	Name        string             `json:"name"`
	Type        v1alpha1.InputType `json:"type"`
	Description string             `json:"description"`
	Required    bool               `json:"required"`
}

// consolidated is the result of a consolidation.
type consolidated struct {
	Skill    SkillSummary `json:"skill"`
	Evidence *Evidence    `json:"evidence"`
}

func (t *Toolset) consolidate(ctx context.Context, a consolidateArguments) (any, error) {
	p := Proposal{Name: a.Name, Files: filesOf(a.Files), Policy: policyOf(a.Tools, a.Domains, a.Credentials)}
	for _, in := range a.Inputs {
		p.Policy.Inputs = append(p.Policy.Inputs, v1alpha1.SkillInput{Name: in.Name, Type: in.Type, Description: in.Description, Required: in.Required})
	}
	skill, evidence, err := t.Client.Consolidate(ctx, p, a.Runs)
	if err != nil {
		return nil, err
	}
	return consolidated{Skill: SummarizeSkill(skill), Evidence: evidence}, nil
}
