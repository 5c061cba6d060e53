// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/budget"
	cortexcontroller "motorcortex.dev/motorcortex/internal/controller/cortex"
	"motorcortex.dev/motorcortex/internal/cortex"
	"motorcortex.dev/motorcortex/internal/storage"
)

// mayKeep is a MotorCortex whose runs may keep so much.
func mayKeep(most string) v1alpha1.MotorCortexSpec {
	spec := concurrency(10, v1alpha1.BusyQueue)
	spec.Retention.MaxStorage = new(resource.MustParse(most))
	return spec
}

// heard are the Events of a manager, each "OBJECT KIND REASON".
type heard struct {
	mu   sync.Mutex
	list []string
}

func (h *heard) Eventf(o, _ runtime.Object, kind, reason, _, _ string, _ ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.list = append(h.list, fmt.Sprintf("%s %s %s", o.(client.Object).GetName(), kind, reason))
}

func (h *heard) count(event string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := 0
	for _, e := range h.list {
		if e == event {
			n++
		}
	}
	return n
}

// reportsCortex adds the controller of MotorCortex.
func (f *fleet) reportsCortex() {
	f.more = func(mgr ctrl.Manager, meter *storage.Meter, b *budget.Budget) {
		r := &cortexcontroller.Reconciler{
			Client: mgr.GetClient(), Recorder: f.recorder, Storage: meter,
			Models:   cortex.Resolver{Cortex: mgr.GetClient(), Secrets: manager, Default: cortex.Endpoint{BaseURL: "http://model.example.org/v1", Model: "m"}},
			Services: cortexcontroller.Services{Model: func(context.Context, cortex.Endpoint) (bool, error) { return true, nil }},
			Room:     &budget.Watch{Budget: b, Meter: meter, Concerned: b.Cortex},
		}
		must(f.t, r.SetupWithManager(mgr))
	}
}

// writes has a run leave steps of 50 KiB, and returns them.
func (f *fleet) writes(name string, count int) []*v1alpha1.MotorStep {
	f.t.Helper()
	run := &v1alpha1.MotorRun{}
	must(f.t, admin.Get(f.ctx, client.ObjectKey{Namespace: f.ns, Name: name}, run))
	var steps []*v1alpha1.MotorStep
	for i := range count {
		s := bareStep(f.ns, fmt.Sprintf("%s-a01-s%04d", name, i+1), func(s *v1alpha1.MotorStepSpec) {
			s.Index, s.Content = int32(i+1), strings.Repeat("x", 50<<10)
		})
		s.Labels = map[string]string{v1alpha1.LabelRun: name}
		s.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(run, v1alpha1.GroupVersion.WithKind("MotorRun"))}
		must(f.t, manager.Create(f.ctx, s))
		steps = append(steps, s)
	}
	return steps
}

// goes deletes a run with its steps, as the garbage collector does.
func (f *fleet) goes(name string, steps []*v1alpha1.MotorStep) {
	f.t.Helper()
	f.delete(name)
	for _, s := range steps {
		must(f.t, admin.Delete(f.ctx, s))
	}
}

// awaitStorage waits until the condition StorageAvailable has that reason, and returns the MotorCortex.
func (f *fleet) awaitStorage(reason string) *v1alpha1.MotorCortex {
	f.t.Helper()
	c := &v1alpha1.MotorCortex{}
	err := wait.PollUntilContextCancel(f.ctx, 30*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		err := admin.Get(ctx, client.ObjectKey{Namespace: f.ns, Name: v1alpha1.CortexName}, c)
		is := apimeta.FindStatusCondition(c.Status.Conditions, v1alpha1.CortexStorageAvailable)
		return is != nil && is.Reason == reason, err
	})
	if err != nil {
		f.t.Fatalf("StorageAvailable is never %s: %v, %+v", reason, err, c.Status)
	}
	return c
}

// A run does not begin while the others keep all that they may, and begins when one of them is gone. The namespace says so, once.
func TestRunWaitsForStorage(t *testing.T) {
	events := &heard{}
	f := newFleet(t, workers{"replica-1"}, func(f *fleet) { f.recorder = events; f.reportsCortex() })
	f.cortex(mayKeep("200Ki"))
	f.create("first")
	f.awaitReason(v1alpha1.ReasonAccepted, "first")
	steps := f.writes("first", 4)
	f.awaitStorage(v1alpha1.ReasonCortexStorageFull)
	f.cancel("first")
	f.create("next")
	f.create("oneshot", oneshot("javascript", "return 1", 1000))
	f.awaitReason(v1alpha1.ReasonStorageFull, "next", "oneshot")
	f.await("its time stands still, and it says what to do", func(runs map[string]*v1alpha1.MotorRun) bool {
		st := runs["next"].Status
		return st.Paused.StartTime != nil && st.Reason == v1alpha1.ReasonStorageFull && strings.Contains(st.Message, "maxStorage") && strings.Contains(st.Message, "archive")
	})
	f.goes("first", steps)
	f.awaitReason(v1alpha1.ReasonAccepted, "next", "oneshot")
	c := f.awaitStorage(v1alpha1.ReasonCortexAvailable)
	if st := c.Status.Storage; st == nil || st.Max.String() != "200Ki" || st.Used.Value() > 100<<10 {
		t.Errorf("status.storage is %+v", st)
	}
	if n := events.count("default Warning StorageFull"); n != 1 {
		t.Errorf("%d Events tell that storage is full: %q", n, events.list)
	}
	if n := events.count("next Warning StorageFull"); n != 1 {
		t.Errorf("%d Events tell that the run waits", n)
	}
}

func TestMoreStorageLetsARunBegin(t *testing.T) {
	tests := map[string]func(f *fleet){
		"the bound is raised": func(f *fleet) {
			c := &v1alpha1.MotorCortex{ObjectMeta: meta(f.ns, v1alpha1.CortexName)}
			must(f.t, mergePatch(f.ctx, c, `{"spec":{"retention":{"maxStorage":"1Gi"}}}`))
		},
		"the bound is that of every namespace": func(f *fleet) {
			must(f.t, admin.Delete(f.ctx, &v1alpha1.MotorCortex{ObjectMeta: meta(f.ns, v1alpha1.CortexName)}))
		},
		"steps go while no manager leads": func(f *fleet) {
			f.stop()
			must(f.t, admin.DeleteAllOf(f.ctx, &v1alpha1.MotorStep{}, client.InNamespace(f.ns)))
			f.start()
		},
	}
	for name, happen := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFleet(t, workers{"replica-1"}, (*fleet).reportsCortex)
			f.cortex(mayKeep("150Ki"))
			f.create("first")
			f.awaitReason(v1alpha1.ReasonAccepted, "first")
			f.writes("first", 3)
			f.awaitStorage(v1alpha1.ReasonCortexStorageFull)
			f.create("next")
			f.awaitReason(v1alpha1.ReasonStorageFull, "next")
			happen(f)
			f.awaitReason(v1alpha1.ReasonAccepted, "next")
		})
	}
}

// endedRun is a run of 50 KiB that ended so many hours ago.
func (f *fleet) endedRun(name string, hours int, change func(*v1alpha1.MotorRunStatus)) {
	f.t.Helper()
	run := createRun(f.ctx, f.t, f.ns, func(run *v1alpha1.MotorRun) {
		run.Name = name
		run.Spec.Files = []v1alpha1.InputFile{{Path: "in.txt", Content: new(strings.Repeat("x", 50<<10))}}
	})
	base := run.DeepCopy()
	run.Status.CompletionTime = new(metav1.NewTime(time.Now().Add(-time.Duration(hours) * time.Hour).Truncate(time.Second)))
	run.Status.Conditions = []metav1.Condition{{
		Type: v1alpha1.ConditionFinished, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonCompleted, LastTransitionTime: *run.Status.CompletionTime,
	}}
	run.Status.Archive = &v1alpha1.ArchiveStatus{Key: f.ns + "/" + name + "/1.jsonl", Steps: 1, Head: "sha256:1"}
	change(&run.Status)
	must(f.t, manager.Status().Patch(f.ctx, run, client.MergeFrom(base)))
}

// Where room is low, archived runs go before their time, the oldest first, and none of which anything would be lost.
func TestArchivedRunsMakeRoom(t *testing.T) {
	events := &heard{}
	f := newFleet(t, workers{"replica-1"}, func(f *fleet) { f.recorder, f.archive = events, true })
	f.stop()
	f.cortex(mayKeep("420Ki"))
	archived := func(*v1alpha1.MotorRunStatus) {}
	f.endedRun("unarchived", 9, func(st *v1alpha1.MotorRunStatus) { st.Archive = nil })
	f.endedRun("with-file", 8, func(st *v1alpha1.MotorRunStatus) {
		st.Result = &v1alpha1.RunResult{Artifacts: []v1alpha1.Artifact{{Path: "out.txt", Size: 50 << 10, ConfigMapName: "with-file-artifact"}}}
	})
	f.endedRun("with-step", 7, archived)
	f.writes("with-step", 1)
	f.endedRun("oldest", 6, archived)
	f.endedRun("older", 5, archived)
	f.endedRun("newest", 4, archived)
	f.start()
	f.await("the oldest are gone", func(runs map[string]*v1alpha1.MotorRun) bool { return runs["oldest"] == nil })
	f.create("first")
	f.awaitReason(v1alpha1.ReasonAccepted, "first")
	f.writes("first", 5)
	f.await("all that the archive has are gone", func(runs map[string]*v1alpha1.MotorRun) bool {
		if runs["older"] != nil && runs["newest"] == nil {
			t.Error("a newer run went before an older one")
		}
		return runs["older"] == nil && runs["newest"] == nil
	})
	f.create("next")
	f.awaitReason(v1alpha1.ReasonStorageFull, "next")
	f.await("the others stay", func(runs map[string]*v1alpha1.MotorRun) bool {
		for _, name := range []string{"unarchived", "with-file", "with-step"} {
			if runs[name] == nil {
				t.Errorf("%s is gone, and something with it that is nowhere else", name)
			}
		}
		return true
	})
	for _, name := range []string{"oldest", "older", "newest"} {
		if n := events.count(name + " Normal DeletedEarly"); n != 1 {
			t.Errorf("%d Events tell that %s is gone", n, name)
		}
	}
}

// usage is what runs keep, as a test says.
type usage int64

func (u *usage) Used(string) int64 { return int64(*u) }

// The condition warns at four fifths, once, and a use that goes up and down around a bound is no news.
func TestCortexWarnsOfStorage(t *testing.T) {
	spec := mayKeep("1000Ki")
	r := newCortexRig(t, spec)
	used := new(usage)
	r.rec.Storage = used
	model := "ModelAvailable True Available"
	for _, step := range []struct {
		used  int64
		want  []string
		event string
		shown string
	}{
		{0, []string{"Ready True Available", "StorageAvailable True Available"}, "Normal Available", "0"},
		{790, []string{"Ready True Available", "StorageAvailable True Available"}, "", "790Ki"},
		{800, []string{"Ready True Available", "StorageAvailable True StorageLow"}, "Warning StorageLow", "800Ki"},
		{790, []string{"Ready True Available", "StorageAvailable True StorageLow"}, "", "800Ki"},
		{820, []string{"Ready True Available", "StorageAvailable True StorageLow"}, "", "800Ki"},
		{870, []string{"Ready True Available", "StorageAvailable True StorageLow"}, "", "870Ki"},
		{1000, []string{"Ready False StorageFull", "StorageAvailable False StorageFull"}, "Warning StorageFull", "1000Ki"},
		{980, []string{"Ready False StorageFull", "StorageAvailable False StorageFull"}, "", "1000Ki"},
		{5000, []string{"Ready False StorageFull", "StorageAvailable False StorageFull"}, "", "5000Ki"},
		{940, []string{"Ready True Available", "StorageAvailable True StorageLow"}, "Normal Available", "940Ki"},
		{740, []string{"Ready True Available", "StorageAvailable True Available"}, "", "740Ki"},
	} {
		*used = usage(step.used << 10)
		before := len(r.events)
		c := r.step()
		r.want(c, append(step.want, model)...)
		if st := c.Status.Storage; st == nil || st.Used.String() != step.shown || st.Max.String() != "1000Ki" {
			t.Errorf("at %d KiB status.storage is %+v", step.used, st)
		}
		var want []string
		if step.event != "" {
			want = []string{step.event}
		}
		if news := r.events[before:]; !slices.Equal(news, want) {
			t.Errorf("at %d KiB the Events are %q", step.used, news)
		}
	}
}

func TestBoundsOfStorage(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	for most, want := range map[string]string{
		"0": "to lift the bound", "-1": "to lift the bound", "0Mi": "to lift the bound", "1": "", "1Gi": "", "1Ti": "", "900E": "",
	} {
		c := &v1alpha1.MotorCortex{ObjectMeta: meta(newNamespace(ctx, t), v1alpha1.CortexName), Spec: mayKeep(most)}
		err := admin.Create(ctx, c)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("maxStorage %s: %v", most, err)
		}
		if err == nil && storage.Bound(c.Spec.Retention) <= 0 {
			t.Errorf("maxStorage %s is a bound of %d", most, storage.Bound(c.Spec.Retention))
		}
	}
}
