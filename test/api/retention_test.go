// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/runpolicy/observed"
)

const day = 24 * time.Hour

// isGone reports whether the run was deleted.
func (r *rig) isGone() bool {
	r.t.Helper()
	err := admin.Get(r.ctx, r.key, &v1alpha1.MotorRun{})
	if client.IgnoreNotFound(err) != nil {
		r.t.Fatal(err)
	}
	return err != nil
}

func TestFinishedRunIsDeletedInTime(t *testing.T) {
	ttl := func(seconds int32) func(*v1alpha1.MotorRun) {
		return func(run *v1alpha1.MotorRun) { run.Spec.TTLSecondsAfterFinished = &seconds }
	}
	none := func(*v1alpha1.MotorRun) {}
	keeps := v1alpha1.Retention{SucceededSeconds: new(int32(100)), FailedSeconds: new(int32(200))}
	tests := map[string]struct {
		change    func(*v1alpha1.MotorRun)
		succeeds  bool
		retention v1alpha1.Retention
		want      time.Duration
	}{
		"succeeded":                   {change: none, succeeds: true, want: day},
		"cancelled":                   {change: none, want: 7 * day},
		"as it says itself":           {change: ttl(50), want: 50 * time.Second, retention: keeps},
		"at once":                     {change: ttl(0), want: 0},
		"as its namespace says":       {change: none, succeeds: true, want: 100 * time.Second, retention: keeps},
		"as its namespace says, else": {change: none, want: 200 * time.Second, retention: keeps},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, tt.change)
			must(t, admin.Create(r.ctx, &v1alpha1.MotorCortex{ObjectMeta: meta(r.ns, v1alpha1.CortexName), Spec: v1alpha1.MotorCortexSpec{Retention: tt.retention}}))
			r.ready()
			if tt.succeeds {
				r.said(turnAt(1, "done"))
			} else {
				r.patchSpec(`{"cancel":true}`)
			}
			r.now = r.now.Truncate(time.Second)
			finished := r.now
			res := r.once()
			if tt.want == 0 {
				if !r.isGone() {
					t.Error("it is still there")
				}
				return
			}
			if got := res.RequeueAfter.Round(time.Second); got != tt.want {
				t.Errorf("looks again after %s, want %s", got, tt.want)
			}
			r.now = finished.Add(tt.want - time.Second)
			r.step()
			if r.isGone() {
				t.Fatal("it was deleted too early")
			}
			r.now = finished.Add(tt.want)
			r.once()
			if !r.isGone() {
				t.Error("it is still there")
			}
			if r.pod() != nil {
				t.Error("its sandbox is still there")
			}
		})
	}
}

// A new time counts from the next pass on, and one that a pass has not seen yet is not passed over.
func TestTimeToLiveChanges(t *testing.T) {
	r := newRig(t)
	r.patchSpec(`{"cancel":true}`)
	r.step()
	finished := r.run().Status.CompletionTime.Time
	r.now = finished.Add(time.Minute)
	r.patchSpec(`{"ttlSecondsAfterFinished":61}`)
	if res := r.step(); res.RequeueAfter < time.Second || res.RequeueAfter > 2*time.Second {
		t.Errorf("looks again after %s", res.RequeueAfter)
	}
	r.now = finished.Add(time.Hour)
	r.stale()
	r.patchSpec(`{"ttlSecondsAfterFinished":7200}`)
	if res, err := r.rec.Reconcile(r.ctx, ctrl.Request{NamespacedName: r.key}); err != nil || res.RequeueAfter <= 0 || res.RequeueAfter > time.Second {
		t.Errorf("a conflict gives %v, %v", res, err)
	}
	if r.isGone() {
		t.Fatal("the run was deleted, and somebody had just asked for it to be kept")
	}
	r.rec.Client = manager
	r.step()
	r.patchSpec(`{"ttlSecondsAfterFinished":0}`)
	r.once()
	if !r.isGone() {
		t.Error("it is still there")
	}
}

// led is a time that was observed until then.
type led struct{ now, until time.Time }

func (l *led) Now() time.Time          { return l.now }
func (l *led) Observed() observed.Time { return observed.Time{Until: l.until} }

// A leader that has written no heartbeat does not know yet for how long none was there: a run that had not been archived would go.
func TestFinishedRunStaysUntilTheTimeIsKnown(t *testing.T) {
	r := newRig(t, func(run *v1alpha1.MotorRun) { run.Spec.TTLSecondsAfterFinished = new(int32(60)) })
	r.patchSpec(`{"cancel":true}`)
	r.step()
	finished := r.run().Status.CompletionTime.Time
	r.now = finished.Add(time.Hour)
	clock := &led{now: r.now, until: finished.Add(time.Second)}
	r.rec.Time = clock
	if r.once(); r.isGone() {
		t.Fatal("it went before it was known how much time had passed")
	}
	clock.until = r.now
	if r.once(); !r.isGone() {
		t.Error("it is still there")
	}
}

// The archive comes first, for an hour.
func TestFinishedRunWaitsForItsArchive(t *testing.T) {
	for name, archived := range map[string]bool{"that never comes": false, "that is there": true} {
		t.Run(name, func(t *testing.T) { waitsForItsArchive(t, archived) })
	}
}

func waitsForItsArchive(t *testing.T, archived bool) {
	r := newRig(t, func(run *v1alpha1.MotorRun) { run.Spec.TTLSecondsAfterFinished = new(int32(0)) })
	r.rec.Config.Archive = true
	r.patchSpec(`{"cancel":true}`)
	r.step()
	finished := r.run().Status.CompletionTime.Time
	if archived {
		run := r.run()
		base := run.DeepCopy()
		run.Status.Archive = &v1alpha1.ArchiveStatus{Key: "k", Head: "sha256:h"}
		must(t, manager.Status().Patch(r.ctx, run, client.MergeFrom(base)))
	} else {
		r.now = finished.Add(time.Hour - time.Second)
		r.step()
		if r.isGone() {
			t.Fatal("the run was deleted before it was archived")
		}
		r.now = finished.Add(time.Hour)
		r.rec.Config.ArchiveRequired = true
		r.step()
		if r.isGone() {
			t.Fatal("the run was deleted although its archive is required")
		}
		r.rec.Config.ArchiveRequired = false
	}
	var lost counter
	r.rec.Config.Unarchived = &lost
	r.once()
	if !r.isGone() {
		t.Errorf("archived %t: it is still there", archived)
	}
	if told := slices.Contains(r.events, "Warning DeletedUnarchived"); told == archived || (lost == 0) != archived {
		t.Errorf("archived %t: the events are %q, and %d losses are counted", archived, r.events, lost)
	}
}

// counter counts in a test.
type counter int

func (c *counter) Inc() { *c++ }

func TestNewestRunsAreKept(t *testing.T) {
	r := newRig(t)
	must(t, admin.Create(r.ctx, &v1alpha1.MotorCortex{ObjectMeta: meta(r.ns, v1alpha1.CortexName), Spec: v1alpha1.MotorCortexSpec{
		Retention: v1alpha1.Retention{MaxFailed: new(int32(2)), MaxSucceeded: new(int32(0))},
	}}))
	names := []string{"d", "a", "c", "b"}
	pass := func() {
		for _, name := range names {
			r.key.Name = name
			r.once()
		}
	}
	for _, name := range names {
		createRun(r.ctx, t, r.ns, func(run *v1alpha1.MotorRun) { run.Name, run.Spec.Cancel = name, true })
		r.key.Name = name
		r.now = r.now.Add(2 * time.Second)
		r.once()
	}
	pass()
	var runs v1alpha1.MotorRunList
	must(t, admin.List(r.ctx, &runs, client.InNamespace(r.ns)))
	var left []string
	for i := range runs.Items {
		if isDone(&runs.Items[i]) {
			left = append(left, runs.Items[i].Name)
		}
	}
	if diff := cmp.Diff([]string{"b", "c"}, left); diff != "" {
		t.Errorf("runs that are kept (-want +got):\n%s", diff)
	}
	// The rig's own run succeeds, of which none are kept.
	r.key.Name = "run"
	r.ready()
	r.said(turnAt(1, "done"))
	r.once()
	r.once()
	if !r.isGone() {
		t.Error("it is still there")
	}
}

// A run whose artifact another one is given stays until that one has ended, whatever its own time or the number of runs says: the other's
// next sandbox needs the artifact again.
func TestRunWhoseArtifactIsNeededIsKept(t *testing.T) {
	atOnce := func(run *v1alpha1.MotorRun) { run.Spec.TTLSecondsAfterFinished = new(int32(0)) }
	for name, tt := range map[string]struct {
		change    func(*v1alpha1.MotorRun)
		retention v1alpha1.Retention
		end       func(r *rig)
	}{
		"its time is over, and the other ends": {change: atOnce, end: func(r *rig) {
			r.patchSpec(`{"cancel":true}`)
			r.once()
		}},
		"it is one too many, and the other ends": {change: func(*v1alpha1.MotorRun) {}, retention: v1alpha1.Retention{MaxFailed: new(int32(0))}, end: func(r *rig) {
			r.patchSpec(`{"cancel":true,"ttlSecondsAfterFinished":3600}`)
			r.once()
		}},
		"its time is over, and the other is deleted": {change: atOnce, end: func(r *rig) { must(r.t, admin.Delete(r.ctx, r.run())) }},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, tt.change)
			must(t, admin.Create(r.ctx, &v1alpha1.MotorCortex{ObjectMeta: meta(r.ns, v1alpha1.CortexName), Spec: v1alpha1.MotorCortexSpec{Retention: tt.retention}}))
			for _, later := range []string{"later", "unrelated"} {
				createRun(r.ctx, t, r.ns, named(later), func(run *v1alpha1.MotorRun) {
					of := map[string]string{"later": "run", "unrelated": "another"}[later]
					run.Spec.Files = []v1alpha1.InputFile{{Path: "in", ArtifactRef: &v1alpha1.ArtifactRef{RunName: of, Path: "out"}}}
				})
			}
			r.patchSpec(`{"cancel":true}`)
			for range 3 {
				// Whoever looks at it later must come back: the end of the other run tells nobody.
				if res := r.once(); r.isGone() || res.RequeueAfter <= 0 {
					t.Fatalf("gone %t although its artifact is needed, looks again after %s", r.isGone(), res.RequeueAfter)
				}
				r.now = r.now.Add(30 * 24 * time.Hour)
			}
			r.key.Name = "later"
			tt.end(r)
			r.key.Name = "run"
			r.once()
			if !r.isGone() {
				t.Error("it is still there although nothing needs it any more")
			}
		})
	}
}

// What others do to the limit is seen at once, without anybody touching the runs.
func TestRetentionIsWatched(t *testing.T) {
	f := newFleet(t, workers{"replica-1"})
	f.cortex(v1alpha1.MotorCortexSpec{Retention: v1alpha1.Retention{MaxFailed: new(int32(1))}})
	done := 0
	count := func(runs map[string]*v1alpha1.MotorRun) bool {
		done = 0
		for _, run := range runs {
			if isDone(run) {
				done++
			}
		}
		return done == 1 && len(runs) == 1
	}
	for _, name := range []string{"a", "b", "c"} {
		f.create(name, func(run *v1alpha1.MotorRun) { run.Spec.Cancel = true })
	}
	f.await("one is kept", count)
	f.cortex(v1alpha1.MotorCortexSpec{Retention: v1alpha1.Retention{FailedSeconds: new(int32(0))}})
	f.await("none is kept", func(runs map[string]*v1alpha1.MotorRun) bool { return len(runs) == 0 })
}

// Whatever is made for a run has the run as its only owner, and nothing holds up its deletion: the garbage collector does
// the rest, and a namespace can go.
func TestWhatIsMadeForARunGoesWithIt(t *testing.T) {
	r := newRig(t)
	r.ready()
	r.said(turnAt(1, "", `bash:{"command":"ls"}`))
	r.step()
	run := r.run()
	if len(run.Finalizers) > 0 {
		t.Errorf("the run has finalizers: %v", run.Finalizers)
	}
	var steps v1alpha1.MotorStepList
	must(t, admin.List(r.ctx, &steps, client.InNamespace(r.ns)))
	owned := []client.Object{r.pod()}
	for i := range steps.Items {
		owned = append(owned, &steps.Items[i])
	}
	if len(owned) != 2 {
		t.Fatalf("%d objects, want a Pod and a step", len(owned))
	}
	for _, o := range owned {
		if refs := o.GetOwnerReferences(); len(refs) != 1 || !metav1.IsControlledBy(o, run) || len(o.GetFinalizers()) > 0 {
			t.Errorf("%T %s has owners %v, finalizers %v", o, o.GetName(), refs, o.GetFinalizers())
		}
	}
	must(t, admin.Delete(r.ctx, run))
	if res := r.once(); res.RequeueAfter != 0 {
		t.Errorf("looks again after %s at a run that is gone", res.RequeueAfter)
	}
	// In a namespace that goes, nothing can be made any more, and that is no error which comes for ever.
	must(t, admin.Delete(r.ctx, namespace(r.ns)))
	if err := manager.Create(r.ctx, bareStep(r.ns, "late")); !apierrors.IsForbidden(err) {
		t.Errorf("a step in a namespace that goes: %v", err)
	}
}
