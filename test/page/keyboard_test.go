// SPDX-License-Identifier: Apache-2.0

package page_test

import (
	"context"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// tabTo presses Tab until the element that has the focus is as wanted.
func tabTo(ctx context.Context, t *testing.T, selector chromedp.CSS) {
	t.Helper()
	for range 60 {
		if get(ctx, t, "focus", chromedp.Evaluate[bool]("document.activeElement.matches(`"+string(selector)+"`)")) {
			return
		}
		do(ctx, t, "tab", chromedp.KeyEvent(kb.Tab))
	}
	t.Fatalf("the keyboard does not reach %s", selector)
}

func TestAPersonAnswersWithTheKeyboardAlone(t *testing.T) {
	c := agents(t)
	s := serve(t, c)
	ctx := browser(t)
	do(ctx, t, "open", chromedp.Navigate(s.link), chromedp.WaitVisible(card("release")))
	tabTo(ctx, t, card("release")+" input[value=ApproveOnce]")
	// Tab alone chooses nothing.
	if disabled := get(ctx, t, "button", chromedp.Evaluate[bool]("document.querySelector(`"+string(card("release"))+" button`).disabled")); !disabled {
		t.Error("an answer can be sent that was not chosen")
	}
	do(ctx, t, "choose", chromedp.KeyEvent(" "), chromedp.KeyEvent(kb.ArrowDown), chromedp.KeyEvent(kb.ArrowDown))
	tabTo(ctx, t, card("release")+" textarea")
	do(ctx, t, "write", chromedp.KeyEvent("Push to a branch."))
	tabTo(ctx, t, card("release")+" button[type=submit]")
	do(ctx, t, "send", chromedp.KeyEvent(kb.Enter), chromedp.WaitNotPresent(card("release")))
	if r := sent(t, c, "a1-s4-c0"); r.Decision != v1alpha1.DecisionDeny || r.Reason != "Push to a branch." {
		t.Errorf("sent was %+v", r)
	}
	// The focus goes to the next ask, and not to the top of the page.
	await(ctx, t, `document.activeElement.matches("article")`)
}
