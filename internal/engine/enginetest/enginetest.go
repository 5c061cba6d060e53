// SPDX-License-Identifier: Apache-2.0

// Package enginetest has helpers that the tests of the packages below the engine share.
package enginetest

import (
	"crypto/tls"
	"errors"
	"log/slog"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/egress/grant"
	"motorcortex.dev/motorcortex/internal/engine/fairsemaphore"
	"motorcortex.dev/motorcortex/internal/engine/redacting"
	"motorcortex.dev/motorcortex/internal/engine/runenv"
	"motorcortex.dev/motorcortex/internal/journal"
	"motorcortex.dev/motorcortex/internal/secret"
	"motorcortex.dev/motorcortex/internal/toolclient"
)

// Secrets knows one value of each kind. A failing test shows where a value was, and not the value.
func Secrets() (known *redacting.Secrets, values map[string]string) {
	values = map[string]string{
		"api_key": "sk-0123456789abcdefghijklmnop", "login": "maria:correct horse battery", "pem": "-----BEGIN KEY-----\nQUJDREVGR0hJSktMTU5P\n-----END KEY-----\n",
	}
	known = &redacting.Secrets{}
	known.AddGrant(&grant.Grant{Credentials: []grant.Credential{
		{Name: "api_key", Slot: "Bearer", Handle: "mch-abcdefghijklmnopqrstuvwxyz234567", Value: secret.New([]byte(values["api_key"]))},
		{Name: "login", Slot: "Basic", Handle: "mch-bbcdefghijklmnopqrstuvwxyz234567", Value: secret.New([]byte(values["login"]))},
		{Name: "billing", Slot: "Basic", Handle: "mch-dbcdefghijklmnopqrstuvwxyz234567", Value: secret.New([]byte("sk_live_0123:"))},
		{Name: "pem", Handle: "mch-cbcdefghijklmnopqrstuvwxyz234567", Value: secret.New([]byte(values["pem"]))},
	}}, "the-token-of-the-sandbox")
	known.Add(redacting.ModelKeyName, []byte("model-key-0123456789"))
	return known, values
}

// ClientCertificate returns a certificate as a run has one for its sandbox.
func ClientCertificate(t testing.TB) tls.Certificate {
	t.Helper()
	key, err := toolclient.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	cert, err := toolclient.ClientCertificate(key)
	if err != nil {
		t.Fatal(err)
	}
	return cert
}

// ServeTools serves a tool server that answers as the handler does. The certificate is that of a run's client, and its own.
func ServeTools(t testing.TB, handler http.Handler) (address string, cert tls.Certificate) {
	t.Helper()
	cert = ClientCertificate(t)
	ln, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{cert}, ClientAuth: tls.RequireAnyClientCert})
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
	go func() { _ = srv.Serve(ln) }()
	t.Cleanup(func() { _ = srv.Close() })
	return ln.Addr().String(), cert
}

// ToolsAt returns a client of a tool server that answers as the handler does.
func ToolsAt(t testing.TB, handler http.Handler) *toolclient.Client {
	t.Helper()
	address, cert := ServeTools(t, handler)
	c, err := toolclient.New(toolclient.Config{Address: address, PodUID: "pod", ClientCert: cert, Epoch: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// ReadyRun is a run that worker-1 has something to do for.
func ReadyRun() *v1alpha1.MotorRun {
	run := &v1alpha1.MotorRun{}
	run.Namespace, run.Name, run.UID = "ns", "run", "nsrun"
	run.CreationTimestamp = metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	run.Spec.Limits = v1alpha1.RunLimits{MaxIterations: 20, ActiveDeadlineSeconds: 600}
	run.Status.Execution.Worker = "worker-1"
	run.Status.Attempts = []v1alpha1.AttemptStatus{{Index: 1}}
	run.Status.Sandbox = &v1alpha1.SandboxStatus{PodUID: "pod", PodIP: "10.0.0.1"}
	run.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionSandboxReady, Status: metav1.ConditionTrue}}
	return run
}

// Step is a step of the run that a worker of that epoch has recorded.
func Step(run *v1alpha1.MotorRun, index int32, epoch int64) *v1alpha1.MotorStep {
	return &v1alpha1.MotorStep{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: run.Namespace, Name: journal.StepName(run.Name, 1, index), Labels: map[string]string{v1alpha1.LabelRun: run.Name},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(run, v1alpha1.GroupVersion.WithKind("MotorRun"))},
		},
		Spec: v1alpha1.MotorStepSpec{Type: v1alpha1.StepTurn, Attempt: 1, Index: index, Epoch: epoch, Sandbox: &v1alpha1.StepSandbox{PodUID: "pod"}},
	}
}

// Noon is when most tests are.
var Noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// Lease is one that a replica has until it loses it.
type Lease struct{ lost atomic.Bool }

// MayDecide reports whether the replica has it.
func (l *Lease) MayDecide() bool { return !l.lost.Load() }

// Lose takes the Lease away, or returns it.
func (l *Lease) Lose(lost bool) { l.lost.Store(lost) }

// Env returns the environment of an attempt of the run, with the run's journal from the API server.
func Env(t testing.TB, c client.Client, run *v1alpha1.MotorRun, now func() time.Time) *runenv.Env {
	t.Helper()
	e := &runenv.Env{
		Client: c, Live: c, Lease: &Lease{}, Clock: runenv.Clock{Now: now}, Limits: &runenv.Limits{}, Run: run,
		Claim: journal.Claim{Epoch: max(1, run.Status.Execution.Epoch), Worker: "worker-1"}, Known: &redacting.Secrets{}, Absence: &runenv.Absence{}, Log: slog.New(slog.DiscardHandler),
	}
	var err error
	if e.Entries, err = journal.Load(t.Context(), c, c, run, 1, e.Claim, now); err != nil {
		t.Fatal(err)
	}
	return e
}

// Scheme has the kinds of the API and those of the core.
func Scheme(t testing.TB) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	return scheme
}

// Fill acquires all permits for others, and returns a function that releases one of them.
func Fill(t testing.TB, s *fairsemaphore.Semaphore, permits int) (release func()) {
	t.Helper()
	for i := range permits {
		var err error
		if release, err = s.Acquire(t.Context(), string(rune('a'+i)), permits); err != nil {
			t.Fatal(err)
		}
	}
	return release
}

// WhileWaiting calls do, and then as soon as do waits for a permit. It returns the error of do.
func WhileWaiting(s *fairsemaphore.Semaphore, permits int, do func() error, then func()) error {
	done := make(chan error, 1)
	go func() { done <- do() }()
	for s.Len() <= permits {
		select {
		case err := <-done: // It does not wait.
			done <- err
			then()
			return <-done
		case <-time.After(time.Millisecond):
		}
	}
	then()
	return <-done
}

// AWSKey looks like a key, and is none.
const AWSKey = "AKIA" + "YRWSSQ3BPTB4DX7Z"
