// SPDX-License-Identifier: Apache-2.0

package motor

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	k8stesting "k8s.io/client-go/testing"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

func aSkill(change ...func(*v1alpha1.Skill)) *v1alpha1.Skill {
	s := &v1alpha1.Skill{
		ObjectMeta: metav1.ObjectMeta{Name: "mail", Namespace: "ns", UID: "skill", Generation: 3},
		Spec:       v1alpha1.SkillSpec{Source: &v1alpha1.SkillSource{Files: []v1alpha1.SkillFile{{Path: manifest, Content: "x"}}}},
		Status: v1alpha1.SkillStatus{
			ObservedGeneration: 3, State: v1alpha1.SkillAwaitingApproval, RevisionName: "mail-1", ContentHash: "sha256:c", PolicyHash: "sha256:p",
			Revisions: []v1alpha1.RevisionSummary{{Name: "mail-1", ContentHash: "sha256:c"}, {Name: "mail-0", ContentHash: "sha256:old"}},
			Source:    &v1alpha1.SkillSourceStatus{ContentHash: "sha256:s"},
		},
	}
	for _, c := range change {
		c(s)
	}
	return s
}

// named has the cluster say who the account is.
func (r *rig) named(user string) *rig {
	r.core.PrependReactor("create", "selfsubjectreviews", func(k8stesting.Action) (bool, runtime.Object, error) {
		return true, &authenticationv1.SelfSubjectReview{Status: authenticationv1.SelfSubjectReviewStatus{UserInfo: authenticationv1.UserInfo{Username: user}}}, nil
	})
	return r
}

// sends returns the patches of skills, which it takes.
func (r *rig) sends(err error) *string {
	var sent string
	r.motor.PrependReactor("patch", "skills", func(a k8stesting.Action) (bool, runtime.Object, error) {
		sent = string(a.(k8stesting.PatchAction).GetPatch())
		return true, aSkill(), err
	})
	return &sent
}

const read = `[{"op":"test","path":"/metadata/uid","value":"skill"},{"op":"test","path":"/metadata/generation","value":3},`

// An approval binds what the person saw, and is refused if the operator has seen something else meanwhile.
func TestDecisionsAboutASkill(t *testing.T) {
	t.Parallel()
	approved := func(s *v1alpha1.Skill) {
		s.Spec.Approval = &v1alpha1.SkillApproval{Decision: v1alpha1.SkillDecisionApproved, ContentHash: "sha256:c", PolicyHash: "sha256:p", ApprovedBy: "eve", Account: "eve"}
	}
	const seen = `{"op":"test","path":"/status/revisionName","value":"mail-1"},{"op":"test","path":"/status/source/contentHash","value":"sha256:s"},`
	for name, tt := range map[string]struct {
		skill *v1alpha1.Skill
		do    func(r *rig) error
		want  string
		says  string
	}{
		"approve": {aSkill(), func(r *rig) error {
			_, err := r.ApproveSkill(r.t.Context(), "mail", "sha256:c", "sha256:p", "read")
			return err
		}, read + seen + `{"op":"add","path":"/spec/approval","value":{"decision":"Approved","contentHash":"sha256:c","policyHash":"sha256:p","approvedBy":"dana","account":"dana","note":"read"}}]`, ""},
		"go back": {aSkill(), func(r *rig) error {
			_, err := r.ApproveSkill(r.t.Context(), "mail", "sha256:old", "sha256:p", "")
			return err
		}, read + seen + `{"op":"add","path":"/spec/approval","value":{"decision":"Approved","contentHash":"sha256:old","policyHash":"sha256:p","approvedBy":"dana","account":"dana"}}]`, ""},
		"another content": {aSkill(), func(r *rig) error {
			_, err := r.ApproveSkill(r.t.Context(), "mail", "sha256:x", "sha256:p", "")
			return err
		}, "", "no revision with the contentHash"},
		"another policy": {aSkill(), func(r *rig) error {
			_, err := r.ApproveSkill(r.t.Context(), "mail", "sha256:c", "sha256:x", "")
			return err
		}, "", "has the hash sha256:p"},
		"too early": {aSkill(func(s *v1alpha1.Skill) { s.Generation = 4 }), func(r *rig) error {
			_, err := r.ApproveSkill(r.t.Context(), "mail", "sha256:c", "sha256:p", "")
			return err
		}, "", "has not looked at the newest change"},
		"reject": {aSkill(), func(r *rig) error { _, err := r.RejectSkill(r.t.Context(), "mail", "sha256:c", "no"); return err },
			read + `{"op":"add","path":"/spec/rejections","value":[{"contentHash":"sha256:c","rejectedBy":"dana","note":"no"}]}]`, ""},
		"reject twice": {aSkill(func(s *v1alpha1.Skill) { s.Spec.Rejections = []v1alpha1.SkillRejection{{ContentHash: "sha256:c"}} }),
			func(r *rig) error { _, err := r.RejectSkill(r.t.Context(), "mail", "sha256:c", ""); return err }, "", "rejected already"},
		"revoke": {aSkill(approved), func(r *rig) error { _, err := r.RevokeSkill(r.t.Context(), "mail", "no"); return err },
			read + `{"op":"add","path":"/spec/approval","value":{"decision":"Revoked","contentHash":"sha256:c","policyHash":"sha256:p","approvedBy":"dana","account":"dana","note":"no"}}]`, ""},
		"revoke nothing": {aSkill(), func(r *rig) error { _, err := r.RevokeSkill(r.t.Context(), "mail", ""); return err }, "", "has no approval"},
		"update": {aSkill(), func(r *rig) error {
			_, err := r.UpdateSkill(r.t.Context(), "mail", func(s *v1alpha1.SkillSpec) error {
				s.Policy.Tools, s.Approval = []v1alpha1.ToolName{"bash"}, &v1alpha1.SkillApproval{}
				return nil
			})
			return err
		}, read + `{"op":"add","path":"/spec/policy","value":{"tools":["bash"]}}]`, ""},
		"update the manifest away": {aSkill(), func(r *rig) error {
			_, err := r.UpdateSkill(r.t.Context(), "mail", func(s *v1alpha1.SkillSpec) error { s.Source.Files[0].Path = "x"; return nil })
			return err
		}, "", "has no file SKILL.md"},
		"update files of elsewhere": {aSkill(func(s *v1alpha1.Skill) {
			s.Spec.Source = &v1alpha1.SkillSource{OCI: &v1alpha1.SkillOCI{Reference: "r"}}
		}), func(r *rig) error {
			_, err := r.UpdateSkill(r.t.Context(), "mail", func(s *v1alpha1.SkillSpec) error {
				s.Source = &v1alpha1.SkillSource{Files: []v1alpha1.SkillFile{{Path: manifest}}}
				return nil
			})
			return err
		}, "", "do not come from its spec"},
		"update nothing": {aSkill(), func(r *rig) error {
			_, err := r.UpdateSkill(r.t.Context(), "mail", func(*v1alpha1.SkillSpec) error { return nil })
			return err
		}, "", "is like that already"},
		"no skill": {aSkill(), func(r *rig) error { _, err := r.RevokeSkill(r.t.Context(), "other", ""); return err }, "", "there is no skill other"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, tt.skill).named("dana")
			sent := r.sends(nil)
			err := tt.do(r)
			if tt.says != "" {
				wantError(t, err, tt.says)
			} else if err != nil {
				t.Fatal(err)
			}
			if *sent != tt.want {
				t.Errorf("sent is %s, want %s", *sent, tt.want)
			}
		})
	}
}

func TestADecisionAboutASkillThatChanged(t *testing.T) {
	t.Parallel()
	r := newRig(t, aSkill()).named("dana")
	r.motor.PrependReactor("patch", "skills", func(k8stesting.Action) (bool, runtime.Object, error) {
		changed := aSkill(func(s *v1alpha1.Skill) { s.Status.RevisionName = "mail-2" })
		if err := r.motor.Tracker().Update(v1alpha1.GroupVersion.WithResource("skills"), changed, "ns"); err != nil {
			t.Error(err)
		}
		return true, nil, errors.New("the server rejected our request")
	})
	_, err := r.ApproveSkill(t.Context(), "mail", "sha256:c", "sha256:p", "")
	wantError(t, err, "it has changed since it was read")
}

func TestAProposal(t *testing.T) {
	t.Parallel()
	files := []v1alpha1.SkillFile{{Path: manifest, Content: "x"}}
	r := newRig(t, aSkill())
	s, err := r.ProposeSkill(t.Context(), Proposal{Name: "new", Files: files, Policy: v1alpha1.SkillPolicy{Domains: []v1alpha1.Domain{"example.org"}}})
	if err != nil || s.Spec.Approval != nil || s.Spec.Policy.Domains[0] != "example.org" || !slices.Equal(s.Spec.Source.Files, files) {
		t.Errorf("%+v, %v", s, err)
	}
	_, err = r.ProposeSkill(t.Context(), Proposal{Name: "mail", Files: files})
	wantError(t, err, "there is a skill mail already")
	_, err = r.ProposeSkill(t.Context(), Proposal{Name: "new"})
	wantError(t, err, "has no file SKILL.md")
	if err := r.DeleteSkill(t.Context(), "new"); err != nil {
		t.Error(err)
	}
	if list, total, err := r.Skills(t.Context(), 10); len(list) != 1 || total != 1 || err != nil {
		t.Errorf("%d of %d, %v", len(list), total, err)
	}
}

// revision is one of the skill with these files, in ConfigMaps that are cut at odd places.
func (r *rig) revision(sizes int, files ...v1alpha1.SkillFile) *v1alpha1.SkillRevision {
	r.t.Helper()
	is := true
	rev := &v1alpha1.SkillRevision{ObjectMeta: metav1.ObjectMeta{
		Name: "mail-1", Namespace: "ns", UID: "rev", OwnerReferences: []metav1.OwnerReference{{UID: "skill", Controller: &is}},
	}}
	var all []byte
	for _, f := range files {
		sum := sha256.Sum256([]byte(f.Content))
		rev.Spec.Files = append(rev.Spec.Files, v1alpha1.RevisionFile{Path: f.Path, Size: int64(len(f.Content)), SHA256: hex.EncodeToString(sum[:])})
		all = append(all, f.Content...)
	}
	for part := range slices.Chunk(all, sizes) {
		name := "part-" + string(rune('a'+len(rev.Spec.ConfigMapNames)))
		rev.Spec.ConfigMapNames = append(rev.Spec.ConfigMapNames, name)
		cm := &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns", OwnerReferences: []metav1.OwnerReference{{UID: "rev", Controller: &is}}},
			BinaryData: map[string][]byte{"content": part},
		}
		if _, err := r.core.CoreV1().ConfigMaps("ns").Create(r.t.Context(), cm, metav1.CreateOptions{}); err != nil {
			r.t.Fatal(err)
		}
	}
	if _, err := r.motor.MotorCortexV1alpha1().SkillRevisions("ns").Create(r.t.Context(), rev, metav1.CreateOptions{}); err != nil {
		r.t.Fatal(err)
	}
	return rev
}

func TestFilesOfASkill(t *testing.T) {
	t.Parallel()
	files := []v1alpha1.SkillFile{{Path: manifest, Content: "abcde"}, {Path: "empty"}, {Path: "scripts/a.sh", Content: strings.Repeat("0123456789", 3)}, {Path: "z", Content: "end"}}
	for _, size := range []int{1, 2, 7, 100} {
		r := newRig(t, aSkill())
		rev := r.revision(size, files...)
		for _, f := range files {
			if got, err := r.SkillFile(t.Context(), rev, f.Path); string(got) != f.Content || err != nil {
				t.Errorf("in parts of %d, %s is %q, %v", size, f.Path, got, err)
			}
		}
		_, err := r.SkillFile(t.Context(), rev, "../x")
		wantError(t, err, "has no file")
	}
	r := newRig(t, aSkill())
	rev := r.revision(100, files...)
	cm, err := r.core.CoreV1().ConfigMaps("ns").Get(t.Context(), "part-a", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	cm.BinaryData["content"] = []byte("something else")
	if err := r.core.Tracker().Update(corev1.SchemeGroupVersion.WithResource("configmaps"), cm, "ns"); err != nil {
		t.Fatal(err)
	}
	_, err = r.SkillFile(t.Context(), rev, manifest)
	wantError(t, err, "are damaged")
	rev.OwnerReferences[0].UID = "another"
	if err := r.motor.Tracker().Update(v1alpha1.GroupVersion.WithResource("skillrevisions"), rev, "ns"); err != nil {
		t.Fatal(err)
	}
	_, err = r.SkillRevision(t.Context(), aSkill(), "mail-1")
	wantError(t, err, "is not one of the skill mail")
}

func TestConsolidate(t *testing.T) {
	t.Parallel()
	p := Proposal{Name: "new", Files: []v1alpha1.SkillFile{{Path: manifest}}}
	for name, tt := range map[string]struct {
		ok, failed int
		goesOn     bool
		runs       string
		want       string
		says       string
	}{
		"all":          {2, 0, false, "a b", `{"runs":2,"succeeded":2,"successRatePercent":100,"meanIterations":4,"toolCalls":6,"errors":0,"tokens":200}`, ""},
		"the same":     {1, 0, false, "a a a", `{"runs":1,"succeeded":1,"successRatePercent":100,"meanIterations":4,"toolCalls":3,"errors":0,"tokens":100}`, ""},
		"enough":       {4, 1, false, "a b c d e", `{"runs":5,"succeeded":4,"successRatePercent":80,"meanIterations":4,"toolCalls":15,"errors":0,"tokens":500}`, ""},
		"too few":      {3, 1, false, "a b c d", "", "3 of 4 runs succeeded"},
		"one goes on":  {1, 0, true, "a b", "", "the run b has not ended"},
		"one is not":   {1, 0, false, "a x", "", "there is no run x"},
		"none":         {1, 0, false, "", "", "name 1 to 20 runs"},
		"far too many": {1, 0, false, "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21", "", "name 1 to 20 runs"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var objects []runtime.Object
			for i := range tt.ok + tt.failed {
				objects = append(objects, aRun(string(rune('a'+i)), ended(i < tt.ok)))
			}
			if tt.goesOn {
				objects = append(objects, aRun("b"))
			}
			_, evidence, err := newRig(t, objects...).Consolidate(t.Context(), p, strings.Fields(tt.runs))
			if tt.says != "" {
				wantError(t, err, tt.says)
				return
			}
			if text, _ := json.Marshal(evidence); string(text) != tt.want || err != nil {
				t.Errorf("%s, %v, want %s", text, err, tt.want)
			}
		})
	}
}
