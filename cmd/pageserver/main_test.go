// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"flag"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/cert"
)

func TestOptions(t *testing.T) {
	t.Parallel()
	for flags, says := range map[string]string{
		"--tls-cert-file=a --tls-key-file=b": "",
		"--plain-http":                       "",
		"":                                   "--tls-cert-file and --tls-key-file are needed",
		"--tls-cert-file=a":                  "--tls-cert-file and --tls-key-file are needed",
		"--plain-http --tls-key-file=b":      "exclude each other",
		"--plain-http --shutdown-delay=-1s":  "--shutdown-delay is less than 0",
		"--plain-http --slack-users-file=a":  "go together",
		"--plain-http --slack-signing-secret-file=a --slack-users-file=b": "",
		"--plain-http --oidc-ca-file=/none":                               "read the certificates of the issuer",
		"--plain-http --oidc-ca-file=main.go":                             "main.go has no certificate",
	} {
		o := parsed(t, flags)
		err := o.check()
		if err == nil {
			err = o.complete()
		}
		if (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", flags, err)
		}
	}
}

func parsed(t *testing.T, flags string) *options {
	t.Helper()
	var o options
	f := flag.NewFlagSet("", flag.ContinueOnError)
	o.bind(f)
	if err := f.Parse(strings.Fields(flags)); err != nil {
		t.Fatal(err)
	}
	return &o
}

// A prefix is there unless it is taken away by a word.
func TestPrefixes(t *testing.T) {
	t.Parallel()
	for flags, want := range map[string]string{"": "oidc:", "--oidc-username-prefix=-": "", "--oidc-username-prefix=x:": "x:"} {
		o := parsed(t, flags)
		if err := o.complete(); err != nil || o.page.Login.Names.UserPrefix != want || o.page.Login.Names.GroupsPrefix != "oidc:" {
			t.Errorf("%q: %+v, %v", flags, o.page.Login.Names, err)
		}
	}
}

// The server serves TLS to its own host alone, and ends after the signal.
func TestRun(t *testing.T) {
	t.Parallel()
	certificate, key, err := cert.GenerateSelfSignedCertKey("127.0.0.1", []net.IP{net.IPv4(127, 0, 0, 1)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for file, content := range map[string][]byte{"tls.crt": certificate, "tls.key": key, "session": []byte(strings.Repeat("k", 32))} {
		if err := os.WriteFile(filepath.Join(dir, file), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	o := parsed(t, strings.ReplaceAll("--health-listen=127.0.0.1:0 --shutdown-delay=0s --tls-cert-file=DIR/tls.crt --tls-key-file=DIR/tls.key --session-key-file=DIR/session "+
		"--oidc-issuer-url=https://127.0.0.1:1 --oidc-client-id=page --url=https://"+listener.Addr().String(), "DIR", dir))
	if err := o.complete(); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- run(ctx, o, &rest.Config{Host: "127.0.0.1:1"}, listener, slog.New(slog.DiscardHandler))
	}()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(certificate)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}, Timeout: time.Minute}
	for _, tt := range []struct {
		path, host string
		want       int
	}{{"/", "", http.StatusOK}, {"/api/me", "", http.StatusUnauthorized}, {"/", "evil.example.org", http.StatusForbidden}, {"/oidc/login", "", http.StatusBadGateway}} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+listener.Addr().String()+tt.path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = tt.host
		answer, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode != tt.want {
			t.Errorf("%+v: status %d", tt, answer.StatusCode)
		}
	}
	client.CloseIdleConnections()
	stop()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("the server goes on after the signal to end")
	}
}
