// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
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

	"motorcortex.dev/motorcortex/internal/serving"
)

func TestOptions(t *testing.T) {
	t.Parallel()
	for flags, says := range map[string]string{
		"--tls-cert-file=a --tls-key-file=b": "",
		"--plain-http":                       "",
		"":                                   "--tls-cert-file and --tls-key-file are needed",
		"--tls-cert-file=a":                  "--tls-cert-file and --tls-key-file are needed",
		"--plain-http --tls-key-file=b":      "exclude each other",
		"--plain-http --audience=":           "--audience is empty",
		"--plain-http --shutdown-delay=-1s":  "--shutdown-delay is less than 0",
		"--tls-cert-file=a --tls-key-file=b --allow-consent=false": "",
	} {
		var o options
		f := flag.NewFlagSet("", flag.ContinueOnError)
		o.bind(f)
		if err := f.Parse(strings.Fields(flags)); err != nil {
			t.Fatal(err)
		}
		if err := o.check(); (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", flags, err)
		}
	}
}

// The server serves TLS, is not ready from the signal to end on, serves for the delay, and ends.
func TestRun(t *testing.T) {
	t.Parallel()
	certificate, key, err := cert.GenerateSelfSignedCertKey("127.0.0.1", []net.IP{net.IPv4(127, 0, 0, 1)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	o := &options{serving: serving.Options{Health: "127.0.0.1:0", CertFile: filepath.Join(t.TempDir(), "tls.crt"), KeyFile: filepath.Join(t.TempDir(), "tls.key")}}
	o.cluster.Audience = "mcp"
	for file, content := range map[string][]byte{o.serving.CertFile: certificate, o.serving.KeyFile: key} {
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- run(ctx, o, &rest.Config{Host: "127.0.0.1:1"}, listener, slog.New(slog.DiscardHandler))
	}()
	roots := x509.NewCertPool()
	for block, rest := pem.Decode(certificate); block != nil; block, rest = pem.Decode(rest) {
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		roots.AddCert(c)
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}, Timeout: time.Minute}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+listener.Addr().String()+"/namespaces/ns/mcp", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := client.Do(r)
	if err != nil || answer.StatusCode != http.StatusUnauthorized {
		t.Fatalf("%+v, %v", answer, err)
	}
	_ = answer.Body.Close()
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
