// SPDX-License-Identifier: Apache-2.0

package skill

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/skill"
	skillsource "motorcortex.dev/motorcortex/internal/skill/source"
	skillstore "motorcortex.dev/motorcortex/internal/skill/store"
)

// largeSource returns the largest skill that is possible.
type largeSource struct{}

func (largeSource) Read(context.Context, string, *v1alpha1.SkillSource) (skillsource.Read, error) {
	files := []skill.File{{Path: "SKILL.md", Content: []byte("---\nname: mail\ndescription: Sends mail.\n---\n")}}
	for left := skill.MaxTotalBytes - len(files[0].Content); left > 0; left -= skill.MaxFileBytes {
		files = append(files, skill.File{Path: fmt.Sprintf("assets/%d.txt", left), Content: bytes.Repeat([]byte("word "), min(left, skill.MaxFileBytes)/5)})
	}
	return skillsource.Read{Files: files}, nil
}

// BenchmarkPassOfALargeSkill measures the memory of a pass while it stores the files of the largest source, and while it reads them again for their
// facts.
func BenchmarkPassOfALargeSkill(b *testing.B) {
	live := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC() // What pools keep is gone after the second.
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	var before, storing, reading uint64
	scheme := apiruntime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		b.Fatal(err)
	}
	stored := 0
	c := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&v1alpha1.SkillRevision{}).WithInterceptorFuncs(interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if cm, ok := o.(*corev1.ConfigMap); ok {
				if before > 0 {
					storing = max(storing, live()-min(before, live())-uint64(stored))
				}
				stored += len(cm.BinaryData["content"])
			}
			return c.Create(ctx, o, opts...)
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
			reading = max(reading, live()-min(before, live()))
			return c.SubResource(sub).Patch(ctx, o, p, opts...)
		},
	}).Build()
	r := &Reconciler{Client: c, Live: c, Heads: c, Source: largeSource{}, Store: &skillstore.Store{Client: c, Live: c}, Now: time.Now}
	sk := &v1alpha1.Skill{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "mail", UID: "uid"}, Spec: v1alpha1.SkillSpec{Source: &v1alpha1.SkillSource{}}}
	for b.Loop() {
		stored = 0
		s := newScope(sk.DeepCopy(), &memory{}, time.Now())
		before = live()
		if err := r.readSource(b.Context(), s); err != nil {
			b.Fatal(err)
		}
		before = live()
		if err := r.review(b.Context(), s); err != nil {
			b.Fatal(err)
		}
		if err := errors.Join(c.DeleteAllOf(b.Context(), &v1alpha1.SkillRevision{}, client.InNamespace("ns")),
			c.DeleteAllOf(b.Context(), &corev1.ConfigMap{}, client.InNamespace("ns"))); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(storing)/(1<<20), "MiB-held-storing")
	b.ReportMetric(float64(reading)/(1<<20), "MiB-held-reading")
}
