// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/client-go/rest"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/pageserver"
	"motorcortex.dev/motorcortex/internal/pageserver/oidc"
	"motorcortex.dev/motorcortex/test/oidcissuer"
)

// pageAccount is the ServiceAccount of the page of the cluster.
const pageAccount = "system:serviceaccount:" + managerNamespace + ":motorcortex-pageserver"

// pageServer is the page of the cluster, with the rights that config/page gives it.
type pageServer struct {
	*rig
	url    string
	issuer *oidcissuer.Issuer
}

// installPage gives the server its rights, once for all tests.
var installPage = sync.OnceValue(func() error {
	return install(context.Background(), filepath.Join("..", "..", "config", "page", "rbac.yaml"))
})

func newPageServer(r *rig, change ...func(*pageserver.Options)) *pageServer {
	r.t.Helper()
	must(r.t, installPage())
	for _, resource := range []string{"users", "groups"} {
		awaitRight(r.ctx, r.t, pageAccount, authorizationv1.ResourceAttributes{Verb: "impersonate", Resource: resource})
	}
	config := rest.CopyConfig(adminConfig)
	config.TLSClientConfig = rest.TLSClientConfig{CAData: adminConfig.CAData, CAFile: adminConfig.CAFile}
	config.BearerToken = tokenOf(r.ctx, r.t, managerNamespace, "motorcortex-pageserver")
	s := httptest.NewUnstartedServer(nil)
	p := &pageServer{rig: r, url: "https://" + s.Listener.Addr().String(), issuer: oidcissuer.New(r.t)}
	file := func(content string) string {
		name := filepath.Join(r.t.TempDir(), "secret")
		must(r.t, os.WriteFile(name, []byte(content), 0o600))
		return name
	}
	options := pageserver.Options{Windows: 16, Login: oidc.Options{
		Issuer: p.issuer.URL, ClientID: oidcissuer.ClientID, SecretFile: file(oidcissuer.Secret), URL: p.url, KeyFiles: []string{file(rand.Text() + rand.Text())},
		Life: time.Hour, HTTP: p.issuer.Client(),
		Names: oidc.Names{UserClaim: "sub", GroupsClaim: "groups", UserPrefix: "oidc:", GroupsPrefix: "oidc:"},
	}}
	for _, c := range change {
		c(&options)
	}
	server, err := pageserver.New(config, options, slog.New(slog.DiscardHandler))
	must(r.t, err)
	s.Config.Handler = server
	s.StartTLS()
	r.t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
		server.Close()
	})
	return p
}

// browser is what a person has: cookies, and connections that trust the server and the issuer.
type browser struct {
	*pageServer
	http *http.Client
}

func (p *pageServer) browser() *browser {
	jar, err := cookiejar.New(nil)
	must(p.t, err)
	c := *p.issuer.Client()
	c.Jar = jar
	return &browser{p, &c}
}

// logsIn has a person log in, and returns the last answer.
func (b *browser) logsIn(claims map[string]any) (status int, text string) {
	b.t.Helper()
	b.issuer.LogIn(b.url+oidc.PathCallback, claims)
	return b.gets(oidc.PathLogin)
}

// person logs in.
func (p *pageServer) person(sub string, groups ...string) *browser {
	p.t.Helper()
	b := p.browser()
	if status, text := b.logsIn(map[string]any{"sub": sub, "groups": groups}); status != http.StatusOK || !strings.Contains(text, "/page.js") {
		p.t.Fatalf("%s is not let in: %d, %s", sub, status, text)
	}
	return b
}

func (b *browser) gets(path string) (status int, text string) {
	b.t.Helper()
	return b.does(http.MethodGet, path, "")
}

func (b *browser) does(method, path, body string) (status int, text string) {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.ctx, method, b.url+path, strings.NewReader(body))
	must(b.t, err)
	if method != http.MethodGet {
		r.Header.Set("Origin", b.url)
	}
	answer, err := b.http.Do(r)
	must(b.t, err)
	defer answer.Body.Close()
	content, err := io.ReadAll(answer.Body)
	must(b.t, err)
	return answer.StatusCode, string(content)
}

// shown is the only ask that the inbox shows.
func (b *browser) shown() map[string]any {
	b.t.Helper()
	status, text := b.gets("/api/inbox?namespace=" + b.ns)
	var answer struct{ Items []map[string]any }
	if err := json.Unmarshal([]byte(text), &answer); err != nil || len(answer.Items) != 1 {
		b.t.Fatalf("%d: %s", status, text)
	}
	return answer.Items[0]
}

// approves sends an approval of what was shown.
func (b *browser) approves(shown map[string]any, reason string) (status int, text string) {
	b.t.Helper()
	body := fmt.Sprintf(`{"uid":%q,"seen":%q,"decision":"ApproveOnce","reason":%q,"digest":%q}`, shown["uid"], shown["seen"], reason, shown["action"].(map[string]any)["digest"])
	return b.does(http.MethodPost, fmt.Sprintf("/api/runs/%s/%s/asks/%s", b.ns, shown["run"], shown["id"]), body)
}

// A person logs in, and what they approve has their name, and no other.
func TestAnApprovalOnThePageOfTheClusterHasTheNameOfThePerson(t *testing.T) {
	r := askingRig(t, needsApproval)
	r.said(turnAt(1, "", "bash:"+gitPush))
	r.asksApproval(0)
	dana := "oidc:dana@" + r.ns
	person(r.ctx, t, r.ns, dana, rights{mayApprove})
	person(r.ctx, t, r.ns, "oidc:will@"+r.ns, rights{mayRespond})
	p := newPageServer(r)

	stranger := p.browser()
	for path, want := range map[string]int{"/": http.StatusOK, "/page.js": http.StatusOK, "/api/me": http.StatusUnauthorized, "/api/inbox": http.StatusUnauthorized, "/api/events": http.StatusUnauthorized} {
		if status, text := stranger.gets(path); status != want || want == http.StatusUnauthorized && !strings.Contains(text, `"login":"/oidc/login"`) {
			t.Errorf("a stranger gets for %s: %d, %s", path, status, text)
		}
	}
	b := p.person("dana@" + r.ns)
	if _, me := b.gets("/api/me"); !strings.Contains(me, `"user":"`+dana+`"`) {
		t.Errorf("the person is %s", me)
	}
	will := p.person("will@" + r.ns)
	if status, text := will.approves(will.shown(), "fine"); status == http.StatusOK || !strings.Contains(text, "will@"+r.ns+" may not") {
		t.Errorf("who may not approve is told %d, %s", status, text)
	}
	if status, text := b.approves(b.shown(), "it is on a branch"); status != http.StatusOK {
		t.Fatalf("%d, %s", status, text)
	}
	got := r.response()
	if got.RespondedBy != dana || got.Decision != v1alpha1.DecisionApproveOnce || got.Reason != "it is on a branch" {
		t.Errorf("the response is %+v", got)
	}
}

// Nothing but a token that is for the page, now, of this login, lets a person in.
func TestLoginsThatAreRefused(t *testing.T) {
	r := emptyRig(t, withQuestions, "true")
	p := newPageServer(r)
	for name, claims := range map[string]map[string]any{
		"for another program":          {"sub": "dana", "aud": "other"},
		"given to another program":     {"sub": "dana", "aud": []string{oidcissuer.ClientID, "other"}, "azp": "other"},
		"expired":                      {"sub": "dana", "exp": time.Now().Add(-time.Minute).Unix()},
		"of another issuer":            {"sub": "dana", "iss": "https://issuer.example.org"},
		"of another login":             {"sub": "dana", "nonce": "x"},
		"without a nonce":              {"sub": "dana", "nonce": nil},
		"of no person":                 {"groups": []string{"a"}},
		"of a user of Kubernetes":      {"sub": "system:admin"},
		"of a group of Kubernetes":     {"sub": "dana", "groups": []string{"a", "system:masters"}},
		"of such a group with a space": {"sub": "dana", "groups": []string{" system:masters"}},
		"with a line break":            {"sub": "dana\r\nImpersonate-Group: system:masters"},
	} {
		b := p.browser()
		if status, text := b.logsIn(claims); status != http.StatusForbidden || !strings.Contains(text, "You are not let in") {
			t.Errorf("a token %s: %d, %s", name, status, text)
		}
		if status, _ := b.gets("/api/me"); status != http.StatusUnauthorized {
			t.Errorf("a token %s: status %d afterwards", name, status)
		}
	}
}

// callbackOf begins a login, and returns where the issuer sends the browser.
func (b *browser) callbackOf(sub string) string {
	b.t.Helper()
	b.issuer.LogIn(b.url+oidc.PathCallback, map[string]any{"sub": sub})
	var last string
	c := *b.http
	c.CheckRedirect = func(r *http.Request, _ []*http.Request) error {
		if last = r.URL.RequestURI(); r.URL.Path == oidc.PathCallback {
			return http.ErrUseLastResponse
		}
		return nil
	}
	req, err := http.NewRequestWithContext(b.ctx, http.MethodGet, b.url+oidc.PathLogin, nil)
	must(b.t, err)
	answer, err := c.Do(req)
	must(b.t, err)
	must(b.t, answer.Body.Close())
	return last
}

// A callback is taken once, in the browser that began the login.
func TestACallbackIsOfOneLogin(t *testing.T) {
	r := emptyRig(t, withQuestions, "true")
	p := newPageServer(r)
	// What the issuer takes again, the page does not.
	p.issuer.BeCareless()
	b := p.browser()
	home, err := url.Parse(p.url)
	must(t, err)
	callback := b.callbackOf("dana")
	kept := b.http.Jar.Cookies(home)
	if status, _ := p.browser().gets(callback); status != http.StatusBadRequest {
		t.Errorf("in another browser: status %d", status)
	}
	other := p.browser()
	other.callbackOf("eve")
	if status, _ := other.gets(callback); status != http.StatusBadRequest {
		t.Errorf("with the state of another login: status %d", status)
	}
	if status, _ := b.gets(callback); status != http.StatusOK {
		t.Errorf("status %d", status)
	}
	if status, _ := b.gets(callback); status != http.StatusBadRequest {
		t.Errorf("once more: status %d", status)
	}
	for _, c := range kept {
		c.Path, c.Secure = "/", true
	}
	b.http.Jar.SetCookies(home, kept)
	if status, _ := b.gets(callback); status != http.StatusForbidden {
		t.Errorf("once more with the cookie of the login: status %d", status)
	}
}

// follows opens the stream of changes.
func (b *browser) follows() io.Reader {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.ctx, http.MethodGet, b.url+"/api/events?namespace="+b.ns, nil)
	must(b.t, err)
	answer, err := b.http.Do(r)
	must(b.t, err)
	b.t.Cleanup(func() { _ = answer.Body.Close() })
	if answer.StatusCode != http.StatusOK {
		b.t.Fatalf("the stream: status %d", answer.StatusCode)
	}
	return answer.Body
}

// until reads the stream until it has told of a text.
func (b *browser) until(stream io.Reader, text string) {
	b.t.Helper()
	var told bytes.Buffer
	for buffer := make([]byte, 4096); !strings.Contains(told.String(), text); {
		n, err := stream.Read(buffer)
		told.Write(buffer[:n])
		if err != nil {
			b.t.Fatalf("the stream ends with %v after %s", err, &told)
		}
	}
}

// Persons are not told by a watch of each other, and a stream ends with its session.
func TestStreamsOfThePageOfTheCluster(t *testing.T) {
	r := askingRig(t)
	dana := "oidc:dana@" + r.ns
	person(r.ctx, t, r.ns, dana, rights{mayRespond, mayRead, "get,list,watch skills"})
	p := newPageServer(r)
	b, eve := p.person("dana@"+r.ns), p.person("eve@"+r.ns)
	mine, hers := b.follows(), eve.follows()
	// Dana has the rights. If eve shared the watches, she would be told of no trouble.
	b.until(mine, `"kind":"all"`)
	eve.until(hers, `"kind":"trouble"`)

	home, err := url.Parse(p.url)
	must(t, err)
	kept := b.http.Jar.Cookies(home)
	if status, text := b.does(http.MethodPost, oidc.PathLogout, ""); status != http.StatusOK {
		t.Fatalf("the logout: %d, %s", status, text)
	}
	if _, err := io.Copy(io.Discard, mine); err != nil {
		t.Errorf("the stream ends with %v", err)
	}
	for _, c := range kept {
		c.Path, c.Secure = "/", true
	}
	b.http.Jar.SetCookies(home, kept)
	if status, _ := b.gets("/api/me"); status != http.StatusUnauthorized {
		t.Errorf("with the cookie from before the logout: status %d", status)
	}
	if status, text := eve.gets("/api/me"); status != http.StatusOK {
		t.Errorf("the logout of another person: %d, %s", status, text)
	}
}
