// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/schedule"
)

// mayWriteSchedules are the rights of a person whose schedules begin runs without Secrets.
var mayWriteSchedules = rights{
	"create,get,update,patch,delete motorschedules", "create,get,update,patch,delete motorruntemplates", "create,get motorruns",
}

// errBrokenOff is the error of a manager that is killed.
var errBrokenOff = errors.New("the manager is killed")

// scheduleRig is one namespace with a schedule and a reconciler, which has the manager's rights and a clock that is set by hand.
type scheduleRig struct {
	passes
	rec *schedule.Reconciler
	// dana wrote the schedule.
	dana client.WithWatch
	// breakOff has the write of the status fail, and hide has the cache show no run.
	breakOff, hide bool
	// between is called before each write of the status, nil for nothing.
	between func()
}

func newScheduleRig(t *testing.T, r rights, labels ...string) *scheduleRig {
	t.Helper()
	t.Parallel()
	ctx := testContext(t)
	rig := &scheduleRig{passes: passes{t: t, ctx: ctx, ns: newNamespace(ctx, t, labels...)}}
	rig.dana = person(ctx, t, rig.ns, "dana-"+rig.ns, append(r, mayWriteSchedules...))
	rig.rec = &schedule.Reconciler{
		Client: interceptor.NewClient(manager, interceptor.Funcs{
			List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
				if rig.hide {
					return nil
				}
				return c.List(ctx, list, opts...)
			},
			SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
				if rig.breakOff {
					return errBrokenOff
				}
				if rig.between != nil {
					rig.between()
				}
				return c.SubResource(sub).Patch(ctx, o, p, opts...)
			},
		}),
		Live: manager, Reviews: manager, Recorder: rig, Now: func() time.Time { return rig.now },
	}
	return rig
}

// newSchedule is a schedule that begins a run in each hour.
func newSchedule(namespace string, change ...func(*v1alpha1.MotorSchedule)) *v1alpha1.MotorSchedule {
	s := &v1alpha1.MotorSchedule{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "hourly"},
		Spec: v1alpha1.MotorScheduleSpec{
			Schedule: "0 * * * *",
			RunTemplate: &v1alpha1.RunTemplate{
				Metadata: v1alpha1.RunTemplateMetadata{Labels: map[string]string{"team": "a"}},
				Spec:     v1alpha1.RunTemplateSpec{Task: "count the words", Tools: []v1alpha1.ToolName{"read"}},
			},
		},
	}
	for _, f := range change {
		f(s)
	}
	return s
}

// usesTemplate has a schedule use the template "report" with these values.
func usesTemplate(digest string, values ...string) func(*v1alpha1.MotorSchedule) {
	return func(s *v1alpha1.MotorSchedule) {
		s.Spec.RunTemplate, s.Spec.RunTemplateRef = nil, &v1alpha1.RunTemplateRef{Name: "report", Digest: digest}
		for i := 0; i+1 < len(values); i += 2 {
			s.Spec.RunTemplateRef.Parameters = append(s.Spec.RunTemplateRef.Parameters, v1alpha1.ParameterValue{Name: values[i], Value: values[i+1]})
		}
	}
}

// newTemplate is the template "report", whose parameter is a city.
func newTemplate(namespace string, change ...func(*v1alpha1.RunTemplateSpec)) *v1alpha1.MotorRunTemplate {
	t := &v1alpha1.MotorRunTemplate{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "report"},
		Spec: v1alpha1.MotorRunTemplateSpec{
			Parameters:  []v1alpha1.TemplateParameter{{Name: "city", Required: true, Pattern: "[A-Za-z]+"}},
			RunTemplate: v1alpha1.RunTemplate{Spec: v1alpha1.RunTemplateSpec{Task: "report on $(params.city)"}},
		},
	}
	for _, f := range change {
		f(&t.Spec.RunTemplate.Spec)
	}
	return t
}

// usesSecret gives a run the Secret "token" for one host.
func usesSecret(s *v1alpha1.RunTemplateSpec) {
	s.Domains = []v1alpha1.Domain{"api.example.org"}
	s.Credentials = []v1alpha1.Credential{{
		Name: "token", SecretRef: v1alpha1.SecretKeyRef{Name: "token", Key: "token"}, Hosts: []v1alpha1.Domain{"api.example.org"},
	}}
}

// create makes the schedule as dana does, and sets the clock.
func (r *scheduleRig) create(change ...func(*v1alpha1.MotorSchedule)) *v1alpha1.MotorSchedule {
	r.t.Helper()
	s := newSchedule(r.ns, change...)
	must(r.t, r.dana.Create(r.ctx, s))
	r.key = client.ObjectKeyFromObject(s)
	r.now = s.CreationTimestamp.Time
	return s
}

func (r *scheduleRig) schedule() *v1alpha1.MotorSchedule {
	r.t.Helper()
	s := &v1alpha1.MotorSchedule{}
	must(r.t, admin.Get(r.ctx, r.key, s))
	return s
}

// hours sets the clock to the full hour after the creation of the schedule, and further ones.
func (r *scheduleRig) hours(n int) {
	r.t.Helper()
	created := r.schedule().CreationTimestamp.Time
	r.now = created.Truncate(time.Hour).Add(time.Duration(n) * time.Hour)
}

// step reconciles, and once more to see that the second time changes nothing.
func (r *scheduleRig) step() ctrl.Result {
	r.t.Helper()
	r.pass(r.rec)
	return r.passAgain(r.rec, func() map[string]string { return r.versionsOf(&v1alpha1.MotorSchedule{}, &v1alpha1.MotorRun{}) })
}

// runs are those of the namespace that are not being deleted, in the order of their names.
func (r *scheduleRig) runs() []v1alpha1.MotorRun {
	r.t.Helper()
	var list v1alpha1.MotorRunList
	must(r.t, admin.List(r.ctx, &list, client.InNamespace(r.ns)))
	return slices.DeleteFunc(list.Items, func(run v1alpha1.MotorRun) bool { return run.DeletionTimestamp != nil })
}

// wantRuns fails unless there are so many runs.
func (r *scheduleRig) wantRuns(n int) []v1alpha1.MotorRun {
	r.t.Helper()
	runs := r.runs()
	if len(runs) != n {
		r.t.Fatalf("there are %d runs, want %d: %v", len(runs), n, r.schedule().Status)
	}
	return runs
}

// wantReady fails unless the condition has the reason, and its message the parts.
func (r *scheduleRig) wantReady(status metav1.ConditionStatus, reason string) string {
	r.t.Helper()
	c := apimeta.FindStatusCondition(r.schedule().Status.Conditions, v1alpha1.ScheduleReady)
	if c == nil || c.Status != status || c.Reason != reason {
		r.t.Fatalf("Ready is %+v, want %s %s", c, status, reason)
	}
	return c.Message
}

// end ends a run.
func (r *scheduleRig) end(run *v1alpha1.MotorRun, succeeded metav1.ConditionStatus) {
	r.t.Helper()
	base := run.DeepCopy()
	now := metav1.NewTime(r.now)
	run.Status.CompletionTime = &now
	for kind, status := range map[string]metav1.ConditionStatus{v1alpha1.ConditionSucceeded: succeeded, v1alpha1.ConditionFinished: metav1.ConditionTrue} {
		apimeta.SetStatusCondition(&run.Status.Conditions, metav1.Condition{Type: kind, Status: status, Reason: "Completed", LastTransitionTime: now})
	}
	must(r.t, manager.Status().Patch(r.ctx, run, client.MergeFrom(base)))
}

// gone reports whether an object is gone, or is being deleted.
func gone(ctx context.Context, t *testing.T, o client.Object) bool {
	t.Helper()
	err := admin.Get(ctx, client.ObjectKeyFromObject(o), o)
	if client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	return apierrors.IsNotFound(err) || o.GetDeletionTimestamp() != nil
}
