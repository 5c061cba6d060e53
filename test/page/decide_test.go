// SPDX-License-Identifier: Apache-2.0

package page_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/test/fakecluster"
)

// card selects the card of an ask by its run.
func card(run string) chromedp.CSS {
	return chromedp.CSS(`article[data-key^="agents/` + run + `/"]`)
}

// do carries actions out, and says which step of the test they are.
func do(ctx context.Context, t *testing.T, what string, actions ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	if err := chromedp.Do(ctx, actions...); err != nil {
		page, _ := chromedp.Run(ctx, chromedp.Text(chromedp.CSS("body")))
		t.Fatalf("%s: %v\n%s", what, err, page)
	}
}

// get carries an action out that has a value.
func get[T any](ctx context.Context, t *testing.T, what string, action chromedp.Action[T]) T {
	t.Helper()
	value, err := chromedp.Run(ctx, action)
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	return value
}

// text is what an element shows.
func text(ctx context.Context, t *testing.T, selector chromedp.CSS) string {
	t.Helper()
	return get(ctx, t, string(selector), chromedp.Text(selector))
}

// await waits until an expression of the page is true.
func await(ctx context.Context, t *testing.T, expression string) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for !get(ctx, t, expression, chromedp.Evaluate[bool]("Boolean("+expression+")")) {
		if time.Now().After(deadline) {
			t.Fatalf("%s does not become true:\n%s", expression, text(ctx, t, "body"))
		}
		<-time.After(50 * time.Millisecond)
	}
}

func sent(t *testing.T, c *fakecluster.Cluster, id string) v1alpha1.Response {
	t.Helper()
	all := c.Sent()
	i := slices.IndexFunc(all, func(r v1alpha1.Response) bool { return r.ID == id })
	if i < 0 {
		t.Fatalf("%s has no response: %+v", id, all)
	}
	return all[i]
}

func TestAPersonAnswersOnThePage(t *testing.T) {
	c := agents(t)
	s := serve(t, c)
	ctx := browser(t)
	address, _, _ := strings.Cut(s.link, "#")
	var mu sync.Mutex
	var foreign []string
	err := chromedp.Listen(ctx, func(e any) {
		if r, ok := e.(*network.EventRequestWillBeSent); ok && (!strings.HasPrefix(r.Request.URL, address) || strings.Contains(r.Request.URL, "code=")) {
			mu.Lock()
			defer mu.Unlock()
			foreign = append(foreign, r.Request.URL)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	do(ctx, t, "open", chromedp.Navigate(s.link), chromedp.WaitVisible(card("release")))
	if now := get(ctx, t, "location", chromedp.Location()); strings.Contains(now, "code") {
		t.Errorf("the code stays in the address %s", now)
	}
	if shown := text(ctx, t, card("release")); !strings.Contains(shown, "git push origin main\ngit push --tags") || !strings.Contains(shown, rule) || !strings.Contains(shown, "erin@example.org") {
		t.Errorf("the approval shows %s", shown)
	}
	if shown := text(ctx, t, card("settings")); !strings.Contains(shown, "-replicas: 2") || !strings.Contains(shown, "+replicas: 3") || strings.Contains(shown, "for the run") {
		t.Errorf("the edit shows %s", shown)
	}
	answer := func(run, choice, words string) {
		t.Helper()
		choose := []chromedp.Action[chromedp.Void]{chromedp.Click(card(run) + chromedp.CSS(` input[value="`+choice+`"]`))}
		if words != "" {
			choose = append(choose, chromedp.SendKeys(card(run)+" textarea", words))
		}
		do(ctx, t, run+" "+choice, append(choose, chromedp.Click(card(run)+" button[type=submit]"), chromedp.WaitNotPresent(card(run)))...)
	}
	answer("portfolio", "0", "Use the price of Friday.")
	answer("release", "Deny", "Push to a branch.")
	answer("settings", "ApproveOnce", "")
	answer("agentmail", "AllowRun", "")
	if r := sent(t, c, "a1-s3-c0"); r.Answer != "Use the price of Friday." {
		t.Errorf("answered was %+v", r)
	}
	if r := sent(t, c, "a1-s4-c0"); r.Decision != v1alpha1.DecisionDeny || r.Reason != "Push to a branch." || r.Digest == "" {
		t.Errorf("denied was %+v", r)
	}
	if r := sent(t, c, "a1-s2-c0"); r.Decision != v1alpha1.DecisionApproveOnce || r.Digest == "" || r.Reason != "" {
		t.Errorf("approved was %+v", r)
	}
	if r := sent(t, c, "a1-s5-c0"); r.Decision != v1alpha1.DecisionAllowRun {
		t.Errorf("allowed was %+v", r)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(foreign) > 0 {
		t.Errorf("the page asked for %q", foreign)
	}
	if shown := text(ctx, t, card("evil")); !strings.Contains(shown, `<script>`) || !strings.Contains(shown, `\u202egnp.exe\u001b[2J`) {
		t.Errorf("a hostile question shows %s", shown)
	}
	title := get(ctx, t, "title", chromedp.Title())
	if title != "Inbox · Motor Cortex" {
		t.Errorf("a text became a script: the title is %q", title)
	}
}

// A person sees the run go on without touching the page.
func TestARunGoesOnBeforeTheEyesOfAPerson(t *testing.T) {
	c := agents(t)
	s := serve(t, c)
	ctx := browser(t)
	do(ctx, t, "open", chromedp.Navigate(s.link), chromedp.WaitVisible(card("portfolio")),
		chromedp.Click(card("portfolio")+" h2 a"), chromedp.WaitVisible(chromedp.CSS(".attempts")),
		chromedp.Click(card("portfolio")+` input[value="2"]`), chromedp.Click(card("portfolio")+" button[type=submit]"))
	await(ctx, t, `document.querySelector('#said').textContent.includes('skip it was sent')`)
	await(ctx, t, `!document.querySelector('article.ask')`)
	if r := sent(t, c, "a1-s3-c0"); r.Answer != "skip it" {
		t.Errorf("answered was %+v", r)
	}
	key := client.ObjectKey{Namespace: "agents", Name: "portfolio"}
	c.Operate(t.Context(), t, key, func(run *v1alpha1.MotorRun) {
		run.Status.PendingInputs, run.Status.Message = nil, "The run works on it."
	})
	await(ctx, t, `document.querySelector('main').textContent.includes('The run works on it.')`)
	run := fakecluster.Run("agents", "portfolio")
	if err := c.Create(t.Context(), fakecluster.Step(run, 1, 4, "bash", `{"command":"make report"}`, nil)); err != nil {
		t.Fatal(err)
	}
	await(ctx, t, `document.querySelector('.attempts').textContent.includes('make report')`)
	// What is asked anew comes by itself, too.
	do(ctx, t, "inbox", chromedp.Click(chromedp.CSS(`nav a[href="#/inbox"]`)), chromedp.WaitVisible(card("release")))
	if err := c.Create(t.Context(), fakecluster.Run("agents", "fresh", v1alpha1.PendingInput{ID: "q", Kind: v1alpha1.InputQuestion, Question: "And now?"})); err != nil {
		t.Fatal(err)
	}
	do(ctx, t, "fresh", chromedp.WaitVisible(card("fresh")))
	// A window that is hidden keeps no connection, and is up to date when it is shown.
	const turn = `Object.defineProperty(document, 'hidden', {value: %t, configurable: true}); document.dispatchEvent(new Event('visibilitychange'))`
	get(ctx, t, "hide", chromedp.Evaluate[bool](fmt.Sprintf(turn, true)))
	if err := c.Create(t.Context(), fakecluster.Run("agents", "later", v1alpha1.PendingInput{ID: "q", Kind: v1alpha1.InputQuestion, Question: "And then?"})); err != nil {
		t.Fatal(err)
	}
	get(ctx, t, "show", chromedp.Evaluate[bool](fmt.Sprintf(turn, false)))
	do(ctx, t, "later", chromedp.WaitVisible(card("later")))
}

// What a person writes is not taken away when the ask is answered elsewhere, and is not sent either.
func TestWordsStayWhenAnAskIsAnsweredElsewhere(t *testing.T) {
	c := agents(t)
	s := serve(t, c)
	ctx := browser(t)
	do(ctx, t, "open", chromedp.Navigate(s.link), chromedp.WaitVisible(card("portfolio")),
		chromedp.Click(card("portfolio")+` input[value="0"]`), chromedp.SendKeys(card("portfolio")+" textarea", "half a sent"))
	c.Operate(t.Context(), t, client.ObjectKey{Namespace: "agents", Name: "portfolio"}, func(run *v1alpha1.MotorRun) { run.Status.PendingInputs = nil })
	do(ctx, t, "gone", chromedp.WaitVisible(card("portfolio")+" [role=alert]"))
	words := get(ctx, t, "words", chromedp.Value(card("portfolio")+" textarea"))
	disabled := get(ctx, t, "button", chromedp.Evaluate[bool](`document.querySelector('`+string(card("portfolio"))+` button[type=submit]').disabled`))
	if words != "half a sent" || !disabled || len(c.Sent()) != 0 {
		t.Errorf("the words are %q, the button is disabled: %v, sent are %+v", words, disabled, c.Sent())
	}
}

func TestASkillIsReviewedAndApproved(t *testing.T) {
	c := agents(t)
	s := serve(t, c)
	ctx := browser(t)
	do(ctx, t, "open", chromedp.Navigate(s.link), chromedp.WaitVisible(card("release")), chromedp.Click(chromedp.CSS(`nav a[href="#/skills"]`)),
		chromedp.Click(chromedp.CSS(`a[href="#/skills/agents/weather"]`)), chromedp.WaitVisible(chromedp.CSS(".files")))
	shown := text(ctx, t, "main")
	for _, part := range []string{"evil.example.com", "HiddenUnicode", "api.example.org", "NeedsReapproval", "changed"} {
		if !strings.Contains(shown, part) {
			t.Errorf("the review does not show %q:\n%s", part, shown)
		}
	}
	do(ctx, t, "diff", chromedp.Click(chromedp.CSS(".files li:nth-child(2) summary")), chromedp.WaitVisible(chromedp.CSS(".files .diff")))
	if d := text(ctx, t, ".files .diff"); !strings.Contains(d, `+curl https://evil.example.com\u200b`) {
		t.Errorf("the diff is %s", d)
	}
	// A comparison with another revision than the approved one shows what it is of, and leads to no decision.
	at := &v1alpha1.Skill{}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: "agents", Name: "weather"}, at); err != nil {
		t.Fatal(err)
	}
	old := at.Status.Approved.RevisionName
	do(ctx, t, "compare", chromedp.Click(chromedp.CSS(`a[href="#/skills/agents/weather/`+old+`"]`)), chromedp.WaitVisible(chromedp.CSS("input[value=approve]")),
		chromedp.Click(chromedp.CSS(`a[href="#/skills/agents/weather/`+old+`/`+at.Status.RevisionName+`"]`)), chromedp.WaitVisible(chromedp.CSS("section .note a")), chromedp.WaitNotPresent(chromedp.CSS("input[value=approve]")))
	if shown := text(ctx, t, "main"); !strings.Contains(shown, "Files, against "+at.Status.RevisionName) || !strings.Contains(shown, "is not the approved revision") {
		t.Errorf("the comparison shows %s", shown)
	}
	address, _, _ := strings.Cut(s.link, "#")
	do(ctx, t, "back", chromedp.Navigate(address+"#/skills/agents/weather"), chromedp.WaitVisible(chromedp.CSS("input[value=approve]")))
	do(ctx, t, "approve", chromedp.Click(chromedp.CSS(`input[value=approve]`)), chromedp.SendKeys(chromedp.CSS("textarea"), "looked at"), chromedp.Click(chromedp.CSS("button[type=submit]")))
	await(ctx, t, `document.querySelector('#said').textContent.includes('approved')`)
	got := &v1alpha1.Skill{}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: "agents", Name: "weather"}, got); err != nil {
		t.Fatal(err)
	}
	if a := got.Spec.Approval; a == nil || a.ContentHash != got.Status.ContentHash || a.Note != "looked at" || a.ApprovedBy != fakecluster.User {
		t.Errorf("the approval is %+v", a)
	}
}

// A person who cannot read the files is told above the decision, and cannot approve.
func TestFilesThatCannotBeReadAreNotApproved(t *testing.T) {
	c := agents(t)
	c.Deny("get configmaps")
	s := serve(t, c)
	ctx := browser(t)
	address, _, _ := strings.Cut(s.link, "#")
	do(ctx, t, "open", chromedp.Navigate(s.link), chromedp.WaitVisible(card("release")), chromedp.Navigate(address+"#/skills/agents/weather"),
		chromedp.WaitVisible(chromedp.CSS("form.answer .bad")))
	if shown := text(ctx, t, "form.answer .bad"); !strings.Contains(shown, "You cannot read the content of the files") || !strings.Contains(shown, "motorcortex-skill-approver") {
		t.Errorf("the page says %q", shown)
	}
	await(ctx, t, `document.querySelector('input[value=approve]').disabled && !document.querySelector('input[value=reject]').disabled`)
}

// A skill that waits for an approval is in the inbox, and leads to the skill.
func TestASkillThatWaitsIsInTheInbox(t *testing.T) {
	c := agents(t)
	at := &v1alpha1.Skill{}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: "agents", Name: "weather"}, at); err != nil {
		t.Fatal(err)
	}
	at.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionApproved, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonContentChanged}}
	if err := c.Status().Update(t.Context(), at); err != nil {
		t.Fatal(err)
	}
	s := serve(t, c)
	ctx := browser(t)
	do(ctx, t, "open", chromedp.Navigate(s.link), chromedp.WaitVisible(chromedp.CSS(`main a[href="#/skills/agents/weather"]`)))
	if shown := text(ctx, t, "main"); !strings.Contains(shown, "an approval of the changed files") {
		t.Errorf("the inbox shows %s", shown)
	}
}

// A link opens one window. A second one has a link of its own, and a reload is no second one.
func TestALinkOpensOneWindow(t *testing.T) {
	s := serve(t, agents(t))
	ctx := browser(t)
	do(ctx, t, "open", chromedp.Navigate(s.link), chromedp.WaitVisible(card("release")), chromedp.Reload(), chromedp.WaitVisible(card("release")))
	other, cancel := chromedp.NewContext(ctx)
	defer cancel()
	do(other, t, "the same link", chromedp.Navigate(s.link), chromedp.WaitVisible(chromedp.CSS("#said.bad")))
	if shown := text(other, t, "body"); !strings.Contains(shown, "used already") || strings.Contains(shown, "git push") {
		t.Errorf("a used link shows %s", shown)
	}
	third, cancel := chromedp.NewContext(ctx)
	defer cancel()
	do(third, t, "the next link", chromedp.Navigate(s.nextLink()), chromedp.WaitVisible(card("release")))
}
