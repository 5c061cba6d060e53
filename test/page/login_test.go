// SPDX-License-Identifier: Apache-2.0

package page_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/page"
	"motorcortex.dev/motorcortex/internal/page/gate"
	"motorcortex.dev/motorcortex/internal/pageserver/oidc"
	"motorcortex.dev/motorcortex/test/fakecluster"
	"motorcortex.dev/motorcortex/test/oidcissuer"
)

// serveLogin serves the page of a cluster behind a login, at a host that is another site than the issuer.
func serveLogin(t *testing.T, c *fakecluster.Cluster) (address string) {
	t.Helper()
	issuer := oidcissuer.New(t)
	s := httptest.NewUnstartedServer(nil)
	_, port, _ := strings.Cut(s.Listener.Addr().String(), ":")
	address = "https://motor.test:" + port
	file := func(content string) string {
		name := filepath.Join(t.TempDir(), "secret")
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	logins, err := oidc.New(oidc.Options{
		Issuer: issuer.URL, ClientID: oidcissuer.ClientID, SecretFile: file(oidcissuer.Secret), URL: address, KeyFiles: []string{file(strings.Repeat("k", 32))},
		Life: time.Hour, HTTP: issuer.Client(), Names: oidc.Names{UserClaim: "sub"},
	}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	p := page.New(func(r *http.Request) (page.Person, error) {
		session, ok := oidc.Of(r.Context())
		if !ok || session.User != "dana" {
			return page.Person{}, errors.New("it is not dana")
		}
		return page.Person{Key: session.User, Client: c, Namespace: "*", Logout: oidc.PathLogout}, nil
	}, page.Own())
	s.Config.Handler = gate.Headers(gate.SameOrigin([]string{address}, logins.Require(p)))
	s.StartTLS()
	t.Cleanup(func() {
		p.Close()
		s.CloseClientConnections()
		s.Close()
	})
	issuer.LogIn(address+oidc.PathCallback, map[string]any{"sub": "dana"})
	return address
}

// kept is how many cookies the browser has for the page.
func kept(ctx context.Context, t *chromedp.Target) (int, error) {
	answer, err := cdp.Call(ctx, t, network.GetCookies, network.GetCookiesParams{})
	if err != nil {
		return 0, err
	}
	return len(answer.Cookies), nil
}

// forget has the browser lose its cookies.
func forget(ctx context.Context, t *chromedp.Target) (cdp.Empty, error) {
	return cdp.Call(ctx, t, network.ClearBrowserCookies, cdp.Empty{})
}

// A browser is led to the issuer, which is another site, and comes back to what its address asked for. The cookie is for no script, and a logout ends what
// the window shows.
func TestAPersonLogsInWithABrowser(t *testing.T) {
	c := agents(t)
	address := serveLogin(t, c)
	ctx := browser(t, chromedp.Flag("ignore-certificate-errors", true), chromedp.Flag("host-resolver-rules", "MAP motor.test 127.0.0.1 , MAP * ~NOTFOUND , EXCLUDE 127.0.0.1"))
	do(ctx, t, "a deep link", chromedp.Navigate(address+"/#/runs/agents/portfolio"), chromedp.WaitVisible(chromedp.CSS(".attempts")))
	if now := get(ctx, t, "location", chromedp.Location()); now != address+"/#/runs/agents/portfolio" {
		t.Errorf("the address is %s", now)
	}
	if seen := get(ctx, t, "cookies", chromedp.Evaluate[string]("document.cookie")); seen != "" {
		t.Errorf("scripts see the cookies %q", seen)
	}
	if n := get(ctx, t, "cookies", chromedp.Action[int](kept)); n != 1 {
		t.Errorf("%d cookies are kept", n)
	}
	do(ctx, t, "inbox", chromedp.Click(chromedp.CSS(`nav a[href="#/inbox"]`)), chromedp.WaitVisible(card("release")),
		chromedp.Click(card("release")+` input[value="Deny"]`), chromedp.SendKeys(card("release")+" textarea", "Push to a branch."),
		chromedp.Click(card("release")+" button[type=submit]"), chromedp.WaitNotPresent(card("release")))
	if r := sent(t, c, "a1-s4-c0"); r.Decision != v1alpha1.DecisionDeny || r.Reason != "Push to a branch." {
		t.Errorf("denied was %+v", r)
	}
	do(ctx, t, "logout", chromedp.Click(chromedp.CSS("#logout")), chromedp.WaitVisible(chromedp.CSS("#login")), chromedp.WaitNotPresent(card("settings")))
	if n := get(ctx, t, "cookies", chromedp.Action[int](kept)); n != 0 {
		t.Errorf("%d cookies are left", n)
	}
	do(ctx, t, "login", chromedp.Click(chromedp.CSS("#login")), chromedp.WaitVisible(card("settings")))

	// A window that loses its login keeps what a person typed, and says where to log in.
	do(ctx, t, "type", chromedp.Click(card("settings")+` input[value="Deny"]`), chromedp.SendKeys(card("settings")+" textarea", "Because"))
	get(ctx, t, "lose", chromedp.Action[cdp.Empty](forget))
	do(ctx, t, "send", chromedp.Click(card("settings")+" button[type=submit]"), chromedp.WaitVisible(chromedp.CSS("#login")))
	if words := get(ctx, t, "words", chromedp.Value(card("settings")+" textarea")); words != "Because" {
		t.Errorf("the words are %q", words)
	}
}
