// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"testing"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/schedule"
)

// startSchedules runs the reconciler as the manager does, for one namespace, with a clock that is two hours ahead.
func startSchedules(ctx context.Context, t *testing.T, ns string) {
	t.Helper()
	ctx, cancel := context.WithCancel(ctx)
	cfg := rest.CopyConfig(adminConfig)
	cfg.Impersonate = rest.ImpersonationConfig{UserName: managerUser, Groups: []string{"system:authenticated"}}
	onlyMetadata := func(o any) (any, error) {
		switch o.(type) {
		case *v1alpha1.MotorSchedule, *v1alpha1.MotorRunTemplate:
			t.Errorf("the cache has more than the metadata of %T", o)
		}
		return o, nil
	}
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
		Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"},
		Cache:      cache.Options{DefaultNamespaces: map[string]cache.Config{ns: {}}, DefaultTransform: onlyMetadata},
		Controller: config.Controller{SkipNameValidation: new(true)},
	})
	must(t, err)
	r := &schedule.Reconciler{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Reviews: mgr.GetClient(), Recorder: mgr.GetEventRecorder("motorcortex"),
		Now: func() time.Time { return time.Now().Add(2 * time.Hour) },
	}
	must(t, r.SetupWithManager(mgr))
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the manager ended with %v", err)
		}
	})
}

// The controller is told of everything that a schedule depends on: itself, its template and the end of its runs.
func TestScheduleController(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	startSchedules(ctx, t, ns)
	s := newSchedule(ns, usesTemplate("", "city", "Bern"), func(s *v1alpha1.MotorSchedule) { s.Spec.ConcurrencyPolicy = v1alpha1.ConcurrencyForbid })
	must(t, admin.Create(ctx, s))
	until := func(is func(*v1alpha1.MotorScheduleStatus) bool) {
		t.Helper()
		err := wait.PollUntilContextCancel(ctx, 20*time.Millisecond, true, func(ctx context.Context) (bool, error) {
			err := admin.Get(ctx, client.ObjectKeyFromObject(s), s)
			return err == nil && s.Status.ObservedGeneration == s.Generation && is(&s.Status), err
		})
		if err != nil {
			t.Fatalf("%v; the status is %+v", err, s.Status)
		}
	}
	reason := func(want string) func(*v1alpha1.MotorScheduleStatus) bool {
		return func(st *v1alpha1.MotorScheduleStatus) bool {
			c := apimeta.FindStatusCondition(st.Conditions, v1alpha1.ScheduleReady)
			return c != nil && c.Reason == want
		}
	}
	until(reason(v1alpha1.ReasonTemplateNotFound))
	must(t, admin.Create(ctx, newTemplate(ns)))
	until(reason(v1alpha1.ReasonScheduled))
	must(t, merge(ctx, admin, s, `{"spec":{"schedule":"@every 1m"}}`))
	until(func(st *v1alpha1.MotorScheduleStatus) bool { return len(st.Active) == 1 })

	run := &v1alpha1.MotorRun{}
	must(t, admin.Get(ctx, client.ObjectKey{Namespace: ns, Name: s.Status.Active[0].Name}, run))
	if run.Spec.Task != "report on Bern" || run.Labels[v1alpha1.LabelSchedule] != s.Name || !metav1.IsControlledBy(run, s) {
		t.Errorf("%+v", run)
	}
	must(t, merge(ctx, admin, s, `{"spec":{"suspend":true}}`))
	until(reason(v1alpha1.ReasonScheduleSuspended))
	endRun(ctx, t, run)
	until(func(st *v1alpha1.MotorScheduleStatus) bool {
		return len(st.Active) == 0 && st.LastSuccessfulTime != nil
	})
}
