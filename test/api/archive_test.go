// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/archive"
	"motorcortex.dev/motorcortex/internal/archive/bucket"
	"motorcortex.dev/motorcortex/internal/controller/archiver"
)

// archiveRig is a rig whose run has finished, and a reconciler with a folder to archive it in.
type archiveRig struct {
	*rig
	folder string
	store  *faultyArchive
	arc    *archiver.Reconciler
	ended  *v1alpha1.MotorRun
}

// faultyArchive is a bucket that fails when it is told to.
type faultyArchive struct {
	*bucket.Bucket
	write, read error
	// garble changes what is read.
	garble func(string) string
	// before is called before anything is read.
	before func()
}

func (a *faultyArchive) Write(ctx context.Context, key string, fill func(io.Writer) error) error {
	if a.write != nil {
		return a.write
	}
	return a.Bucket.Write(ctx, key, fill)
}

func (a *faultyArchive) Read(ctx context.Context, key string) (io.ReadCloser, error) {
	if a.before != nil {
		a.before()
	}
	if a.read != nil {
		return nil, a.read
	}
	in, err := a.Bucket.Read(ctx, key)
	if err != nil || a.garble == nil {
		return in, err
	}
	defer in.Close()
	data, err := io.ReadAll(in)
	return io.NopCloser(strings.NewReader(a.garble(string(data)))), err
}

func newArchiveRig(t *testing.T) *archiveRig {
	t.Helper()
	r := &archiveRig{rig: newRig(t), folder: t.TempDir()}
	b, err := bucket.Open(r.ctx, "file://"+r.folder)
	must(t, err)
	t.Cleanup(func() { _ = b.Close() })
	r.store = &faultyArchive{Bucket: b}
	r.arc = &archiver.Reconciler{
		Client: manager, Live: manager, Recorder: r, Archive: r.store, Now: func() time.Time { return r.now },
	}
	r.ready()
	first := turnAt(1, "", "bash:{\"command\":\"ls\"}")
	first.Results[0] = okResult(strings.Repeat("a long output\n", 100), 5)
	r.said(first)
	r.said(turnAt(2, "done"))
	r.step()
	r.ended = r.wantEnd(v1alpha1.PhaseCompleted, "Completed")
	r.now = r.now.Add(time.Minute)
	r.events = nil
	return r
}

func (r *archiveRig) archive() error {
	r.t.Helper()
	_, err := r.arc.Reconcile(r.ctx, ctrl.Request{NamespacedName: r.key})
	return err
}

func (r *archiveRig) path() string { return filepath.Join(r.folder, archive.Key(r.ended)) }

func (r *archiveRig) stepNames() []string {
	r.t.Helper()
	var list v1alpha1.MotorStepList
	must(r.t, admin.List(r.ctx, &list, client.InNamespace(r.ns)))
	names := []string{}
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	return names
}

// wantArchived checks everything that an archived run has in common.
func (r *archiveRig) wantArchived(left ...string) {
	r.t.Helper()
	run := r.run()
	if run.Status.Archive == nil {
		r.t.Fatal("status.archive is not set")
	}
	f, err := os.Open(r.path())
	must(r.t, err)
	defer f.Close()
	held, err := archive.Read(f, run.Status.Archive.Head)
	must(r.t, err)
	if int(run.Status.Archive.Steps) != len(held.Steps) || held.UID != string(run.UID) || run.Status.Archive.Key != archive.Key(run) {
		r.t.Errorf("status.archive %+v, the archive is of %s with %d steps", run.Status.Archive, held.UID, len(held.Steps))
	}
	if diff := cmp.Diff(append([]string{}, left...), r.stepNames()); diff != "" {
		r.t.Errorf("steps in the cluster (-want +got):\n%s", diff)
	}
	status := run.Status.DeepCopy()
	status.Archive = nil
	if diff := cmp.Diff(&r.ended.Status, status); diff != "" {
		r.t.Errorf("the rest of the status changed (-before +after):\n%s", diff)
	}
}

func TestArchive(t *testing.T) {
	r := newArchiveRig(t)
	r.now = r.ended.Status.CompletionTime.Add(5 * time.Second)
	res, err := r.arc.Reconcile(r.ctx, ctrl.Request{NamespacedName: r.key})
	must(t, err)
	if res.RequeueAfter != 10*time.Second {
		t.Errorf("it comes back after %s", res.RequeueAfter)
	}
	if _, err := os.Stat(r.path()); err == nil {
		t.Error("it was archived while a worker may still write")
	}
	r.now = r.now.Add(10 * time.Second)
	must(t, r.archive())
	r.wantArchived()
	data, err := os.ReadFile(r.path())
	must(t, err)
	for _, want := range []string{`"task":"count the words"`, strings.Repeat(`a long output\n`, 100), `"content":"done"`, `"phase":"Completed"`} {
		if !strings.Contains(string(data), want) {
			t.Errorf("the archive does not have %.40s…", want)
		}
	}
	before := r.versions()
	must(t, r.archive())
	r.step()
	if diff := cmp.Diff(before, r.versions()); diff != "" {
		t.Errorf("more passes changed something (-before +after):\n%s", diff)
	}
	r.wantArchived()
	if diff := cmp.Diff([]string{"Normal Archived"}, r.events); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// Wherever the manager is killed, the next pass goes on.
func TestArchiveThatWasInterrupted(t *testing.T) {
	killed := errors.New("killed")
	failPatch := interceptor.Funcs{SubResourcePatch: func(context.Context, client.Client, string, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
		return killed
	}}
	failDelete := interceptor.Funcs{Delete: func(context.Context, client.WithWatch, client.Object, ...client.DeleteOption) error { return killed }}
	deleteOne := interceptor.Funcs{Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
		return errors.Join(c.Delete(ctx, o, opts...), killed)
	}}
	tests := map[string]struct {
		faults interceptor.Funcs
		steps  int
		// between happens while no manager runs.
		between func(*archiveRig)
	}{
		"before the status": {failPatch, 2, func(*archiveRig) {}},
		"before the status, and the spec changes": {failPatch, 2, func(r *archiveRig) {
			r.patchSpec(`{"cancel":true,"ttlSecondsAfterFinished":100000}`)
			respond(r.ctx, r.t, r.ended, "late", "answer")
		}},
		"before the steps are deleted": {failDelete, 2, func(*archiveRig) {}},
		"while steps are deleted":      {deleteOne, 1, func(*archiveRig) {}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := newArchiveRig(t)
			r.arc.Client = interceptor.NewClient(manager, tt.faults)
			if err := r.archive(); !errors.Is(err, killed) {
				t.Fatalf("got %v", err)
			}
			written, err := os.ReadFile(r.path())
			must(t, err)
			if steps := r.stepNames(); len(steps) != tt.steps {
				t.Errorf("%d steps are left: %v", len(steps), steps)
			}
			tt.between(r)
			r.arc.Client = manager
			must(t, r.archive())
			r.wantArchived()
			if again, err := os.ReadFile(r.path()); err != nil || string(again) != string(written) {
				t.Errorf("the archive was written again (%v)", err)
			}
			if diff := cmp.Diff([]string{"Normal Archived"}, r.events); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}

// Whatever is wrong with the bucket: the steps stay, it is told once, and it is tried again.
func TestArchiveThatFails(t *testing.T) {
	away := errors.New("the bucket is away")
	foreign := func(content string) func(*archiveRig) {
		return func(r *archiveRig) {
			must(r.t, os.MkdirAll(filepath.Dir(r.path()), 0o700))
			must(r.t, os.WriteFile(r.path(), []byte(content), 0o600))
		}
	}
	removed := func(r *archiveRig) { must(r.t, os.Remove(r.path())) }
	tests := map[string]struct {
		fail, mend func(*archiveRig)
		want       string
	}{
		"not written":   {func(r *archiveRig) { r.store.write = away }, func(r *archiveRig) { r.store.write = nil }, "is away"},
		"not read":      {func(r *archiveRig) { r.store.read = away }, func(r *archiveRig) { r.store.read = nil }, "is away"},
		"lost":          {func(r *archiveRig) { r.store.read = archive.ErrNotFound }, func(r *archiveRig) { r.store.read = nil }, "does not exist"},
		"another file":  {foreign("something else\n"), removed, "line 1: it is not written as"},
		"an empty file": {foreign(""), removed, "nothing in the file"},
		"another's run": {func(r *archiveRig) { foreign(otherArchive(r.t))(r) }, removed, "holds something else"},
		"read otherwise": {func(r *archiveRig) {
			r.store.garble = func(s string) string { return strings.Replace(s, `"content":"done"`, `"content":"d0ne"`, 1) }
		}, func(r *archiveRig) { r.store.garble = nil }, "run-a01-s0002): its content does not have the digest"},
		"read in part": {func(r *archiveRig) { r.store.garble = func(s string) string { return s[:len(s)/2] } }, func(r *archiveRig) { r.store.garble = nil }, "cut off"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := newArchiveRig(t)
			tt.fail(r)
			before := r.versions()
			for range 3 {
				if err := r.archive(); err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("got %v, want %q", err, tt.want)
				}
			}
			if diff := cmp.Diff(before, r.versions()); diff != "" {
				t.Errorf("it changed something (-before +after):\n%s", diff)
			}
			if diff := cmp.Diff([]string{"Warning ArchiveFailed"}, r.events); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
			tt.mend(r)
			must(t, r.archive())
			r.wantArchived()
			if diff := cmp.Diff([]string{"Warning ArchiveFailed", "Normal Archived"}, r.events); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}

// otherArchive is a whole archive, of another run.
func otherArchive(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	w, err := archive.NewWriter(&b, &v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{Name: "run", Namespace: "ns", UID: "other"}})
	must(t, err)
	_, err = w.Close()
	must(t, err)
	return b.String()
}

func TestArchiveTellsOfAnotherProblem(t *testing.T) {
	r := newArchiveRig(t)
	r.store.write = errors.New("away, request 1")
	_ = r.archive()
	r.store.write = errors.New("away, request 2")
	_ = r.archive()
	r.store.write, r.store.read = nil, archive.ErrNotFound
	_ = r.archive()
	// A manager that stops has nothing to tell of.
	r.store.read = fmt.Errorf("read: %w", context.Canceled)
	_ = r.archive()
	if diff := cmp.Diff([]string{"Warning ArchiveFailed", "Warning ArchiveFailed"}, r.events); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// A step goes only if the archive has it as it is.
func TestArchiveLeavesWhatItDoesNotHave(t *testing.T) {
	r := newArchiveRig(t)
	own := []metav1.OwnerReference{*metav1.NewControllerRef(r.ended, v1alpha1.GroupVersion.WithKind("MotorRun"))}
	create := func(name string, index int32, owners []metav1.OwnerReference) {
		s := bareStep(r.ns, name, func(s *v1alpha1.MotorStepSpec) { s.Index = index })
		s.Labels, s.OwnerReferences = map[string]string{v1alpha1.LabelRun: "run"}, owners
		must(t, manager.Create(r.ctx, s))
	}
	create("foreign", 3, nil)
	late := true
	r.store.before = func() {
		if late {
			create("run-a01-s0003", 3, own)
			changed := bareStep(r.ns, "run-a01-s0002")
			must(t, manager.Status().Patch(r.ctx, changed, client.RawPatch(types.MergePatchType, []byte(`{"status":{"toolMilliseconds":7}}`))))
		}
		late = false
	}
	must(t, r.archive())
	r.wantArchived("foreign", "run-a01-s0002", "run-a01-s0003")
	must(t, r.archive())
	r.wantArchived("foreign", "run-a01-s0002", "run-a01-s0003")
}

func TestArchiveKeepsTheOrderOfManySteps(t *testing.T) {
	r := newArchiveRig(t)
	own := []metav1.OwnerReference{*metav1.NewControllerRef(r.ended, v1alpha1.GroupVersion.WithKind("MotorRun"))}
	for attempt := int32(1); attempt <= 2; attempt++ {
		for index := int32(3); index <= 21; index++ {
			s := bareStep(r.ns, fmt.Sprintf("run-a%02d-s%04d", attempt, index), func(s *v1alpha1.MotorStepSpec) { s.Attempt, s.Index = attempt, index })
			s.Labels, s.OwnerReferences = map[string]string{v1alpha1.LabelRun: "run"}, own
			must(t, manager.Create(r.ctx, s))
		}
	}
	must(t, r.archive())
	r.wantArchived()
	if n := r.run().Status.Archive.Steps; n != 40 {
		t.Errorf("%d steps are archived", n)
	}
}

func TestArchiveYieldsToAnotherWriter(t *testing.T) {
	r := newArchiveRig(t)
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "motorruns"}, "run", errors.New("it changed"))
	r.arc.Client = interceptor.NewClient(manager, interceptor.Funcs{
		SubResourcePatch: func(context.Context, client.Client, string, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
			return conflict
		},
	})
	res, err := r.arc.Reconcile(r.ctx, ctrl.Request{NamespacedName: r.key})
	if err != nil || res.RequeueAfter <= 0 || len(r.events) > 0 {
		t.Errorf("comes back after %s, error %v, events %v", res.RequeueAfter, err, r.events)
	}
	r.arc.Client = manager
	must(t, r.archive())
	r.wantArchived()
}

func TestArchiveLeavesUnfinishedRunsAlone(t *testing.T) {
	r := newArchiveRig(t)
	other := createRun(r.ctx, t, r.ns, func(run *v1alpha1.MotorRun) { run.Name = "other" })
	for _, key := range []client.ObjectKey{client.ObjectKeyFromObject(other), {Namespace: r.ns, Name: "missing"}} {
		if res, err := r.arc.Reconcile(r.ctx, ctrl.Request{NamespacedName: key}); err != nil || res.RequeueAfter > 0 {
			t.Errorf("%s: %+v, %v", key, res, err)
		}
	}
	base := r.ended.DeepCopy()
	base.Finalizers = []string{"example.org/hold"}
	must(t, admin.Patch(r.ctx, base, client.MergeFrom(r.ended)))
	must(t, admin.Delete(r.ctx, base.DeepCopy()))
	must(t, r.archive())
	if r.run().Status.Archive != nil || !slices.Contains(r.stepNames(), "run-a01-s0001") {
		t.Error("a run that is being deleted was archived")
	}
	must(t, jsonPatch(r.ctx, r.run(), `[{"op":"remove","path":"/metadata/finalizers"}]`))
	if entries, err := os.ReadDir(r.folder); err != nil || len(entries) > 0 {
		t.Errorf("the folder has %v (%v)", entries, err)
	}
}
