// SPDX-License-Identifier: Apache-2.0

package terminate_test

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/internal/egress"
	"motorcortex.dev/motorcortex/internal/egress/grant"
	"motorcortex.dev/motorcortex/internal/secret"
)

// echo answers with the request that it received, in header and body.
func echo(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Echo", r.Header.Get("Authorization")+" "+r.URL.RawQuery)
	w.Header().Add("Set-Cookie", "auth="+r.Header.Get("Authorization"))
	w.Header().Set("Alt-Svc", `h3=":443"`)
	fmt.Fprintln(w, r.Method, r.URL, r.Header)
	_, _ = io.Copy(w, r.Body)
}

func basic(text string) string { return "Basic " + base64.StdEncoding.EncodeToString([]byte(text)) }

// The request at the host for each request of the client. HANDLE stands for the handle, VALUE for the value.
func TestSlots(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		slot   string
		path   string
		header http.Header
		// want must be in the request that the host sees.
		want string
	}{
		"bearer":                     {slot: "Bearer", header: http.Header{"Authorization": {"Bearer HANDLE"}}, want: "\r\nAuthorization: Bearer VALUE\r\n"},
		"bearer in lower case":       {slot: "Bearer", header: http.Header{"Authorization": {"bearer  HANDLE"}}, want: "\r\nAuthorization: Bearer VALUE\r\n"},
		"basic as the password":      {slot: "Basic", header: http.Header{"Authorization": {"BASIC x:HANDLE"}}, want: "\r\nAuthorization: BASIC VALUE\r\n"},
		"basic as the user":          {slot: "Basic", header: http.Header{"Authorization": {"BASIC HANDLE:x"}}, want: "\r\nAuthorization: BASIC VALUE\r\n"},
		"basic with no password":     {slot: "Basic", header: http.Header{"Authorization": {"BASIC HANDLE:"}}, want: "\r\nAuthorization: BASIC VALUE\r\n"},
		"basic alone":                {slot: "Basic", header: http.Header{"Authorization": {"BASIC HANDLE"}}, want: "\r\nAuthorization: BASIC VALUE\r\n"},
		"a header":                   {slot: "Header X-Key", header: http.Header{"X-Key": {"HANDLE"}}, want: "\r\nX-Key: VALUE\r\n"},
		"a header of the well-known": {slot: "Header X-Api-Key", header: http.Header{"X-Api-Key": {"HANDLE"}}, want: "\r\nX-Api-Key: VALUE\r\n"},
		"the header itself":          {slot: "Header authorization", header: http.Header{"Authorization": {"HANDLE"}}, want: "\r\nAuthorization: VALUE\r\n"},
		"a parameter":                {slot: "Query key", path: "/p?a=1&key=HANDLE&b=%20", want: "GET /p?a=1&key=ESCAPED&b=%20 HTTP"},
		"an encoded parameter":       {slot: "Query a b", path: "/p?a+b=1&a%20b=HANDLE", want: "GET /p?a+b=1&a+b=ESCAPED HTTP"},
		"two of one slot":            {slot: "Bearer", header: http.Header{"Authorization": {"Bearer own", "Bearer HANDLE"}}, want: "\r\nAuthorization: Bearer VALUE\r\n"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, echo, credentials(tt.slot))
			fill := func(s string) string {
				s = strings.ReplaceAll(s, "HANDLE", w.handle(0))
				return strings.ReplaceAll(strings.ReplaceAll(s, "VALUE", value+"0"), "ESCAPED", url.QueryEscape(value+"0"))
			}
			header := http.Header{}
			for name, values := range tt.header {
				for _, v := range values {
					v = fill(v)
					if rest, ok := strings.CutPrefix(v, "BASIC "); ok {
						v = basic(rest)
					}
					header.Add(name, v)
				}
			}
			got := w.do(w.client(), http.MethodGet, fill(tt.path), header, nil)
			want := fill(tt.want)
			if strings.Contains(want, "BASIC") {
				want = "\r\nAuthorization: " + basic(value+"0") + "\r\n"
			}
			if saw := w.requests(); len(saw) != 1 || !strings.Contains(saw[0], want) || strings.Contains(saw[0], "own") || strings.Contains(saw[0], grant.HandlePrefix) {
				t.Errorf("the host saw %q, want %q", saw, want)
			}
			if got.StatusCode != http.StatusOK || !strings.Contains(got.body, "<credential:c0>") {
				t.Errorf("got %d %s", got.StatusCode, got.body)
			}
			if tt.slot == "Bearer" && (got.Header.Get("Set-Cookie") != "auth=Bearer <credential:c0>" || got.Header.Get("Alt-Svc") != "") {
				t.Errorf("got the header %v", got.Header)
			}
		})
	}
}

// A client's own credentials do not reach a host that a credential is bound to.
func TestOwnCredentialsAreStripped(t *testing.T) {
	t.Parallel()
	w := newWorld(t, echo, credentials("Header X-Special", "Query sig"))
	header := http.Header{"Accept": {"text/plain"}, "X-Other": {"passed"}}
	for _, name := range []string{"Authorization", "Cookie", "X-Api-Key", "x_api_key", "Forwarded", "X-Forwarded-Host", "x_forwarded_for", "X-Original-URL", "X_Rewrite_URL", "X-Real-Ip", "X_HTTP_Method_Override",
		"X-Original-Method", "X-Original-Path", "X-Override-URL", "X-Path-Override", "X_HTTP_Path_Override", "X-Method", "X-Rewrite-Path", "X-Envoy-Original-Path", "True-Client-Ip", "X-Cluster-Client-Ip", "client_ip", "X-ProxyUser-Ip", "Api-Key", "X-Auth-Token", "X-Access-Token",
		"Private-Token", "X-Goog-Api-Key", "X-Special", "x_special"} {
		header[name] = []string{"own-key"}
	}
	w.do(w.client(), http.MethodGet, "/p?a=1&sig=own-key&SIG=own-key&access_token=own-key;sig=own-key&b=2", header, nil)
	saw := w.requests()
	if len(saw) != 1 || strings.Contains(saw[0], "own-key") || !strings.Contains(saw[0], "GET /p?a=1&b=2 HTTP") || !strings.Contains(saw[0], "X-Other: passed") {
		t.Errorf("the host saw %q", saw)
	}
}

// A handle in a wrong slot is refused and reported, and nothing reaches the host.
func TestMisuse(t *testing.T) {
	t.Parallel()
	other := grant.Handle([]byte("key"), "run-b", "pod", "token")
	tests := map[string]struct {
		method string
		path   string
		header http.Header
		want   string
	}{
		"in the path":                      {path: "/HANDLE", want: "c0"},
		"in the path, encoded":             {path: "/%6dch-REST", want: "c0"},
		"in a parameter":                   {path: "/?q=HANDLE", want: "c0"},
		"in the name of a parameter":       {path: "/?HANDLE=1", want: "c0"},
		"in a parameter, encoded":          {path: "/?q=%6Dch-REST", want: "c0"},
		"in another header":                {header: http.Header{"X-Note": {"it is HANDLE!"}}, want: "c0"},
		"in a header, encoded":             {header: http.Header{"Referer": {"https://x/%6dch-REST"}}, want: "c0"},
		"in a cookie":                      {header: http.Header{"Cookie": {"a=HANDLE"}}, want: "c0"},
		"in the name of a header":          {header: http.Header{"X-HANDLE": {"1"}}, want: "c0"},
		"as basic":                         {header: http.Header{"Authorization": {basic("x:") + "HANDLE"}}, want: "c0"},
		"not alone in its slot":            {header: http.Header{"Authorization": {"Bearer HANDLE x"}}, want: "c0"},
		"twice":                            {header: http.Header{"Authorization": {"Bearer HANDLE"}, "X-Note": {"HANDLE"}}, want: "c0"},
		"of a credential for another host": {header: http.Header{"Authorization": {"Bearer ELSEWHERE"}}, want: "c1"},
		"of another run":                   {header: http.Header{"Authorization": {"Bearer " + other}}},
		"of another run, in the path":      {path: "/" + strings.ToUpper(other)},
		"of another run, basic":            {header: http.Header{"Authorization": {basic("x:" + other)}}},
		"in a request with a body":         {method: http.MethodPost, path: "/HANDLE", want: "c0"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, echo, credentials("Bearer"), func(w *world, _ *tls.Config) {
				w.grant.Credentials = append(w.grant.Credentials, credential("run-a", "c1", "Bearer", "another value", "sink.example.org"))
			})
			fill := strings.NewReplacer("HANDLE", w.handle(0), "REST", strings.TrimPrefix(w.handle(0), grant.HandlePrefix), "ELSEWHERE", w.handle(1)).Replace
			header := http.Header{}
			for name, values := range tt.header {
				header[fill(name)] = []string{fill(values[0])}
			}
			if name == "as basic" {
				header["Authorization"] = []string{basic("x:" + w.handle(0))}
			}
			got := w.do(w.client(), or(tt.method, http.MethodGet), fill(tt.path), header, strings.NewReader(strings.Repeat("x", 1<<10)))
			if got.StatusCode != http.StatusForbidden || !strings.Contains(got.body, `"error":"credential_misuse"`) || len(w.requests()) != 0 {
				t.Fatalf("got %d %s; the host saw %q", got.StatusCode, got.body, w.requests())
			}
			if d := w.denied(); d.Reason != egress.ReasonCredentialMisuse || d.Credential != tt.want || d.Host != host {
				t.Errorf("people are told %+v", d)
			}
		})
	}
}

// A credential for one port of a host is none for another port of it.
func TestCredentialOfAnotherPort(t *testing.T) {
	t.Parallel()
	w := newWorld(t, echo, func(w *world, _ *tls.Config) {
		w.grant.Domains = []string{host, host + ":8443"}
		w.grant.Credentials = []grant.Credential{
			credential("run-a", "c0", "Bearer", value+"0", host), credential("run-a", "c1", "Bearer", value+"1", host+":8443"),
		}
	})
	client := w.client()
	for i, port := range []string{"", ":8443"} {
		for handle := range w.grant.Credentials {
			before := len(w.requests())
			got := w.doAt(client, host+port, http.MethodGet, "/", http.Header{"Authorization": {"Bearer " + w.handle(handle)}}, nil)
			saw := w.requests()[before:]
			if handle == i {
				if want := "Authorization: Bearer " + w.values()[i] + "\r\n"; got.StatusCode != http.StatusOK || len(saw) != 1 || !strings.Contains(saw[0], want) {
					t.Errorf("%s%s, its own: got %d %s; the host saw %q", host, port, got.StatusCode, got.body, saw)
				}
				continue
			}
			if got.StatusCode != http.StatusForbidden || !strings.Contains(got.body, `"error":"credential_misuse"`) || len(saw) != 0 {
				t.Fatalf("%s%s, the other's: got %d %s; the host saw %q", host, port, got.StatusCode, got.body, saw)
			}
			if d := w.denied(); d.Reason != egress.ReasonCredentialMisuse || d.Credential != w.grant.Credentials[handle].Name {
				t.Errorf("people are told %+v", d)
			}
		}
	}
}

func or(s, otherwise string) string {
	if s != "" {
		return s
	}
	return otherwise
}

func TestValuesThatAreNeverSent(t *testing.T) {
	t.Parallel()
	for name, bad := range map[string]string{"newline": "long enough\nX-Evil: 1", "carriage return": "long enough\r", "NUL": "long\x00enough", "short": "1234567"} {
		for _, slot := range []string{"Bearer", "Query key", "Header X-Key", "Basic"} {
			t.Run(name+" "+slot, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, echo, func(w *world, _ *tls.Config) {
					w.grant.Credentials = []grant.Credential{credential("run-a", "c", slot, bad, host)}
				})
				header, path := http.Header{}, "/"
				switch slot {
				case "Bearer":
					header.Set("Authorization", "Bearer "+w.handle(0))
				case "Basic":
					header.Set("Authorization", basic(w.handle(0)))
				case "Header X-Key":
					header.Set("X-Key", w.handle(0))
				default:
					path = "/?key=" + w.handle(0)
				}
				got := w.do(w.client(), http.MethodGet, path, header, nil)
				if got.StatusCode != http.StatusForbidden || !strings.Contains(got.body, "credential_invalid") || len(w.requests()) != 0 {
					t.Errorf("got %d %s; the host saw %q", got.StatusCode, got.body, w.requests())
				}
			})
		}
	}
}

// A new value counts from the next request of the same connection on; without a value the handle is unknown, and the connection ends.
func TestRotationAndDeletion(t *testing.T) {
	t.Parallel()
	w := newWorld(t, echo)
	client := w.client()
	header := http.Header{"Authorization": {"Bearer " + w.handle(0)}}
	w.do(client, http.MethodGet, "/1", header, nil)

	next := *w.grant
	next.Credentials = []grant.Credential{w.grant.Credentials[0]}
	next.Credentials[0].Value = secret.New([]byte("the second value"))
	if err := w.grants.Set(&next); err != nil {
		t.Fatal(err)
	}
	// The host still shows the first one.
	got := w.do(client, http.MethodGet, "/2?seen="+url.QueryEscape(value), header, nil)
	if contains(got.body, []string{"the second value"}) {
		t.Errorf("the new value came back: %s", got.body)
	}
	saw := w.requests()
	if len(saw) != 2 || !strings.Contains(saw[0], "Bearer "+value+"\r\n") || !strings.Contains(saw[1], "Bearer the second value\r\n") {
		t.Errorf("the host saw %q", saw)
	}
	if n := strings.Count(w.log.String(), `"verdict":"allow"`); n != 1 {
		t.Errorf("%d connections, want one:\n%s", n, w.log)
	}

	gone := next
	gone.Credentials = []grant.Credential{credential("run-a", "other", "Bearer", "another value", host)}
	if err := w.grants.Set(&gone); err != nil {
		t.Fatal(err)
	}
	if got := w.do(client, http.MethodGet, "/3", header, nil); got.StatusCode != http.StatusForbidden || len(w.requests()) != 2 {
		t.Errorf("a credential that is gone gives %d %s", got.StatusCode, got.body)
	}
	w.grants.Remove(w.grant.RunUID)
	// The connection is being closed; requests before that are refused.
	resp, err := client.Get("https://" + host)
	if err == nil {
		resp.Body.Close()
	}
	if err == nil && resp.StatusCode != http.StatusForbidden || len(w.requests()) != 2 {
		t.Errorf("without a grant: %v, %v", resp, err)
	}
}

// A host with an invalid certificate receives nothing.
func TestBadUpstreamCertificate(t *testing.T) {
	t.Parallel()
	stranger := newAuthority(t)
	for name, cert := range map[string]tls.Certificate{"unknown authority": stranger.leaf(t, host), "other name": stranger.leaf(t, "other.example.org")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, echo, certificate(cert))
			got := w.do(w.client(), http.MethodPost, "/", http.Header{"Authorization": {"Bearer " + w.handle(0)}}, strings.NewReader("body"))
			if got.StatusCode != http.StatusBadGateway || !strings.Contains(got.body, string(egress.ReasonUpstreamTLS)) {
				t.Errorf("got %d %s", got.StatusCode, got.body)
			}
			if d := w.denied(); d.Reason != egress.ReasonUpstreamTLS {
				t.Errorf("people are told %+v", d)
			}
			w.mu.Lock()
			defer w.mu.Unlock()
			// It received a ClientHello and an alert, and no application data.
			if len(w.saw) != 0 || strings.Contains(w.log.String(), `"credentials"`) || w.taps.Len() > 2048 {
				t.Errorf("the host saw %q and %d bytes; the log is %s", w.saw, w.taps.Len(), w.log)
			}
		})
	}
}

// The sandbox of one run trusts nothing that another run's authority signed, and is never shown it.
func TestAuthorityOfAnotherRun(t *testing.T) {
	t.Parallel()
	a, b := newWorld(t, echo), newWorld(t, echo)
	if _, _, err := b.tunnel(&tls.Config{RootCAs: a.ca.pool(), ServerName: host}); err == nil {
		t.Error("run B was shown a certificate that run A's authority signed")
	}
	if _, _, err := b.tunnel(nil); err != nil {
		t.Error(err)
	}
}

func TestCertificateOfTheClientSide(t *testing.T) {
	t.Parallel()
	w := newWorld(t, echo)
	conn, _, err := w.tunnel(&tls.Config{RootCAs: w.ca.pool(), ServerName: host, NextProtos: []string{"h2", "http/1.1"}})
	if err != nil {
		t.Fatal(err)
	}
	state := conn.ConnectionState()
	leaf := state.PeerCertificates[0]
	left := time.Until(leaf.NotAfter)
	if len(leaf.DNSNames) != 1 || leaf.DNSNames[0] != host || leaf.IsCA || left > 24*time.Hour || left < 22*time.Hour ||
		time.Since(leaf.NotBefore) < 50*time.Minute || state.NegotiatedProtocol != "http/1.1" {
		t.Errorf("the certificate is for %v, from %v to %v; ALPN %q", leaf.DNSNames, leaf.NotBefore, leaf.NotAfter, state.NegotiatedProtocol)
	}
	for name, cfg := range map[string]*tls.Config{
		"another name": {ServerName: "sink.example.org"},
		"old TLS":      {ServerName: host, MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10},
	} {
		cfg.RootCAs = w.ca.pool()
		if _, _, err := w.tunnel(cfg); err == nil {
			t.Errorf("%s: the handshake succeeded", name)
		}
	}
	if len(w.requests()) != 0 {
		t.Error("the host was asked")
	}
}

// A client that goes away takes its request to the host with it.
func TestDisconnectEndsTheUpstreamRequest(t *testing.T) {
	t.Parallel()
	begun, over := make(chan struct{}), make(chan struct{})
	w := newWorld(t, func(_ http.ResponseWriter, r *http.Request) {
		close(begun)
		<-r.Context().Done()
		close(over)
	})
	ctx, cancel := context.WithCancel(t.Context())
	r, _ := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+host, http.NoBody)
	done := make(chan error, 1)
	go func() {
		resp, err := w.client().Do(r)
		if err == nil {
			resp.Body.Close()
		}
		done <- err
	}()
	<-begun
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	select {
	case <-over:
	case <-time.After(2 * time.Minute):
		t.Error("the host is still at work")
	}
}

// An unreachable host is distinguished from one with an invalid answer.
func TestUpstreamFailures(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			conn.Close()
		}
	})
	client := w.client()
	if got := w.do(client, http.MethodGet, "/", nil, nil); got.StatusCode != http.StatusBadGateway || !strings.Contains(got.body, "upstream_failed") {
		t.Errorf("got %d %s", got.StatusCode, got.body)
	}
	w.origin.Close()
	if got := w.do(client, http.MethodGet, "/", nil, nil); got.StatusCode != http.StatusBadGateway || !strings.Contains(got.body, "dial_failed") {
		t.Errorf("got %d %s", got.StatusCode, got.body)
	}
}
