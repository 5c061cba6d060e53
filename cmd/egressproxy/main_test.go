// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/audit/ocsf"
	"motorcortex.dev/motorcortex/internal/audit/ocsf/ocsftest"
	"motorcortex.dev/motorcortex/internal/egress/grant"
	"motorcortex.dev/motorcortex/internal/egress/kube"
)

func TestComplete(t *testing.T) {
	folder := t.TempDir()
	tls := httptest.NewTLSServer(http.NotFoundHandler())
	defer tls.Close()
	good, empty := filepath.Join(folder, "good"), filepath.Join(folder, "empty")
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: tls.Certificate().Raw})
	for path, text := range map[string][]byte{good: cert, empty: []byte("# nothing\n")} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tests := map[string]struct {
		args      []string
		namespace string
		refused   string
		roots     bool
	}{
		"as it is shipped":     {namespace: "ns"},
		"no namespace":         {refused: "--namespace"},
		"the flag alone":       {args: []string{"--namespace=ns"}},
		"a name for a server":  {args: []string{"--dns-server=dns.example.org:53"}, namespace: "ns", refused: "--dns-server"},
		"no port of a server":  {args: []string{"--dns-server=10.0.0.1"}, namespace: "ns", refused: "--dns-server"},
		"a server":             {args: []string{"--dns-server=10.0.0.1:53"}, namespace: "ns"},
		"authorities":          {args: []string{"--upstream-ca-file=" + good}, namespace: "ns", roots: true},
		"a file without any":   {args: []string{"--upstream-ca-file=" + empty}, namespace: "ns", refused: "no certificate"},
		"no such file":         {args: []string{"--upstream-ca-file=" + good + "x"}, namespace: "ns", refused: "--upstream-ca-file"},
		"no time to end":       {args: []string{"--shutdown-grace=0s"}, namespace: "ns", refused: "--shutdown-grace"},
		"an unknown audit":     {args: []string{"--audit-format=cef"}, namespace: "ns", refused: "--audit-format"},
		"an audit of OCSF":     {args: []string{"--audit-format=ocsf"}, namespace: "ns"},
		"less than no request": {args: []string{"--max-requests-per-run=-1"}, namespace: "ns", refused: "negative"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Setenv("POD_NAMESPACE", tt.namespace)
			t.Setenv("POD_NAME", "pod-1")
			var o options
			fs := flag.NewFlagSet("egressproxy", flag.ContinueOnError)
			o.bind(fs)
			if err := fs.Parse(tt.args); err != nil {
				t.Fatal(err)
			}
			err := o.complete()
			if tt.refused != "" {
				if err == nil || !strings.Contains(err.Error(), tt.refused) {
					t.Errorf("got %v, want %s", err, tt.refused)
				}
				return
			}
			if err != nil || (o.roots != nil) != tt.roots || o.podName != "pod-1" {
				t.Errorf("got %+v, %v", o, err)
			}
		})
	}
}

func TestProbes(t *testing.T) {
	t.Parallel()
	for _, ready := range []bool{true, false} {
		handler := probes(func() bool { return ready })
		for path, want := range map[string]int{"/healthz": 200, "/readyz": map[bool]int{true: 200, false: 503}[ready], "/": 404} {
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, http.NoBody))
			if w.Code != want {
				t.Errorf("ready %t: %s gives %d, want %d", ready, path, w.Code, want)
			}
		}
	}
}

// cluster returns the configuration for the part of an API server that the proxy reads: two lists, which do not change.
func cluster(t *testing.T, g *grant.Grant) *rest.Config {
	t.Helper()
	data, err := g.Encode()
	if err != nil {
		t.Fatal(err)
	}
	secrets := corev1.SecretList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}, Items: []corev1.Secret{{
		ObjectMeta: metav1.ObjectMeta{Name: grant.SecretName(g.RunUID), Namespace: "ns", ResourceVersion: "1"}, Type: grant.SecretType, Data: data,
	}}}
	maps := corev1.ConfigMapList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}, Items: []corev1.ConfigMap{{
		ObjectMeta: metav1.ObjectMeta{Name: kube.NetworkConfigMap, Namespace: "ns", ResourceVersion: "1"}, Data: map[string]string{kube.NetworkKey: `["10.0.0.0/8"]`},
	}}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		w.Header().Set("Content-Type", "application/json")
		switch {
		case q.Get("sendInitialEvents") != "":
			w.WriteHeader(http.StatusUnprocessableEntity)
			_ = json.NewEncoder(w).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Failure", Reason: metav1.StatusReasonInvalid, Code: 422})
		case q.Get("watch") != "":
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		case r.URL.Path == "/api/v1/namespaces/ns/secrets" && q.Get("labelSelector") == v1alpha1.LabelComponent+"="+v1alpha1.ComponentEgressGrant && q.Get("fieldSelector") == "type="+grant.SecretType:
			_ = json.NewEncoder(w).Encode(secrets)
		case r.URL.Path == "/api/v1/namespaces/ns/configmaps" && q.Get("fieldSelector") == "metadata.name="+kube.NetworkConfigMap:
			_ = json.NewEncoder(w).Encode(maps)
		case r.Method == http.MethodPost && r.URL.Path == "/apis/events.k8s.io/v1/namespaces/ns/events":
			w.WriteHeader(http.StatusCreated)
			_, _ = io.WriteString(w, `{"kind":"Event","apiVersion":"events.k8s.io/v1","metadata":{"name":"e","namespace":"ns"}}`)
		default:
			// The rights of config/egressproxy do not reach further.
			t.Errorf("the proxy asks for %s", r.URL)
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(server.Close)
	return &rest.Config{Host: server.URL}
}

func TestRun(t *testing.T) {
	t.Parallel()
	token := grant.Token([]byte("key"), "run", "pod", 1)
	cfg := cluster(t, &grant.Grant{
		RunUID: "run", Namespace: "ns", Run: "r", PodName: "p", PodUID: "pod", PodIPs: []netip.Addr{netip.MustParseAddr("127.0.0.1")},
		TokenHash: grant.HashToken(token), Domains: []string{"example.org"}, ExpiresAt: time.Now().Add(time.Hour),
	})
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var audit bytes.Buffer
	o := options{namespace: "ns", podName: "pod-1", shutdownDelay: 3 * time.Second, shutdownGrace: time.Minute, auditFormat: ocsf.Format, audit: &audit}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- run(ctx, o, cfg, listener, slog.New(slog.DiscardHandler)) }()

	ask := func() int {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, fmt.Sprintf("http://%s%s", listener.Addr(), grant.CheckPath), http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Proxy-Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(grant.User+":"+token)))
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			return 0
		}
		resp.Body.Close()
		return resp.StatusCode
	}
	deadline := time.Now().Add(2 * time.Minute)
	for ask() != http.StatusNoContent {
		if time.Now().After(deadline) {
			t.Fatal("the grant does not count within 2 minutes")
		}
	}
	through := &http.Transport{Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: listener.Addr().String(), User: url.UserPassword(grant.User, token)})}
	defer through.CloseIdleConnections()
	denied, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://evil.test/", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if resp, err := through.RoundTrip(denied); err != nil || resp.StatusCode != http.StatusForbidden {
		t.Errorf("another host gives %+v, %v", resp, err)
	} else {
		resp.Body.Close()
	}
	stop()
	// The nodes still send connections for a moment.
	if got := ask(); got != http.StatusNoContent {
		t.Errorf("a connection right after the signal gives %d", got)
	}
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(2 * time.Minute):
		t.Fatal("it does not end")
	}
	if got := ask(); got != 0 {
		t.Errorf("a connection after the end gives %d", got)
	}
	found := false
	for line := range strings.Lines(audit.String()) {
		if err := ocsftest.Check([]byte(line)); err != nil {
			t.Errorf("%s: %v", line, err)
		}
		found = found || strings.Contains(line, `"hostname":"evil.test"`) && strings.Contains(line, `"correlation_uid":"run"`)
	}
	if !found {
		t.Errorf("the audit lacks the refusal: %s", &audit)
	}
}
