// SPDX-License-Identifier: Apache-2.0

package page_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// scheme has the page shown light or dark, and without motion.
func scheme(value string) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
			{Name: "prefers-color-scheme", Value: value}, {Name: "prefers-reduced-motion", Value: "reduce"},
		}})
		return err
	})
}

// wider is by how much the page is wider than the window: a person would have to move it for each line.
const wider = `document.documentElement.scrollWidth - document.documentElement.clientWidth`

// nameless are the controls of the page that a screen reader has no name for.
const nameless = `[...document.querySelectorAll('input, select, textarea, button, a, [role=group]')].filter((e) => e.checkVisibility() &&
  !(e.labels?.length || e.ariaLabel || !e.matches('input, select, textarea') && e.textContent.trim())).map((e) => e.outerHTML).join(' ')`

// The page fits a phone and a desktop. With IMAGES=1 the images of the guide are taken.
func TestThePageFitsItsWindow(t *testing.T) {
	s := serve(t, agents(t))
	ctx := browser(t)
	do(ctx, t, "open", chromedp.Navigate(s.link), chromedp.WaitVisible(card("release")))
	for _, window := range []struct {
		name          string
		width, height int64
	}{{"phone", 390, 780}, {"desktop", 1180, 800}} {
		for _, page := range []struct {
			name, address string
			shows         chromedp.CSS
			scheme        string
		}{
			{"inbox", "#/inbox", card("release"), "light"}, {"runs", "#/runs", ".rows tbody tr", "dark"},
			{"run", "#/runs/agents/build", ".steps .step", "dark"}, {"skill", "#/skills/agents/weather", ".files", "light"},
		} {
			do(ctx, t, page.name, chromedp.EmulateViewport(window.width, window.height), scheme(page.scheme))
			get(ctx, t, page.address, chromedp.Evaluate[string](fmt.Sprintf("location.hash = %q", page.address)))
			do(ctx, t, page.name, chromedp.WaitVisible(page.shows))
			if page.name == "skill" {
				do(ctx, t, "diff", chromedp.Click(chromedp.CSS(".files li:nth-child(2) summary")), chromedp.WaitVisible(chromedp.CSS(".files .diff")))
			}
			if more := get(ctx, t, wider, chromedp.Evaluate[int](wider)); more > 0 {
				t.Errorf("%s on a %s is %d pixels wider than the window", page.name, window.name, more)
			}
			if without := get(ctx, t, "names", chromedp.Evaluate[string](nameless)); without != "" {
				t.Errorf("%s has controls without a name: %s", page.name, without)
			}
			if os.Getenv("IMAGES") != "" && (page.name == "inbox" || page.name == "run") {
				file := filepath.Join("..", "..", "docs", "images", fmt.Sprintf("page-%s-%s.png", page.name, window.name))
				if err := os.WriteFile(file, get(ctx, t, "image", chromedp.CaptureScreenshot()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}
