// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/chaos"
	"motorcortex.dev/motorcortex/internal/controller/energy"
	"motorcortex.dev/motorcortex/internal/controller/pool"
	runs "motorcortex.dev/motorcortex/internal/controller/run"
	"motorcortex.dev/motorcortex/internal/cortex"
	"motorcortex.dev/motorcortex/internal/engine"
	"motorcortex.dev/motorcortex/internal/engine/box"
	"motorcortex.dev/motorcortex/internal/motorloop/chat"
	"motorcortex.dev/motorcortex/internal/sandbox"
	"motorcortex.dev/motorcortex/internal/timekeeper"
	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolclient"
)

// chaosRig is a whole manager, controllers and engine, with a real API server and a real tool server, and faults
// between it and the API server. The test plays the kubelet, without faults.
type chaosRig struct {
	*engineRig
	faults *chaos.Faults
	// ofSteps counts the faults that hit a step.
	ofSteps atomic.Int32
	// readsClock says that the manager takes the time from the API server's answers.
	readsClock bool
	// hostIPs are further addresses of the sandbox's node.
	hostIPs []string
	// requests counts those of the manager, if it is set. Then it writes its Events.
	requests *traffic
	// created is when the run was about to be created.
	created time.Time
	// pools have sandboxes that wait before the run is created, if there are any.
	pools *pool.Reconciler
	// shape gives the run a sandbox that no pool has.
	shape []func(*v1alpha1.MotorRun)
}

// effects is how many effects the run of a chaosRig has, each in a turn of its own.
const effects = 5

func newChaosRig(t *testing.T, settings chaos.Settings, change ...func(*chaosRig)) *chaosRig {
	t.Helper()
	t.Parallel()
	_, err := toolserverBinary() // Before the test's time begins, as for an engineRig.
	must(t, err)
	ctx := testContext(t)
	key, err := toolclient.GenerateKey()
	must(t, err)
	cert, err := toolclient.ClientCertificate(key)
	must(t, err)
	model := &stubModel{}
	for i := range effects {
		model.answers = append(model.answers, says("", call("bash", fmt.Sprintf(`{"command":"sleep 0.2; echo %d >> effects"}`, i))))
	}
	model.answers = append(model.answers, says("All done."))
	r := &chaosRig{engineRig: &engineRig{
		t: t, ctx: ctx, model: model, workspace: t.TempDir(),
		ip:        sandboxAddress(t),
		cert:      box.Config{ClientCert: cert},
		forbidden: []toolapi.ProbeTarget{{Name: "nobody", Network: "tcp", Address: "127.0.0.1:1"}},
	}}
	r.faults = chaos.New(uint64(time.Now().UnixNano()), func(_ chaos.Kind, req *http.Request) {
		if strings.Contains(req.URL.Path, "/motorsteps") {
			r.ofSteps.Add(1)
		}
	})
	r.faults.Set(settings)
	for _, c := range change {
		c(r)
	}
	ns := newNamespace(ctx, t)
	must(t, admin.Create(ctx, &rbacv1.Role{ObjectMeta: meta(ns, "leases"), Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{rbacv1.VerbAll}},
	}}))
	must(t, admin.Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: meta(ns, "leases"), RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "leases"},
		Subjects: []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: managerUser}},
	}))
	r.startManager(ns)
	pin := toolclient.PublicKeyPin(key)
	if r.pools != nil {
		r.fillPool(ns, pin)
		r.requests.reset()
	}
	r.created = time.Now()
	r.run = createRun(ctx, t, ns, r.shape...)
	if r.pools == nil || len(r.shape) > 0 {
		r.playKubelet(pin)
	}
	return r
}

// startManager starts a manager process whose requests go through the faults.
func (r *chaosRig) startManager(ns string) {
	r.t.Helper()
	cfg := rest.CopyConfig(adminConfig)
	cfg.Impersonate = rest.ImpersonationConfig{UserName: managerUser, Groups: []string{"system:authenticated"}}
	cfg.QPS, cfg.Burst = -1, -1
	cfg.Wrap(r.faults.Wrap)
	if r.requests != nil {
		cfg.Wrap(r.requests.Wrap)
	}
	log, now := slog.New(slog.DiscardHandler), r.now
	if r.readsClock {
		clock := timekeeper.NewClock(r.now, log)
		cfg.Wrap(clock.Wrap)
		now = clock.Now
	}
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
		Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"},
		Cache:      cache.Options{DefaultNamespaces: map[string]cache.Config{ns: {}}},
		Controller: config.Controller{SkipNameValidation: new(true)},
	})
	must(r.t, err)
	leases, err := coordinationv1client.NewForConfig(cfg)
	must(r.t, err)
	keeper := &timekeeper.Keeper{
		Leases: leases.Leases(ns), Namespace: ns, Clock: now, Logger: log, Period: 200 * time.Millisecond, Grace: time.Minute,
	}
	must(r.t, keeper.SetupWithManager(mgr))
	models := cortex.Resolver{Cortex: mgr.GetClient(), Secrets: manager, Default: cortex.Endpoint{BaseURL: "http://model.example.org/v1", Model: "m", TextEnds: true}}
	var recorder events.EventRecorder = quiet{}
	if r.requests != nil {
		recorder = mgr.GetEventRecorder("motorcortex")
	}
	rec := &runs.Reconciler{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Recorder: recorder, Now: time.Now, Time: keeper, Models: models,
		Config: runs.Config{
			Sandbox:             sandbox.Config{Image: "sandbox.example.org/image:1", ManagerKey: "sha256:manager", Namespace: ns},
			SandboxStartTimeout: time.Hour, MaxConcurrent: 4, ShowPause: time.Second,
		},
	}
	if r.pools != nil {
		r.setupPools(mgr, rec, recorder)
	}
	settler := &energy.Reconciler{Ledger: energy.Ledger{Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Now: keeper.Now}}
	must(r.t, settler.SetupWithManager(mgr))
	rec.Energy = &settler.Ledger
	must(r.t, rec.SetupWithManager(mgr))
	e := &engine.Engine{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Leases: leases, Models: models, Now: time.Now, Time: keeper, Logger: log,
		NewModel: func(cortex.Endpoint) (chat.Model, error) { return r.model, nil },
		Config: engine.Config{
			Worker: "replica-1-abcde", PodName: "replica-1", LeaseNamespace: ns, LeaseDuration: 3 * time.Second,
			Sandbox: box.Config{
				GrantNamespace: ns, ClientCert: r.cert.ClientCert, Forbidden: r.forbidden, IsolationTimeout: time.Second, ConnectTimeout: 5 * time.Second,
			},
		},
	}
	must(r.t, e.SetupWithManager(mgr))
	ctx, cancel := context.WithCancel(r.ctx)
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	r.t.Cleanup(sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			r.t.Errorf("the manager ended with %v", err)
		}
	}))
}

// playKubelet starts the tool server when the controller has made the Pod.
func (r *chaosRig) playKubelet(pin string) {
	r.t.Helper()
	pod := &corev1.Pod{}
	must(r.t, wait.PollUntilContextCancel(r.ctx, 20*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		err := admin.Get(ctx, client.ObjectKey{Namespace: r.run.Namespace, Name: r.run.Name + "-motor-sandbox"}, pod)
		return err == nil, client.IgnoreNotFound(err)
	}))
	r.startPod(pod, pin)
}

// startPod starts the tool server of a Pod at r.ip, and says that the Pod runs.
func (r *chaosRig) startPod(pod *corev1.Pod, pin string) {
	r.t.Helper()
	r.podUID = string(pod.UID)
	r.startSandbox(pin)
	running(&pod.Status)
	pod.Status.PodIP, pod.Status.PodIPs = r.ip, []corev1.PodIP{{IP: r.ip}}
	pod.Status.HostIP, pod.Status.HostIPs = "127.0.0.2", []corev1.HostIP{{IP: "127.0.0.2"}}
	for _, ip := range r.hostIPs {
		pod.Status.HostIPs = append(pod.Status.HostIPs, corev1.HostIP{IP: ip})
	}
	must(r.t, admin.Status().Update(r.ctx, pod))
}

// status is the run's, read without faults.
func (r *chaosRig) status() v1alpha1.MotorRunStatus {
	r.t.Helper()
	var run v1alpha1.MotorRun
	must(r.t, admin.Get(r.ctx, client.ObjectKeyFromObject(r.run), &run))
	return run.Status
}

// wantInvariants waits until the run has ended, and fails unless every effect happened once and every step is there.
func (r *chaosRig) wantInvariants() {
	r.t.Helper()
	r.waitFor(func() bool { st := r.status(); return isDone(&v1alpha1.MotorRun{Status: st}) })
	st := r.status()
	if st.Phase != v1alpha1.PhaseCompleted || len(st.Attempts) != 1 {
		r.t.Errorf("the run is %s (%s) after the attempts %+v", st.Phase, st.Message, st.Attempts)
	}
	steps := r.steps(journalEnded)
	if len(steps) != effects+1 {
		r.t.Errorf("the journal has %d steps", len(steps))
	}
	for i, s := range steps {
		if want := fmt.Sprintf("run-a01-s%04d", i+1); s.Name != want {
			r.t.Errorf("step %d is %s", i+1, s.Name)
		}
	}
	var want strings.Builder
	for i := range effects {
		fmt.Fprintln(&want, i)
	}
	got, err := os.ReadFile(filepath.Join(r.workspace, "effects"))
	if err != nil || string(got) != want.String() {
		r.t.Errorf("the effects were %q (%v), want each once", got, err)
	}
	asked, ofSteps := r.model.asked.Load(), r.ofSteps.Load()
	r.t.Logf("the model was asked %d times for %d answers; %d faults hit steps", asked, effects+1, ofSteps)
	if most := effects + 1 + ofSteps; asked > most {
		r.t.Errorf("the model was asked %d times, want at most %d", asked, most)
	}
}
