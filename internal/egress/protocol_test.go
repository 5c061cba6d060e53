// SPDX-License-Identifier: Apache-2.0

package egress_test

import (
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/internal/egress"
	"motorcortex.dev/motorcortex/internal/egress/grant"
	"motorcortex.dev/motorcortex/internal/secret"
)

const host = "Host: example.org\r\n"

// plainWorld has example.org:80 allowed, and a server there that reports the requests that it got.
func plainWorld(t *testing.T) (*world, chan *http.Request) {
	w := newWorld(t, nil)
	w.allow("example.org:80", "example.org", "example.org:8080")
	w.names.is("example.org", []netip.Addr{public})
	got := make(chan *http.Request, 8)
	w.plainSite("93.184.216.34:80", http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got <- r
		rw.Header().Set("Keep-Alive", "timeout=5")
		rw.Header().Set("X-Stays", "1")
		_, _ = fmt.Fprintf(rw, "%s %s %s", r.Method, r.URL.RequestURI(), b)
	}))
	return w, got
}

func TestWho(t *testing.T) {
	connect := "CONNECT example.org:443 HTTP/1.1\r\nHost: example.org:443\r\n"
	other := grant.Token(key, "uid-2", "pod-2", 1)
	basic := func(s string) string {
		return connect + "Proxy-Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(s)) + "\r\n\r\n"
	}
	for name, tc := range map[string]struct {
		request string
		status  int
		reason  string
	}{
		"no token":           {connect + "\r\n", 407, "no_token"},
		"unknown token":      {connect + authorization(grant.Token(key, runUID, "pod-1", 2)) + "\r\n", 407, "unknown_token"},
		"other run's token":  {connect + authorization(other) + "\r\n", 403, "wrong_source"},
		"short token":        {basic("motor:abc"), 407, "no_token"},
		"empty token":        {basic("motor:"), 407, "no_token"},
		"hash for the token": {connect + authorization(grant.HashToken(token())) + "\r\n", 407, "unknown_token"},
		"other user":         {basic("root:" + token()), 407, "no_token"},
		"bearer":             {connect + "Proxy-Authorization: Bearer " + token() + "\r\n\r\n", 407, "no_token"},
		"bad base64":         {connect + "Proxy-Authorization: Basic ===\r\n\r\n", 407, "no_token"},
		"two tokens":         {connect + authorization(other) + authorization(token()) + "\r\n", 400, "bad_request"},
		"as Authorization":   {connect + strings.TrimPrefix(authorization(token()), "Proxy-") + "\r\n", 407, "no_token"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil)
			w.allow("example.org")
			w.names.is("example.org", []netip.Addr{public})
			second := w.grantOf("example.org")
			second.RunUID, second.TokenHash, second.PodIPs = "uid-2", grant.HashToken(other), []netip.Addr{elsewhere}
			w.set(second)
			a := w.raw(tc.request)
			if a.status != tc.status || a.reason != tc.reason {
				t.Errorf("%s, %s", a.phrase, a.reason)
			}
			if a.status == 407 && a.header.Get("Proxy-Authenticate") == "" {
				t.Error("407 without Proxy-Authenticate")
			}
			w.nothingLeft()
		})
	}
	t.Run("right token from the wrong Pod", func(t *testing.T) {
		w := newWorld(t, nil)
		w.allow("example.org")
		c := w.dialFrom(elsewhere)
		c.send(connectTo("example.org:443"))
		if a := c.answer("CONNECT"); a.status != 403 || a.reason != "wrong_source" {
			t.Errorf("%s, %s", a.phrase, a.reason)
		}
		if !w.people.has(egress.ReasonWrongSource) {
			t.Error("nobody was told")
		}
		w.nothingLeft()
	})
}

func TestCheck(t *testing.T) {
	check := "GET /motor/check HTTP/1.1\r\nHost: 10.0.0.1:3128\r\n"
	w := newWorld(t, func(c *egress.Config) { c.Timeouts.Grant = patience })
	t.Run("a grant that is under way is waited for", func(t *testing.T) {
		c := w.dial()
		c.send(check + authorization(token()) + "\r\n")
		w.allow()
		if a := c.answer("GET"); a.status != 204 {
			t.Errorf("%s", a.phrase)
		}
	})
	t.Run("no token", func(t *testing.T) {
		if a := w.raw(check + "\r\n"); a.status != 407 {
			t.Errorf("%s", a.phrase)
		}
	})
	t.Run("wrong Pod", func(t *testing.T) {
		c := w.dialFrom(elsewhere)
		c.send(check + authorization(token()) + "\r\n")
		if a := c.answer("GET"); a.status != 403 {
			t.Errorf("%s", a.phrase)
		}
	})
	w.nothingLeft()
}

func TestNotReady(t *testing.T) {
	for name, change := range map[string]func(*egress.Config){
		"not ready":        func(c *egress.Config) { c.Ready = func() bool { return false } },
		"nil prefixes":     func(c *egress.Config) { c.ForbiddenPrefixes = func() []netip.Prefix { return nil } },
		"no prefixes func": func(c *egress.Config) { c.ForbiddenPrefixes = nil },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, change)
			w.allow("example.org")
			if a := w.raw(connectTo("example.org:443")); a.status != 503 || a.reason != "not_ready" {
				t.Errorf("%s, %s", a.phrase, a.reason)
			}
			w.nothingLeft()
		})
	}
}

func TestAmbiguousRequests(t *testing.T) {
	auth := authorization(token())
	absolute := "GET http://example.org/ HTTP/1.1\r\n"
	post := "POST http://example.org/ HTTP/1.1\r\n" + host + auth
	for name, tc := range map[string]struct {
		request string
		status  int
	}{
		"absolute form with another Host":  {absolute + "Host: evil.test\r\n" + auth + "\r\n", 400},
		"another port in Host":             {absolute + "Host: example.org:8080\r\n" + auth + "\r\n", 400},
		"CONNECT with another Host":        {"CONNECT example.org:443 HTTP/1.1\r\nHost: evil.test:443\r\n" + auth + "\r\n", 400},
		"no Host":                          {absolute + auth + "\r\n", 400},
		"two Hosts":                        {absolute + host + host + auth + "\r\n", 400},
		"origin form":                      {"GET / HTTP/1.1\r\n" + host + auth + "\r\n", 400},
		"https by absolute form":           {"GET https://example.org/ HTTP/1.1\r\n" + host + auth + "\r\n", 400},
		"ftp":                              {"GET ftp://example.org/ HTTP/1.1\r\n" + host + auth + "\r\n", 400},
		"CL and TE":                        {post + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
		"TE and CL":                        {post + "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n", 400},
		"two CL":                           {post + "Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc", 400},
		"list of CL":                       {post + "Content-Length: 3, 3\r\n\r\nabc", 400},
		"signed CL":                        {post + "Content-Length: +3\r\n\r\nabc", 400},
		"negative CL":                      {post + "Content-Length: -1\r\n\r\nabc", 400},
		"hexadecimal CL":                   {post + "Content-Length: 0x3\r\n\r\nabc", 400},
		"empty CL":                         {post + "Content-Length:\r\n\r\nabc", 400},
		"two TE":                           {post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
		"TE identity":                      {post + "Transfer-Encoding: identity\r\n\r\n", 400},
		"TE list":                          {post + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 400},
		"TE with a vertical tab":           {post + "Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n", 400},
		"blank before the colon":           {post + "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n", 400},
		"TE in HTTP/1.0":                   {"POST http://example.org/ HTTP/1.0\r\n" + host + auth + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
		"CONNECT with a body":              {"CONNECT example.org:443 HTTP/1.1\r\nHost: example.org:443\r\n" + auth + "Content-Length: 3\r\n\r\nabc", 400},
		"continued line":                   {absolute + host + auth + "X-A: b\r\n c\r\n\r\n", 400},
		"continued Host":                   {absolute + "Host: example.org\r\n .evil.test\r\n" + auth + "\r\n", 400},
		"LF alone":                         {absolute + host + auth + "X-A: b\nHost: evil.test\r\n\r\n", 400},
		"LF only":                          {"GET http://example.org/ HTTP/1.1\nHost: example.org\n\n", 400},
		"CR alone":                         {absolute + host + auth + "X-A: b\rHost: evil.test\r\n\r\n", 400},
		"NUL in a value":                   {absolute + host + auth + "X-A: b\x00c\r\n\r\n", 400},
		"NUL in a name":                    {absolute + host + auth + "X\x00A: b\r\n\r\n", 400},
		"bad name":                         {absolute + host + auth + "X A: b\r\n\r\n", 400},
		"no name":                          {absolute + host + auth + ": b\r\n\r\n", 400},
		"no colon":                         {absolute + host + auth + "X-A\r\n\r\n", 400},
		"empty line first":                 {"\r\n" + absolute + host + auth + "\r\n", 400},
		"two blanks":                       {"GET  http://example.org/ HTTP/1.1\r\n" + host + auth + "\r\n", 400},
		"four words":                       {"GET http://example.org/ x HTTP/1.1\r\n" + host + auth + "\r\n", 400},
		"HTTP/2.0":                         {"GET http://example.org/ HTTP/2.0\r\n" + host + auth + "\r\n", 400},
		"HTTP/1.10":                        {"GET http://example.org/ HTTP/1.10\r\n" + host + auth + "\r\n", 400},
		"preface of HTTP/2":                {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400},
		"lower-case method":                {"connect example.org:443 HTTP/1.1\r\nHost: example.org:443\r\n" + auth + "\r\n", 400},
		"fragment":                         {"GET http://example.org/#a HTTP/1.1\r\n" + host + auth + "\r\n", 400},
		"bad percent encoding":             {"GET http://example.org/%zz HTTP/1.1\r\n" + host + auth + "\r\n", 400},
		"TRACE":                            {"TRACE http://example.org/ HTTP/1.1\r\n" + host + auth + "\r\n", 405},
		"upgrade":                          {absolute + host + auth + "Upgrade: websocket\r\nConnection: Upgrade\r\n\r\n", 403},
		"upgrade to HTTP/2":                {absolute + host + auth + "Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\n\r\n", 403},
		"Connection: upgrade alone":        {absolute + host + auth + "Connection: upgrade\r\n\r\n", 403},
		"plain HTTP to 443":                {"GET http://example.org:443/ HTTP/1.1\r\nHost: example.org:443\r\n" + auth + "\r\n", 400},
		"plain HTTP without a rule for it": {"GET http://example.org:81/ HTTP/1.1\r\nHost: example.org:81\r\n" + auth + "\r\n", 403},
		"2 MB header":                      {absolute + host + auth + "X-A: " + strings.Repeat("a", 2<<20) + "\r\n\r\n", 431},
		"2 MB address":                     {"GET http://example.org/" + strings.Repeat("a", 2<<20) + " HTTP/1.1\r\n" + host + auth + "\r\n", 431},
		"500 fields":                       {absolute + host + auth + strings.Repeat("X-A: b\r\n", 500) + "\r\n", 431},
	} {
		t.Run(name, func(t *testing.T) {
			w, _ := plainWorld(t)
			if a := w.raw(tc.request); a.status != tc.status {
				t.Errorf("%s, %s", a.phrase, a.reason)
			}
			w.nothingLeft()
		})
	}
}

func TestSlowHeader(t *testing.T) {
	w := newWorld(t, func(c *egress.Config) { c.Timeouts.Head = 50 * time.Millisecond })
	c := w.dial()
	c.send("GET http://example.org/ HTTP/1.1\r\nX-A: ")
	if a := c.answer("GET"); a.status != 408 || a.reason != "header_timeout" {
		t.Errorf("%s, %s", a.phrase, a.reason)
	}
	w.nothingLeft()
}

func TestPlain(t *testing.T) {
	auth := authorization(token())
	t.Run("passed on without what is the proxy's", func(t *testing.T) {
		w, got := plainWorld(t)
		a := w.raw("GET http://example.org/a%2Fb?c=d HTTP/1.1\r\n" + host + auth +
			"Proxy-Connection: keep-alive\r\nConnection: X-Gone\r\nX-Gone: 1\r\nX-Stays: 1\r\nTE: trailers\r\n\r\n")
		if a.status != 200 || a.body != "GET /a%2Fb?c=d " || a.header.Get("Keep-Alive") != "" || a.header.Get("X-Stays") != "1" {
			t.Errorf("%s %q %v", a.phrase, a.body, a.header)
		}
		r := <-got
		for _, name := range []string{"Proxy-Authorization", "Proxy-Connection", "X-Gone", "Te", "User-Agent"} {
			if v, ok := r.Header[name]; ok {
				t.Errorf("the host got %s: %q", name, v)
			}
		}
		if r.Header.Get("X-Stays") != "1" || r.Host != "example.org" {
			t.Errorf("the host got %v for %s", r.Header, r.Host)
		}
	})
	t.Run("body with a length", func(t *testing.T) {
		w, _ := plainWorld(t)
		a := w.raw("POST http://example.org/ HTTP/1.1\r\n" + host + auth + "Content-Length: 5\r\n\r\nhello")
		if a.body != "POST / hello" {
			t.Errorf("%s %q", a.phrase, a.body)
		}
	})
	t.Run("chunked body that is waited for", func(t *testing.T) {
		w, _ := plainWorld(t)
		a := w.raw("POST http://example.org/ HTTP/1.1\r\n" + host + auth +
			"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n")
		if a.body != "POST / hello" {
			t.Errorf("%s %q", a.phrase, a.body)
		}
	})
	t.Run("HTTP/1.0 gets no chunks", func(t *testing.T) {
		w, _ := plainWorld(t)
		a := w.raw("GET http://example.org/ HTTP/1.0\r\n" + auth + "\r\n")
		if a.status != 200 || a.body != "GET / " {
			t.Errorf("%s %q", a.phrase, a.body)
		}
	})
	t.Run("pipelined second request is not read", func(t *testing.T) {
		w, got := plainWorld(t)
		one := "GET http://example.org/1 HTTP/1.1\r\n" + host + auth + "\r\n"
		c := w.dial()
		c.send(one + strings.ReplaceAll(one, "/1 ", "/2 "))
		if a := c.answer("GET"); a.body != "GET /1 " {
			t.Errorf("%s %q", a.phrase, a.body)
		}
		isClosed(t, c.Conn)
		<-got
		if len(got) > 0 {
			t.Error("the host got a second request")
		}
	})
	t.Run("CL and a second request in the body", func(t *testing.T) {
		w, got := plainWorld(t)
		w.raw("POST http://example.org/ HTTP/1.1\r\n" + host + auth +
			"Content-Length: 0\r\n\r\nGET http://evil.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n")
		<-got
		if len(got) > 0 {
			t.Error("the host got a second request")
		}
	})
}

// A request without TLS is the same to a program whether it holds a value that the sandbox does not have or one that is no value at all.
func TestPlainTellsNoGuess(t *testing.T) {
	const value = "s3cr3t-value-of-forge"
	for name, guess := range map[string]string{"right": value, "wrong": "another-text-of-forge"} {
		for where, request := range map[string]string{
			"header":  "GET http://example.org/ HTTP/1.1\r\n" + host + "X-Key: " + guess + "\r\n",
			"address": "GET http://example.org/" + guess + " HTTP/1.1\r\n" + host,
			"basic":   "GET http://example.org/ HTTP/1.1\r\n" + host + "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte("me:"+guess)) + "\r\n",
		} {
			t.Run(name+" "+where, func(t *testing.T) {
				w, got := plainWorld(t)
				g := w.grantOf("example.org:80")
				g.CA = testCA(t)
				g.Credentials = []grant.Credential{{
					Name: "forge", Handle: grant.Handle(key, runUID, "pod-1", "forge"), Hosts: []string{"example.org"}, Slot: "Bearer", Value: secret.New([]byte(value)),
				}}
				w.set(g)
				a := w.raw(request + authorization(token()) + "\r\n")
				if a.reason != "" {
					t.Errorf("%s, %s", a.phrase, a.reason)
				}
				<-got
			})
		}
	}
}

func TestCredentialInPlain(t *testing.T) {
	handle, value := grant.Handle(key, runUID, "pod-1", "forge"), "s3cr3t-value-of-forge"
	for name, request := range map[string]string{
		"handle in the query":         "GET http://example.org/?k=" + handle + " HTTP/1.1\r\n" + host,
		"handle in a header":          "GET http://example.org/ HTTP/1.1\r\n" + host + "X-Key: " + handle + "\r\n",
		"handle as bearer":            "GET http://example.org/ HTTP/1.1\r\n" + host + "Authorization: Bearer " + handle + "\r\n",
		"handle of another run":       "GET http://example.org/" + grant.Handle(key, "x", "y", "z") + " HTTP/1.1\r\n" + host,
		"handle, percent encoded":     "GET http://example.org/%6dch-" + handle[4:] + " HTTP/1.1\r\n" + host,
		"value in a header":           "GET http://example.org/ HTTP/1.1\r\n" + host + "X-Key: " + value + "\r\n",
		"value in the address":        "GET http://example.org/" + value + " HTTP/1.1\r\n" + host,
		"value, percent encoded":      "GET http://example.org/s3cr3t%2dvalue%2Dof%2dforge HTTP/1.1\r\n" + host,
		"value in basic":              "GET http://example.org/ HTTP/1.1\r\n" + host + "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte("me:"+value)) + "\r\n",
		"the password of a pair":      "GET http://example.org/ HTTP/1.1\r\n" + host + "X-Key: correct-horse\r\n",
		"plain to the host it is for": "GET http://example.org:8080/ HTTP/1.1\r\nHost: example.org:8080\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			w, _ := plainWorld(t)
			g := w.grantOf("example.org:80", "example.org:8080")
			g.CA = testCA(t)
			g.Credentials = []grant.Credential{{
				Name: "forge", Handle: handle, Hosts: []string{"example.org:8080"}, Slot: "Bearer", Exposed: true, Value: secret.New([]byte(value)),
			}, {
				Name: "login", Handle: grant.Handle(key, runUID, "pod-1", "login"), Hosts: []string{"example.org:8080"}, Slot: "Basic", Exposed: true,
				Value: secret.New("maria:correct-horse"),
			}}
			w.set(g)
			a := w.raw(request + authorization(token()) + "\r\n")
			if a.reason != "credential_plaintext" && a.reason != "tls_required" {
				t.Errorf("%s, %s", a.phrase, a.reason)
			}
			w.nothingLeft()
			if log := w.log.String(); strings.Contains(log, value) || strings.Contains(log, handle) {
				t.Error("the log has the credential")
			}
		})
	}
}
