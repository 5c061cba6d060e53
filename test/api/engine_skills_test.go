// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/motorloop/chat"
	"motorcortex.dev/motorcortex/internal/motorloop/outcome"
	"motorcortex.dev/motorcortex/internal/runpolicy"
	"motorcortex.dev/motorcortex/internal/skill"
	skillstore "motorcortex.dev/motorcortex/internal/skill/store"
)

func skillManifest(name, body string) string {
	return fmt.Sprintf("---\nname: %s\ndescription: Does %s.\n---\n%s\n", name, name, body)
}

// writes is a command that writes a file, with the folders above it.
func writes(path, content string) string {
	return fmt.Sprintf("mkdir -p $(dirname %s); cat > %s << 'END'\n%sEND\n", path, path, content)
}

// proposed returns the files of a revision that was proposed, path and content in turn, as the store has them.
func (r *engineRig) proposed(p v1alpha1.ProposedSkill) (rev *v1alpha1.SkillRevision, files []string) {
	r.t.Helper()
	rev = &v1alpha1.SkillRevision{}
	must(r.t, admin.Get(r.ctx, client.ObjectKey{Namespace: r.run.Namespace, Name: p.RevisionName}, rev))
	list, err := (&skillstore.Store{Client: admin, Live: admin}).Files(r.ctx, rev)
	must(r.t, err)
	for _, f := range list {
		files = append(files, f.Path, string(f.Content))
	}
	return rev, files
}

// pinSkill makes a skill with one revision, and pins the run to it.
func (r *engineRig) pinSkill(name string, files ...skill.File) *v1alpha1.SkillRevision {
	r.t.Helper()
	sk := &v1alpha1.Skill{ObjectMeta: meta(r.run.Namespace, name)}
	must(r.t, manager.Create(r.ctx, sk))
	_, files, err := skill.Check(name, files)
	must(r.t, err)
	rev, err := (&skillstore.Store{Client: manager, Live: manager}).Put(r.ctx, sk, v1alpha1.SkillRevisionSpec{}, files)
	must(r.t, err)
	r.changeStatus(func(st *v1alpha1.MotorRunStatus) {
		st.Skill = &v1alpha1.RunSkill{Name: name, RevisionName: rev.Name, ContentHash: rev.Spec.ContentHash}
	})
	return rev
}

func (r *engineRig) revisions() int {
	r.t.Helper()
	var list v1alpha1.SkillRevisionList
	must(r.t, admin.List(r.ctx, &list, client.InNamespace(r.run.Namespace)))
	return len(list.Items)
}

// Several skills in one workspace: those that are ones are proposed, and of the others it is said why not. What still runs has no
// say in what is proposed.
func TestEngineProposesSkills(t *testing.T) {
	mail, big := skillManifest("mail", "How to send mail."), strings.Repeat("0123456789abcdef", 60_000)
	r := newEngineRig(t, &stubModel{answers: []chat.Answer{
		says("", bashCall(writes("SKILL.md", mail)+writes("scripts/send.sh", "#!/bin/sh\ntrue\n")+
			"mkdir references; for i in $(seq 60000); do printf 0123456789abcdef; done > references/big; echo x > scripts/debug.log")),
		says("", bashCall(writes("skills/bad/SKILL.md", "# no front matter\n")+writes("skills/linked/SKILL.md", skillManifest("linked", "x"))+
			"ln -s /etc skills/linked/references; ln -s /etc/passwd skills/passwd"),
			bashCall(writes("skills/leak/SKILL.md", skillManifest("leak", "x"))+"mkdir skills/leak/references; printf 'key = "+leak[:10]+"%s' "+leak[10:]+" > skills/leak/references/keys")),
		says("", bashCall(writes("skills/good/SKILL.md", skillManifest("good", "x"))+"mkdir skills/good/references"),
			call("bash", `{"command":"n=0; while true; do n=$((n+1)); echo $n > skills/good/references/count; done","background":true}`),
			bashCall("until [ -s skills/good/references/count ]; do sleep 0.01; done")),
		says("done"),
	}})
	r.startEngine("worker-1", nil)
	steps := r.steps(journalEnded)
	got := steps[len(steps)-1].Status.Skills
	if got == nil || len(got.Created) != 2 || len(got.Updated) != 0 {
		t.Fatalf("the step has %+v", got)
	}
	rev, files := r.proposed(got.Created[0])
	if diff := cmp.Diff([]string{"SKILL.md", mail, "references/big", big, "scripts/send.sh", "#!/bin/sh\ntrue\n"}, files); diff != "" {
		t.Errorf("-want +got:\n%.2000s", diff)
	}
	want := &v1alpha1.ExtractedFrom{RunName: r.run.Name, RunUID: string(r.run.UID), ChangedFiles: []string{"SKILL.md", "references/big", "scripts/send.sh"}}
	if diff := cmp.Diff(want, rev.Spec.ExtractedFrom); diff != "" || rev.Spec.SkillName != "mail" || rev.Spec.Description != "Does mail." {
		t.Errorf("%+v (-want +got):\n%s", rev.Spec, diff)
	}
	var sk v1alpha1.Skill
	must(t, admin.Get(r.ctx, client.ObjectKey{Namespace: r.run.Namespace, Name: "mail"}, &sk))
	if sk.Spec.Approval != nil || sk.Spec.Source != nil {
		t.Errorf("the skill is %+v", sk.Spec)
	}
	content, err := os.ReadFile(filepath.Join(r.workspace, "skills/good/references/count"))
	must(t, err)
	if _, files := r.proposed(got.Created[1]); len(files) != 4 || files[3] != string(content) {
		t.Errorf("proposed is %q, and the file has %q", files, content)
	}
	said := map[string]string{}
	for _, no := range got.Rejected {
		said[no.Path] = no.Message
	}
	if !strings.HasPrefix(said["skills/bad"], "SKILL.md: ") {
		t.Errorf("of the broken one it says %q", said["skills/bad"])
	}
	delete(said, "skills/bad")
	if diff := cmp.Diff(map[string]string{
		"skills/linked": "references: it is a link, or no regular file or folder",
		"skills/passwd": "it is a link, or no regular file or folder",
		"skills/leak":   "references/keys: it holds what looks like a secret (aws-access-token, line 1)",
	}, said); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if p := runpolicy.ReadJournal(r.run, steps); cmp.Diff(got, p.Skills) != "" {
		t.Errorf("the journal says %+v", p.Skills)
	}
}

// A run that repairs the skill that it uses proposes a revision, and says what it did to the files.
func TestEngineProposesARepairedSkill(t *testing.T) {
	before := skillManifest("mail", "POST /v1/send")
	r := newEngineRig(t, &stubModel{answers: []chat.Answer{
		says("", bashCall("sed -i s/v1/v2/ SKILL.md; rm references/old.md; echo new > references/new.md")),
		says("done"),
	}})
	base := r.pinSkill("mail", skill.File{Path: "SKILL.md", Content: []byte(before)}, skill.File{Path: "references/old.md", Content: []byte("old\n")})
	r.startEngine("worker-1", nil)
	steps := r.steps(journalEnded)
	got := steps[len(steps)-1].Status.Skills
	if got == nil || len(got.Updated) != 1 || len(got.Created)+len(got.Rejected) != 0 {
		t.Fatalf("the step has %+v", got)
	}
	rev, files := r.proposed(got.Updated[0])
	if diff := cmp.Diff([]string{"SKILL.md", strings.Replace(before, "v1", "v2", 1), "references/new.md", "new\n"}, files); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	want := &v1alpha1.ExtractedFrom{
		RunName: r.run.Name, RunUID: string(r.run.UID), RevisionName: base.Name, ChangedFiles: []string{"SKILL.md", "references/new.md"}, DeletedFiles: []string{"references/old.md"},
	}
	if diff := cmp.Diff(want, rev.Spec.ExtractedFrom); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestEngineProposesNothingNew(t *testing.T) {
	r := newEngineRig(t, &stubModel{answers: []chat.Answer{says("", bashCall("sh scripts/x.sh > out")), says("done")}})
	r.pinSkill("mail", skill.File{Path: "SKILL.md", Content: []byte(skillManifest("mail", "x"))}, skill.File{Path: "scripts/x.sh", Content: []byte("#!/bin/sh\necho x\n")})
	r.startEngine("worker-1", nil)
	steps := r.steps(journalEnded)
	if got := steps[len(steps)-1].Status.Skills; got != nil || r.revisions() != 1 {
		t.Errorf("the step has %+v, and there are %d revisions", got, r.revisions())
	}
}

// After a failure skills are proposed only if that is asked for.
func TestEngineProposesSkillsOfAFailedAttempt(t *testing.T) {
	answers := []chat.Answer{says("", bashCall(writes("SKILL.md", skillManifest("mail", "x")))), says("", bashCall("true"))}
	for name, tt := range map[string]struct {
		extract v1alpha1.SkillExtraction
		want    bool
	}{"always": {v1alpha1.ExtractAlways, true}, "on success": {v1alpha1.ExtractOnSuccess, false}} {
		t.Run(name, func(t *testing.T) {
			r := newEngineRig(t, &stubModel{answers: slices.Clone(answers)}, func(run *v1alpha1.MotorRun) {
				run.Spec.Limits.MaxIterations, run.Spec.ExtractSkills = 2, tt.extract
			})
			r.startEngine("worker-1", nil)
			steps := r.steps(journalEnded)
			last := steps[len(steps)-1]
			if last.Spec.Outcome == nil || last.Spec.Outcome.Reason != outcome.ReasonMaxIterations {
				t.Fatalf("the journal ends with %+v", last)
			}
			got := last.Status.Skills
			if found := got != nil && len(got.Created) == 1; found != tt.want || r.revisions() > 0 != tt.want {
				t.Errorf("the step has %+v, and there are %d revisions", got, r.revisions())
			}
		})
	}
}

// The manager is killed between the proposal and the step that names it.
func TestEngineProposesOnceAcrossARestart(t *testing.T) {
	r := newEngineRig(t, &stubModel{answers: []chat.Answer{says("", bashCall(writes("SKILL.md", skillManifest("mail", "x")))), says("done")}})
	stop := r.startEngine("worker-1", func(c client.Client) client.Client { return neverClosing{c} })
	r.waitFor(func() bool { return r.revisions() == 1 })
	stop()
	r.giveTo("worker-2", 2)
	r.startEngine("worker-2", nil)
	steps := r.ended(2)
	got := steps[1].Status.Skills
	if got == nil || len(got.Created) != 1 || len(got.Updated) != 0 || r.revisions() != 1 {
		t.Errorf("the step has %+v, and there are %d revisions", got, r.revisions())
	}
}

// neverClosing refuses what closes a step.
type neverClosing struct{ client.Client }

func (c neverClosing) Status() client.SubResourceWriter { return openSteps{c.Client.Status()} }

type openSteps struct{ client.SubResourceWriter }

func (w openSteps) Patch(ctx context.Context, o client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
	if s, ok := o.(*v1alpha1.MotorStep); ok && s.Status.Closed != nil {
		return apierrors.NewForbidden(schema.GroupResource{Resource: "motorsteps"}, s.Name, errors.New("not now"))
	}
	return w.SubResourceWriter.Patch(ctx, o, patch, opts...)
}
