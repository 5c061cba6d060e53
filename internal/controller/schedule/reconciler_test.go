// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/runpolicy"
	"motorcortex.dev/motorcortex/internal/schedule"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// allowed answers every review of a right.
type allowed bool

func (a allowed) Create(_ context.Context, o client.Object, _ ...client.CreateOption) error {
	o.(*authorizationv1.LocalSubjectAccessReview).Status.Allowed = bool(a)
	return nil
}

func hourly(change ...func(*v1alpha1.MotorSchedule)) *v1alpha1.MotorSchedule {
	s := &v1alpha1.MotorSchedule{
		ObjectMeta: metav1.ObjectMeta{Name: "hourly", Namespace: "ns", UID: "uid", Generation: 1, CreationTimestamp: metav1.NewTime(noon.Add(-time.Minute))},
		Spec: v1alpha1.MotorScheduleSpec{
			Schedule: "0 * * * *", RunTemplate: &v1alpha1.RunTemplate{Spec: v1alpha1.RunTemplateSpec{Task: "count"}}, Requester: &v1alpha1.Requester{Username: "dana"},
		},
	}
	for _, f := range change {
		f(s)
	}
	return s
}

// runAt is the run of a start of the schedule.
func runAt(at time.Time, change ...func(*v1alpha1.MotorRun)) *v1alpha1.MotorRun {
	name := schedule.RunName("hourly", at)
	run := &v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{
		Name: name, Namespace: "ns", UID: types.UID("of-" + name), Labels: map[string]string{v1alpha1.LabelSchedule: "hourly"},
		Annotations:     map[string]string{v1alpha1.AnnotationScheduledAt: stamp(at)},
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(hourly(), v1alpha1.GroupVersion.WithKind("MotorSchedule"))},
	}}
	for _, f := range change {
		f(run)
	}
	return run
}

func ended(at time.Time, succeeded metav1.ConditionStatus) func(*v1alpha1.MotorRun) {
	return func(run *v1alpha1.MotorRun) {
		run.Status.CompletionTime = new(metav1.NewTime(at))
		for kind, status := range map[string]metav1.ConditionStatus{v1alpha1.ConditionSucceeded: succeeded, v1alpha1.ConditionFinished: metav1.ConditionTrue} {
			apimeta.SetStatusCondition(&run.Status.Conditions, metav1.Condition{Type: kind, Status: status, Reason: "R"})
		}
	}
}

// rig is a reconciler with a cluster in memory.
type rig struct {
	*Reconciler
	t   *testing.T
	now time.Time
	// refuse is the answer to the creation of a run.
	refuse error
}

func newRig(t *testing.T, objects ...client.Object) *rig {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, now: noon}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithStatusSubresource(&v1alpha1.MotorSchedule{}, &v1alpha1.MotorRun{}).
		WithInterceptorFuncs(interceptor.Funcs{
			Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
				if r.refuse != nil {
					return r.refuse
				}
				return c.Create(ctx, o, opts...)
			},
		}).Build()
	r.Reconciler = &Reconciler{Client: c, Live: c, Reviews: allowed(true), Recorder: events.NewFakeRecorder(100), Now: func() time.Time { return r.now }}
	return r
}

func (r *rig) pass() ctrl.Result {
	r.t.Helper()
	result, err := r.Reconcile(r.t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Namespace: "ns", Name: "hourly"}})
	if err != nil {
		r.t.Fatal(err)
	}
	return result
}

// state returns the status of the schedule and how many runs there are.
func (r *rig) state() (st v1alpha1.MotorScheduleStatus, reason string, runs int) {
	r.t.Helper()
	s, list := &v1alpha1.MotorSchedule{}, &v1alpha1.MotorRunList{}
	if err := errors.Join(r.Get(r.t.Context(), client.ObjectKey{Namespace: "ns", Name: "hourly"}, s), r.List(r.t.Context(), list)); err != nil {
		r.t.Fatal(err)
	}
	if c := apimeta.FindStatusCondition(s.Status.Conditions, v1alpha1.ScheduleReady); c != nil {
		reason = c.Reason
	}
	return s.Status, reason, len(list.Items)
}

func TestARefusedRun(t *testing.T) {
	t.Parallel()
	runs := schema.GroupResource{Group: "motorcortex.dev", Resource: "motorruns"}
	for name, tt := range map[string]struct {
		refuse error
		// later is true if the same start is tried again.
		later bool
	}{
		"the run is wrong": {apierrors.NewInvalid(schema.GroupKind{Kind: "MotorRun"}, "run", nil), false},
		"it is too large":  {apierrors.NewRequestEntityTooLargeError("the contents in spec.files have more than 524288 bytes"), false},
		"a webhook has it": {apierrors.NewBadRequest("admission webhook denied the request"), false},
		"a quota is full":  {apierrors.NewForbidden(runs, "run", errors.New("exceeded quota")), true},
		"a webhook is out": {apierrors.NewInternalError(errors.New("failed calling webhook")), true},
	} {
		r := newRig(t, hourly())
		r.refuse = tt.refuse
		result := r.pass()
		st, reason, _ := r.state()
		if reason != v1alpha1.ReasonRunRefused || (st.LastSkipped == nil) != tt.later || (result.RequeueAfter <= time.Minute+time.Second) != tt.later || st.LastScheduleTime != nil {
			t.Errorf("%s: %s, %+v, again after %s", name, reason, st, result.RequeueAfter)
		}
		r.refuse, r.now = nil, noon.Add(2*time.Minute)
		r.pass()
		if st, reason, n := r.state(); (n == 1) != tt.later || (reason == v1alpha1.ReasonScheduled) != tt.later {
			t.Errorf("%s, later: %s, %d runs, %+v", name, reason, n, st)
		}
		// The next start takes place in any case.
		r.now = noon.Add(time.Hour)
		r.pass()
		if _, reason, n := r.state(); n == 0 || reason != v1alpha1.ReasonScheduled {
			t.Errorf("%s, an hour later: %s, %d runs", name, reason, n)
		}
	}
}

// An answer of the API server that says nothing about the run is an error: the queue retries it.
func TestAnErrorIsRetried(t *testing.T) {
	t.Parallel()
	r := newRig(t, hourly())
	r.refuse = errors.New("no route")
	if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Namespace: "ns", Name: "hourly"}}); err == nil {
		t.Error("no error")
	}
	if st, _, _ := r.state(); st.LastScheduleTime != nil {
		t.Errorf("the start counts as done: %+v", st)
	}
	r.refuse = nil
	r.pass()
	if _, _, n := r.state(); n != 1 {
		t.Errorf("%d runs", n)
	}
}

func TestNoRunBeginsWithoutARequesterOrTheirRights(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(*v1alpha1.MotorSchedule)
		may    allowed
	}{
		"no requester": {func(s *v1alpha1.MotorSchedule) { s.Spec.Requester = nil }, true},
		"no right":     {func(*v1alpha1.MotorSchedule) {}, false},
	} {
		r := newRig(t, hourly(tt.change))
		r.Reviews = tt.may
		r.pass()
		if st, reason, n := r.state(); n != 0 || reason != v1alpha1.ReasonRequesterForbidden || st.LastSkipped == nil {
			t.Errorf("%s: %d runs, %s, %+v", name, n, reason, st)
		}
		// It is said until a start takes place.
		r.now = r.now.Add(10 * time.Minute)
		r.pass()
		if _, reason, _ := r.state(); reason != v1alpha1.ReasonRequesterForbidden {
			t.Errorf("%s, later: %s", name, reason)
		}
	}
}

// A schedule that is deleted, or suspended, begins nothing.
func TestNothingBeginsForAScheduleThatIsGoingOrSuspended(t *testing.T) {
	t.Parallel()
	deleted := hourly(func(s *v1alpha1.MotorSchedule) {
		s.DeletionTimestamp, s.Finalizers = new(metav1.NewTime(noon)), []string{"example.org/keep"}
	})
	for name, s := range map[string]*v1alpha1.MotorSchedule{"going": deleted, "suspended": hourly(func(s *v1alpha1.MotorSchedule) { s.Spec.Suspend = true })} {
		r := newRig(t, s)
		r.pass()
		if _, _, n := r.state(); n != 0 {
			t.Errorf("%s: %d runs", name, n)
		}
	}
	if _, err := newRig(t).Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Namespace: "ns", Name: "hourly"}}); err != nil {
		t.Errorf("a schedule that is gone: %v", err)
	}
}

// A pass over a schedule that only waits writes nothing, however late it comes.
func TestAScheduleThatWaitsIsLookedAtAtItsNextStart(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		schedule string
		want     time.Duration
	}{
		"soon":      {"5 12 * * *", 5 * time.Minute},
		"in a year": {"0 0 1 1 *", time.Hour},
	} {
		r := newRig(t, hourly(func(s *v1alpha1.MotorSchedule) { s.Spec.Schedule = tt.schedule }))
		if result := r.pass(); result.RequeueAfter < tt.want || result.RequeueAfter > tt.want+time.Second {
			t.Errorf("%s: %s, want %s", name, result.RequeueAfter, tt.want)
		}
	}
}

func TestTheHistoryWaitsForTheArchiveAndForRunsThatNeedIt(t *testing.T) {
	t.Parallel()
	limits := func(s *v1alpha1.MotorSchedule) {
		s.Spec.Suspend, s.Spec.SuccessfulRunsHistoryLimit = true, new(int32(0))
	}
	old := runAt(noon.Add(-2*time.Hour), ended(noon.Add(-time.Hour), metav1.ConditionTrue))
	needs := &v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{Name: "needs", Namespace: "ns"}, Spec: v1alpha1.MotorRunSpec{
		Files: []v1alpha1.InputFile{{Path: "a", ArtifactRef: &v1alpha1.ArtifactRef{RunName: old.Name, Path: "a"}}},
	}}
	for name, tt := range map[string]struct {
		archiving runpolicy.Archiving
		beside    []client.Object
		deleted   bool
	}{
		"no archive":               {runpolicy.Archiving{}, nil, true},
		"an archive that has time": {runpolicy.Archiving{Wait: 2 * time.Hour}, nil, false},
		"one that had its time":    {runpolicy.Archiving{Wait: time.Minute}, nil, true},
		"one that must have it":    {runpolicy.Archiving{Required: true}, nil, false},
		"a run that needs it":      {runpolicy.Archiving{}, []client.Object{needs.DeepCopy()}, false},
	} {
		r := newRig(t, append(tt.beside, hourly(limits), old.DeepCopy())...)
		r.Archiving = tt.archiving
		r.pass()
		err := r.Get(t.Context(), client.ObjectKeyFromObject(old), &v1alpha1.MotorRun{})
		if apierrors.IsNotFound(err) != tt.deleted {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRunIsOver(t *testing.T) {
	t.Parallel()
	active, over := runAt(noon), runAt(noon, ended(noon, metav1.ConditionFalse))
	going := runAt(noon, func(run *v1alpha1.MotorRun) { run.DeletionTimestamp = new(metav1.NewTime(noon)) })
	p := runIsOver()
	for name, got := range map[string]bool{
		"it ends":      p.Update(event.UpdateEvent{ObjectOld: active, ObjectNew: over}),
		"it goes":      p.Update(event.UpdateEvent{ObjectOld: active, ObjectNew: going}),
		"it is gone":   p.Delete(event.DeleteEvent{Object: over}),
		"!it goes on":  p.Update(event.UpdateEvent{ObjectOld: active, ObjectNew: active}),
		"!it was over": p.Update(event.UpdateEvent{ObjectOld: over, ObjectNew: over}),
		"!it is new":   p.Create(event.CreateEvent{Object: over}),
		"!no reason":   p.Generic(event.GenericEvent{Object: over}),
	} {
		if got == strings.HasPrefix(name, "!") {
			t.Errorf("%s: %t", name, got)
		}
	}
	if requests := scheduleOfRun(t.Context(), active); len(requests) != 1 || requests[0].Name != "hourly" || requests[0].Namespace != "ns" {
		t.Errorf("%v", requests)
	}
	if requests := scheduleOfRun(t.Context(), &v1alpha1.MotorRun{}); requests != nil {
		t.Errorf("%v", requests)
	}
}
