// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/budget"
	"motorcortex.dev/motorcortex/internal/controller/energy"
	"motorcortex.dev/motorcortex/internal/controller/placement"
	runs "motorcortex.dev/motorcortex/internal/controller/run"
	"motorcortex.dev/motorcortex/internal/cortex"
	"motorcortex.dev/motorcortex/internal/runpolicy/replica"
	"motorcortex.dev/motorcortex/internal/sandbox"
	"motorcortex.dev/motorcortex/internal/storage"
)

// workers are replicas of the manager that live.
type workers []string

func (w workers) Live() []replica.Worker {
	var live []replica.Worker
	for _, id := range w {
		live = append(live, replica.Worker{ID: id, Renewed: true})
	}
	return live
}

// small is a fleet of one replica with so many slots.
type small int

func (s small) Live() []replica.Worker {
	return []replica.Worker{{ID: "replica-1", Renewed: true, Slots: int(s)}}
}

func (small) Lost(string) bool { return false }

// Lost says that they all gave their runs back.
func (w workers) Lost(string) bool { return false }

// fleet is a namespace with many runs, and a manager's controllers with their cache and their concurrency, but without an
// engine.
type fleet struct {
	t    *testing.T
	ctx  context.Context
	ns   string
	stop func()
	// workers are the replicas that the controller believes in. Nil has it look for Leases in the fleet's own namespace.
	workers placement.Workers
	// archive is true if the manager has one. Nothing is archived.
	archive bool
	// more adds controllers to the manager.
	more func(mgr ctrl.Manager, meter *storage.Meter, b *budget.Budget)
	// energy drains the energy of the namespace. more sets it.
	energy *energy.Reconciler
	// wrap stands between the manager and the API server, if it is set.
	wrap func(http.RoundTripper) http.RoundTripper
	// recorder is who hears of Events, nobody if it is nil.
	recorder events.EventRecorder
}

// quiet is a recorder that nobody reads.
type quiet struct{}

func (quiet) Eventf(_, _ runtime.Object, _, _, _, _ string, _ ...any) {}

func newFleet(t *testing.T, replicas placement.Workers, change ...func(*fleet)) *fleet {
	t.Helper()
	t.Parallel()
	ctx := testContext(t)
	f := &fleet{t: t, ctx: ctx, ns: newNamespace(ctx, t), workers: replicas, recorder: quiet{}}
	for _, c := range change {
		c(f)
	}
	f.permitLeases()
	f.start()
	return f
}

// permitLeases returns the manager in the fleet's namespace the right that it has in its own.
func (f *fleet) permitLeases() {
	f.t.Helper()
	must(f.t, admin.Create(f.ctx, &rbacv1.Role{ObjectMeta: meta(f.ns, "leases"), Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"get", "list", "watch"}},
	}}))
	must(f.t, admin.Create(f.ctx, &rbacv1.RoleBinding{
		ObjectMeta: meta(f.ns, "leases"), RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "leases"},
		Subjects: []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: managerUser}},
	}))
}

// start starts a manager process. f.stop ends it.
func (f *fleet) start() {
	f.t.Helper()
	cfg := rest.CopyConfig(adminConfig)
	cfg.Impersonate = rest.ImpersonationConfig{UserName: managerUser, Groups: []string{"system:authenticated"}}
	cfg.QPS, cfg.Burst = -1, -1
	if f.wrap != nil {
		cfg.Wrap(f.wrap)
	}
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
		Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"},
		Cache:      cache.Options{DefaultNamespaces: map[string]cache.Config{f.ns: {}}},
		Controller: config.Controller{SkipNameValidation: new(true)},
	})
	must(f.t, err)
	meter := &storage.Meter{}
	must(f.t, meter.Watch(f.ctx, mgr.GetCache()))
	b := &budget.Budget{Cache: mgr.GetClient(), Usage: meter, Now: time.Now}
	rec := &runs.Reconciler{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Recorder: f.recorder, Now: time.Now, Workers: f.workers,
		Budget: b, Room: &budget.Watch{Budget: b, Meter: meter, Concerned: b.Runs},
		Models: cortex.Resolver{Cortex: mgr.GetClient(), Secrets: manager, Default: cortex.Endpoint{BaseURL: "http://model.example.org/v1", Model: "m", TextEnds: true}},
		Config: runs.Config{
			Sandbox:             sandbox.Config{Image: "sandbox.example.org/image:1", ManagerKey: "sha256:manager", Namespace: f.ns},
			SandboxStartTimeout: time.Hour, MaxConcurrent: 8, TrialPause: time.Second, Archive: f.archive,
		},
	}
	if f.more != nil {
		f.more(mgr, meter, b)
	}
	if f.energy != nil {
		rec.Energy = &f.energy.Ledger
	}
	must(f.t, rec.SetupWithManager(mgr))
	ctx, cancel := context.WithCancel(f.ctx)
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	f.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			f.t.Errorf("the manager ended with %v", err)
		}
	})
	f.t.Cleanup(f.stop)
}

// cortex sets the MotorCortex of the namespace.
func (f *fleet) cortex(spec v1alpha1.MotorCortexSpec) {
	f.t.Helper()
	cortex := &v1alpha1.MotorCortex{ObjectMeta: meta(f.ns, v1alpha1.CortexName)}
	err := admin.Get(f.ctx, client.ObjectKeyFromObject(cortex), cortex)
	if client.IgnoreNotFound(err) != nil {
		f.t.Fatal(err)
	}
	cortex.Spec = spec
	if err != nil {
		must(f.t, admin.Create(f.ctx, cortex))
		return
	}
	must(f.t, admin.Update(f.ctx, cortex))
}

func (f *fleet) create(name string, change ...func(*v1alpha1.MotorRun)) {
	f.t.Helper()
	createRun(f.ctx, f.t, f.ns, append(change, func(run *v1alpha1.MotorRun) { run.Name = name })...)
}

func (f *fleet) patch(name, spec string) {
	f.t.Helper()
	must(f.t, mergePatch(f.ctx, &v1alpha1.MotorRun{ObjectMeta: meta(f.ns, name)}, `{"spec":`+spec+`}`))
}

func (f *fleet) delete(name string) {
	f.t.Helper()
	must(f.t, admin.Delete(f.ctx, &v1alpha1.MotorRun{ObjectMeta: meta(f.ns, name)}))
}

// await waits until the runs, ordered by name, fulfil a condition.
func (f *fleet) await(what string, until func(map[string]*v1alpha1.MotorRun) bool) {
	f.t.Helper()
	var runs map[string]*v1alpha1.MotorRun
	err := wait.PollUntilContextCancel(f.ctx, 30*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		var list v1alpha1.MotorRunList
		if err := admin.List(ctx, &list, client.InNamespace(f.ns)); err != nil {
			return false, err
		}
		runs = map[string]*v1alpha1.MotorRun{}
		for i := range list.Items {
			runs[list.Items[i].Name] = &list.Items[i]
		}
		return until(runs), nil
	})
	if err != nil {
		for name, run := range runs {
			f.t.Logf("run %s: worker %q, epoch %d, %s: %s", name, run.Status.Execution.Worker, run.Status.Execution.Epoch, run.Status.Phase, run.Status.Message)
		}
		f.t.Fatalf("%s: %v", what, err)
	}
}

// awaitReason waits until the condition Accepted of each named run has that reason.
func (f *fleet) awaitReason(reason string, names ...string) {
	f.t.Helper()
	f.await(fmt.Sprintf("%v are %s", names, reason), func(runs map[string]*v1alpha1.MotorRun) bool {
		return !slices.ContainsFunc(names, func(name string) bool { return acceptedReason(runs[name]) != reason })
	})
}

func acceptedReason(run *v1alpha1.MotorRun) string {
	if run == nil {
		return "NoRun"
	}
	c := apimeta.FindStatusCondition(run.Status.Conditions, v1alpha1.ConditionAccepted)
	if c == nil {
		return "NotSeen"
	}
	return c.Reason
}

func isDone(run *v1alpha1.MotorRun) bool {
	return run != nil && apimeta.IsStatusConditionTrue(run.Status.Conditions, v1alpha1.ConditionFinished)
}

func holdsPlace(run *v1alpha1.MotorRun) bool {
	return acceptedReason(run) == v1alpha1.ReasonAccepted && !isDone(run)
}

// startSandboxes plays the kubelet, until so many sandboxes run.
func (f *fleet) startSandboxes(count int) {
	f.t.Helper()
	err := wait.PollUntilContextCancel(f.ctx, 30*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		var pods corev1.PodList
		if err := admin.List(ctx, &pods, client.InNamespace(f.ns)); err != nil {
			return false, err
		}
		ready := 0
		for i := range pods.Items {
			pod := &pods.Items[i]
			if pod.Status.Phase != corev1.PodRunning {
				running(&pod.Status)
				if err := admin.Status().Update(ctx, pod); err != nil {
					return false, client.IgnoreNotFound(err)
				}
			}
			if metav1.GetControllerOf(pod) != nil {
				ready++
			}
		}
		return ready >= count, nil
	})
	if err != nil {
		f.t.Fatalf("start %d sandboxes: %v", count, err)
	}
}
