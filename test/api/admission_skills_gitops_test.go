// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

const gitSkill = `apiVersion: motorcortex.dev/v1alpha1
kind: Skill
metadata: {name: weather, labels: {team: a}}
spec:
  source: {configMaps: [{name: weather}]}
  policy: {domains: [api.example.org], tools: [bash]}
`

func gitApproval(content, more string) string {
	return "  approval: {contentHash: \"" + content + "\", policyHash: \"" + policyDigest + "\"" + more + "}\n"
}

// applied applies a skill as GitOps controllers do, and gives what the API server has then.
func applied(ctx context.Context, t *testing.T, c client.Client, namespace, text, manager string) (*v1alpha1.Skill, error) {
	t.Helper()
	o := fromYAML(t, namespace, text)
	if err := c.Apply(ctx, client.ApplyConfigurationFromUnstructured(o), client.FieldOwner(manager)); err != nil {
		return nil, err
	}
	s := &v1alpha1.Skill{}
	must(t, admin.Get(ctx, client.ObjectKeyFromObject(o), s))
	return s, nil
}

// A service account carries what is in Git, again and again: the second time nothing changes, whoever applies it.
func TestAppliedSkill(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ more, approvedBy string }{
		"with the approver's name": {", approvedBy: alice, note: fine", "alice"},
		"with the hashes alone":    {"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := testContext(t)
			ns := newNamespace(ctx, t)
			sa := "system:serviceaccount:" + ns + ":gitops"
			gitops := person(ctx, t, ns, sa, with(skillEditor, skillApprover, sourceReader))
			if tt.approvedBy == "" {
				tt.approvedBy = sa
			}
			text := gitSkill + gitApproval(thisDigest, tt.more) + "  rejections: [{contentHash: \"" + otherDigest + "\"}]\n"
			first, err := applied(ctx, t, gitops, ns, text, "kustomize-controller")
			must(t, err)
			if a := first.Spec.Approval; a.ApprovedBy != tt.approvedBy || a.Account != sa || first.Spec.Rejections[0].RejectedBy != sa {
				t.Errorf("approval %+v, rejections %+v", a, first.Spec.Rejections)
			}
			for range 2 {
				again, err := applied(ctx, t, gitops, ns, text, "kustomize-controller")
				must(t, err)
				if diff := cmp.Diff(first, again); diff != "" {
					t.Errorf("the second time (-first +second):\n%s", diff)
				}
			}
			// Another controller, and a person without the verb: what is approved stays as it was approved.
			for manager, c := range map[string]client.Client{
				"argocd-controller": person(ctx, t, ns, "system:serviceaccount:"+ns+":argocd", skillEditor), "kubectl": person(ctx, t, ns, "ed@"+ns, skillEditor),
			} {
				again, err := applied(ctx, t, c, ns, text, manager)
				must(t, err)
				if diff := cmp.Diff(first.Spec, again.Spec); diff != "" || again.Generation != first.Generation {
					t.Errorf("by %s, generation %d (-first +second):\n%s", manager, again.Generation, diff)
				}
			}
		})
	}
}

// What Git does not have any more goes, whole.
func TestApprovalThatIsTakenOutOfGit(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	gitops := person(ctx, t, ns, "system:serviceaccount:"+ns+":gitops", with(skillEditor, skillApprover, sourceReader))
	text := gitSkill + gitApproval(thisDigest, ", approvedBy: alice") + "  rejections: [{contentHash: \"" + otherDigest + "\"}]\n"
	_, err := applied(ctx, t, gitops, ns, text, "kustomize-controller")
	must(t, err)
	s, err := applied(ctx, t, gitops, ns, gitSkill+gitApproval(otherDigest, ", approvedBy: bob"), "kustomize-controller")
	must(t, err)
	if a := s.Spec.Approval; a.ContentHash != otherDigest || a.ApprovedBy != "bob" || len(s.Spec.Rejections) != 0 {
		t.Errorf("approval %+v, rejections %+v", a, s.Spec.Rejections)
	}
	s, err = applied(ctx, t, gitops, ns, gitSkill, "kustomize-controller")
	must(t, err)
	if s.Spec.Approval != nil {
		t.Errorf("approval %+v", s.Spec.Approval)
	}
}

// Without the verb, Git approves nothing, and what a person approved is not undone by applying Git without it.
func TestGitWithoutTheVerb(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	gitops := person(ctx, t, ns, "system:serviceaccount:"+ns+":gitops", with(skillEditor, sourceReader))
	_, err := applied(ctx, t, gitops, ns, gitSkill+gitApproval(thisDigest, ""), "kustomize-controller")
	wantRefused(t, err, noApprove)
	s, err := applied(ctx, t, gitops, ns, gitSkill, "kustomize-controller")
	must(t, err)
	before := s.DeepCopy()
	s.Status.Revisions = []v1alpha1.RevisionSummary{{Name: "weather-0", ContentHash: thisDigest}}
	must(t, managerOfAll(t).Status().Patch(ctx, s, client.MergeFrom(before)))
	anna := person(ctx, t, ns, "anna@"+ns, skillApprover)
	must(t, patchJSON(ctx, anna, s, setting("approval", approvalOf(thisDigest))))
	must(t, admin.Get(ctx, client.ObjectKeyFromObject(s), s))
	again, err := applied(ctx, t, gitops, ns, gitSkill, "kustomize-controller")
	must(t, err)
	if diff := cmp.Diff(s, again); diff != "" || again.Spec.Approval == nil {
		t.Errorf("(-first +second):\n%s", diff)
	}
}

// Objects that have none of the fields that the rules speak of.
func TestSkillWithoutSpec(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	ed := person(ctx, t, ns, "ed@"+ns, skillEditor)
	bare := &unstructured.Unstructured{}
	bare.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("Skill"))
	bare.SetNamespace(ns)
	bare.SetName("bare")
	must(t, ed.Create(ctx, bare.DeepCopy()))
	must(t, ed.Patch(ctx, bare.DeepCopy(), mergePatchOf(`{"metadata":{"labels":{"a":"b"}}}`)))
	must(t, managerOfAll(t).Patch(ctx, bare.DeepCopy(), mergePatchOf(`{"metadata":{"labels":{"a":"c"}}}`)))
	must(t, ed.Patch(ctx, bare.DeepCopy(), mergePatchOf(`{"spec":{"policy":{"domains":["example.org"]}}}`)))
	must(t, ed.Patch(ctx, bare.DeepCopy(), mergePatchOf(`{"spec":null}`)))
	// What is no approval at all is refused as such.
	for _, approval := range []string{`{}`, `{"contentHash":"x"}`, `"yes"`, `[]`} {
		wantRefused(t, admin.Patch(ctx, bare.DeepCopy(), mergePatchOf(`{"spec":{"approval":%s}}`, approval)), "approval")
	}
}
