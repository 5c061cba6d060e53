// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cortex"
)

func TestARunMayAskForSoMuchOfTheBucket(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	for name, tt := range map[string]struct {
		sizes []int64
		// want is how many MiB are too many, 0 for none.
		want int
	}{
		"as much as there may be": {[]int64{64 * mib, 64 * mib, 64 * mib, 64 * mib}, 0},
		"a byte more":             {[]int64{64 * mib, 64 * mib, 64 * mib, 64 * mib, 1}, 257},
		"much more":               {[]int64{64 * mib, 64 * mib, 64 * mib, 64 * mib, 64 * mib, 64 * mib}, 384},
	} {
		earlier := &v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "earlier"}}
		run := &v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "run"}}
		add := func(a v1alpha1.Artifact) {
			a.Path = fmt.Sprintf("out/%d", len(run.Spec.Files))
			earlier.Status.Artifacts = append(earlier.Status.Artifacts, a)
			run.Spec.Files = append(run.Spec.Files, v1alpha1.InputFile{Path: a.Path, ArtifactRef: &v1alpha1.ArtifactRef{RunName: "earlier", Path: a.Path}})
		}
		// An artifact in an object does not count.
		add(v1alpha1.Artifact{ConfigMapName: "c", Size: mib})
		for _, size := range tt.sizes {
			add(v1alpha1.Artifact{ObjectKey: "o", Size: size})
		}
		scheme := runtime.NewScheme()
		if err := v1alpha1.AddToScheme(scheme); err != nil {
			t.Fatal(err)
		}
		err := Check(t.Context(), fake.NewClientBuilder().WithScheme(scheme).WithObjects(earlier).Build(), run, true)
		if tt.want == 0 {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		want := fmt.Sprintf("spec.files have %d MiB from the bucket, and a run is given 256 MiB at most: give fewer, or split the run.", tt.want)
		if p, ok := cortex.AsProblem(err); !ok || p.Reason != v1alpha1.ReasonInputFileNotFound || !strings.HasPrefix(p.Message, want) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
}
