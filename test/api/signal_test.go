// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	corev1 "k8s.io/api/core/v1"
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
	signalcontroller "motorcortex.dev/motorcortex/internal/controller/signal"
	"motorcortex.dev/motorcortex/internal/cortex"
)

// signalSink is an HTTP server that takes signals, or answers otherwise.
type signalSink struct {
	url string

	mu   sync.Mutex
	code int
	got  []string
	auth []string
}

func newSignalSink(t *testing.T) *signalSink {
	t.Helper()
	s := &signalSink{code: http.StatusAccepted}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		e := event.New()
		if err != nil || e.UnmarshalJSON(body) != nil {
			t.Errorf("got %q", body)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		w.WriteHeader(s.code)
		if s.code < 300 {
			s.got = append(s.got, e.Type()+" "+e.Subject())
			s.auth = append(s.auth, r.Header.Get("Authorization"))
		}
	}))
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

func (s *signalSink) answer(code int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.code = code
}

// await waits until the sink has taken these about an object, in this order and no others.
func (s *signalSink) await(ctx context.Context, t *testing.T, name string, events ...string) {
	t.Helper()
	var got []string
	err := wait.PollUntilContextCancel(ctx, 20*time.Millisecond, true, func(context.Context) (bool, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		got = nil
		for _, e := range s.got {
			if kind, ok := strings.CutSuffix(e, " "+name); ok {
				got = append(got, strings.TrimPrefix(kind, "dev.motorcortex."))
			}
		}
		return slices.Equal(got, events), nil
	})
	if err != nil {
		t.Fatalf("of %s the sink has %q, want %q", name, got, events)
	}
}

// startSignals runs the reconciler as the manager does, for one namespace, until stop is called.
func startSignals(ctx context.Context, t *testing.T, ns string, change ...func(*signalcontroller.Reconciler)) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(ctx)
	cfg := rest.CopyConfig(adminConfig)
	cfg.Impersonate = rest.ImpersonationConfig{UserName: managerUser, Groups: []string{"system:authenticated"}}
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
		Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"},
		Cache:      cache.Options{DefaultNamespaces: map[string]cache.Config{ns: {}}},
		Controller: config.Controller{SkipNameValidation: new(true)},
	})
	must(t, err)
	r := &signalcontroller.Reconciler{
		Client: mgr.GetClient(), Secrets: cortex.Resolver{Cortex: mgr.GetClient(), Secrets: mgr.GetAPIReader()}, Now: time.Now,
		NewSender: signalcontroller.NewSender(func() *http.Transport { return &http.Transport{} }, func(netip.Addr) bool { return false }, time.Now),
	}
	for _, c := range change {
		c(r)
	}
	must(t, r.SetupWithManager(mgr))
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	return func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the manager ended with %v", err)
		}
	}
}

// signalCortex makes a MotorCortex with sinks, the first of which has an authorization.
func signalCortex(ctx context.Context, t *testing.T, ns string, sinks ...*signalSink) {
	t.Helper()
	must(t, admin.Create(ctx, &corev1.Secret{ObjectMeta: meta(ns, "hook"), StringData: map[string]string{"authorization": "Bearer abc"}}))
	c := &v1alpha1.MotorCortex{ObjectMeta: meta(ns, v1alpha1.CortexName), Spec: v1alpha1.MotorCortexSpec{Signals: &v1alpha1.Signals{}}}
	for i, s := range sinks {
		sink := v1alpha1.SignalSink{Name: string(rune('a' + i)), URL: s.url}
		if i == 0 {
			sink.AuthorizationSecretRef = &v1alpha1.SecretKeyRef{Name: "hook", Key: "authorization"}
		}
		c.Spec.Signals.Sinks = append(c.Spec.Signals.Sinks, sink)
	}
	must(t, admin.Create(ctx, c))
}

// awaitSink waits until the status of a sink is as wanted.
func awaitSink(ctx context.Context, t *testing.T, ns, name string, want func(*v1alpha1.SinkStatus) bool) {
	t.Helper()
	c := &v1alpha1.MotorCortex{}
	err := wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		if err := admin.Get(ctx, client.ObjectKey{Namespace: ns, Name: v1alpha1.CortexName}, c); err != nil {
			return false, err
		}
		for i := range c.Status.Sinks {
			if s := &c.Status.Sinks[i]; s.Name == name && want(s) {
				return true, nil
			}
		}
		return false, nil
	})
	if err != nil {
		t.Fatalf("the sinks are %+v", c.Status.Sinks)
	}
}

func acceptedRun(ctx context.Context, t *testing.T, ns, name string) *v1alpha1.MotorRun {
	t.Helper()
	run := createRun(ctx, t, ns, func(r *v1alpha1.MotorRun) { r.Name = name })
	changeRun(ctx, t, run, func(st *v1alpha1.MotorRunStatus) { setTrue(st, v1alpha1.ConditionAccepted, "Accepted") })
	return run
}

func setTrue(st *v1alpha1.MotorRunStatus, condition, reason string) {
	apimeta.SetStatusCondition(&st.Conditions, metav1.Condition{Type: condition, Status: metav1.ConditionTrue, Reason: reason, LastTransitionTime: metav1.Now()})
}

// changeRun changes the status of a run as the manager does.
func changeRun(ctx context.Context, t *testing.T, run *v1alpha1.MotorRun, change func(*v1alpha1.MotorRunStatus)) {
	t.Helper()
	base := run.DeepCopy()
	change(&run.Status)
	must(t, manager.Status().Patch(ctx, run, client.MergeFrom(base)))
}

func endRun(ctx context.Context, t *testing.T, run *v1alpha1.MotorRun) {
	t.Helper()
	changeRun(ctx, t, run, func(st *v1alpha1.MotorRunStatus) {
		setTrue(st, v1alpha1.ConditionSucceeded, v1alpha1.ReasonCompleted)
		setTrue(st, v1alpha1.ConditionFinished, v1alpha1.ReasonCompleted)
		st.PendingInputs, st.CompletionTime = nil, new(metav1.Now())
	})
}

// What happens while a manager leads is told at once. What happens while none does, and what a sink that was away has missed, is told by the next one,
// with the ask that is open.
func TestSignalsAcrossARestart(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	good, dead := newSignalSink(t), newSignalSink(t)
	dead.answer(http.StatusInternalServerError)
	signalCortex(ctx, t, ns, good, dead)
	stop := startSignals(ctx, t, ns)
	awaitSink(ctx, t, ns, "a", func(s *v1alpha1.SinkStatus) bool { return !s.SettledTime.IsZero() })

	run, open := acceptedRun(ctx, t, ns, "run"), acceptedRun(ctx, t, ns, "open")
	good.await(ctx, t, "run", "run.started")
	s := bareStep(ns, "run-a01-s0001", func(s *v1alpha1.MotorStepSpec) { s.Content = "I count." })
	s.Labels = map[string]string{v1alpha1.LabelRun: "run"}
	s.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(run, v1alpha1.GroupVersion.WithKind("MotorRun"))}
	must(t, manager.Create(ctx, s))
	good.await(ctx, t, "run", "run.started", "run.progress")
	changeRun(ctx, t, open, func(st *v1alpha1.MotorRunStatus) {
		st.PendingInputs = []v1alpha1.PendingInput{{ID: "a1-s1-c0", Kind: v1alpha1.InputQuestion, Question: "Which?", AskTime: metav1.Now()}}
	})
	good.await(ctx, t, "open", "run.started", "run.awaitinginput")
	endRun(ctx, t, run)
	good.await(ctx, t, "run", "run.started", "run.progress", "run.completed")
	good.mu.Lock()
	if slices.ContainsFunc(good.auth, func(a string) bool { return a != "Bearer abc" }) {
		t.Errorf("the sink was sent %q", good.auth)
	}
	good.mu.Unlock()
	awaitSink(ctx, t, ns, "b", func(s *v1alpha1.SinkStatus) bool {
		return apimeta.IsStatusConditionFalse(s.Conditions, v1alpha1.CortexSinkReady) && strings.Contains(s.LastFailure, "500")
	})
	stop()

	late := acceptedRun(ctx, t, ns, "late")
	endRun(ctx, t, late)
	dead.answer(http.StatusOK)
	stop = startSignals(ctx, t, ns)
	defer stop()
	good.await(ctx, t, "late", "run.started", "run.completed")
	dead.await(ctx, t, "late", "run.started", "run.completed")
	dead.await(ctx, t, "run", "run.started", "run.completed")
	dead.await(ctx, t, "open", "run.started", "run.awaitinginput")
	awaitSink(ctx, t, ns, "b", func(s *v1alpha1.SinkStatus) bool {
		return apimeta.IsStatusConditionTrue(s.Conditions, v1alpha1.CortexSinkReady) && s.LastDeliveryTime != nil
	})
}

// A sink is told each state of a skill, and again how it stands by a manager that begins to lead.
func TestSignalsOfASkill(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	sink := newSignalSink(t)
	signalCortex(ctx, t, ns, sink)
	stop := startSignals(ctx, t, ns)
	awaitSink(ctx, t, ns, "a", func(s *v1alpha1.SinkStatus) bool { return !s.SettledTime.IsZero() })
	s := &v1alpha1.Skill{ObjectMeta: meta(ns, "counting")}
	must(t, admin.Create(ctx, s))
	stands := func(state v1alpha1.SkillState, status metav1.ConditionStatus) {
		base := s.DeepCopy()
		s.Status.State, s.Status.RevisionName = state, "counting-1"
		apimeta.SetStatusCondition(&s.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionApproved, Status: status, Reason: string(state), LastTransitionTime: metav1.Now()})
		must(t, manager.Status().Patch(ctx, s, client.MergeFrom(base)))
	}
	stands(v1alpha1.SkillAwaitingApproval, metav1.ConditionFalse)
	sink.await(ctx, t, "counting", "skill.awaitingapproval")
	stands(v1alpha1.SkillApproved, metav1.ConditionTrue)
	sink.await(ctx, t, "counting", "skill.awaitingapproval", "skill.approved")
	stop()
	stop = startSignals(ctx, t, ns)
	defer stop()
	sink.await(ctx, t, "counting", "skill.awaitingapproval", "skill.approved", "skill.approved")
}

// A sink that takes nothing keeps no run: it can be deleted at once, and the sink is told that when it is back.
func TestARunOfADeadSinkCanBeDeleted(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	sink := newSignalSink(t)
	sink.answer(http.StatusServiceUnavailable)
	signalCortex(ctx, t, ns, sink)
	stop := startSignals(ctx, t, ns)
	defer stop()
	awaitSink(ctx, t, ns, "a", func(s *v1alpha1.SinkStatus) bool { return !s.SettledTime.IsZero() })
	run := acceptedRun(ctx, t, ns, "run")
	awaitSink(ctx, t, ns, "a", func(s *v1alpha1.SinkStatus) bool {
		return apimeta.IsStatusConditionFalse(s.Conditions, v1alpha1.CortexSinkReady)
	})
	endRun(ctx, t, run)
	if len(run.Finalizers) > 0 {
		t.Errorf("the run has the finalizers %q", run.Finalizers)
	}
	must(t, admin.Delete(ctx, run))
	if err := admin.Get(ctx, client.ObjectKeyFromObject(run), &v1alpha1.MotorRun{}); client.IgnoreNotFound(err) != nil || err == nil {
		t.Errorf("the run is there: %v", err)
	}
	sink.answer(http.StatusOK)
	sink.await(ctx, t, "run", "run.started", "run.completed")
}

func TestSinksThatAreRefused(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	ok := v1alpha1.SignalSink{Name: "a", URL: "https://hooks.example.org/motor", Events: []v1alpha1.SignalEvent{v1alpha1.SignalRunFailed}}
	for name, change := range map[string]func(*v1alpha1.SignalSink){
		"a name with capitals": func(s *v1alpha1.SignalSink) { s.Name = "A" },
		"a password in url":    func(s *v1alpha1.SignalSink) { s.URL = "https://user:pass@hooks.example.org" },
		"another scheme":       func(s *v1alpha1.SignalSink) { s.URL = "file:///etc/passwd" },
		"an unknown event":     func(s *v1alpha1.SignalSink) { s.Events = []v1alpha1.SignalEvent{"RunSlept"} },
	} {
		bad := *ok.DeepCopy()
		change(&bad)
		c := &v1alpha1.MotorCortex{ObjectMeta: meta(ns, v1alpha1.CortexName), Spec: v1alpha1.MotorCortexSpec{Signals: &v1alpha1.Signals{Sinks: []v1alpha1.SignalSink{bad}}}}
		if err := admin.Create(ctx, c, client.DryRunAll); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	c := &v1alpha1.MotorCortex{ObjectMeta: meta(ns, v1alpha1.CortexName), Spec: v1alpha1.MotorCortexSpec{Signals: &v1alpha1.Signals{Sinks: []v1alpha1.SignalSink{ok}}}}
	must(t, admin.Create(ctx, c, client.DryRunAll))
}
