// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// A GitOps controller and the operator do not fight: what is applied again changes nothing, before and after an approval.
func TestSkillIsAppliedTwice(t *testing.T) {
	r := newSkillRig(t)
	account := "system:serviceaccount:" + r.ns + ":kustomize-controller"
	flux := person(r.ctx, t, r.ns, account, rights{"get,create,patch,update,approve skills"})
	apply := func(approval string) string {
		t.Helper()
		o := fromYAML(t, r.ns, `
apiVersion: motorcortex.dev/v1alpha1
kind: Skill
metadata:
  name: send
spec:
  source:
    files:
    - path: SKILL.md
      content: "`+strings.ReplaceAll(skillMD("send", "One."), "\n", `\n`)+`"
  policy:
    domains: [api.motorcortex.dev]
    inputs:
    - name: to`+approval+"\n")
		must(t, flux.Apply(r.ctx, client.ApplyConfigurationFromUnstructured(o), client.FieldOwner("kustomize-controller"), client.ForceOwnership))
		r.key = client.ObjectKey{Namespace: r.ns, Name: "send"}
		sk := r.skill()
		if r.now.IsZero() {
			r.now = sk.CreationTimestamp.Add(time.Second)
		}
		return sk.ResourceVersion
	}
	apply("")
	r.step()
	sk := r.want(v1alpha1.SkillAwaitingApproval, "AwaitingApproval")
	if got := apply(""); got != sk.ResourceVersion {
		t.Error("applying the same again changed the skill")
	}
	approval := fmt.Sprintf("\n  approval:\n    contentHash: %s\n    policyHash: %s\n    approvedBy: Alice in a pull request", sk.Status.ContentHash, sk.Status.PolicyHash)
	apply(approval)
	r.step()
	sk = r.want(v1alpha1.SkillApproved, "Approved")
	if a := sk.Status.Approved; a.ApprovedBy != "Alice in a pull request" || a.Account != account {
		t.Errorf("the record of the approval is %+v", a)
	}
	if got := apply(approval); got != sk.ResourceVersion {
		t.Error("applying the same approval again changed the skill")
	}
	r.step()
	if got := r.skill(); got.ResourceVersion != sk.ResourceVersion {
		t.Errorf("a further pass changed the skill:\n%s", cmp.Diff(sk, got))
	}
	for _, m := range sk.ManagedFields {
		if m.Manager != "kustomize-controller" && m.Subresource != "status" {
			t.Errorf("%s has fields of the spec: %s", m.Manager, m.FieldsV1)
		}
	}
}

func TestTwoHundredSkillsAreListed(t *testing.T) {
	const count = 200
	r := newSkillRig(t)
	names := make(chan string)
	var workers sync.WaitGroup
	for range 4 {
		workers.Go(func() {
			for name := range names {
				sk := &v1alpha1.Skill{ObjectMeta: meta(r.ns, name), Spec: v1alpha1.SkillSpec{
					Source: inline("SKILL.md", skillMD(name, "One."), "references/api.md", strings.Repeat("a long text\n", 1000)),
					Policy: v1alpha1.SkillPolicy{Domains: []v1alpha1.Domain{"api.motorcortex.dev"}},
				}}
				if err := admin.Create(r.ctx, sk); err != nil {
					t.Error(err)
				}
				if _, err := r.rec.Reconcile(r.ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(sk)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	r.now = time.Now()
	r.rec.Source, r.rec.Recorder = r.source.Source, quiet{}
	for i := range count {
		names <- fmt.Sprintf("skill-%d", i)
	}
	close(names)
	workers.Wait()

	got, size := tableOf(r.ctx, t, r.ns, "skills?includeObject=None")
	if len(got.Rows) != count || size > 512<<10 {
		t.Errorf("%d rows of %d in %d bytes", len(got.Rows), count, size)
	}
	var state int
	for i, c := range got.ColumnDefinitions {
		if c.Name == "State" {
			state = i
		}
	}
	for _, row := range got.Rows {
		if row.Cells[state] != string(v1alpha1.SkillAwaitingApproval) {
			t.Errorf("the row is %v", row.Cells)
		}
	}
}

func TestPrintedColumnsOfSkills(t *testing.T) {
	r := approvedSkill(t)
	r.used("run", r.now.Truncate(time.Second), true)
	r.now = r.now.Add(time.Minute)
	r.step()
	columns, row := table(r.ctx, t, r.ns, "skills")
	want := map[string]int32{
		"Name": 0, "State": 0, "Domains": 1, "Runs": 0, "Success": 0, "Last-Used": 0, "Age": 0, "Content": 1, "Policy": 1, "Description": 1, "Message": 1,
	}
	if diff := cmp.Diff(want, columns); diff != "" {
		t.Errorf("columns of a Skill (-want +got):\n%s", diff)
	}
	st := r.skill().Status
	delete(row, "Last-Used")
	wantRow := map[string]any{
		"Name": "send", "State": "Approved", "Domains": `["api.motorcortex.dev"]`, "Runs": 1.0, "Success": "100%", "Content": st.ContentHash,
		"Policy": st.PolicyHash, "Description": "Sends a message.", "Message": st.Message,
	}
	if diff := cmp.Diff(wantRow, row); diff != "" {
		t.Errorf("row of a Skill (-want +got):\n%s", diff)
	}
	rev := r.revision(st.RevisionName)
	_, row = table(r.ctx, t, r.ns, "skillrevisions")
	wantRow = map[string]any{"Name": rev.Name, "Skill": "send", "Content": rev.Spec.ContentHash, "Run": nil}
	if diff := cmp.Diff(wantRow, row); diff != "" {
		t.Errorf("row of a SkillRevision (-want +got):\n%s", diff)
	}
}
