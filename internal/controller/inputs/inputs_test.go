// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cortex"
	"motorcortex.dev/motorcortex/internal/toolapi"
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

// Names of objects that were stored before the API server refused them, and content that another one was put in the place of: the run waits, and says why.
func TestARunWaitsForWhatItMeans(t *testing.T) {
	t.Parallel()
	digest := func(content string) string { return "sha256:" + toolapi.SHA256([]byte(content)) }
	ofMap := func(name, key, digest string) v1alpha1.InputFile {
		return v1alpha1.InputFile{Path: "in", ConfigMapKeyRef: &v1alpha1.ConfigMapKeyRef{Name: name, Key: key, Digest: digest}}
	}
	ofRun := func(name, digest string) v1alpha1.InputFile {
		return v1alpha1.InputFile{Path: "in", ArtifactRef: &v1alpha1.ArtifactRef{RunName: name, Path: "out", Digest: digest}}
	}
	given := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "given"}, Data: map[string]string{"text": "a"}, BinaryData: map[string][]byte{"binary": {0xff}},
	}
	earlier := &v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "earlier"}}
	earlier.Status.Artifacts = []v1alpha1.Artifact{{Path: "out", ConfigMapName: "c", SHA256: "0f"}}
	scheme := runtime.NewScheme()
	if err := errors.Join(v1alpha1.AddToScheme(scheme), corev1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	reader := refusing{fake.NewClientBuilder().WithScheme(scheme).WithObjects(given, earlier).Build()}
	for name, tt := range map[string]struct {
		file v1alpha1.InputFile
		want string
	}{
		"the text":            {ofMap("given", "text", digest("a")), ""},
		"the bytes":           {ofMap("given", "binary", digest("\xff")), ""},
		"whatever it is":      {ofMap("given", "text", ""), ""},
		"another text":        {ofMap("given", "text", digest("b")), "has the content with the digest " + digest("a") + ", and not the one that the run means (" + digest("b")},
		"other bytes":         {ofMap("given", "binary", digest("b")), "has the content with the digest " + digest("\xff")},
		"the artifact":        {ofRun("earlier", "sha256:0f"), ""},
		"another artifact":    {ofRun("earlier", "sha256:1f"), `the artifact "out" of the MotorRun earlier has the digest sha256:0f`},
		"a ConfigMap by path": {ofMap("a/b", "k", ""), `no ConfigMap can have the name "a/b"`},
		"a run by path":       {ofRun("..", ""), `no MotorRun can have the name ".."`},
	} {
		run := &v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "run"}, Spec: v1alpha1.MotorRunSpec{Files: []v1alpha1.InputFile{tt.file}}}
		if _, err := rightToFile(t.Context(), reader, run, &tt.file, false); err != nil {
			t.Errorf("%s: the right to it: %v", name, err)
		}
		err := Check(t.Context(), reader, run, false)
		p, isProblem := cortex.AsProblem(err)
		switch {
		case tt.want == "" && err != nil, tt.want != "" && (!isProblem || p.Reason != v1alpha1.ReasonInputFileNotFound || !strings.Contains(p.Message, tt.want)):
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
}

// refusing refuses names as the client of an API server does.
type refusing struct{ client.Reader }

// Get implements client.Reader.
func (r refusing) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if problems := content.IsPathSegmentName(key.Name); len(problems) > 0 {
		return fmt.Errorf("invalid resource name %q: %v", key.Name, problems)
	}
	return r.Reader.Get(ctx, key, o, opts...)
}
