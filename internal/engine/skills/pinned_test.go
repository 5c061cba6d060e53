// SPDX-License-Identifier: Apache-2.0

package skills

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/engine/enginetest"
	"motorcortex.dev/motorcortex/internal/engine/runenv"
	"motorcortex.dev/motorcortex/internal/motorloop/config"
	"motorcortex.dev/motorcortex/internal/motorloop/outcome"
	"motorcortex.dev/motorcortex/internal/skill"
	skillstore "motorcortex.dev/motorcortex/internal/skill/store"
)

const mailManifest = "---\nname: mail\ndescription: Sends mail.\n---\n# Mail\n\nRun `scripts/send.py`.\n"

// skillWorld has one revision of the skill mail, and a run that is pinned to it.
type skillWorld struct {
	client client.Client
	env    *runenv.Env
	run    *v1alpha1.MotorRun
	rev    *v1alpha1.SkillRevision
	now    time.Time
}

func newSkillWorld(t *testing.T, manifest string) *skillWorld {
	t.Helper()
	w := &skillWorld{client: fake.NewClientBuilder().WithScheme(enginetest.Scheme(t)).Build(), now: enginetest.Noon, run: enginetest.ReadyRun()}
	w.env = &runenv.Env{Client: w.client, Live: w.client, Run: w.run, Clock: runenv.Clock{Now: func() time.Time { return w.now }}, Absence: &runenv.Absence{}}
	owner := &v1alpha1.Skill{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "mail", UID: "skill"}}
	files := []skill.File{
		{Path: "SKILL.md", Content: []byte(manifest)},
		{Path: "references/big.txt", Content: []byte(strings.Repeat("x", skillstore.ChunkBytes))},
		{Path: "scripts/send.py", Content: []byte("#!/usr/bin/env python3\n"), Executable: true},
	}
	store := skillstore.Store{Client: w.client, Live: w.client}
	rev, err := store.Put(t.Context(), owner, v1alpha1.SkillRevisionSpec{}, files)
	if err != nil {
		t.Fatal(err)
	}
	w.rev = rev
	w.run.Status.Skill = &v1alpha1.RunSkill{Name: "mail", RevisionName: rev.Name, ContentHash: rev.Spec.ContentHash, Approved: true}
	return w
}

func TestOpenSkill(t *testing.T) {
	t.Parallel()
	w := newSkillWorld(t, mailManifest)
	s, err := Open(t.Context(), w.env)
	if err != nil {
		t.Fatal(err)
	}
	want := &config.Skill{
		Name: "mail", Description: "Sends mail.", Body: "# Mail\n\nRun `scripts/send.py`.\n", Approved: true,
		Files: []config.SkillFile{
			{Path: "SKILL.md", Size: int64(len(mailManifest))}, {Path: "references/big.txt", Size: skillstore.ChunkBytes},
			{Path: "scripts/send.py", Size: 23, Executable: true},
		},
	}
	if diff := cmp.Diff(want, s.Config(w.run)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	w.run.Status.Skill = nil
	if s, err := Open(t.Context(), w.env); s != nil || err != nil || s.Config(w.run) != nil {
		t.Errorf("without a skill: %+v, %v", s, err)
	}
}

// A skill that differs from the accepted one is waited for, and then ends the run. It is never used.
func TestOpenSkillThatChanged(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*testing.T, *skillWorld) error{
		"the revision is gone": func(t *testing.T, w *skillWorld) error { return w.client.Delete(t.Context(), w.rev) },
		"its first part is gone": func(t *testing.T, w *skillWorld) error {
			return w.client.Delete(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: w.rev.Spec.ConfigMapNames[0]}})
		},
		"its first part has other bytes": func(t *testing.T, w *skillWorld) error { return changePart(t, w.client, w.rev.Spec.ConfigMapNames[0]) },
		"another content has its name": func(_ *testing.T, w *skillWorld) error {
			w.run.Status.Skill.ContentHash = "sha256:" + strings.Repeat("0", 64)
			return nil
		},
		"it is another skill's": func(_ *testing.T, w *skillWorld) error {
			w.run.Status.Skill.Name = "post"
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newSkillWorld(t, mailManifest)
			if err := change(t, w); err != nil {
				t.Fatal(err)
			}
			if _, err := Open(t.Context(), w.env); !errors.Is(err, runenv.ErrMissing) {
				t.Errorf("at first: %v", err)
			}
			w.now = w.now.Add(runenv.MissingFor)
			_, err := Open(t.Context(), w.env)
			f, ok := errors.AsType[*outcome.Failure](err)
			if !ok || f.Category != outcome.InvalidTask || f.Reason != outcome.ReasonSkillFiles || f.Retryable || !strings.Contains(f.Message, w.rev.Name) {
				t.Errorf("in the end: %+v", err)
			}
		})
	}
}

// changePart changes a byte of a ConfigMap.
func changePart(t *testing.T, c client.Client, name string) error {
	t.Helper()
	cm := &corev1.ConfigMap{}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: name}, cm); err != nil {
		return err
	}
	cm.BinaryData["content"][9] ^= 1
	cm.ResourceVersion, cm.Immutable = "", nil
	if err := c.Delete(t.Context(), cm); err != nil {
		return err
	}
	return c.Create(t.Context(), cm)
}

func TestOpenSkillWithoutManifest(t *testing.T) {
	t.Parallel()
	w := newSkillWorld(t, "no front matter")
	_, err := Open(t.Context(), w.env)
	if f, ok := errors.AsType[*outcome.Failure](err); !ok || f.Reason != outcome.ReasonSkillFiles {
		t.Errorf("%v", err)
	}
}

// brokenReads fails like an unavailable API server.
type brokenReads struct{ client.Reader }

func (brokenReads) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return errors.New("connection refused")
}

// A failure of the API server is no failure of the skill or the run, and passes.
func TestOpenSkillIsTriedAgain(t *testing.T) {
	t.Parallel()
	w := newSkillWorld(t, mailManifest)
	w.env.Live = brokenReads{}
	for range 3 {
		_, err := Open(t.Context(), w.env)
		if _, final := errors.AsType[*outcome.Failure](err); err == nil || final || errors.Is(err, runenv.ErrMissing) {
			t.Errorf("%v", err)
		}
		w.now = w.now.Add(time.Hour)
	}
}

func TestTrustsSkill(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		pin    *v1alpha1.RunSkill
		review bool
		want   bool
	}{
		"no skill":               {nil, false, true},
		"approved":               {&v1alpha1.RunSkill{Approved: true}, false, true},
		"not approved":           {&v1alpha1.RunSkill{}, false, false},
		"approved, and reviewed": {&v1alpha1.RunSkill{Approved: true}, true, false},
	} {
		run := enginetest.ReadyRun()
		run.Status.Skill, run.Spec.SkillReview = tt.pin, tt.review
		if got := Trusts(run); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestWritesSkills(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		spec v1alpha1.MotorRunSpec
		want bool
	}{
		"bash":              {v1alpha1.MotorRunSpec{Tools: []v1alpha1.ToolName{"read", "bash"}}, true},
		"patch":             {v1alpha1.MotorRunSpec{Tools: []v1alpha1.ToolName{"patch"}, ExtractSkills: v1alpha1.ExtractAlways}, true},
		"reads only":        {v1alpha1.MotorRunSpec{Tools: []v1alpha1.ToolName{"read", "fetch"}}, false},
		"nothing is kept":   {v1alpha1.MotorRunSpec{Tools: []v1alpha1.ToolName{"bash"}, ExtractSkills: v1alpha1.ExtractNever}, false},
		"a review":          {v1alpha1.MotorRunSpec{Tools: []v1alpha1.ToolName{"write"}, SkillReview: true}, false},
		"without any tools": {v1alpha1.MotorRunSpec{}, false},
	} {
		if got := Writes(&v1alpha1.MotorRun{Spec: tt.spec}); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestInputsJSON(t *testing.T) {
	t.Parallel()
	got := inputsJSON([]skill.Input{{Name: "to", Value: "a<b>\nc"}, {Name: "copies", Value: int64(1 << 60)}, {Name: "now", Value: true}})
	if want := `{"copies":1152921504606846976,"now":true,"to":"a<b>\nc"}`; got != want {
		t.Errorf("%s", got)
	}
	if got := inputsJSON(nil); got != "" {
		t.Errorf("without inputs: %q", got)
	}
}
