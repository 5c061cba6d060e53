// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// What the roles for skills give, without their reading part.
var (
	skillEditor   = rights{"create,update,patch skills"}
	skillApprover = rights{"patch,approve skills"}
	// sourceReader is who may name ConfigMaps as the source of a skill.
	sourceReader = rights{"get configmaps"}
)

// What a refusal of each rule says.
const (
	noApprove     = "may not decide about this skill"
	ofTheOperator = "the accounts of the operator neither approve nor reject nor change skills"
	createFirst   = "create the skill first, without spec.approval"
	noContent     = "the operator has no such content of this skill"
	noUpdate      = "need the verb update on skills"
	noPolicy      = "needs the verb update or approve on skills"
	noAccount     = "spec.approval.account is who writes the approval"
	noApprovedBy  = "spec.approval.approvedBy is who approves"
	noRejectedBy  = "rejectedBy of a new entry in spec.rejections is who rejects"
)

var policyDigest = "sha256:" + strings.Repeat("c", 64)

func skillOf(namespace, name string, change ...func(*v1alpha1.Skill)) *v1alpha1.Skill {
	s := &v1alpha1.Skill{
		ObjectMeta: meta(namespace, name),
		Spec: v1alpha1.SkillSpec{
			Source: &v1alpha1.SkillSource{Files: []v1alpha1.SkillFile{{Path: "SKILL.md", Content: "---\nname: " + name + "\ndescription: d\n---\n"}}},
			Policy: v1alpha1.SkillPolicy{Domains: []v1alpha1.Domain{"api.example.org"}},
		},
	}
	for _, c := range change {
		c(s)
	}
	return s
}

// hashedSkill is a skill of which the operator has hashed those contents.
func hashedSkill(ctx context.Context, t *testing.T, namespace, name string, hashes ...string) *v1alpha1.Skill {
	t.Helper()
	s := skillOf(namespace, name)
	must(t, admin.Create(ctx, s))
	before := s.DeepCopy()
	for i, hash := range hashes {
		s.Status.Revisions = append(s.Status.Revisions, v1alpha1.RevisionSummary{Name: fmt.Sprintf("%s-%d", name, i), ContentHash: hash, CreationTime: metav1.Now()})
	}
	must(t, managerOfAll(t).Status().Patch(ctx, s, client.MergeFrom(before)))
	return s
}

// managerOfAll is the manager with every right there is, so that only the policies refuse it something.
func managerOfAll(t *testing.T) client.WithWatch {
	t.Helper()
	c, err := clientAs(managerUser, "system:masters")
	must(t, err)
	return c
}

// approvalOf is an approval of a content as JSON, with further fields as "name", "value".
func approvalOf(content string, more ...string) string {
	fields := map[string]string{"contentHash": content, "policyHash": policyDigest}
	for i := 0; i+1 < len(more); i += 2 {
		fields[more[i]] = more[i+1]
	}
	b, err := json.Marshal(fields)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// setting is a patch that adds or replaces fields of the spec.
func setting(fields ...string) string {
	var ops []string
	for i := 0; i+1 < len(fields); i += 2 {
		ops = append(ops, fmt.Sprintf(`{"op":"add","path":"/spec/%s","value":%s}`, fields[i], fields[i+1]))
	}
	return "[" + strings.Join(ops, ",") + "]"
}

const rejectionOf = `[{"contentHash":"%s"%s}]`

// Who may write what into a skill that nobody decided about, and into one that is approved.
func TestWhoMayDecideAboutSkills(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	fresh := hashedSkill(ctx, t, ns, "fresh", thisDigest)
	hashedSkill(ctx, t, ns, "other", otherDigest)
	approved := hashedSkill(ctx, t, ns, "approved", thisDigest)
	must(t, patchJSON(ctx, admin, approved, setting("approval", approvalOf(thisDigest))))
	users := map[string]client.Client{"operator": dryRun(managerOfAll(t))}
	for name, r := range map[string]rights{
		"editor": skillEditor, "approver": skillApprover, "both": with(skillEditor, skillApprover), "patcher": {"patch skills"},
		"of these": {"patch skills", "approve skills fresh approved"}, "of another": {"patch skills", "approve skills other"},
		// The right to approve runs is not the right to approve skills.
		"of runs": with(skillEditor, approver),
		// An agent has an account like any other.
		"system:serviceaccount:" + ns + ":agent":  skillEditor,
		"system:serviceaccount:" + ns + ":gitops": with(skillEditor, skillApprover),
	} {
		user := name + "@" + ns
		if strings.HasPrefix(name, "system:") {
			user = name
		}
		user = strings.ReplaceAll(user, " ", "-")
		users[strings.TrimPrefix(name, "system:serviceaccount:"+ns+":")] = dryRun(person(ctx, t, ns, user, r))
	}
	proxy, err := clientAs(egressProxyUser, "system:masters")
	must(t, err)
	users["proxy"] = dryRun(proxy)
	source := `{"oci":{"reference":"registry.example.org/other:1"}}`
	patches := map[string]struct {
		skill *v1alpha1.Skill
		patch string
	}{
		"approve":                  {fresh, setting("approval", approvalOf(thisDigest))},
		"approve what is not":      {fresh, setting("approval", approvalOf(policyDigest))},
		"approve another's":        {fresh, setting("approval", approvalOf(otherDigest))},
		"approve for another":      {fresh, setting("approval", approvalOf(thisDigest, "approvedBy", "root"))},
		"reject":                   {fresh, setting("rejections", fmt.Sprintf(rejectionOf, thisDigest, ""))},
		"widen":                    {fresh, setting("policy", `{"domains":["example.org"]}`)},
		"widen and approve":        {fresh, setting("policy", `{"domains":["example.org"]}`, "approval", approvalOf(thisDigest))},
		"replace":                  {fresh, setting("source", source)},
		"replace and approve":      {fresh, setting("source", source, "approval", approvalOf(thisDigest))},
		"hold":                     {fresh, `[{"op":"add","path":"/metadata/finalizers","value":["example.org/keep"]}]`},
		"give away":                {fresh, `[{"op":"add","path":"/metadata/ownerReferences","value":[{"apiVersion":"v1","kind":"ConfigMap","name":"gone","uid":"0"}]}]`},
		"describe":                 {fresh, `[{"op":"add","path":"/metadata/annotations","value":{"note":"n"}}]`},
		"revoke":                   {approved, setting("approval/decision", `"Revoked"`)},
		"revoke what is gone":      {approved, setting("approval/decision", `"Revoked"`, "approval/contentHash", `"`+otherDigest+`"`)},
		"take away":                {approved, `[{"op":"remove","path":"/spec/approval"}]`},
		"extend":                   {approved, setting("approval/expirationTime", `"2099-01-01T00:00:00Z"`)},
		"annotate":                 {approved, setting("approval/note", `"checked"`)},
		"widen what is approved":   {approved, setting("policy", `{"domains":["example.org"]}`)},
		"replace what is approved": {approved, setting("source", source)},
	}
	decisions := []string{
		"approve", "approve what is not", "approve another's", "approve for another", "reject", "widen and approve", "replace and approve",
		"revoke", "revoke what is gone", "take away", "extend", "annotate",
	}
	every := func(message string, also map[string]string) map[string]string {
		want := map[string]string{}
		for _, name := range decisions {
			want[name] = message
		}
		maps.Copy(want, also)
		return want
	}
	// What a person cannot approve, whatever their rights.
	limits := map[string]string{"approve what is not": noContent, "approve another's": noContent, "approve for another": noApprovedBy}
	content := map[string]string{"replace": noUpdate, "replace and approve": noUpdate, "replace what is approved": noUpdate, "hold": noUpdate, "give away": noUpdate}
	merged := func(sets ...map[string]string) map[string]string {
		all := map[string]string{}
		for _, s := range sets {
			maps.Copy(all, s)
		}
		return all
	}
	policies := map[string]string{"widen": noPolicy, "widen what is approved": noPolicy}
	nothing := map[string]string{
		"widen": ofTheOperator, "replace": ofTheOperator, "widen what is approved": ofTheOperator, "replace what is approved": ofTheOperator,
	}
	for user, want := range map[string]map[string]string{
		"editor":     every(noApprove, nil),
		"agent":      every(noApprove, nil),
		"of runs":    every(noApprove, nil),
		"patcher":    every(noApprove, merged(content, policies, map[string]string{"replace and approve": noApprove})),
		"of another": every(noApprove, merged(content, policies, map[string]string{"replace and approve": noApprove})),
		"approver":   merged(limits, content),
		"of these":   merged(limits, content),
		"both":       limits,
		"gitops":     nil,
		"operator":   every(ofTheOperator, nothing),
		"proxy":      every(ofTheOperator, nothing),
	} {
		for name, p := range patches {
			t.Run(user+" "+name, func(t *testing.T) { wantAdmitted(t, patchJSON(ctx, users[user], p.skill, p.patch), want[name]) })
		}
	}
}

// What may be in a skill when it is created.
func TestSkillsAreCreatedBeforeTheyAreApproved(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	everything := person(ctx, t, ns, "both@"+ns, with(skillEditor, skillApprover))
	editor := person(ctx, t, ns, "editor@"+ns, skillEditor)
	agent := person(ctx, t, ns, "system:serviceaccount:"+ns+":agent", skillEditor)
	gitops := person(ctx, t, ns, "system:serviceaccount:"+ns+":gitops", with(skillEditor, skillApprover))
	proxy, err := clientAs(egressProxyUser, "system:masters")
	must(t, err)
	approve := func(s *v1alpha1.Skill) {
		s.Spec.Approval = &v1alpha1.SkillApproval{ContentHash: thisDigest, PolicyHash: policyDigest, ApprovedBy: "alice"}
	}
	reject := func(s *v1alpha1.Skill) { s.Spec.Rejections = []v1alpha1.SkillRejection{{ContentHash: thisDigest}} }
	revoke := func(s *v1alpha1.Skill) { approve(s); s.Spec.Approval.Decision = v1alpha1.SkillDecisionRevoked }
	proposed := func(s *v1alpha1.Skill) { s.Spec.Source = nil }
	status := func(s *v1alpha1.Skill) {
		approve(s)
		s.Status.Revisions = []v1alpha1.RevisionSummary{{Name: "r", ContentHash: thisDigest}}
	}
	type change = func(*v1alpha1.Skill)
	for name, tt := range map[string]struct {
		as     client.Client
		change []change
		want   string
	}{
		"an editor's":                      {editor, nil, ""},
		"an editor's approval":             {editor, []change{approve}, noApprove},
		"an editor's rejection":            {editor, []change{reject}, noApprove},
		"an agent's approval":              {agent, []change{approve}, noApprove},
		"an approver's":                    {everything, nil, ""},
		"an approver's approval":           {everything, []change{approve}, createFirst},
		"an approver's revocation":         {everything, []change{revoke}, createFirst},
		"an approver's with a status":      {everything, []change{status}, createFirst},
		"an approver's rejection":          {everything, []change{reject}, ""},
		"a service account's approval":     {gitops, []change{approve}, ""},
		"a service account's rejection":    {gitops, []change{reject}, ""},
		"the manager's for a run":          {managerOfAll(t), []change{proposed}, ""},
		"the manager's with a source":      {managerOfAll(t), nil, ofTheOperator},
		"the manager's approval":           {managerOfAll(t), []change{proposed, approve}, ofTheOperator},
		"the manager's revocation":         {managerOfAll(t), []change{proposed, revoke}, ofTheOperator},
		"the manager's rejection":          {managerOfAll(t), []change{proposed, reject}, ofTheOperator},
		"the egress proxy's, for nobody":   {proxy, []change{proposed}, ofTheOperator},
		"an administrator's approval":      {admin, []change{approve}, createFirst},
		"one without a spec, by an editor": {editor, []change{func(s *v1alpha1.Skill) { s.Spec = v1alpha1.SkillSpec{} }}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			wantAdmitted(t, tt.as.Create(ctx, skillOf(ns, "new", tt.change...), client.DryRunAll), tt.want)
		})
	}
}

// Who names a ConfigMap as the source of a skill may read it: the manager reads it for them.
func TestSkillsFromConfigMapsNeedTheRightToThem(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	named := func(names ...string) func(*v1alpha1.Skill) {
		return func(s *v1alpha1.Skill) {
			s.Spec.Source = &v1alpha1.SkillSource{}
			for _, name := range names {
				s.Spec.Source.ConfigMaps = append(s.Spec.Source.ConfigMaps, v1alpha1.SkillConfigMap{Name: name})
			}
		}
	}
	var many []string
	for i := range 17 {
		many = append(many, fmt.Sprintf("mine-%d", i))
	}
	none := person(ctx, t, ns, "none@"+ns, skillEditor)
	all := person(ctx, t, ns, "all@"+ns, with(skillEditor, rights{"get configmaps"}))
	mine := person(ctx, t, ns, "mine@"+ns, with(skillEditor, rights{"get configmaps mine also " + strings.Join(many, " ")}))
	for name, tt := range map[string]struct {
		as    client.Client
		names []string
		want  string
	}{
		"no right":              {none, []string{"mine"}, "may not get the ConfigMap mine"},
		"all of them":           {all, append([]string{"mine", "other"}, many...), ""},
		"some":                  {mine, []string{"mine", "also"}, ""},
		"some and another":      {mine, []string{"mine", "also", "other"}, "may not get the ConfigMap other"},
		"as many as are looked": {mine, many[:16], ""},
		"more than are looked":  {mine, many, "can name 16 new ones at once"},
		"the last is another's": {mine, append(many[:15:15], "other"), "may not get the ConfigMap other"},
	} {
		t.Run(name, func(t *testing.T) {
			wantAdmitted(t, tt.as.Create(ctx, skillOf(ns, "new", named(tt.names...)), client.DryRunAll), tt.want)
		})
	}
	// What is named already stays, whoever changes something else.
	kept := skillOf(ns, "kept", named("other"))
	must(t, admin.Create(ctx, kept))
	wantAdmitted(t, patchJSON(ctx, dryRun(mine), kept, setting("source/configMaps/0/path", `"references"`)), "")
	wantAdmitted(t, patchJSON(ctx, dryRun(mine), kept, setting("source/configMaps/-", `{"name":"mine"}`)), "")
	wantAdmitted(t, patchJSON(ctx, dryRun(mine), kept, setting("source/configMaps/-", `{"name":"others"}`)), "may not get the ConfigMap others")
}

// Who decided is written by the API server, and whoever changes the rest of the skill leaves it alone.
func TestDecisionsAboutSkillsAreStamped(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	anna, bob := "anna@"+ns, "bob@"+ns
	asAnna, asBob := person(ctx, t, ns, anna, with(skillEditor, skillApprover)), person(ctx, t, ns, bob, skillApprover)
	ed := person(ctx, t, ns, "ed@"+ns, skillEditor)
	s := hashedSkill(ctx, t, ns, "weather", thisDigest, otherDigest)
	want := func(what string, approval *v1alpha1.SkillApproval, rejections ...v1alpha1.SkillRejection) {
		t.Helper()
		must(t, admin.Get(ctx, client.ObjectKeyFromObject(s), s))
		if approval != nil {
			approval.Decision, approval.PolicyHash = v1alpha1.SkillDecisionApproved, policyDigest
		}
		if diff := cmp.Diff(v1alpha1.SkillSpec{Source: s.Spec.Source, Policy: s.Spec.Policy, Approval: approval, Rejections: rejections}, s.Spec); diff != "" {
			t.Fatalf("%s (-want +got):\n%s", what, diff)
		}
	}
	must(t, patchJSON(ctx, asAnna, s, setting("approval", approvalOf(thisDigest, "account", "root", "note", "fine"))))
	byAnna := func() *v1alpha1.SkillApproval {
		return &v1alpha1.SkillApproval{ContentHash: thisDigest, ApprovedBy: anna, Account: anna, Note: "fine"}
	}
	want("anna approves and says that root does", byAnna())

	must(t, patchJSON(ctx, ed, s, setting("policy", `{"domains":["example.org"]}`)))
	want("an editor changes the policy", byAnna())
	must(t, patchJSON(ctx, ed, s, setting("approval", approvalOf(thisDigest, "note", "fine"))))
	want("an editor writes the same approval without names", byAnna())
	must(t, patchJSON(ctx, ed, s, setting("approval", approvalOf(thisDigest, "note", "fine", "account", "ed@"+ns))))
	want("an editor writes the same approval with another account", byAnna())
	wantRefused(t, patchJSON(ctx, ed, s, setting("approval", approvalOf(thisDigest, "note", "fine", "approvedBy", "ed@"+ns))), noApprove)
	put := s.DeepCopy()
	put.Spec.Approval = &v1alpha1.SkillApproval{ContentHash: thisDigest, PolicyHash: policyDigest, Note: "fine"}
	put.Labels = map[string]string{"team": "a"}
	must(t, ed.Update(ctx, put))
	want("an editor replaces the whole skill", byAnna())

	must(t, asBob.Patch(ctx, s.DeepCopy(), mergePatchOf(`{"spec":{"approval":{"contentHash":"%s"}}}`, otherDigest)))
	want("bob approves by a merge patch", &v1alpha1.SkillApproval{ContentHash: otherDigest, ApprovedBy: bob, Account: bob, Note: "fine"})
	wantRefused(t, patchJSON(ctx, asBob, s, setting("approval", approvalOf(thisDigest, "approvedBy", anna))), noApprovedBy+": "+bob)
	must(t, patchJSON(ctx, asBob, s, `[{"op":"remove","path":"/spec/approval"}]`))
	want("bob takes it away", nil)

	rejection := func(content, more string) string { return fmt.Sprintf(rejectionOf, content, more) }
	must(t, patchJSON(ctx, asAnna, s, setting("rejections", rejection(otherDigest, ""))))
	want("anna rejects", nil, v1alpha1.SkillRejection{ContentHash: otherDigest, RejectedBy: anna})
	must(t, patchJSON(ctx, ed, s, setting("rejections", rejection(otherDigest, ""))))
	want("an editor writes the same rejection", nil, v1alpha1.SkillRejection{ContentHash: otherDigest, RejectedBy: anna})
	must(t, patchJSON(ctx, asBob, s, setting("rejections/-", `{"contentHash":"`+thisDigest+`"}`)))
	want("bob rejects another", nil, v1alpha1.SkillRejection{ContentHash: otherDigest, RejectedBy: anna}, v1alpha1.SkillRejection{ContentHash: thisDigest, RejectedBy: bob})
	must(t, patchJSON(ctx, asBob, s, setting("rejections/0/note", `"no"`)))
	want("bob says more", nil, v1alpha1.SkillRejection{ContentHash: otherDigest, RejectedBy: bob, Note: "no"}, v1alpha1.SkillRejection{ContentHash: thisDigest, RejectedBy: bob})
	wantRefused(t, patchJSON(ctx, asBob, s, setting("rejections/1/rejectedBy", `"`+anna+`"`)), noRejectedBy+": "+bob)
	wantRefused(t, patchJSON(ctx, ed, s, `[{"op":"remove","path":"/spec/rejections/0"}]`), noApprove)
	must(t, patchJSON(ctx, asBob, s, `[{"op":"remove","path":"/spec/rejections"}]`))
	want("bob takes them back", nil)
}

// Without stamping, clients write who they are, and nothing else is accepted.
func TestDecisionsAboutSkillsWithoutStamping(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t, withoutStamping, "true")
	anna, sa := "anna@"+ns, "system:serviceaccount:"+ns+":gitops"
	asAnna, asGitOps := person(ctx, t, ns, anna, skillApprover), person(ctx, t, ns, sa, with(skillEditor, skillApprover))
	ed := person(ctx, t, ns, "ed@"+ns, skillEditor)
	s := hashedSkill(ctx, t, ns, "weather", thisDigest)
	for name, tt := range map[string]struct {
		as     client.WithWatch
		fields []string
		want   string
	}{
		"neither name":         {asAnna, nil, noAccount + ": " + anna},
		"no account":           {asAnna, []string{"approvedBy", anna}, noAccount},
		"no approvedBy":        {asAnna, []string{"account", anna}, noApprovedBy + ": " + anna},
		"both":                 {asAnna, []string{"account", anna, "approvedBy", anna}, ""},
		"another account":      {asAnna, []string{"account", "root", "approvedBy", anna}, noAccount},
		"for another":          {asAnna, []string{"account", anna, "approvedBy", "root"}, noApprovedBy},
		"out of Git":           {asGitOps, []string{"account", sa, "approvedBy", "alice"}, ""},
		"out of Git, by it":    {asGitOps, []string{"account", sa}, ""},
		"out of Git, unsigned": {asGitOps, []string{"approvedBy", "alice"}, noAccount},
		"out of Git, forged":   {asGitOps, []string{"account", anna, "approvedBy", anna}, noAccount},
	} {
		t.Run(name, func(t *testing.T) {
			wantAdmitted(t, patchJSON(ctx, dryRun(tt.as), s, setting("approval", approvalOf(thisDigest, tt.fields...))), tt.want)
		})
	}
	wantRefused(t, patchJSON(ctx, asAnna, s, setting("rejections", fmt.Sprintf(rejectionOf, thisDigest, ""))), noRejectedBy+": "+anna)
	must(t, patchJSON(ctx, asAnna, s, setting("rejections", fmt.Sprintf(rejectionOf, thisDigest, `,"rejectedBy":"`+anna+`"`))))
	must(t, patchJSON(ctx, asAnna, s, setting("approval", approvalOf(thisDigest, "account", anna, "approvedBy", anna))))
	wantRefused(t, patchJSON(ctx, ed, s, setting("approval/account", `"ed@`+ns+`"`)), noApprove)
	must(t, patchJSON(ctx, ed, s, setting("policy", `{"domains":["example.org"]}`)))
}

// The largest skill that the kind lets through costs less than what the API server spends on policies.
func TestPoliciesAffordTheLargestSkill(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	anna := person(ctx, t, ns, "anna@"+ns, with(skillEditor, skillApprover))
	bob := person(ctx, t, ns, "bob@"+ns, skillApprover)
	hashes := make([]string, 20)
	for i := range hashes {
		hashes[i] = fmt.Sprintf("sha256:%064d", i)
	}
	s := hashedSkill(ctx, t, ns, "weather", hashes...)
	s.Spec.Source.Files = nil
	for i := range 64 {
		s.Spec.Source.Files = append(s.Spec.Source.Files, v1alpha1.SkillFile{Path: fmt.Sprintf("references/%d.md", i), Content: strings.Repeat("x", 12<<10)})
		s.Spec.Policy.Domains = append(s.Spec.Policy.Domains[:i:i], v1alpha1.Domain(fmt.Sprintf("d%d.example.org", i)))
	}
	for i := range 16 {
		s.Spec.Rejections = append(s.Spec.Rejections, v1alpha1.SkillRejection{ContentHash: hashes[i], Note: strings.Repeat("n", 1024)})
	}
	s.Spec.Approval = &v1alpha1.SkillApproval{
		ContentHash: hashes[19], PolicyHash: policyDigest, Note: strings.Repeat("n", 1024), ExpirationTime: &metav1.Time{Time: time.Now().Add(time.Hour)},
	}
	must(t, anna.Update(ctx, s))
	before := s.DeepCopy()
	for i := range s.Spec.Rejections {
		s.Spec.Rejections[i].Note = strings.Repeat("m", 1024)
	}
	s.Spec.Approval.Note, s.Spec.Policy.Domains = strings.Repeat("m", 1024), s.Spec.Policy.Domains[:63]
	must(t, bob.Patch(ctx, s, client.MergeFrom(before)))
	if a, r := s.Spec.Approval, s.Spec.Rejections[15]; a.Account != "bob@"+ns || a.ApprovedBy != "bob@"+ns || r.RejectedBy != "bob@"+ns {
		t.Errorf("approved by %s of %s, rejected by %s", a.ApprovedBy, a.Account, r.RejectedBy)
	}
}
