// SPDX-License-Identifier: Apache-2.0

package page_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/test/fakecluster"
)

func TestAPersonGivesFilesOnThePage(t *testing.T) {
	c := fakecluster.New(t, fakecluster.Run("agents", "portfolio", v1alpha1.PendingInput{
		ID: "a1-s3-c0", Kind: v1alpha1.InputQuestion, Question: "Where is it?", Options: []string{"there is none"}, Files: []string{"the portfolio, as CSV", hostile},
	}))
	s := serve(t, c)
	ctx := browser(t)
	dir := t.TempDir()
	file := func(name, content string) string {
		t.Helper()
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	text, raw := file("portfolio.csv", "ACME;1\n"), file("logo.png", "\x89PNG\xff")
	input, button := card("portfolio")+" input[type=file]", card("portfolio")+" button[type=submit]"
	do(ctx, t, "open", chromedp.Navigate(s.link), chromedp.WaitVisible(card("portfolio")))
	if shown := get(ctx, t, "card", chromedp.Text(card("portfolio"))); !strings.Contains(shown, "The model wants these files:") || !strings.Contains(shown, "the portfolio, as CSV") {
		t.Errorf("it is shown %q", shown)
	}

	// A refusal comes before anything leaves the window.
	do(ctx, t, "a large file", chromedp.SetUploadFiles(input, []string{file("large", strings.Repeat("x", 128<<10+1))}))
	tabTo(ctx, t, card("portfolio")+" input[type=radio]")
	do(ctx, t, "choose", chromedp.KeyEvent(" "))
	tabTo(ctx, t, button)
	do(ctx, t, "send", chromedp.KeyEvent(kb.Enter))
	await(ctx, t, `document.body.innerText.includes("large has 131073 bytes")`)
	do(ctx, t, "a secret", chromedp.SetUploadFiles(input, []string{file("key", "AKIA"+"YRWSSQ3BPTB4DX7Z")}), chromedp.Click(button))
	await(ctx, t, `document.body.innerText.includes("key was not sent: it holds what looks like a secret")`)
	if all := c.Sent(); len(all) > 0 {
		t.Fatalf("sent was %+v", all)
	}

	do(ctx, t, "two files", chromedp.SetUploadFiles(input, []string{text, raw}))
	// The field is reached with the keyboard, between the words and the button.
	tabTo(ctx, t, input)
	tabTo(ctx, t, button)
	do(ctx, t, "send", chromedp.KeyEvent(kb.Enter), chromedp.WaitNotPresent(card("portfolio")))
	r := sent(t, c, "a1-s3-c0")
	if r.Answer != "there is none" || len(r.Files) != 2 || r.Files[0].Path != "portfolio.csv" || r.Files[0].Content == nil || *r.Files[0].Content != "ACME;1\n" ||
		r.Files[1].Path != "logo.png" || string(r.Files[1].BinaryContent) != "\x89PNG\xff" {
		t.Errorf("sent was %+v", r)
	}
}
