// SPDX-License-Identifier: Apache-2.0

package skills

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/engine/enginetest"
	"motorcortex.dev/motorcortex/internal/engine/redacting"
	"motorcortex.dev/motorcortex/internal/engine/savedcredential"
	"motorcortex.dev/motorcortex/internal/skill"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

func manifestOf(name, body string) string {
	return fmt.Sprintf("---\nname: %s\ndescription: Does %s.\n---\n%s\n", name, name, body)
}

func TestSkillIsCreated(t *testing.T) {
	t.Parallel()
	r := newSkillRig(t)
	r.did("save_credential", `{"name":"mail_key","path":"k","hosts":["api.example.org","api.example.org:443","not a host"]}`)
	r.did("save_credential", `{"name":"other_key","path":"k","hosts":["example.org"]}`)
	r.sandbox.has(".", "SKILL.md", manifestOf("mail", "How to send mail."), "references/api.md", "POST /send", "scripts/send.sh", "#!/bin/sh\ntrue\n")
	hash := ""
	for range 2 { // The second time as after a crash before it was recorded.
		got := r.collect()
		if got == nil || len(got.Created) != 1 {
			t.Fatalf("%+v", got)
		}
		p := got.Created[0]
		want := &v1alpha1.SkillsResult{Created: []v1alpha1.ProposedSkill{{Name: "mail", RevisionName: p.RevisionName, ChangedFiles: 3}}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		rev := r.revision(p)
		from := &v1alpha1.ExtractedFrom{
			RunName: "run", RunUID: "run-uid", ChangedFiles: []string{"SKILL.md", "references/api.md", "scripts/send.sh"}, Credentials: []string{"mail_key", "other_key"},
		}
		if diff := cmp.Diff(from, rev.Spec.ExtractedFrom); diff != "" || rev.Spec.Description != "Does mail." || !rev.Spec.Files[2].Executable {
			t.Errorf("-want +got:\n%s\n%+v", diff, rev.Spec)
		}
		hash = rev.Spec.ContentHash
	}
	if names := r.revisions(); len(names) != 1 || !strings.HasPrefix(hash, "sha256:") {
		t.Errorf("there are %v", names)
	}
	var sk v1alpha1.Skill
	r.must(r.client.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "mail"}, &sk))
	credential := func(name, host string) v1alpha1.SkillCredential {
		return v1alpha1.SkillCredential{Name: name, Hosts: []v1alpha1.Domain{v1alpha1.Domain(host)}, SecretRef: &v1alpha1.SecretKeyRef{Name: savedcredential.SecretName(name), Key: "value"}}
	}
	want := v1alpha1.SkillSpec{Policy: v1alpha1.SkillPolicy{Credentials: []v1alpha1.SkillCredential{credential("mail_key", "api.example.org"), credential("other_key", "example.org")}}}
	if diff := cmp.Diff(want, sk.Spec); diff != "" {
		t.Errorf("the skill (-want +got):\n%s", diff)
	}
	// Another run that writes the same has written nothing.
	r.run.Name, r.run.UID, r.steps = "later", "later-uid", nil
	r.must(r.client.DeleteAllOf(t.Context(), &v1alpha1.MotorStep{}, client.InNamespace("ns")))
	if got := r.collect(); got != nil {
		t.Errorf("of the same it says %+v", got)
	}
	// And one that writes something else has changed it.
	r.sandbox.clear()
	r.sandbox.has("skills/mail", "SKILL.md", manifestOf("mail", "How to send more mail."))
	if got := r.collect(); got == nil || len(got.Updated) != 1 || len(got.Created)+len(got.Rejected) != 0 || r.revision(got.Updated[0]).Spec.ExtractedFrom.RunName != "later" {
		t.Errorf("%+v", got)
	}
}

func TestSkillIsRepaired(t *testing.T) {
	t.Parallel()
	before := []string{"SKILL.md", manifestOf("mail", "POST /v1/send"), "references/a.md", "a", "scripts/send.py", "v1"}
	for name, tt := range map[string]struct {
		folders map[string][]string
		want    v1alpha1.SkillsResult
		from    v1alpha1.ExtractedFrom
	}{
		"unchanged": {folders: map[string][]string{".": before}},
		"changed, added and deleted": {
			folders: map[string][]string{".": {"SKILL.md", manifestOf("mail", "POST /v2/send"), "assets/b", "b", "scripts/send.py", "v1"}},
			want:    v1alpha1.SkillsResult{Updated: []v1alpha1.ProposedSkill{{Name: "mail", ChangedFiles: 2, DeletedFiles: 1}}},
			from:    v1alpha1.ExtractedFrom{ChangedFiles: []string{"SKILL.md", "assets/b"}, DeletedFiles: []string{"references/a.md"}},
		},
		"moved": {
			folders: map[string][]string{"skills/mail": {"SKILL.md", manifestOf("mail", "POST /v1/send"), "references/a.md", "a"}},
			want:    v1alpha1.SkillsResult{Updated: []v1alpha1.ProposedSkill{{Name: "mail", DeletedFiles: 1}}},
			from:    v1alpha1.ExtractedFrom{DeletedFiles: []string{"scripts/send.py"}},
		},
		"deleted": {
			folders: map[string][]string{"other": {"scripts/send.py", "v1"}},
			want:    v1alpha1.SkillsResult{Rejected: []v1alpha1.RejectedSkill{{Path: ".", Message: "SKILL.md of the skill mail was deleted"}}},
		},
		"broken": {
			folders: map[string][]string{".": {"SKILL.md", "---\nname: mail\n---\n"}},
			want:    v1alpha1.SkillsResult{Rejected: []v1alpha1.RejectedSkill{{Path: "."}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newSkillRig(t)
			base := r.pin("mail", before...)
			for folder, files := range tt.folders {
				r.sandbox.has(folder, files...)
			}
			got := r.collect()
			if got == nil {
				got = &v1alpha1.SkillsResult{}
			}
			for i := range got.Updated {
				rev := r.revision(got.Updated[i])
				tt.from.RunName, tt.from.RunUID, tt.from.RevisionName = "run", "run-uid", base.Name
				if diff := cmp.Diff(&tt.from, rev.Spec.ExtractedFrom); diff != "" {
					t.Errorf("-want +got:\n%s", diff)
				}
				got.Updated[i].RevisionName = ""
			}
			if name == "broken" && len(got.Rejected) == 1 && strings.Contains(got.Rejected[0].Message, "description") {
				got.Rejected[0].Message = ""
			}
			if diff := cmp.Diff(&tt.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if n := len(r.revisions()); n != 1+len(tt.want.Updated) {
				t.Errorf("there are %d revisions", n)
			}
		})
	}
}

func TestSkillThatIsRenamedIsAnother(t *testing.T) {
	t.Parallel()
	r := newSkillRig(t)
	r.pin("mail", "SKILL.md", manifestOf("mail", "x"))
	r.sandbox.has(".", "SKILL.md", manifestOf("post", "x"))
	got := r.collect()
	if got == nil || len(got.Created) != 1 || got.Created[0].Name != "post" || len(got.Rejected)+len(got.Updated) != 0 {
		t.Fatalf("%+v", got)
	}
	if from := r.revision(got.Created[0]).Spec.ExtractedFrom; from.RevisionName != "" || len(from.ChangedFiles) != 1 {
		t.Errorf("%+v", from)
	}
}

// One rejected folder does not affect the others.
func TestSkillsOfSeveralFolders(t *testing.T) {
	t.Parallel()
	r := newSkillRig(t)
	_, values := enginetest.Secrets()
	r.sandbox.has(".", "SKILL.md", manifestOf("root", "x"))
	r.sandbox.has("skills/bad", "SKILL.md", "no front matter")
	r.sandbox.has("skills/good", "SKILL.md", manifestOf("good", "x"))
	r.sandbox.has("skills/leak", "SKILL.md", manifestOf("leak", "x"), "references/keys.md", "one\nkey = "+enginetest.AWSKey+"\n")
	r.sandbox.has("skills/own", "SKILL.md", manifestOf("own", "x"), "references/"+values["api_key"], "x")
	r.sandbox.has("skills/known", "SKILL.md", manifestOf("known", values["api_key"]))
	r.sandbox.has("again", "SKILL.md", manifestOf("root", "y"))
	r.sandbox.list.Folders = append(r.sandbox.list.Folders,
		toolapi.SkillFolder{Path: "skills/linked", Problem: toolapi.ProblemNotRegular},
		toolapi.SkillFolder{Path: "skills/huge", Problem: toolapi.ProblemTooLarge},
		toolapi.SkillFolder{Path: "skills/" + values["login"], Problem: toolapi.ProblemUnreadable},
		toolapi.SkillFolder{Path: "skills/link", Files: []toolapi.SkillFile{{Path: "SKILL.md"}, {Path: "references", Problem: toolapi.ProblemNotRegular}}},
		toolapi.SkillFolder{Path: "skills/none", Files: []toolapi.SkillFile{{Path: "scripts/x"}}},
	)
	r.sandbox.files["skills/link/SKILL.md"] = ""
	r.sandbox.list.Folders[len(r.sandbox.list.Folders)-2].Files[0].SHA256 = toolapi.SHA256(nil)
	r.sandbox.list.Omitted = 3
	got := r.collect()
	names := func(list []v1alpha1.ProposedSkill) (names []string) {
		for _, p := range list {
			names = append(names, p.Name)
		}
		return names
	}
	if diff := cmp.Diff([]string{"root", "good"}, names(got.Created)); diff != "" || len(got.Updated) > 0 {
		t.Errorf("-want +got:\n%s", diff)
	}
	said := map[string]string{}
	for _, r := range got.Rejected {
		said[r.Path] = r.Message
	}
	if !strings.HasPrefix(said["skills/bad"], "SKILL.md: ") {
		t.Errorf("of the broken one it says %q", said["skills/bad"])
	}
	delete(said, "skills/bad")
	want := map[string]string{
		"skills/leak":               "references/keys.md: it holds what looks like a secret (aws-access-token, line 2)",
		"skills/own":                "references/<credential:api_key>: a credential is in its name",
		"skills/known":              "SKILL.md: it holds what looks like a secret (credential)",
		"again":                     "another folder of the workspace is the skill root already",
		"skills/linked":             "it is a link, or no regular file or folder",
		"skills/huge":               "it has more than 256 files, or more than 10 MiB",
		"skills/<credential:login>": "it cannot be read",
		"skills/link":               "references: it is a link, or no regular file or folder",
		"skills":                    "at least 3 further folders were not looked at: 16 are the most",
	}
	if diff := cmp.Diff(want, said); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// A file that a person has seen and approved stays in the skill, even if it looks like a secret. A credential of the run never does.
func TestSecretsThatAPersonHasSeen(t *testing.T) {
	t.Parallel()
	r := newSkillRig(t)
	example := "An example: " + enginetest.AWSKey + "\n"
	r.pin("mail", "SKILL.md", manifestOf("mail", "x"), "references/keys.md", example)
	r.sandbox.has(".", "SKILL.md", manifestOf("mail", "y"), "references/keys.md", example)
	if got := r.collect(); got == nil || len(got.Updated) != 1 {
		t.Errorf("%+v", got)
	}
	r.sandbox.clear()
	r.sandbox.has(".", "SKILL.md", manifestOf("mail", "y"), "references/keys.md", "More: "+example)
	if got := r.collect(); got == nil || len(got.Rejected) != 1 {
		t.Errorf("%+v", got)
	}
	r.sandbox.clear()
	r.known.Add(redacting.ModelKeyName, []byte("An example"))
	r.sandbox.has(".", "SKILL.md", manifestOf("mail", "z"), "references/keys.md", example)
	if got := r.collect(); got == nil || len(got.Rejected) != 1 {
		t.Errorf("%+v", got)
	}
}

// Only the bytes that were read are stored, whatever a sandbox reports about its files.
func TestSkillsOfALyingSandbox(t *testing.T) {
	t.Parallel()
	good := manifestOf("mail", "x")
	for name, tt := range map[string]struct {
		lie  func(*toldSandbox)
		want string
	}{
		"another content":  {func(s *toldSandbox) { s.files["SKILL.md"] = manifestOf("mail", "y") }, "SKILL.md: it changed while it was read"},
		"a longer content": {func(s *toldSandbox) { s.files["SKILL.md"] += "more" }, "SKILL.md: it changed while it was read"},
		"a huge content":   {func(s *toldSandbox) { s.files["SKILL.md"] = strings.Repeat("x", skill.MaxFileBytes+1) }, "SKILL.md: it has more than 1 MiB"},
		"no content":       {func(s *toldSandbox) { delete(s.files, "SKILL.md") }, "SKILL.md: it cannot be read: it is not there"},
		"a file of no skill": {func(s *toldSandbox) {
			s.list.Folders[0].Files[0].Path, s.list.Folders[0].Files[1].Path = "secret", "SKILL.md"
		}, "secret: it is none of the files of a skill"},
		"a path that leads out": {
			func(s *toldSandbox) { s.list.Folders[0].Files[1].Path = "references/../../x" }, "references/../../x: it is none of the files of a skill",
		},
		"the same file twice": {
			func(s *toldSandbox) { s.list.Folders[0].Files[1] = s.list.Folders[0].Files[0] }, "SKILL.md: it is there twice: take one out",
		},
		"more than there may be": {
			func(s *toldSandbox) { s.list.Folders[0].Files[1].Size = skill.MaxTotalBytes }, "it has more than 10 MiB",
		},
		"a folder elsewhere": {func(s *toldSandbox) { s.list.Folders[0].Path = "a/b" }, "its name cannot be shown as it is: rename it"},
		"a folder outside":   {func(s *toldSandbox) { s.list.Folders[0].Path = "../b" }, "its name cannot be shown as it is: rename it"},
		"a screen full": {func(s *toldSandbox) {
			s.refuses = &toolapi.Error{Code: toolapi.ErrInternal, Message: "\x1b[2Jno\nlist"}
		}, "the sandbox cannot list the skills: [2Jno list"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newSkillRig(t)
			r.sandbox.has(".", "SKILL.md", good, "references/x", "x")
			tt.lie(r.sandbox)
			got := r.collect()
			if got == nil || len(got.Created)+len(got.Updated) > 0 || len(got.Rejected) != 1 || got.Rejected[0].Message != tt.want {
				t.Errorf("%+v", got)
			}
			if len(r.revisions()) > 0 {
				t.Error("something was proposed")
			}
		})
	}
}

func TestRejectedIsBounded(t *testing.T) {
	t.Parallel()
	r := newSkillRig(t)
	found := &found{collector: r.collector()}
	for i := range 2 * maxRejected {
		found.reject(fmt.Sprintf("%02d/\x1b%s", i, strings.Repeat("漢", 300)), strings.Repeat("字\n\x1b[2J\u202e", 400))
	}
	found.reject(found.Rejected[0].Path, "more")
	if len(found.Rejected) != maxRejected {
		t.Errorf("%d are told", len(found.Rejected))
	}
	for _, r := range found.Rejected {
		if len(r.Path) > maxRejectedPath || len(r.Message) > maxRejectedMessage || strings.ContainsAny(r.Path+r.Message, "\x1b\n\u202e") {
			t.Errorf("%q %q", r.Path, r.Message)
		}
	}
}

// The proposals of one run are bounded as a whole: a run must not fill the cluster's store with unwanted skills.
func TestSkillsOfARunAreBounded(t *testing.T) {
	t.Parallel()
	r := newSkillRig(t)
	big := strings.Repeat("x", skill.MaxFileBytes)
	for _, name := range []string{"one", "two"} {
		files := []string{"SKILL.md", manifestOf(name, "x")}
		for i := range 6 {
			files = append(files, fmt.Sprintf("assets/%d.txt", i), big)
		}
		r.sandbox.has("skills/"+name, files...)
	}
	got := r.collect()
	if len(got.Created) != 1 || len(got.Rejected) != 1 || got.Rejected[0].Message != "the skills of a run may have 10 MiB together" {
		t.Errorf("%+v", got)
	}
}
