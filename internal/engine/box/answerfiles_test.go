// SPDX-License-Identifier: Apache-2.0

package box

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
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/engine/enginetest"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// answerFiles are those of a run with a response to q, beside a ConfigMap and a run with artifacts in the bucket. get fails with broken.
func answerFiles(t *testing.T, broken error, files ...v1alpha1.ResponseFile) AnswerFiles {
	t.Helper()
	run := enginetest.ReadyRun()
	run.Spec.Responses = []v1alpha1.Response{{ID: "other", Answer: "x", Files: []v1alpha1.ResponseFile{{Path: "other"}}}, {ID: "q", Answer: "here", Files: files}}
	earlier := &v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "earlier"}, Status: v1alpha1.MotorRunStatus{Result: &v1alpha1.RunResult{}}}
	for _, path := range []string{"large", "small"} {
		earlier.Status.Result.Artifacts = append(earlier.Status.Result.Artifacts, v1alpha1.Artifact{Path: path, Size: toolapi.MaxInputBytes, SHA256: "0f", ObjectKey: path})
	}
	given := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "given"}, Data: map[string]string{"k": "text"}}
	c := fake.NewClientBuilder().WithScheme(enginetest.Scheme(t)).WithObjects(run, earlier, given).WithStatusSubresource(run).Build()
	env := enginetest.Env(t, c, run, time.Now)
	env.Bucket = stallingBucket{}
	env.Live = interceptor.NewClient(c, interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
		if _, ok := o.(*corev1.ConfigMap); ok && broken != nil {
			return broken
		}
		return c.Get(ctx, key, o, opts...)
	}})
	return AnswerFiles{Env: env}
}

func TestDescribeTellsWhatCannotBeHad(t *testing.T) {
	t.Parallel()
	ofMap := func(path, name, key string) v1alpha1.ResponseFile {
		return v1alpha1.ResponseFile{Path: path, ConfigMapKeyRef: &v1alpha1.ConfigMapKeyRef{Name: name, Key: key}}
	}
	ofRun := func(path string) v1alpha1.ResponseFile {
		return v1alpha1.ResponseFile{Path: path, ArtifactRef: &v1alpha1.ArtifactRef{RunName: "earlier", Path: path}}
	}
	f := answerFiles(t, nil,
		ofMap("a.txt", "given", "k"), ofMap("b", "given", "gone"), ofMap("c", "gone", "k"), ofRun("large"), ofRun("none"),
		v1alpha1.ResponseFile{Path: "key", BinaryContent: []byte("k=AKIA" + "YRWSSQ3BPTB4DX7Z")},
	)
	got, err := f.Describe(t.Context(), turn.Ask{ID: "q"})
	if err != nil {
		t.Fatal(err)
	}
	problems := map[string]string{
		"answers/b": "it has no such key any more", "answers/c": `"gone" not found`, "answers/none": "has no artifact",
		"answers/key": "looks like a secret",
	}
	want := []turn.File{
		{Path: "answers/a.txt", Size: 4, MediaType: toolapi.MediaType("a.txt", []byte("text")), SHA256: toolapi.SHA256([]byte("text"))},
		{Path: "answers/b"}, {Path: "answers/c"}, {Path: "answers/large", Size: toolapi.MaxInputBytes, SHA256: "0f", Web: true},
		{Path: "answers/none"}, {Path: "answers/key"},
	}
	for i := range got {
		if says := problems[got[i].Path]; (got[i].Problem == "") != (says == "") || !strings.Contains(got[i].Problem, says) || strings.Contains(got[i].Problem, "AKIA") {
			t.Errorf("%s: %q, want %q", got[i].Path, got[i].Problem, says)
		}
		got[i].Problem = ""
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

// An answer has as much from the bucket as a run has with its spec.
func TestAnAnswerIsGivenSoMuchFromTheBucket(t *testing.T) {
	t.Parallel()
	f := answerFiles(t, nil)
	left := int64(toolapi.MaxInputBytes + 1)
	for _, tt := range []struct {
		path string
		want error
	}{{"large", nil}, {"small", errInputsTooLarge}} {
		r := &v1alpha1.ResponseFile{Path: tt.path, ArtifactRef: &v1alpha1.ArtifactRef{RunName: "earlier", Path: tt.path}}
		if err := f.describe(t.Context(), r, &turn.File{Path: inWorkspace(tt.path)}, &left); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v", tt.path, err)
		}
	}
}

// An error that says nothing about a file decides nothing: the loop tries again.
func TestDescribeWaitsForTheAPIServer(t *testing.T) {
	t.Parallel()
	broken := errors.New("the API server is away")
	f := answerFiles(t, broken, v1alpha1.ResponseFile{Path: "a", ConfigMapKeyRef: &v1alpha1.ConfigMapKeyRef{Name: "given", Key: "k"}})
	if got, err := f.Describe(t.Context(), turn.Ask{ID: "q"}); !errors.Is(err, broken) {
		t.Errorf("%+v, %v", got, err)
	}
	f.Env.Run = f.Env.Run.DeepCopy()
	f.Env.Run.UID = "another"
	if got, err := f.Describe(t.Context(), turn.Ask{ID: "q"}); err == nil || errors.Is(err, broken) {
		t.Errorf("of another run: %+v, %v", got, err)
	}
}
