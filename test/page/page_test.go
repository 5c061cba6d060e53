// SPDX-License-Identifier: Apache-2.0

// Package page_test tries the page of kubectl motor ui in Chromium, with a cluster in memory.
package page_test

import (
	"context"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/internal/cli/ui"
	"motorcortex.dev/motorcortex/internal/cli/verb"
	"motorcortex.dev/motorcortex/test/fakecluster"
)

// patience is for a machine that is ten times slower.
const patience = 2 * time.Minute

// lines are what a verb printed. It can be read while the verb runs.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// served is the page of a cluster, until the test ends.
type served struct {
	t         *testing.T
	link      string
	out, errs *lines
}

func serve(t *testing.T, c *fakecluster.Cluster) *served {
	t.Helper()
	s := &served{t: t, out: &lines{}, errs: &lines{}}
	cmd := ui.New(ui.Command{
		Streams: verb.Streams{In: strings.NewReader(""), Out: s.out, Err: s.errs},
		Connect: func() (client.WithWatch, string, error) { return c, "agents", nil },
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
	s.link = strings.TrimSpace(s.out.String())
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
