// SPDX-License-Identifier: Apache-2.0

package harvest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/engine/enginetest"
	"motorcortex.dev/motorcortex/internal/runpolicy/fit"
	secretscan "motorcortex.dev/motorcortex/internal/secret/scan"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// drippingSandbox is a tool server with two artifacts. It sends a byte of the second one, and of the list if so configured, now and then,
// and never reaches an end.
type drippingSandbox struct {
	files, list atomic.Bool
	// dripped counts the answers that dripped.
	dripped atomic.Int32
}

const slowFile = "artifacts/slow"

// withoutChanges returns the features of a tool server that does not tell the changes of the workspace.
func withoutChanges() []string {
	return slices.DeleteFunc(slices.Clone(toolapi.Features()), func(f string) bool { return f == "POST "+toolapi.PathChanges })
}

func (s *drippingSandbox) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer, drips := any(toolapi.Hello{PodUID: "pod", Features: withoutChanges()}), false
	switch name, isFile := strings.CutPrefix(r.URL.Path, toolapi.PathArtifacts+"/"); {
	case isFile:
		answer, drips = toolapi.Chunk{Content: []byte(name), Size: int64(len(name))}, name == slowFile && s.files.Load()
	case r.URL.Path == toolapi.PathArtifacts:
		answer, drips = toolapi.Artifacts{Files: []toolapi.ArtifactFile{{Path: "artifacts/quick", Size: 15}, {Path: slowFile, Size: 14}}}, s.list.Load()
	}
	if !drips {
		_ = json.NewEncoder(w).Encode(answer)
		return
	}
	s.dripped.Add(1)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			_, _ = w.Write([]byte(" ")) // Nothing of JSON is wrong so far.
			_ = http.NewResponseController(w).Flush()
		case <-r.Context().Done():
			return
		}
	}
}

// artifactsOf returns the collector of the artifacts of a run in that sandbox, and a reader of its only step.
func (s *drippingSandbox) artifactsOf(t *testing.T) (a *Artifacts, step func() *v1alpha1.MotorStep) {
	t.Helper()
	return artifactsAt(t, s)
}

// artifactsAt is artifactsOf for a sandbox whose tool server answers as the handler does.
func artifactsAt(t *testing.T, handler http.Handler) (a *Artifacts, step func() *v1alpha1.MotorStep) {
	t.Helper()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	tools := enginetest.ToolsAt(t, handler)
	run := enginetest.ReadyRun()
	run.UID = "run-uid"
	first := enginetest.Step(run, 1, 1)
	c := fake.NewClientBuilder().WithScheme(enginetest.Scheme(t)).WithObjects(first).WithStatusSubresource(first).Build()
	env := enginetest.Env(t, c, run, func() time.Time { return enginetest.Noon })
	env.Known, _ = enginetest.Secrets()
	return &Artifacts{Env: env, Client: tools, Reachable: func() bool { return true }, waitedFor: 2 * time.Second}, func() *v1alpha1.MotorStep {
		t.Helper()
		var found v1alpha1.MotorStep
		check(c.Get(t.Context(), client.ObjectKeyFromObject(first), &found))
		return &found
	}
}

// listed formats a list, as path=location or path!reason: message.
func listed(list *v1alpha1.ArtifactList) string {
	if list == nil {
		return "nothing"
	}
	var all []string
	for _, f := range list.Files {
		if f.Skipped != "" {
			all = append(all, fmt.Sprintf("%s!%s: %s", f.Path, f.Skipped, f.Message))
		} else {
			all = append(all, fmt.Sprintf("%s=%t", f.Path, f.ConfigMapName != ""))
		}
	}
	return strings.Join(all, ", ")
}

// While a person or the model waits, a file that does not end times out soon. At the end there is more time for it.
func TestSlowSandboxKeepsNobodyWaiting(t *testing.T) {
	t.Parallel()
	secretscan.Scan("", nil) // The first scan makes the rules, which takes a while.
	sandbox := &drippingSandbox{}
	a, step := sandbox.artifactsOf(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()

	sandbox.list.Store(true)
	if err := a.atPause(ctx); err != nil || sandbox.dripped.Load() == 0 {
		t.Fatalf("the list drips: %v, %d times", err, sandbox.dripped.Load())
	}
	if got := listed(step().Status.Artifacts); got != "nothing" {
		t.Errorf("without a list there is %s", got)
	}

	sandbox.list.Store(false)
	sandbox.files.Store(true)
	if err := a.atPause(ctx); err != nil {
		t.Fatal(err)
	}
	if got, want := listed(step().Status.Artifacts), "artifacts/quick=true, "+slowFile+"!Unreadable: it could not be read and kept in time"; got != want {
		t.Errorf("at the pause there is %s, want %s", got, want)
	}

	saved := toolapi.Result{OK: true, Output: "saved"}
	for _, file := range []string{"artifacts/quick", slowFile} {
		if got, err := a.check(ctx, json.RawMessage(`{"path":"`+file+`"}`), saved); err != nil || got != saved {
			t.Errorf("saving %s gives %+v, %v", file, got, err)
		}
	}
	if n := sandbox.dripped.Load(); n != 3 {
		t.Errorf("%d answers dripped", n)
	}

	sandbox.files.Store(false)
	list, err := a.Collect(ctx, Timeout)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := listed(list), "artifacts/quick=true, "+slowFile+"=true"; got != want {
		t.Errorf("at the end there is %s, want %s", got, want)
	}
}

// Stored files remain when there is no time to read them again, at a pause and at the end.
func TestWhatWasKeptOutlastsASlowSandbox(t *testing.T) {
	t.Parallel()
	secretscan.Scan("", nil) // The first scan makes the rules, which takes a while.
	sandbox := &drippingSandbox{}
	a, step := sandbox.artifactsOf(t)
	a.waitedFor = time.Minute
	if err := a.atPause(t.Context()); err != nil {
		t.Fatal(err)
	}
	kept := step().Status.Artifacts
	if got, want := listed(kept), "artifacts/quick=true, "+slowFile+"=true"; got != want {
		t.Fatalf("at first there is %s, want %s", got, want)
	}
	want := func(when string, drips int32, got *v1alpha1.ArtifactList) {
		t.Helper()
		if n := sandbox.dripped.Load(); n != drips {
			t.Errorf("%s: %d answers dripped", when, n)
		}
		if diff := gocmp.Diff(kept, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", when, diff)
		}
		for _, name := range configMaps(kept) {
			if err := a.Env.Live.Get(t.Context(), client.ObjectKey{Namespace: a.Env.Run.Namespace, Name: name}, &corev1.ConfigMap{}); err != nil {
				t.Errorf("%s: %v", when, err)
			}
		}
	}

	sandbox.files.Store(true)
	a.waitedFor = 2 * time.Second
	if err := a.atPause(t.Context()); err != nil {
		t.Fatal(err)
	}
	want("at the next pause", 1, step().Status.Artifacts)

	list, err := a.Collect(t.Context(), 2*time.Second)
	if !errors.Is(err, ErrTime) {
		t.Fatal(err)
	}
	a.Sweep(t.Context(), list)
	want("at the end", 2, list)
}

func TestAFileThatThereIsNoTimeFor(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	over, cancel := context.WithCancelCause(t.Context())
	cancel(ErrTime)
	for name, tt := range map[string]struct {
		former *v1alpha1.Artifact
		room   room
		// want is the ConfigMap, the object, or the reason of the entry; objects and blobs are the sizes that count against the limits.
		want           string
		objects, blobs int64
	}{
		"in a ConfigMap":      {&v1alpha1.Artifact{ConfigMapName: "c", Size: mib}, room{}, "c", mib, 0},
		"in the bucket":       {&v1alpha1.Artifact{ObjectKey: "o", Size: 2 * mib}, room{bucket: true}, "o", 0, 2 * mib},
		"nothing is recorded": {nil, room{}, "Unreadable", 0, 0},
		"another file is":     {&v1alpha1.Artifact{Path: "b", ConfigMapName: "c", Size: 1}, room{}, "Unreadable", 0, 0},
		"it was not kept":     {&v1alpha1.Artifact{Skipped: v1alpha1.SkippedTooLarge, Size: 1}, room{}, "Unreadable", 0, 0},
		"others took the room": {
			&v1alpha1.Artifact{ConfigMapName: "c", Size: 2}, room{objects: maxObjectsBytes - 1}, "Unreadable", maxObjectsBytes - 1, 0,
		},
		"others took the bucket": {
			&v1alpha1.Artifact{ObjectKey: "o", Size: 2}, room{bucket: true, blobs: fit.MaxBucketBytes - 1}, "Unreadable", 0, fit.MaxBucketBytes - 1,
		},
	} {
		a := &Artifacts{}
		if tt.former != nil {
			former := *tt.former
			former.Path = cmp.Or(former.Path, "a")
			a.Recorded = &v1alpha1.ArtifactList{Files: []v1alpha1.Artifact{former}}
		}
		got, err := a.failed(over, v1alpha1.Artifact{Path: "a", Size: 1}, &tt.room, context.Canceled)
		if where := got.ConfigMapName + got.ObjectKey + string(got.Skipped); err != nil || where != tt.want || got.Path != "a" {
			t.Errorf("%s: %+v, %v; want %s", name, got, err, tt.want)
		}
		if tt.room.objects != tt.objects || tt.room.blobs != tt.blobs {
			t.Errorf("%s: it takes %+v", name, tt.room)
		}
	}
}
