// SPDX-License-Identifier: Apache-2.0

package openai

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"motorcortex.dev/motorcortex/internal/motorloop/outcome"
	"motorcortex.dev/motorcortex/internal/outbound"
)

func TestUnreachable(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	s.Close()
	c, err := New(Endpoint{BaseURL: s.URL, Model: "m"}, quick())
	if err != nil {
		t.Fatal(err)
	}
	_, err = ask(t.Context(), c)
	f := failureOf(t, err, away)
	if f.Reason != outcome.ReasonModelUnavailable || !strings.Contains(f.Message, "connection refused") {
		t.Errorf("got %v", err)
	}
}

// An untrusted certificate, and an endpoint that speaks no TLS, stay so until a person acts: they are tried once.
func TestCertificates(t *testing.T) {
	t.Parallel()
	var tries atomic.Int32
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	defer secure.Close()
	other, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	go func() {
		for {
			conn, err := other.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, "220 mail.test ready\r\n")
			_ = conn.Close()
		}
	}()
	for name, address := range map[string]string{
		"not trusted": secure.URL, "no TLS": strings.Replace(plain.URL, "http:", "https:", 1), "neither TLS nor HTTP": "https://" + other.Addr().String(),
	} {
		o := quick()
		tries.Store(0)
		dialer := &net.Dialer{}
		transport := &http.Transport{DialContext: func(ctx context.Context, network, to string) (net.Conn, error) {
			tries.Add(1)
			return dialer.DialContext(ctx, network, to)
		}}
		o.HTTPClient = &http.Client{Transport: transport}
		c, err := New(Endpoint{BaseURL: address, Model: "m"}, o)
		if err != nil {
			t.Fatal(err)
		}
		_, err = ask(t.Context(), c)
		if f := failureOf(t, err, act); f.Reason != outcome.ReasonModelCertificate || tries.Load() != 1 {
			t.Errorf("%s: %+v after %d tries", name, f, tries.Load())
		}
	}
}

// A forbidden address stays forbidden: a person has to change something, and the message names it.
func TestAddressThatIsRefused(t *testing.T) {
	guard := &outbound.Guard{Cluster: true, Networks: func(context.Context) (outbound.Networks, error) { return outbound.Networks{}, nil }}
	transport := guard.Transport()
	defer transport.CloseIdleConnections()
	o := quick()
	o.HTTPClient = &http.Client{Transport: transport}
	c, err := New(Endpoint{BaseURL: "http://127.0.0.1:1/v1", Model: "m"}, o)
	if err != nil {
		t.Fatal(err)
	}
	_, err = ask(t.Context(), c)
	f := failureOf(t, err, act)
	if f.Reason != outcome.ReasonModelAddress || !strings.Contains(f.Message, "does not connect with") || !strings.Contains(f.Message, "--allowed-model-cidrs") {
		t.Errorf("got %v", err)
	}
}

// A 403 after an answer with the same key is about the request, and blocks no other loop. A second one in a row is about the key.
func TestForbiddenRequest(t *testing.T) {
	t.Parallel()
	var status atomic.Int32
	c, _ := serve(t, quick(), func(w http.ResponseWriter, _ *http.Request) {
		if s := int(status.Load()); s != 200 {
			reply(w, s, `{"error":{"message":"Your input was flagged. Key `+testKey+`"}}`)
			return
		}
		reply(w, 200, okBody)
	})
	answered := func() {
		t.Helper()
		status.Store(200)
		if _, err := ask(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	// The key has not been accepted yet.
	status.Store(403)
	_, err := ask(t.Context(), c)
	if f := failureOf(t, err, act); f.Reason != outcome.ReasonModelUnauthorized {
		t.Errorf("got %+v", f)
	}
	if c.Away() != nil {
		t.Error("one request that was refused keeps the others from asking")
	}
	for range 5 {
		answered()
		status.Store(403)
		_, err = ask(t.Context(), c)
		f := failureOf(t, err, refusal)
		if f.Reason != outcome.ReasonModelRefused || !strings.Contains(f.Message, "Your input was flagged") {
			t.Errorf("got %+v", f)
		}
		checkNoKey(t, f.Message)
		if c.Away() != nil {
			t.Error("one request that was refused keeps the others from asking")
		}
	}
	for range 3 {
		_, err = ask(t.Context(), c)
		failureOf(t, err, act)
	}
	if c.Away() == nil {
		t.Error("a key that is refused all the time does not keep the others from asking")
	}
}
