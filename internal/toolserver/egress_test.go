// SPDX-License-Identifier: Apache-2.0

//go:build linux

package toolserver

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolclient"
	"motorcortex.dev/motorcortex/internal/toolserver/ledger"
	"motorcortex.dev/motorcortex/internal/toolserver/wayout"
)

const testToken = "abcDEF-._~0123"

// testProxy answers the check of a way: with 407 for the given number of times, then with 204.
func testProxy(t *testing.T, refusals int32) string {
	t.Helper()
	var left atomic.Int32
	left.Store(refusals)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, token, _ := (&http.Request{Header: http.Header{"Authorization": r.Header["Proxy-Authorization"]}}).BasicAuth()
		if r.Method != http.MethodGet || r.RequestURI != toolapi.EgressCheckPath || user != toolapi.EgressUser || token != testToken {
			t.Errorf("%s %s by %q", r.Method, r.RequestURI, user)
		}
		if left.Add(-1) >= 0 {
			w.WriteHeader(http.StatusProxyAuthRequired)
			fmt.Fprintf(w, "no grant for %s\nyet", token)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	}))
	t.Cleanup(srv.Close)
	return strings.TrimPrefix(srv.URL, "http://")
}

// testCA makes a certificate in PEM.
func testCA(t *testing.T) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Date(2040, 1, 1, 0, 0, 0, 0, time.UTC), IsCA: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

func (s *sandbox) setEgress(req toolapi.EgressRequest) toolapi.EgressResponse {
	s.t.Helper()
	resp, err := s.client(1).SetEgress(testContext(s.t), req)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp
}

func (s *sandbox) hasEgress() bool {
	s.t.Helper()
	h, err := s.client(1).Hello(testContext(s.t))
	if err != nil {
		s.t.Fatal(err)
	}
	return h.Egress
}

// variables are those of a program that bash starts, except for those that bash makes.
func (s *sandbox) variables() map[string]string {
	s.t.Helper()
	vars := map[string]string{}
	for v := range strings.SplitSeq(strings.TrimSuffix(s.bash("env -0").Output, "\uFFFD"), "\uFFFD") {
		name, value, _ := strings.Cut(v, "=")
		if !slices.Contains([]string{"_", "PWD", "SHLVL", "OLDPWD"}, name) {
			vars[name] = value
		}
	}
	return vars
}

func TestEgress(t *testing.T) {
	s := stoppedSandbox(t)
	s.systemCAs = filepath.Join(t.TempDir(), "cas")
	if err := os.WriteFile(s.systemCAs, []byte("# the system's\nx"), 0o644); err != nil {
		t.Fatal(err)
	}
	s.start()
	before := s.variables()
	if before["PATH"] == "" || s.hasEgress() {
		t.Fatalf("%v", before)
	}
	proxy, ca := testProxy(t, 0), testCA(t)
	if got := s.setEgress(toolapi.EgressRequest{
		Proxy: proxy, Token: testToken, CA: ca, Environment: map[string]string{"API_KEY": "mch-x y\nz", "B": ""}, TimeoutMs: 10_000,
	}); got != (toolapi.EgressResponse{Ready: true}) {
		t.Fatalf("%+v", got)
	}
	url, bundle := "http://motor:"+testToken+"@"+proxy, s.temp+"/"+wayout.BundleFile
	want := map[string]string{
		"HTTP_PROXY": url, "HTTPS_PROXY": url, "http_proxy": url, "https_proxy": url,
		"NO_PROXY": wayout.NotProxied, "no_proxy": wayout.NotProxied, "NODE_USE_ENV_PROXY": "1", "GIT_HTTP_PROXY_AUTHMETHOD": "basic",
		"SSL_CERT_FILE": bundle, "CURL_CA_BUNDLE": bundle, "REQUESTS_CA_BUNDLE": bundle, "GIT_SSL_CAINFO": bundle,
		"PIP_CERT": bundle, "AWS_CA_BUNDLE": bundle, "NODE_EXTRA_CA_CERTS": bundle,
		"API_KEY": "mch-x y\nz", "B": "",
	}
	maps.Copy(want, before)
	// Package managers may try to reach their registries now.
	for _, name := range []string{"PIP_NO_INDEX", "UV_OFFLINE", "npm_config_offline", "CARGO_NET_OFFLINE", "GOPROXY"} {
		delete(want, name)
	}
	if d := cmp.Diff(want, s.variables()); d != "" {
		t.Error(d)
	}
	content, err := os.ReadFile(bundle)
	if err != nil || string(content) != "# the system's\nx\n"+ca {
		t.Errorf("%q %v", content, err)
	}
	if info, err := os.Stat(bundle); err != nil || info.Mode().Perm() != 0o444 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	if !s.hasEgress() {
		t.Error("hello does not tell of it")
	}

	// Another one takes its place, whole.
	if got := s.setEgress(toolapi.EgressRequest{Proxy: proxy, Token: testToken, TimeoutMs: 10_000}); !got.Ready {
		t.Fatalf("%+v", got)
	}
	for _, name := range []string{
		"SSL_CERT_FILE", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "GIT_SSL_CAINFO", "PIP_CERT", "AWS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "API_KEY", "B",
	} {
		delete(want, name)
	}
	if d := cmp.Diff(want, s.variables()); d != "" {
		t.Error(d)
	}

	// Variables for programs without a way out.
	want = maps.Clone(before)
	want["KEY"] = "value"
	if got := s.setEgress(toolapi.EgressRequest{Environment: map[string]string{"KEY": "value"}}); got.Ready || !s.hasEgress() {
		t.Errorf("%+v", got)
	}
	if d := cmp.Diff(want, s.variables()); d != "" {
		t.Error(d)
	}
	if got := s.setEgress(toolapi.EgressRequest{}); got.Ready || s.hasEgress() {
		t.Errorf("%+v", got)
	}
	if d := cmp.Diff(before, s.variables()); d != "" {
		t.Error(d)
	}
	s.setEgress(toolapi.EgressRequest{Proxy: proxy, Token: testToken, TimeoutMs: 10_000})
	s.restart()
	if d := cmp.Diff(before, s.variables()); d != "" || s.hasEgress() {
		t.Errorf("after a restart: %s", d)
	}
}

// Results of a sandbox that has or had a way out may come from there, also after its tool server was restarted.
func TestWebInASandboxWithAWayOut(t *testing.T) {
	s := newSandbox(t)
	s.write("file", "x\n")
	provenances := func() string {
		var all []string
		for _, r := range []toolapi.Result{
			s.bash("cat file"), s.bash("exit 3"),
			s.run(toolapi.ToolCode, toolapi.CodeArgs{Language: toolapi.LanguagePython, Source: "print(1)"}),
			s.run(toolapi.ToolRead, toolapi.ReadArgs{Path: "file"}), s.run(toolapi.ToolRead, toolapi.ReadArgs{Path: "none"}),
			s.run(toolapi.ToolList, toolapi.ListArgs{}),
			s.run(toolapi.ToolWrite, toolapi.WriteArgs{Path: "other", Content: "x"}),
		} {
			all = append(all, string(r.Provenance))
		}
		return strings.Join(all, " ")
	}
	const without, with = "Internal Internal Internal Internal Internal Internal Internal", "Web Web Web Web Internal Web Internal"
	if got := provenances(); got != without {
		t.Errorf("without a way out: %s", got)
	}
	s.setEgress(toolapi.EgressRequest{Environment: map[string]string{"KEY": "value"}})
	s.setEgress(toolapi.EgressRequest{})
	if got := provenances(); got != without {
		t.Errorf("with a way out that was taken away and never there: %s", got)
	}
	s.setEgress(toolapi.EgressRequest{Proxy: testProxy(t, 0), Token: testToken, TimeoutMs: 10_000})
	if got := provenances(); got != with {
		t.Errorf("with a way out: %s", got)
	}
	s.setEgress(toolapi.EgressRequest{})
	if got := provenances(); got != with {
		t.Errorf("when it was taken away: %s", got)
	}
	s.restart()
	if got := provenances(); got != with {
		t.Errorf("after a restart: %s", got)
	}
}

// The certificates are restored for the next program after any change by a program, and no other file is touched for that.
func TestCertificatesAreRestored(t *testing.T) {
	s := stoppedSandbox(t)
	s.systemCAs = s.temp + "/none"
	s.start()
	ca := testCA(t)
	s.setEgress(toolapi.EgressRequest{Proxy: testProxy(t, 0), Token: testToken, CA: ca, TimeoutMs: 10_000})
	victim := s.workspace + "/victim"
	for name, command := range map[string]string{
		"untouched":              "true",
		"all gone":               "rm -rf $TMPDIR/.motor",
		"file gone":              "rm -f $CURL_CA_BUNDLE",
		"changed":                "chmod +w $CURL_CA_BUNDLE; echo >> $CURL_CA_BUNDLE",
		"empty":                  "rm $CURL_CA_BUNDLE; touch $CURL_CA_BUNDLE",
		"closed":                 "chmod 000 $CURL_CA_BUNDLE",
		"folder closed":          "chmod 000 $TMPDIR/.motor",
		"a folder":               "rm $CURL_CA_BUNDLE; mkdir -p $CURL_CA_BUNDLE/x",
		"a pipe":                 "rm $CURL_CA_BUNDLE; mkfifo $CURL_CA_BUNDLE",
		"a link":                 "rm $CURL_CA_BUNDLE; ln -s " + victim + " $CURL_CA_BUNDLE",
		"folder is a file":       "rm -rf $TMPDIR/.motor; touch $TMPDIR/.motor",
		"folder is a link":       "rm -rf $TMPDIR/.motor; ln -s " + s.workspace + " $TMPDIR/.motor",
		"folder is a link, near": "rm -rf $TMPDIR/.motor; ln -s ../motor $TMPDIR/.motor",
		"folder is a loop":       "rm -rf $TMPDIR/.motor; ln -s .motor $TMPDIR/.motor",
	} {
		t.Run(name, func(t *testing.T) {
			s.write("victim", "mine")
			if r := s.bash(command); !r.OK {
				t.Fatalf("%+v", r)
			}
			r := s.bash("stat -c %a $CURL_CA_BUNDLE; head -c 5 $CURL_CA_BUNDLE")
			if content, err := os.ReadFile(s.temp + "/" + wayout.BundleFile); err != nil || !strings.Contains(string(content), ca) {
				t.Errorf("%.200q %v", content, err)
			}
			if r.Output != "444\n-----" || s.content("victim") != "mine" || s.content("ca-bundle.pem") != "" {
				t.Errorf("%+v, %q", r, s.content("victim"))
			}
		})
	}
	if _, err := os.Stat(s.state + "/ca-bundle.pem"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("written into the state folder: %v", err)
	}
}

// An image without certificates is no reason to have none at all.
func TestCertificatesWithoutTheSystems(t *testing.T) {
	s := stoppedSandbox(t)
	s.systemCAs = s.temp + "/none"
	s.start()
	ca := testCA(t) + "\n" + testCA(t)
	s.setEgress(toolapi.EgressRequest{Proxy: testProxy(t, 0), Token: testToken, CA: ca, TimeoutMs: 10_000})
	if r := s.bash("cat $SSL_CERT_FILE"); r.Output != ca {
		t.Errorf("%+v", r)
	}
}

func TestEgressOfAnOlderEpoch(t *testing.T) {
	s := newSandbox(t)
	old, closed := s.client(1), toolapi.EgressRequest{Proxy: "127.0.0.1:1", Token: testToken, TimeoutMs: 60_000}
	ended := make(chan error, 1)
	go func() {
		_, err := old.SetEgress(testContext(t), closed)
		ended <- err
	}()
	await(t, "the check of the way", s.server.egress.IsSet)
	if _, err := s.client(2).SetEgress(testContext(t), toolapi.EgressRequest{}); err != nil {
		t.Error(err)
	}
	if err := <-ended; !errors.Is(err, toolclient.ErrStaleEpoch) {
		t.Errorf("during the check: %v", err)
	}
	if _, err := old.SetEgress(testContext(t), closed); !errors.Is(err, toolclient.ErrStaleEpoch) || s.server.egress.IsSet() {
		t.Errorf("afterwards: %v", err)
	}
	// An epoch that came between the arrival of a request and its effect.
	err := s.server.egress.Set(closed, func() error { return ledger.ErrStale })
	if !errors.Is(err, ledger.ErrStale) || s.server.egress.IsSet() {
		t.Error(err)
	}
}

func TestEgressRequestsAreStrict(t *testing.T) {
	s := newSandbox(t)
	ca := testCA(t)
	many := map[string]string{}
	for i := range toolapi.MaxEnvironment + 1 {
		many[fmt.Sprint("V", i)] = ""
	}
	keyPEM := string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte("x")}))
	odd := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Headers: map[string]string{"a": "b"}, Bytes: []byte("x")}))
	env := func(name, value string) func(*toolapi.EgressRequest) {
		return func(r *toolapi.EgressRequest) { r.Environment = map[string]string{name: value} }
	}
	for name, change := range map[string]func(*toolapi.EgressRequest){
		"a token without a proxy":     func(r *toolapi.EgressRequest) { r.Proxy = "" },
		"odd names without a proxy":   func(r *toolapi.EgressRequest) { *r = toolapi.EgressRequest{Environment: map[string]string{"a": "b"}} },
		"a CA without a proxy":        func(r *toolapi.EgressRequest) { *r = toolapi.EgressRequest{CA: ca} },
		"a name":                      func(r *toolapi.EgressRequest) { r.Proxy = "proxy:3128" },
		"no port":                     func(r *toolapi.EgressRequest) { r.Proxy = "127.0.0.1" },
		"port 0":                      func(r *toolapi.EgressRequest) { r.Proxy = "127.0.0.1:0" },
		"a zone":                      func(r *toolapi.EgressRequest) { r.Proxy = "[fe80::1%eth0]:1" },
		"an odd address":              func(r *toolapi.EgressRequest) { r.Proxy = "[0:0::1]:1" },
		"more than an address":        func(r *toolapi.EgressRequest) { r.Proxy = "127.0.0.1:1/" },
		"no token":                    func(r *toolapi.EgressRequest) { r.Token = "" },
		"a long token":                func(r *toolapi.EgressRequest) { r.Token = strings.Repeat("x", toolapi.MaxEgressToken+1) },
		"a token that ends the user":  func(r *toolapi.EgressRequest) { r.Token = "x@evil" },
		"a token with an end of line": func(r *toolapi.EgressRequest) { r.Token = "x\r\nHost: evil" },
		"no time":                     func(r *toolapi.EgressRequest) { r.TimeoutMs = 0 },
		"too long a time":             func(r *toolapi.EgressRequest) { r.TimeoutMs = toolapi.MaxEgressTimeoutMs + 1 },
		"no PEM":                      func(r *toolapi.EgressRequest) { r.CA = "hello" },
		"text before":                 func(r *toolapi.EgressRequest) { r.CA = "hello\n" + ca },
		"text between":                func(r *toolapi.EgressRequest) { r.CA = ca + "hello\n" + ca },
		"text behind":                 func(r *toolapi.EgressRequest) { r.CA = ca + "hello" },
		"a key":                       func(r *toolapi.EgressRequest) { r.CA = ca + keyPEM },
		"headers":                     func(r *toolapi.EgressRequest) { r.CA = odd },
		"no certificate":              func(r *toolapi.EgressRequest) { r.CA = strings.ReplaceAll(keyPEM, "PRIVATE KEY", "CERTIFICATE") },
		"a long CA":                   func(r *toolapi.EgressRequest) { r.CA = ca + strings.Repeat("\n", toolapi.MaxEgressCA) },
		"many variables":              func(r *toolapi.EgressRequest) { r.Environment = many },
		"a long value":                env("A", strings.Repeat("x", toolapi.MaxEnvironmentValue+1)),
		"a NUL":                       env("A", "b\x00"),
		"lower case":                  env("a", "b"),
		"no name":                     env("", "b"),
		"an equals sign":              env("A=B", "b"),
		"a digit":                     env("1A", "b"),
		"the search path":             env("PATH", "/tmp"),
		"the proxy":                   env("HTTPS_PROXY", "b"),
		"the loader":                  env("LD_PRELOAD", "b"),
		"the shell's file":            env("BASH_ENV", "b"),
	} {
		req := toolapi.EgressRequest{Proxy: "127.0.0.1:1", Token: testToken, TimeoutMs: 1}
		change(&req)
		_, err := s.client(1).SetEgress(testContext(t), req)
		wantRemote(t, name, err, 400, toolapi.ErrBadRequest)
		if err != nil && strings.Contains(err.Error(), testToken) {
			t.Errorf("%s: the error has the token", name)
		}
	}
	unknown, err := json.Marshal(map[string]any{"proxy": "127.0.0.1:1", "token": testToken, "timeoutMs": 1, "password": "secret"})
	if err != nil {
		t.Fatal(err)
	}
	if status, e := s.raw("PUT", toolapi.PathEgress, "1", unknown); status != 422 || e.Code != toolapi.ErrUnknownField || strings.Contains(e.Message, "secret") {
		t.Errorf("%s: %d %+v", unknown, status, e)
	}
	for _, body := range [][]byte{[]byte(`{"token":7}`), []byte(testToken), nil} {
		if status, e := s.raw("PUT", toolapi.PathEgress, "1", body); status != 400 || e.Code != toolapi.ErrBadRequest || strings.Contains(e.Message, "secret") {
			t.Errorf("%s: %d %+v", body, status, e)
		}
	}
	if status, e := s.raw("PUT", toolapi.PathEgress, "1", make([]byte, wayout.MaxRequestBytes+1)); status != 413 || e.Code != toolapi.ErrTooLarge {
		t.Errorf("%d %+v", status, e)
	}
	if status, _ := s.raw("POST", toolapi.PathEgress, "1", nil); status != 405 {
		t.Error(status)
	}
	if s.hasEgress() || s.server.taint.Marked() {
		t.Error("a refused request took effect")
	}
	largest := toolapi.EgressRequest{
		Proxy: "127.0.0.1:1", Token: strings.Repeat("x", toolapi.MaxEgressToken), TimeoutMs: 1,
		CA: ca + strings.Repeat("\n", toolapi.MaxEgressCA-len(ca)), Environment: map[string]string{},
	}
	for i := range toolapi.MaxEnvironment {
		largest.Environment[fmt.Sprint("V", i)] = strings.Repeat("\x01", toolapi.MaxEnvironmentValue)
	}
	s.setEgress(largest)
	if r := s.bash("echo ${#V0} ${#V31}"); r.Output != "16384 16384\n" {
		t.Errorf("the largest request: %+v", r)
	}
}
