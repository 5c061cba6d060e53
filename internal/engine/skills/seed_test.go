// SPDX-License-Identifier: Apache-2.0

package skills

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/engine/enginetest"
	"motorcortex.dev/motorcortex/internal/engine/runenv"
	"motorcortex.dev/motorcortex/internal/motorloop/outcome"
	"motorcortex.dev/motorcortex/internal/skill"
	skillstore "motorcortex.dev/motorcortex/internal/skill/store"
)

// seed opens the skill of the run, and returns the function with which a new loop puts it into the sandbox.
func (r *skillRig) seed() func(context.Context) error {
	r.t.Helper()
	c := r.collector()
	s, err := Open(r.t.Context(), c.env)
	r.must(err)
	return func(ctx context.Context) error { return s.Put(ctx, c.env, c.client) }
}

// threeParts are files of three ConfigMaps, with SKILL.md in the first.
func threeParts() []string {
	return []string{
		"SKILL.md", manifestOf("mail", "x"), "assets/a.txt", strings.Repeat("a", skill.MaxFileBytes), "assets/b.txt", strings.Repeat("b", skillstore.ChunkBytes),
		"scripts/send.sh", "#!/bin/sh\n",
	}
}

func TestSkillIsPut(t *testing.T) {
	t.Parallel()
	r := newSkillRig(t)
	r.pin("mail", threeParts()...)
	r.must(r.seed()(t.Context()))
	want := map[string]string{}
	for i := 0; i < len(threeParts()); i += 2 {
		want[threeParts()[i]] = threeParts()[i+1]
	}
	if diff := cmp.Diff(want, r.sandbox.put); diff != "" {
		t.Errorf("-want +got:\n%.2000s", diff)
	}
}

// The files of a skill that no person approved for this run may say anything: all of them are put as from the web.
func TestProvenanceOfASkill(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(*v1alpha1.MotorRun)
		want   bool
	}{
		"approved":               {func(*v1alpha1.MotorRun) {}, false},
		"not approved":           {func(r *v1alpha1.MotorRun) { r.Status.Skill.Approved = false }, true},
		"approved, and reviewed": {func(r *v1alpha1.MotorRun) { r.Spec.SkillReview = true }, true},
	} {
		r := newSkillRig(t)
		r.pin("mail", "SKILL.md", manifestOf("mail", "x"), "scripts/send.sh", "#!/bin/sh\n")
		r.run.Status.Skill.Approved = true
		tt.change(r.run)
		r.must(r.seed()(t.Context()))
		if n := r.sandbox.fromWeb; len(r.sandbox.put) != 2 || n != 0 && n != 2 || (n == 2) != tt.want {
			t.Errorf("%s: %d of %d files are from the web", name, n, len(r.sandbox.put))
		}
	}
}

// The files that the prompt does not need are read when they are put, and checked then.
func TestSkillThatChangedIsNotPut(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*skillRig, *v1alpha1.SkillRevision) error{
		"a part is gone": func(r *skillRig, rev *v1alpha1.SkillRevision) error {
			return r.client.Delete(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: rev.Spec.ConfigMapNames[2]}})
		},
		"a part has other bytes": func(r *skillRig, rev *v1alpha1.SkillRevision) error {
			return changePart(t, r.client, rev.Spec.ConfigMapNames[2])
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newSkillRig(t)
			rev := r.pin("mail", threeParts()...)
			put := r.seed()
			r.must(change(r, rev))
			if err := put(t.Context()); !errors.Is(err, runenv.ErrMissing) || len(r.sandbox.put["assets/b.txt"]) > 0 {
				t.Errorf("at first: %v", err)
			}
			r.env.Absence.Since = enginetest.Noon.Add(-runenv.MissingFor)
			err := put(t.Context())
			if f, ok := errors.AsType[*outcome.Failure](err); !ok || f.Reason != outcome.ReasonSkillFiles || !strings.Contains(f.Message, rev.Name) {
				t.Errorf("in the end: %v", err)
			}
		})
	}
}

// largest are the files of the largest skill that there can be.
func largest() []string {
	files := []string{"SKILL.md", manifestOf("mail", "x")}
	for left := skill.MaxTotalBytes - len(files[1]); left > 0; left -= skill.MaxFileBytes {
		files = append(files, "assets/"+string(rune('a'+len(files)/2))+".txt", strings.Repeat("x", min(left, skill.MaxFileBytes)))
	}
	return files
}

// held returns the bytes that are in use beyond those before it began.
func held(b *testing.B) (look func()) {
	b.Helper()
	live := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC() // What pools keep is gone after the second.
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before, most := live(), uint64(0)
	b.Cleanup(func() { b.ReportMetric(float64(most)/(1<<20), "MiB-held") })
	return func() { most = max(most, live()-min(before, live())) }
}

// The memory of a loop while it puts the largest skill into its sandbox, including the sandbox and the sent data.
func BenchmarkSeeding(b *testing.B) {
	r := newSkillRig(b)
	r.pin("mail", largest()...)
	look := held(b)
	r.sandbox.putting = func(string) { look(); clear(r.sandbox.put) }
	for b.Loop() {
		r.must(r.seed()(b.Context()))
	}
}

// The memory of a loop while it stores the largest skill that it read from its sandbox.
func BenchmarkCollecting(b *testing.B) {
	r := newSkillRig(b)
	r.sandbox.has(".", "SKILL.md", manifestOf("first", "x"))
	r.collect() // It makes what stays: the rules for secrets.
	r.sandbox.clear()
	r.sandbox.has(".", largest()...)
	look := held(b)
	r.before = func(o client.Object) error {
		if _, ok := o.(*corev1.ConfigMap); ok {
			look()
			return apierrors.NewForbidden(corev1.Resource("configmaps"), o.GetName(), errors.New("a quota"))
		}
		return nil
	}
	for b.Loop() {
		r.collect()
	}
}
