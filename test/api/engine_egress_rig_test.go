// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"encoding/base64"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	egressgrant "motorcortex.dev/motorcortex/internal/egress/grant"
	"motorcortex.dev/motorcortex/internal/engine"
	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/test/printed"
)

// egressKey is what the tokens and handles of these tests are derived from.
var egressKey = []byte("the key of the tests")

// stubProxy answers the check of the way out as the egress proxy does.
type stubProxy struct {
	address string
	// closed has it refuse everybody.
	closed atomic.Bool
	mu     sync.Mutex
	tokens []string
}

func newStubProxy(r *engineRig) *stubProxy {
	p := &stubProxy{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		given, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(req.Header.Get("Proxy-Authorization"), "Basic "))
		user, token, _ := strings.Cut(string(given), ":")
		if p.closed.Load() || req.URL.Path != egressgrant.CheckPath || user != egressgrant.User {
			w.WriteHeader(http.StatusProxyAuthRequired)
			return
		}
		p.mu.Lock()
		p.tokens = append(p.tokens, token)
		p.mu.Unlock()
		w.WriteHeader(http.StatusNoContent)
	}))
	r.t.Cleanup(server.Close)
	p.address = server.Listener.Addr().String()
	return p
}

// shown are the tokens that the sandbox showed, each once.
func (p *stubProxy) shown() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var distinct []string
	for _, t := range p.tokens {
		if len(distinct) == 0 || distinct[len(distinct)-1] != t {
			distinct = append(distinct, t)
		}
	}
	return distinct
}

// token is that of an attempt in the rig's sandbox.
func (r *engineRig) token(attempt int32) string {
	return egressgrant.Token(egressKey, string(r.run.UID), r.podUID, attempt)
}

func (r *engineRig) handle(name string) string {
	return egressgrant.Handle(egressKey, string(r.run.UID), r.podUID, name)
}

// grantOf is a right grant for an attempt of the rig's run.
func (r *engineRig) grantOf(attempt int32, credentials ...egressgrant.Credential) *egressgrant.Grant {
	for i := range credentials {
		credentials[i].Handle = r.handle(credentials[i].Name)
	}
	return &egressgrant.Grant{
		RunUID: string(r.run.UID), Namespace: r.run.Namespace, Run: r.run.Name, PodUID: r.podUID, Attempt: attempt,
		TokenHash: egressgrant.HashToken(r.token(attempt)), Credentials: credentials, ExpiresAt: time.Now().Add(time.Hour),
	}
}

// writeGrant plays the controller: it writes the grant's Secret.
func (r *engineRig) writeGrant(g *egressgrant.Grant) {
	r.t.Helper()
	data, err := g.Encode()
	must(r.t, err)
	s := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: managerNamespace, Name: egressgrant.SecretName(string(r.run.UID))},
		Type:       egressgrant.SecretType, Data: data,
	}
	err = manager.Create(r.ctx, s.DeepCopy())
	if apierrors.IsAlreadyExists(err) {
		err = manager.Update(r.ctx, s)
	}
	must(r.t, err)
}

// showEgress plays the controller: it says in the status what the sandbox may reach.
func (r *engineRig) showEgress(proxy string, attempt int32, domains ...v1alpha1.Domain) {
	r.t.Helper()
	r.changeStatus(func(st *v1alpha1.MotorRunStatus) {
		st.Egress = &v1alpha1.EgressStatus{Proxy: proxy, Attempt: attempt, Domains: domains}
		if p := st.Pending(); p != nil && p.Kind == v1alpha1.InputDomainRequest {
			p.Answered = slices.Contains(domains, p.Domain)
		}
	})
}

// startEgressEngine starts an engine that has the tests' key, and gives what it logs.
func (r *engineRig) startEgressEngine(worker string, change ...func(*engine.Engine)) (log *printed.Text, stop func()) {
	r.t.Helper()
	log = &printed.Text{}
	stop = r.startEngineWith(worker, func(e *engine.Engine) {
		e.Logger = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		e.Config.Sandbox.EgressKey, e.Config.Sandbox.EgressTimeout = egressKey, time.Second
		for _, c := range change {
			c(e)
		}
	})
	return log, stop
}

// decide decides as the design tells people to.
func (r *engineRig) decide(id string, d v1alpha1.Decision) {
	r.t.Helper()
	must(r.t, jsonPatch(r.ctx, r.run.DeepCopy(), fmt.Sprintf(`[{"op":"add","path":"/spec/responses/-","value":{"id":%q,"decision":%q}}]`, id, d)))
}

// listen returns an address at which something listens until the test ends.
func listen(r *engineRig) string {
	r.t.Helper()
	l, err := (&net.ListenConfig{}).Listen(r.ctx, "tcp", "127.0.0.1:0")
	must(r.t, err)
	r.t.Cleanup(func() { _ = l.Close() })
	return l.Addr().String()
}

func target(name, address string) toolapi.ProbeTarget {
	return toolapi.ProbeTarget{Name: name, Network: "tcp", Address: address}
}

// secretOf returns a Secret of the run's namespace.
func (r *engineRig) secretOf(name string) (*corev1.Secret, error) {
	s := &corev1.Secret{}
	err := admin.Get(r.ctx, client.ObjectKey{Namespace: r.run.Namespace, Name: name}, s)
	return s, err
}
