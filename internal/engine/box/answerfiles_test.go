// SPDX-License-Identifier: Apache-2.0

package box

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/engine/enginetest"
	"motorcortex.dev/motorcortex/internal/engine/redacting"
	"motorcortex.dev/motorcortex/internal/engine/runenv"
	"motorcortex.dev/motorcortex/internal/journal"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolclient"
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
	c := fake.NewClientBuilder().WithScheme(enginetest.Scheme(t)).WithObjects(run, earlier, given).WithStatusSubresource(run, &v1alpha1.MotorStep{}).Build()
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

// A name that no object can have is not even asked for, and the client's error of that says nothing about a file.
func TestDescribeSaysThatNoObjectHasThatName(t *testing.T) {
	t.Parallel()
	mapper := apimeta.NewDefaultRESTMapper(nil)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("ConfigMap"), apimeta.RESTScopeNamespace)
	mapper.Add(v1alpha1.GroupVersion.WithKind("MotorRun"), apimeta.RESTScopeNamespace)
	live, err := client.New(&rest.Config{Host: "127.0.0.1:1"}, client.Options{Scheme: enginetest.Scheme(t), Mapper: mapper})
	if err != nil {
		t.Fatal(err)
	}
	f := AnswerFiles{Env: &runenv.Env{Live: live, Run: enginetest.ReadyRun(), Known: &redacting.Secrets{}}}
	for _, name := range []string{"a/b", "..", "100%", "A", ""} {
		for _, r := range []*v1alpha1.ResponseFile{
			{Path: "a", ConfigMapKeyRef: &v1alpha1.ConfigMapKeyRef{Name: name, Key: "k"}}, {Path: "a", ArtifactRef: &v1alpha1.ArtifactRef{RunName: name, Path: "p"}},
		} {
			if err := f.describe(t.Context(), r, &turn.File{Path: "answers/a"}, new(int64)); !isAboutFile(err) || !errors.Is(err, errName) {
				t.Errorf("%+v: about the file: %t: %v", r, isAboutFile(err), err)
			}
		}
	}
}

// A reference with a digest means one content. Another one, put in its place before the answer was recorded, is not taken.
func TestADigestMeansOneContent(t *testing.T) {
	t.Parallel()
	digest := func(content string) string { return "sha256:" + toolapi.SHA256([]byte(content)) }
	ofMap := func(digest string) v1alpha1.ResponseFile {
		return v1alpha1.ResponseFile{Path: "m", ConfigMapKeyRef: &v1alpha1.ConfigMapKeyRef{Name: "given", Key: "k", Digest: digest}}
	}
	ofRun := func(digest string) v1alpha1.ResponseFile {
		return v1alpha1.ResponseFile{Path: "r", ArtifactRef: &v1alpha1.ArtifactRef{RunName: "earlier", Path: "small", Digest: digest}}
	}
	for name, tt := range map[string]struct {
		file v1alpha1.ResponseFile
		says string
	}{
		"a ConfigMap":              {ofMap(digest("text")), ""},
		"another ConfigMap":        {ofMap(digest("other")), "the reference says " + digest("other")},
		"an artifact":              {ofRun("sha256:0f"), ""},
		"another artifact":         {ofRun("sha256:1f"), "the reference says sha256:1f"},
		"nothing is meant":         {ofMap(""), ""},
		"an artifact without more": {ofRun(""), ""},
	} {
		f := answerFiles(t, nil, tt.file)
		got, err := f.Describe(t.Context(), turn.Ask{ID: "q"})
		if err != nil || len(got) != 1 || (got[0].Problem == "") != (tt.says == "") || !strings.Contains(got[0].Problem, tt.says) {
			t.Errorf("%s: %+v, %v, want %q", name, got, err, tt.says)
			continue
		}
		if tt.says == "" {
			continue
		}
		spec := v1alpha1.InputFile{Path: "in", ConfigMapKeyRef: tt.file.ConfigMapKeyRef, ArtifactRef: tt.file.ArtifactRef}
		if err := f.putter().putFile(t.Context(), &spec); !errors.Is(err, errDigest) {
			t.Errorf("%s as a file of the spec: %v", name, err)
		}
	}
}

// toolsRefusing takes every file but those whose path has a part in it. It counts what it is given.
func toolsRefusing(t *testing.T, part string) (*toolclient.Client, *atomic.Int32) {
	var given atomic.Int32
	return enginetest.ToolsAt(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == toolapi.PathHello {
			_ = json.NewEncoder(w).Encode(toolapi.Hello{PodUID: "pod", APIVersion: toolapi.APIVersion, Features: toolapi.Features()})
			return
		}
		given.Add(1)
		if strings.Contains(r.URL.Path, part) {
			w.WriteHeader(http.StatusBadRequest)
			_ = json.NewEncoder(w).Encode(toolapi.Error{Code: toolapi.ErrBadRequest, Message: "it cannot be an input file: file name too long"})
			return
		}
		_ = json.NewEncoder(w).Encode(toolapi.File{})
	})), &given
}

// later is the second attempt, with these files recorded in the first.
func (f AnswerFiles) later(t *testing.T, files ...v1alpha1.AskFile) {
	t.Helper()
	var step v1alpha1.MotorStep
	key := client.ObjectKey{Namespace: "ns", Name: journal.StepName("run", 1, 1)}
	if err := f.Env.Client.Get(t.Context(), key, &step); err != nil {
		step = *enginetest.Step(f.Env.Run, 1, 1)
		if err := f.Env.Client.Create(t.Context(), &step); err != nil {
			t.Fatal(err)
		}
		step.Status.Asks = []v1alpha1.StepAsk{{ID: "q", Kind: v1alpha1.InputQuestion, Outcome: v1alpha1.AskAnswered, Files: files}}
		if err := f.Env.Client.Status().Update(t.Context(), &step); err != nil {
			t.Fatal(err)
		}
	}
	f.laterAttempt(t, 2)
}

func (f AnswerFiles) laterAttempt(t *testing.T, attempt int32) {
	t.Helper()
	var err error
	if f.Env.Entries, err = journal.Load(t.Context(), f.Env.Client, f.Env.Client, f.Env.Run, attempt, f.Env.Claim, time.Now); err != nil {
		t.Fatal(err)
	}
}

// A file of a former answer that a new workspace cannot have does not end the run: it is recorded as missing, and given again in the
// next attempt alone.
func TestANewWorkspaceMayLackAFileOfAnAnswer(t *testing.T) {
	t.Parallel()
	f := answerFiles(t, nil,
		v1alpha1.ResponseFile{Path: "gone", ConfigMapKeyRef: &v1alpha1.ConfigMapKeyRef{Name: "gone", Key: "k"}},
		v1alpha1.ResponseFile{Path: "long", Content: new("x")}, v1alpha1.ResponseFile{Path: "fine", Content: new("y")},
	)
	now := enginetest.Noon
	f.Env.Now = func() time.Time { return now }
	var given *atomic.Int32
	f.Client, given = toolsRefusing(t, "long")
	sum := toolapi.SHA256([]byte("x"))
	f.later(t,
		v1alpha1.AskFile{Path: "answers/gone", SHA256: sum}, v1alpha1.AskFile{Path: "answers/long", SHA256: sum},
		v1alpha1.AskFile{Path: "answers/fine", SHA256: toolapi.SHA256([]byte("y"))}, v1alpha1.AskFile{Path: "answers/before", Problem: "it was gone"},
	)
	if _, err := f.putAll(t.Context()); !errors.Is(err, runenv.ErrMissing) {
		t.Errorf("a ConfigMap that may come back: %v", err)
	}
	now = now.Add(runenv.MissingFor)
	missing, err := f.putAll(t.Context())
	if err != nil || len(missing) != 2 || missing[0].Path != "answers/gone" || !strings.Contains(missing[0].Problem, `"gone" not found`) ||
		missing[1].Path != "answers/long" || missing[1].Problem != "it cannot be an input file: file name too long" {
		t.Fatalf("missing are %+v, %v", missing, err)
	}
	if err := f.Env.Entries.NoteMissing(t.Context(), missing); err != nil {
		t.Fatal(err)
	}
	f.later(t)
	for i, file := range f.Env.Entries.AllSteps()[0].Status.Asks[0].Files {
		if want := int32([]int{2, 2, 0, 0}[i]); file.MissingInAttempt != want || (file.Problem == "") != (file.Path == "answers/fine") {
			t.Errorf("recorded is %+v", file)
		}
	}
	given.Store(0)
	if missing, err := f.putAll(t.Context()); err != nil || len(missing) != 0 || given.Load() != 1 {
		t.Errorf("the next workspace lacks %+v (%v), and was given %d files", missing, err, given.Load())
	}
	// In the next attempt the reason may be over.
	f.laterAttempt(t, 3)
	given.Store(0)
	if missing, err = f.putAll(t.Context()); err != nil || len(missing) != 2 || given.Load() != 2 {
		t.Errorf("the workspace of the next attempt lacks %+v (%v), and was given %d files", missing, err, given.Load())
	}
	if err := f.Env.Entries.NoteMissing(t.Context(), missing); err != nil {
		t.Fatal(err)
	}
	f.laterAttempt(t, 3)
	f.Client, given = toolsRefusing(t, "none")
	if missing, err := f.putAll(t.Context()); err != nil || len(missing) != 0 || given.Load() != 1 {
		t.Errorf("another workspace of that attempt lacks %+v (%v), and was given %d files", missing, err, given.Load())
	}
	f.laterAttempt(t, 4)
	given.Store(0)
	if missing, err := f.putAll(t.Context()); err != nil || len(missing) != 1 || missing[0].Path != "answers/gone" || given.Load() != 2 {
		t.Errorf("a sound tool server lacks %+v (%v), and was given %d files", missing, err, given.Load())
	}
}

// What cannot be put into the workspace is a problem of the file, and ends nothing.
func TestPutTellsWhatCannotBeThere(t *testing.T) {
	t.Parallel()
	f := answerFiles(t, nil, v1alpha1.ResponseFile{Path: "long", Content: new("x")}, v1alpha1.ResponseFile{Path: "fine", Content: new("x")})
	f.Client, _ = toolsRefusing(t, "long")
	files, err := f.Describe(t.Context(), turn.Ask{ID: "q"})
	if err != nil {
		t.Fatal(err)
	}
	put, err := f.Put(t.Context(), turn.Ask{ID: "q", Files: files})
	if err != nil || len(put) != 2 || put[0].Problem != "it cannot be an input file: file name too long" || put[1].Problem != "" || files[0].Problem != "" {
		t.Errorf("%+v, %v", put, err)
	}
}
