// SPDX-License-Identifier: Apache-2.0

// Package page_test tries the page of kubectl motor ui in Chromium, with a cluster in memory.
package page_test

import (
	"context"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/ui"
	"motorcortex.dev/motorcortex/internal/cli/verb"
	"motorcortex.dev/motorcortex/test/fakecluster"
	"motorcortex.dev/motorcortex/test/printed"
)

// patience is for a machine that is ten times slower.
const patience = 2 * time.Minute

// served is the page of a cluster, until the test ends.
type served struct {
	t    *testing.T
	link string
	// file is what a browser is given at a terminal.
	file      string
	out, errs *printed.Text
}

func serve(t *testing.T, c *fakecluster.Cluster) *served {
	t.Helper()
	s := &served{t: t, out: &printed.Text{}, errs: &printed.Text{}}
	opened := make(chan string, 1)
	cmd := ui.New(ui.Command{
		Streams: verb.Streams{In: strings.NewReader(""), Out: s.out, Err: s.errs, Terminal: true},
		Connect: func() (client.WithWatch, string, error) { return c, "agents", nil },
		Open: func(path string) error {
			opened <- path
			return nil
		},
	})
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan int, 1)
	go func() { ended <- verb.Run(ctx, cmd, nil) }()
	t.Cleanup(func() {
		stop()
		if code := <-ended; code != 0 {
			t.Errorf("the verb ended with %d: %s", code, s.errs)
		}
	})
	deadline := time.Now().Add(patience)
	for !strings.Contains(s.out.String(), "\n") {
		if time.Now().After(deadline) {
			t.Fatal("no link is printed")
		}
		<-time.After(10 * time.Millisecond)
	}
	s.link, s.file = strings.TrimSpace(s.out.String()), <-opened
	return s
}

// nextLink is the newest link that was printed after a window was opened.
func (s *served) nextLink() string {
	all := strings.Fields(s.errs.String())
	if len(all) == 0 {
		s.t.Fatal("no further link is printed")
	}
	return all[len(all)-1]
}

// browser starts Chromium.
func browser(t *testing.T, more ...chromedp.ExecAllocatorOption) context.Context {
	t.Helper()
	path := os.Getenv("CHROMIUM")
	if path == "" {
		for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
			if found, err := exec.LookPath(name); err == nil {
				path = found
				break
			}
		}
	}
	if path == "" {
		t.Fatal("there is no Chromium: install the Debian package chromium, or set CHROMIUM")
	}
	options := append(append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.DisableGPU, chromedp.CombinedOutput(io.Discard),
		chromedp.WSURLReadTimeout(patience),
		// All requests of the browser's own are looked up here, where there is nothing.
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND , EXCLUDE 127.0.0.1"), chromedp.Flag("disable-component-update", true)), more...)
	if os.Getuid() == 0 {
		// Chromium's own sandbox refuses root.
		options = append(options, chromedp.NoSandbox)
	}
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, patience)
	t.Cleanup(cancel)
	return ctx
}

// A browser is given a file instead of the link, and shows the page all the same.
func TestTheFileLeadsToThePage(t *testing.T) {
	c := agents(t)
	s := serve(t, c)
	ctx := browser(t)
	do(ctx, t, "open", chromedp.Navigate("file://"+s.file), chromedp.WaitVisible(card("release")))
	address, _, _ := strings.Cut(s.link, "#")
	if now := get(ctx, t, "location", chromedp.Location()); !strings.HasPrefix(now, address) || strings.Contains(now, "code") {
		t.Errorf("the address is %s", now)
	}
	if _, err := os.Stat(s.file); !os.IsNotExist(err) {
		t.Errorf("the file stays when the code was used: %v", err)
	}
	// A card in which a person writes is stale when their decision would be about more.
	if shown := text(ctx, t, card("release")); !strings.Contains(shown, "The run reaches: github.com") || !strings.Contains(shown, "It has the credentials: github") {
		t.Errorf("the approval shows %s", shown)
	}
	do(ctx, t, "begin", chromedp.Click(card("release")+` input[value="Deny"]`), chromedp.SendKeys(card("release")+" textarea", "Because"))
	c.Operate(t.Context(), t, client.ObjectKey{Namespace: "agents", Name: "release"}, func(run *v1alpha1.MotorRun) {
		run.Status.Egress.Domains = append(run.Status.Egress.Domains, "evil.example.com")
	})
	await(ctx, t, `document.querySelector('article[data-key^="agents/release/"] [role=alert]')?.textContent.includes('changed')`)
	await(ctx, t, `document.querySelector('article[data-key^="agents/release/"] button[type=submit]').disabled`)
}
