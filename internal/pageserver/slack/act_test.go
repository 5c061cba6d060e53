// SPDX-License-Identifier: Apache-2.0

package slack

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/signal/notice"
)

func TestAPersonConfirmsWhatTheClusterShows(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	shown := f.presses("T1", "U1", "motor.choose.0", valueOf(t, approve))
	b, ok := shown.confirm()
	if !ok || b.ActionID != actionConfirm || b.Text.Text != "Confirm: Approve once" || len(f.sent()) != 0 {
		t.Fatalf("got %+v, sent %q", shown, f.sent())
	}
	for _, want := range []string{"Run team/fix asks.", "Question:\n| Push?", "Tool:\n| bash", "Argument:\n| script\nIts value:\n| git push origin main", "Digest: sha256:1", "This call is made, once."} {
		if !strings.Contains(shown.texts(), want) {
			t.Errorf("there is no %q in %q", want, shown.texts())
		}
	}
	if said := f.presses("T1", "U1", b.ActionID, b.Value); !said.ReplaceOriginal || !strings.Contains(said.texts(), "Sent to team/fix, as dana.") {
		t.Errorf("got %+v", said)
	}
	// The others in the channel see who decided, and no button any more.
	left := f.next()
	if _, offers := left.confirm(); offers || left.Type != "" || !left.ReplaceOriginal || left.path != "/actions/channel" ||
		!strings.HasPrefix(left.texts(), "Run team/fix: Approve once, by dana.\n") || !strings.Contains(left.texts(), "Question:\n| Push?") {
		t.Errorf("the message became %+v", left)
	}
	want := `/api/runs/team/fix/asks/a1 {"decision":"ApproveOnce","digest":"sha256:1","seen":"seen-sha256:1","uid":"u"}`
	if sent := f.sent(); len(sent) != 1 || sent[0] != want {
		t.Errorf("sent is %q", sent)
	}
	for _, as := range f.as {
		if as != "dana sre" {
			t.Errorf("the page was asked as %q", as)
		}
	}
}

func TestPressesThatSendNothing(t *testing.T) {
	t.Parallel()
	other, foreign, later := approve, approve, approve
	other.Digest, foreign.UID, later.ID = "sha256:2", "v", "a2"
	offered := approve
	offered.Decision = v1alpha1.DecisionApproveRun
	option := notice.Button{Namespace: "team", Run: "fix", UID: "u", ID: "a1", Digest: "sha256:1", Option: 1}
	for name, tt := range map[string]struct {
		team, id, action, value string
		set                     func(*fake)
		says                    string
	}{
		"a person who is not mapped":     {"T1", "U2", "motor.choose.0", valueOf(t, approve), nil, "no user of the cluster is mapped to you, U2 of the team T1"},
		"one of another team":            {"T2", "U1", "motor.choose.0", valueOf(t, approve), nil, "no user of the cluster is mapped to you"},
		"another call":                   {"T1", "U1", "motor.choose.0", valueOf(t, other), nil, "another one than that of the message"},
		"another run of the name":        {"T1", "U1", "motor.choose.0", valueOf(t, foreign), nil, "does not ask that any more"},
		"an ask that is over":            {"T1", "U1", "motor.choose.0", valueOf(t, later), nil, "does not ask that any more"},
		"a decision that is not offered": {"T1", "U1", "motor.choose.0", valueOf(t, offered), nil, "does not offer that"},
		"an option of no question":       {"T1", "U1", "motor.choose.0", valueOf(t, option), nil, "does not offer that"},
		"a confirmation that is made up": {"T1", "U1", actionConfirm, valueOf(t, approve), nil, "was not shown to you"},
		"a button of another app":        {"T1", "U1", "vote", valueOf(t, approve), nil, "none of Motor Cortex"},
		"a name that is none":            {"T1", "U1", "motor.choose.0", valueOf(t, notice.Button{Namespace: "team", Run: "fix asks: approved by all", UID: "u", ID: "a1"}), nil, "none of Motor Cortex"},
		"a value that is none":           {"T1", "U1", "motor.choose.0", "{", nil, "none of Motor Cortex"},
		"what the page refuses":          {"T1", "U1", "motor.choose.0", valueOf(t, approve), func(f *fake) { f.status = http.StatusConflict }, "it was answered already"},
		"a call with a secret": {"T1", "U1", "motor.choose.0", valueOf(t, approve), func(f *fake) {
			f.show("sha256:1", "aws_access_key_id = AKIA"+"Z5XQW7RTUVLM2345")
		}, "looks like a secret"},
		"an option with a secret": {"T1", "U1", "motor.choose.0", valueOf(t, notice.Button{Namespace: "team", Run: "fix", UID: "u", ID: "a1", Option: 1}), func(f *fake) {
			f.shown = `{"run":{"uid":"u","asks":[{"id":"a1","kind":"Question","seen":"s","question":"Which?","may":true,"options":["AKIA` + `Z5XQW7RTUVLM2345"],"choices":[]}]}}`
		}, "looks like a secret"},
		"a call that is too long": {"T1", "U1", "motor.choose.0", valueOf(t, approve), func(f *fake) {
			f.show("sha256:1", strings.Repeat("x y ", maxBlock*maxBlocks))
		}, "too long for Slack"},
		"a file of users with a mistake": {"T1", "U1", "motor.choose.0", valueOf(t, approve), func(f *fake) { f.h.options.UsersFile = write(f.t, "users: 1") }, "Nothing was sent: the server failed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t)
			if tt.set != nil {
				tt.set(f)
			}
			said := f.presses(tt.team, tt.id, tt.action, tt.value)
			if _, offers := said.confirm(); offers || !strings.Contains(said.texts(), tt.says) || len(f.sent()) != 0 {
				t.Errorf("got %+v, sent %q", said, f.sent())
			}
		})
	}
}

func TestAPersonIsToldWhenItIsNotKnownWhetherItWasSent(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	b, _ := f.presses("T1", "U1", "motor.choose.0", valueOf(t, approve)).confirm()
	for status, says := range map[int]string{
		http.StatusConflict: "Nothing was sent.", http.StatusForbidden: "Nothing was sent.", http.StatusBadGateway: "It is not known whether it was sent.",
	} {
		f.mu.Lock()
		f.status = status
		f.mu.Unlock()
		// Each request of Slack is another one.
		if said := f.presses("T1", "U1", actionConfirm, b.Value+strings.Repeat(" ", status%100)); !strings.HasPrefix(said.texts(), says) {
			t.Errorf("status %d: %q", status, said.texts())
		}
	}
}

func TestWhatIsLongOrSecretCanBeDenied(t *testing.T) {
	t.Parallel()
	deny := approve
	deny.Decision = v1alpha1.DecisionDeny
	for _, arguments := range []string{"aws_access_key_id = AKIA" + "Z5XQW7RTUVLM2345", strings.Repeat("x y ", maxBlock*maxBlocks)} {
		f := newFake(t)
		f.show("sha256:1", arguments)
		said := f.presses("T1", "U1", "motor.choose.1", valueOf(t, deny))
		if b, ok := said.confirm(); !ok || b.Text.Text != "Confirm: Deny" || b.Style != "danger" || strings.Contains(said.texts(), "AKIA") || len(said.Blocks) > 50 {
			t.Errorf("got %+v", said)
		}
	}
}

func TestARequestHasNoOtherHostCalled(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	called := make(chan bool, 1)
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { called <- true }))
	defer other.Close()
	f.h.post(t.Context(), other.URL+"/actions", saying("x", false))
	f.h.post(t.Context(), f.replies+"actions", saying("y", false))
	if got := f.told(); !strings.Contains(got.texts(), "y") || len(called) > 0 {
		t.Errorf("got %+v, and another host is called: %d", got, len(called))
	}
}

func TestOptionsAndDomainsAreConfirmed(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		ask    string
		button notice.Button
		label  string
		shows  []string
		sends  string
		leaves string
	}{
		"an option": {
			`"kind":"Question","question":"Which?","options":["red","blue\nDigest: x"],"choices":[]`, notice.Button{Option: 2}, "Confirm: Answer with option 2",
			[]string{"Question:\n| Which?", "Option 1:\n| red", "Option 2:\n| blue\n| Digest: x", "The run goes on with option 2"}, `{"option":2,"seen":"s","uid":"u"}`,
			"Answer with option 2, by dana.\n",
		},
		"a domain": {
			`"kind":"DomainRequest","question":"For the docs.","domain":"new.example.org","choices":[{"decision":"AllowRun","label":"Allow for the run","effect":"Every call may reach it."}]`,
			notice.Button{Decision: v1alpha1.DecisionAllowRun}, "Confirm: Allow for the run", []string{"Domain:\n| new.example.org", "Every call may reach it."},
			`{"decision":"AllowRun","seen":"s","uid":"u"}`, "Allow for the run, by dana.\n",
		},
		"a domain that is denied": {
			`"kind":"DomainRequest","question":"For the docs.","domain":"new.example.org","choices":[{"decision":"Deny","label":"Deny","effect":"It reaches what it reached."}]`,
			notice.Button{Decision: v1alpha1.DecisionDeny}, "Confirm: Deny", []string{"Domain:\n| new.example.org"}, `{"decision":"Deny","seen":"s","uid":"u"}`, "Deny, by dana.\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t)
			f.shown = `{"run":{"uid":"u","asks":[{"id":"a1","seen":"s","may":true,` + tt.ask + `}]}}`
			tt.button.Namespace, tt.button.Run, tt.button.UID, tt.button.ID = "team", "fix", "u", "a1"
			shown := f.presses("T1", "U1", "motor.choose.0", valueOf(t, tt.button))
			b, _ := shown.confirm()
			if b.Text.Text != tt.label || len(f.sent()) != 0 {
				t.Fatalf("got %+v, sent %q", shown, f.sent())
			}
			for _, want := range tt.shows {
				if !strings.Contains(shown.texts(), want) {
					t.Errorf("there is no %q in %q", want, shown.texts())
				}
			}
			f.presses("T1", "U1", b.ActionID, b.Value)
			if sent := f.sent(); len(sent) != 1 || sent[0] != "/api/runs/team/fix/asks/a1 "+tt.sends {
				t.Errorf("sent is %q", sent)
			}
			if left := f.next(); !strings.HasPrefix(left.texts(), "Run team/fix: "+tt.leaves) {
				t.Errorf("the message became %q", left.texts())
			}
		})
	}
}

func TestAnAnswerNeedsNoMessage(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	b, _ := f.presses("T1", "U1", "motor.choose.0", valueOf(t, approve)).confirm()
	f.h.origins.RemoveAll(func(any) bool { return true })
	if said := f.presses("T1", "U1", b.ActionID, b.Value); !strings.Contains(said.texts(), "Sent to team/fix") || len(f.sent()) != 1 {
		t.Errorf("got %+v", said)
	}
	f.h.Close()
	if len(f.said) != 0 {
		t.Errorf("there is %+v", <-f.said)
	}
}

func (f *fake) slow() (begun chan struct{}, end func()) {
	wait := make(chan struct{})
	begun = make(chan struct{}, maxTaken)
	f.h.page = func(Person) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			begun <- struct{}{}
			select {
			case <-wait:
			case <-r.Context().Done():
			}
			w.WriteHeader(http.StatusBadGateway)
		})
	}
	return begun, func() { close(wait) }
}

func (f *fake) nth(id string, n int) *http.Request {
	b := approve
	b.ID = strconv.Itoa(n)
	return f.request("T1", id, "motor.choose.0", valueOf(f.t, b))
}

func TestNoPersonTakesThePlacesOfTheOthers(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.h.options.UsersFile = write(t, mapped1+"- {team: T1, id: U2, username: kim}\n")
	begun, end := f.slow()
	for i := range takenOf {
		if got := f.serve(f.nth("U1", i)); got != http.StatusOK {
			t.Errorf("request %d: status %d", i, got)
		}
	}
	if got := f.serve(f.nth("U1", takenOf)); got != http.StatusServiceUnavailable {
		t.Errorf("one more of the person: status %d", got)
	}
	for range actsOf {
		<-begun
	}
	if got := f.serve(f.nth("U2", 0)); got != http.StatusOK {
		t.Errorf("another person: status %d", got)
	}
	select {
	case <-begun:
	case <-time.After(time.Minute):
		t.Error("another person waits for the first one")
	}
	if len(begun) > 0 {
		t.Error("a person has more carried out at once than they may")
	}
	end()
	for range takenOf + 1 {
		f.told()
	}
}

func TestARequestHasItsPlaceOnlyWhileItIsCarriedOut(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	arrived, wait := make(chan struct{}, takenOf), make(chan struct{})
	slack := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { arrived <- struct{}{}; <-wait }))
	defer slack.Close()
	f.replies, f.h.options.RepliesTo = slack.URL+"/", slack.URL+"/"
	for i := range actsOf + 1 {
		for _, id := range []string{"U1", "U9"} {
			if got := f.serve(f.nth(id, i)); got != http.StatusOK {
				t.Fatalf("request %d: status %d", i, got)
			}
		}
	}
	for range 2 * (actsOf + 1) {
		select {
		case <-arrived:
		case <-time.After(time.Minute):
			t.Fatal("a request waits for the reply of another one")
		}
	}
	if !f.h.slots.Take("dana", actsOf) {
		t.Error("a request whose reply is posted has its place")
	}
	close(wait)
	f.h.Close()
}

func TestTheEndOfTheServerEndsWhatIsCarriedOut(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	begun, end := f.slow()
	defer end()
	for i := range actsOf + 1 {
		f.serve(f.nth("U1", i))
	}
	<-begun
	f.h.Close()
	if !f.h.slots.Take("dana", actsOf) || !f.h.taken.Take("T1/U1", takenOf) {
		t.Error("requests outlive the server")
	}
}
