// SPDX-License-Identifier: Apache-2.0

package credential_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	cli "motorcortex.dev/motorcortex/internal/cli/credential"
)

func forbidden() error {
	return apierrors.NewForbidden(schema.GroupResource{Resource: "things"}, "", nil)
}

func TestListSaysWhoMayUseACredential(t *testing.T) {
	t.Parallel()
	made, changed := metav1.NewTime(time.Now().Add(-48*time.Hour)), metav1.NewTime(time.Now().Add(-2*time.Hour))
	saved := credentialSecret("saved", map[string]string{"motorcortex.dev/hosts": "api.example.org , b.example.org", "motorcortex.dev/saved-by-run": "run-1\x1b[2J"})
	saved.CreationTimestamp = made
	saved.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "m", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", Time: &changed, FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1("{}")}}
	other := credentialSecret("unlabelled", nil)
	other.Labels = nil
	foreign := credentialSecret("foreign", nil)
	foreign.Labels = nil
	elsewhere := credentialSecret("saved", nil)
	elsewhere.Namespace = "other"
	r := newRig(t, interceptor.Funcs{}, saved, other, foreign, elsewhere,
		skillUsing("agentmail", "saved", v1alpha1.SkillApproved), skillUsing("draft", "saved", v1alpha1.SkillNeedsReapproval),
		skillUsing("old", "unlabelled", v1alpha1.SkillApproved), skillUsing("new", "gone", v1alpha1.SkillApproved))
	code, out, errs := r.run("list", "-o", "json")
	var got struct{ Items []cli.Entry }
	if err := json.Unmarshal([]byte(out), &got); err != nil || code != 0 || errs != "" {
		t.Fatalf("%d, %v, %s%s", code, err, out, errs)
	}
	use := func(skill string, approved bool) cli.Use {
		return cli.Use{Skill: skill, Credential: "weather_key", Key: "value", Hosts: []v1alpha1.Domain{"api.example.org"}, Approved: approved}
	}
	want := []cli.Entry{
		{Namespace: "ns", Name: "gone", Missing: true, Skills: []cli.Use{use("new", true)}},
		{Namespace: "ns", Name: "saved", Hosts: []string{"api.example.org", "b.example.org"}, Skills: []cli.Use{use("agentmail", true), use("draft", false)}, SavedByRun: "run-1\x1b[2J"},
		{Namespace: "ns", Name: "unlabelled", Skills: []cli.Use{use("old", true)}},
	}
	for i := range got.Items {
		if e := &got.Items[i]; e.Name == "saved" && (e.ChangeTime.Sub(changed.Time).Abs() > time.Second || e.CreationTime.Sub(made.Time).Abs() > time.Second) {
			t.Errorf("made %s, changed %s", e.CreationTime, e.ChangeTime)
		}
		got.Items[i].CreationTime, got.Items[i].ChangeTime = nil, nil
	}
	if diff := cmp.Diff(want, got.Items); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	code, out, _ = r.run("list")
	table := `NAME         HOSTS                           SKILLS                           AGE       CHANGED   SAVED BY
gone                                         new                              missing
saved        api.example.org,b.example.org   agentmail, draft (not approved)  2d        120m      run-1\u001b[2J
`
	if squeeze := strings.NewReplacer(" ", ""); code != 0 || !strings.HasPrefix(squeeze.Replace(out), squeeze.Replace(table)) {
		t.Errorf("code %d, prints\n%s", code, out)
	}
	r.want(0, []string{"list", "-o", "name"}, "secret/gone\nsecret/saved\nsecret/unlabelled\n")
	r.want(0, []string{"ls", "-A"}, "NAMESPACE", "other", "ns ")
	for _, format := range []string{"json", "yaml", "jsonl", "name"} {
		if _, out, _ := r.run("list", "-A", "-o", format); strings.Contains(out, "earlier") || strings.Contains(out, "YW4gZWFybGllciBvbmU") {
			t.Errorf("-o %s shows a value: %s", format, out)
		}
	}
}

func TestListWithFewRights(t *testing.T) {
	t.Parallel()
	kind := ""
	r := newRig(t, interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
		_, skills := list.(*v1alpha1.SkillList)
		if skills == (kind == "skills") {
			return forbidden()
		}
		return c.List(ctx, list, opts...)
	}}, credentialSecret("saved", nil))
	kind = "skills"
	r.want(0, []string{"list"}, "note: you may not list skills", "saved")
	kind = "secrets"
	r.want(1, []string{"list"}, "list Secrets with the label motorcortex.dev/component=credential", "forbidden")
}

// The annotation is in the metadata, and so is what kubectl apply copied into it.
func TestListWarnsOfACopiedValue(t *testing.T) {
	t.Parallel()
	r := newRig(t, interceptor.Funcs{}, credentialSecret("saved", map[string]string{"kubectl.kubernetes.io/last-applied-configuration": value}), credentialSecret("other", nil))
	r.want(0, []string{"list"}, "kubectl annotate secret saved -n ns kubectl.kubernetes.io/last-applied-configuration-")
	if _, out, errs := r.run("list", "-o", "json"); strings.Count(out, `"copied": true`) != 1 || errs != "" {
		t.Errorf("prints %s%s", out, errs)
	}
}

func TestNoCredentials(t *testing.T) {
	t.Parallel()
	r := newRig(t, interceptor.Funcs{})
	r.want(0, []string{"list"}, "There are no credentials.")
	r.want(0, []string{"list", "-o", "json"}, `"items": []`)
}
