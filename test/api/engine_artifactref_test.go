// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/engine"
	"motorcortex.dev/motorcortex/internal/journal"
	"motorcortex.dev/motorcortex/internal/motorloop/chat"
	"motorcortex.dev/motorcortex/internal/motorloop/outcome"
)

// earlier makes a run that has ended and left these artifacts behind.
func (r *engineRig) earlier(list ...v1alpha1.Artifact) {
	r.t.Helper()
	run := createRun(r.ctx, r.t, r.run.Namespace, named("earlier"))
	before := run.DeepCopy()
	run.Status.Result = &v1alpha1.RunResult{OK: true, Artifacts: list}
	must(r.t, manager.Status().Patch(r.ctx, run, client.MergeFrom(before)))
}

// kept makes the ConfigMap of an artifact.
func (r *engineRig) kept(name, content string) {
	r.t.Helper()
	must(r.t, admin.Create(r.ctx, &corev1.ConfigMap{ObjectMeta: meta(r.run.Namespace, name), BinaryData: map[string][]byte{"content": []byte(content)}}))
}

func wantsArtifact(path string) func(*v1alpha1.MotorRun) {
	return func(run *v1alpha1.MotorRun) {
		run.Spec.Files = []v1alpha1.InputFile{{Path: "in.txt", ArtifactRef: &v1alpha1.ArtifactRef{RunName: "earlier", Path: path}}}
	}
}

func TestEngineGivesArtifactsToALaterRun(t *testing.T) {
	t.Parallel()
	const content = "from before\n\x00\xff"
	readIt := &stubModel{answers: []chat.Answer{says("", bashCall("cp in.txt artifacts.txt; cat in.txt"), call("save_artifact", `{"path":"artifacts.txt"}`)), says("done")}}
	for name, tt := range map[string]struct{ provenance, want string }{
		"its own":        {"Internal", "Internal"},
		"of the web":     {"Web", "Web"},
		"of nobody know": {"", "Web"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newEngineRig(t, &stubModel{answers: readIt.answers}, wantsArtifact("a/b.bin"), withSaveArtifact)
			r.kept("x", content)
			r.earlier(v1alpha1.Artifact{Path: "a/b.bin", Size: int64(len(content)), SHA256: hexSum(content), ConfigMapName: "x", Provenance: tt.provenance})
			r.startEngine("worker-1", nil)
			steps := r.ended(2)
			if got, err := os.ReadFile(filepath.Join(r.workspace, "in.txt")); err != nil || string(got) != content {
				t.Fatalf("the file has %q (%v)", got, err)
			}
			if got := resultAt(t, steps, 0, 0).Provenance; got != tt.want {
				t.Errorf("what a program says then is of %s, want %s", got, tt.want)
			}
			if got := artifactAt(t, steps, 1, 0).Provenance; got != tt.want {
				t.Errorf("the artifact is of %s, want %s", got, tt.want)
			}
		})
	}
}

func TestEngineGivesArtifactsOfTheBucket(t *testing.T) {
	const content = "in the bucket"
	store, _ := fileBucket(t)
	must(t, store.WriteArtifact(t.Context(), "k/1", func(w io.Writer) error {
		_, err := io.Copy(w, bytes.NewReader([]byte(content)))
		return err
	}))
	r := newEngineRig(t, &stubModel{answers: []chat.Answer{says("done")}}, wantsArtifact("a"))
	r.earlier(v1alpha1.Artifact{Path: "a", Size: int64(len(content)), SHA256: hexSum(content), ObjectKey: "k/1", Provenance: "Internal"})
	r.startEngineWith("worker-1", func(e *engine.Engine) { e.Artifacts = store })
	r.steps(journalEnded)
	if got, err := os.ReadFile(filepath.Join(r.workspace, "in.txt")); err != nil || string(got) != content {
		t.Errorf("the file has %q (%v)", got, err)
	}
}

func TestEngineRefusesArtifactsThatAreNotThere(t *testing.T) {
	t.Parallel()
	good := v1alpha1.Artifact{Path: "a", Size: 1, SHA256: hexSum("x"), ConfigMapName: "x", Provenance: "Internal"}
	for name, tt := range map[string]struct {
		change func(*v1alpha1.Artifact)
		want   string
	}{
		"another content":      {func(a *v1alpha1.Artifact) { a.SHA256 = hexSum("y") }, "is not what MotorRun earlier left behind"},
		"another name":         {func(a *v1alpha1.Artifact) { a.Path = "b" }, `it has "b"`},
		"not kept":             {func(a *v1alpha1.Artifact) { *a = v1alpha1.Artifact{Path: "a", Skipped: v1alpha1.SkippedSecretFound} }, "has not kept its artifact"},
		"no ConfigMap":         {func(a *v1alpha1.Artifact) { a.ConfigMapName = "gone" }, `configmaps "gone" not found`},
		"in a bucket":          {func(a *v1alpha1.Artifact) { a.ConfigMapName, a.ObjectKey = "", "k" }, "--archive-bucket"},
		"larger than an input": {func(a *v1alpha1.Artifact) { a.Size = 2 << 20 }, "have it split"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newEngineRig(t, &stubModel{answers: []chat.Answer{says("done")}}, wantsArtifact("a"))
			r.kept("x", "x")
			a := good
			tt.change(&a)
			r.earlier(a)
			var looked atomic.Int32
			r.startEngineWith("worker-1", func(e *engine.Engine) {
				e.Live = readsOf{e.Live, "earlier", &looked}
				holdsItsLease(e)
			})
			// It may come back, for a minute.
			r.waitFor(func() bool { return looked.Load() >= 2 })
			r.skipped.Store(int64(2 * time.Minute))
			steps := r.ended(1)
			if o := steps[0].Spec.Outcome; o == nil || o.Reason != outcome.ReasonInputFile || !strings.Contains(o.Message, tt.want) {
				t.Errorf("the journal is %+v", steps[0].Spec)
			}
		})
	}
}

// readsOf counts the reads of an object through it.
type readsOf struct {
	client.Reader
	name  string
	count *atomic.Int32
}

func (c readsOf) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if key.Name == c.name {
		c.count.Add(1)
	}
	return c.Reader.Get(ctx, key, o, opts...)
}

func TestARunWaitsForAnArtifact(t *testing.T) {
	const unchanged = "Accepted False InputFileNotFound"
	r := newRig(t, wantsArtifact("out/report.md"))
	message := func(want string) {
		t.Helper()
		r.step()
		r.want(v1alpha1.PhaseCreated, unchanged)
		if got := r.run().Status.Message; !strings.Contains(got, "spec.files[0]: ") || !strings.Contains(got, want) {
			t.Errorf("it says %q, want %q", got, want)
		}
	}
	message("there is no MotorRun earlier in namespace")
	run := createRun(r.ctx, t, r.ns, named("earlier"))
	message("it has none so far")
	set := func(change func(*v1alpha1.MotorRunStatus)) {
		t.Helper()
		before := run.DeepCopy()
		change(&run.Status)
		must(t, manager.Status().Patch(r.ctx, run, client.MergeFrom(before)))
	}
	set(func(st *v1alpha1.MotorRunStatus) {
		st.Artifacts = []v1alpha1.Artifact{{Path: "out/other", ConfigMapName: "o"}}
	})
	message(`it has "out/other"`)
	set(func(st *v1alpha1.MotorRunStatus) {
		st.Artifacts = []v1alpha1.Artifact{{Path: "out/report.md", Skipped: v1alpha1.SkippedTooLarge}}
	})
	message("has not kept its artifact")
	set(func(st *v1alpha1.MotorRunStatus) {
		st.Artifacts = []v1alpha1.Artifact{{Path: "out/report.md", ObjectKey: "key"}}
	})
	message("start it with --archive-bucket")
	set(func(st *v1alpha1.MotorRunStatus) {
		st.Artifacts = []v1alpha1.Artifact{{Path: "out/report.md", ConfigMapName: "c"}}
	})
	r.step()
	r.want(v1alpha1.PhaseCreated, "Accepted True Accepted")
}

func TestTheStatusShowsArtifacts(t *testing.T) {
	r := newRig(t)
	r.ready()
	list := func(sum string) *v1alpha1.ArtifactList {
		return &v1alpha1.ArtifactList{Omitted: 3, Files: []v1alpha1.Artifact{{Path: "a", Size: 1, SHA256: sum, ConfigMapName: "c"}}}
	}
	r.said(turnAt(1, "", `ask_user:{"question":"Go on?"}`))
	r.asks(v1alpha1.InputQuestion, 0)
	l := r.log()
	must(t, l.NoteArtifacts(r.ctx, list("1")))
	version := func() string {
		t.Helper()
		return r.versions()["step run-a01-s0001"]
	}
	was := version()
	must(t, r.log().NoteArtifacts(r.ctx, list("1")))
	if version() != was {
		t.Error("what is noted was written again")
	}
	r.step()
	if st := r.run().Status; len(st.Artifacts) != 1 || st.Artifacts[0].SHA256 != "1" {
		t.Errorf("while it waits: %+v", st.Artifacts)
	}
	r.used("yes")
	if l := r.log(); l.Steps()[0].Status.Artifacts == nil {
		t.Error("the settling of the step took its artifacts away")
	}
	l = r.log()
	must(t, l.Append(r.ctx, turnAt(2, "All done.")))
	must(t, l.Close(r.ctx, journal.Closing{Artifacts: list("2")}))
	r.step()
	run := r.wantEnd(v1alpha1.PhaseCompleted, v1alpha1.ReasonCompleted)
	res := run.Status.Result
	if run.Status.Artifacts != nil || len(res.Artifacts) != 1 || res.Artifacts[0].SHA256 != "2" || res.ArtifactsOmitted != 3 {
		t.Errorf("at its end: %+v and %+v", run.Status.Artifacts, res)
	}
}
