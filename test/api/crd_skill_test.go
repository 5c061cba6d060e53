// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// What a policy may name is exact, and of its own namespace.
func TestSkillsThatAreRefused(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	for name, tt := range map[string]struct {
		policy v1alpha1.SkillPolicy
		want   string
	}{
		"exact":            {v1alpha1.SkillPolicy{Dependencies: &v1alpha1.SkillDependencies{NPM: []string{"@a/b@1.0.0-rc.1+x"}, Pip: []string{"a[b]==1.0"}, Apt: []string{"jq=1.7.1-3"}}}, ""},
		"a range":          {v1alpha1.SkillPolicy{Dependencies: &v1alpha1.SkillDependencies{NPM: []string{"a@1"}}}, "npm"},
		"another range":    {v1alpha1.SkillPolicy{Dependencies: &v1alpha1.SkillDependencies{NPM: []string{"a@1.x.0"}}}, "npm"},
		"no version":       {v1alpha1.SkillPolicy{Dependencies: &v1alpha1.SkillDependencies{Pip: []string{"a"}}}, "pip"},
		"at least":         {v1alpha1.SkillPolicy{Dependencies: &v1alpha1.SkillDependencies{Pip: []string{"a>=1"}}}, "pip"},
		"an option":        {v1alpha1.SkillPolicy{Dependencies: &v1alpha1.SkillDependencies{NPM: []string{"--registry=https://a.example@1.0.0"}}}, "npm"},
		"a URL":            {v1alpha1.SkillPolicy{Domains: []v1alpha1.Domain{"https://a.example.org"}}, "host name"},
		"no host":          {v1alpha1.SkillPolicy{Credentials: []v1alpha1.SkillCredential{{Name: "key", Hosts: []v1alpha1.Domain{}}}}, "hosts"},
		"no such tool":     {v1alpha1.SkillPolicy{Tools: []v1alpha1.ToolName{"browser"}}, "tools"},
		"a name that lies": {v1alpha1.SkillPolicy{}, "single hyphens"},
	} {
		sk := &v1alpha1.Skill{ObjectMeta: metav1.ObjectMeta{Namespace: ns, GenerateName: "s"}, Spec: v1alpha1.SkillSpec{Policy: tt.policy}}
		if tt.want == "single hyphens" {
			sk.Name, sk.GenerateName = "a--b", ""
		}
		err := admin.Create(ctx, sk, client.DryRunAll)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// A Secret of another namespace cannot even be written down.
	text := `{"apiVersion":"motorcortex.dev/v1alpha1","kind":"Skill","metadata":{"name":"a"},"spec":{"policy":{"credentials":[{"name":"key","hosts":["a.example.org"],
		"secretRef":{"name":"s","key":"k","namespace":"other"}}]}}}`
	sk := &v1alpha1.Skill{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "a"}}
	err := admin.Patch(ctx, sk, client.RawPatch("application/apply-patch+yaml", []byte(text)), client.DryRunAll, client.FieldOwner("test"), client.FieldValidation("Strict"))
	if err == nil || !strings.Contains(err.Error(), "namespace") {
		t.Errorf("a Secret of another namespace: %v", err)
	}
}

func TestReviewHasNoFilesOfItsOwn(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	run := &v1alpha1.MotorRun{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "review"},
		Spec: v1alpha1.MotorRunSpec{
			Task: "look", SkillRef: &v1alpha1.SkillRef{Name: "mail"}, SkillReview: true,
			Files: []v1alpha1.InputFile{{Path: "scripts/send.py", Content: new("harmless")}},
		},
	}
	if err := admin.Create(ctx, run, client.DryRunAll); err == nil || !strings.Contains(err.Error(), "the files of the skill") {
		t.Errorf("%v", err)
	}
}
