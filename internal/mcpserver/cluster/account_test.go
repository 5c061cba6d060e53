// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	goruntime "runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"
)

// found is what an API server finds of a token of the agent of ns, changed.
func found(change ...func(*authenticationv1.TokenReviewStatus)) authenticationv1.TokenReviewStatus {
	s := authenticationv1.TokenReviewStatus{
		Authenticated: true, Audiences: []string{"mcp"},
		User: authenticationv1.UserInfo{Username: "system:serviceaccount:ns:agent", UID: "u", Groups: []string{"system:serviceaccounts"}},
	}
	for _, c := range change {
		c(&s)
	}
	return s
}

// reviewing returns a reviewer that gets these answers, and counts its questions.
func reviewing(status authenticationv1.TokenReviewStatus, err error) (v *reviewer, asked *int) {
	clients := fake.NewClientset()
	asked = new(int)
	clients.PrependReactor("create", "tokenreviews", func(k8stesting.Action) (bool, runtime.Object, error) {
		*asked++
		return true, &authenticationv1.TokenReview{Status: status}, err
	})
	reviews := clients.AuthenticationV1().TokenReviews()
	return newReviewer(reviews, reviews, "mcp"), asked
}

func TestWhoseATokenIs(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		status authenticationv1.TokenReviewStatus
		says   string
	}{
		"an agent's": {found(), ""},
		"not valid":  {found(func(s *authenticationv1.TokenReviewStatus) { s.Authenticated = false }), "it is not valid"},
		"of an authenticator that knows no audiences": {found(func(s *authenticationv1.TokenReviewStatus) { s.Audiences = nil }), "not for the audience mcp"},
		"for another audience":                        {found(func(s *authenticationv1.TokenReviewStatus) { s.Audiences = []string{"x"} }), "not for the audience mcp"},
		"a person's":                                  {found(func(s *authenticationv1.TokenReviewStatus) { s.User.Username = "dana" }), "not of a ServiceAccount"},
		"a node's":                                    {found(func(s *authenticationv1.TokenReviewStatus) { s.User.Username = "system:node:a" }), "not of a ServiceAccount"},
		"of an account without a UID":                 {found(func(s *authenticationv1.TokenReviewStatus) { s.User.UID = "" }), "not of a ServiceAccount"},
	} {
		v, _ := reviewing(tt.status, nil)
		info, err := v.verify(t.Context(), token("a"), from("10.0.0.1"))
		switch {
		case tt.says != "":
			if !errors.Is(err, auth.ErrInvalidToken) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%s: %v", name, err)
			}
		case err != nil || info.UserID != "system:serviceaccount:ns:agent/u" || info.Extra[extraAccount].(account).namespace() != "ns":
			t.Errorf("%s: %+v, %v", name, info, err)
		}
	}
}

// An outage is no reason to throw a token away.
func TestAnAPIServerThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	v, _ := reviewing(found(), context.DeadlineExceeded)
	if _, err := v.verify(t.Context(), token("a"), from("10.0.0.1")); err == nil || errors.Is(err, auth.ErrInvalidToken) {
		t.Errorf("%v", err)
	}
}

func TestATokenIsLookedAtOnceInAWhile(t *testing.T) {
	t.Parallel()
	v, asked := reviewing(found(), nil)
	for range 3 {
		if _, err := v.verify(t.Context(), token("a"), from("10.0.0.1")); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := v.verify(t.Context(), token("b"), from("10.0.0.1")); err != nil || *asked != 2 {
		t.Errorf("it was asked %d times, %v", *asked, err)
	}
	if _, err := v.verify(t.Context(), strings.Repeat("x", maxToken+1), from("10.0.0.1")); !errors.Is(err, auth.ErrInvalidToken) || *asked != 2 {
		t.Errorf("it was asked %d times, %v", *asked, err)
	}
}

// from is a request that comes from an address.
func from(host string) *http.Request {
	return &http.Request{RemoteAddr: host + ":1234"}
}

// A token that is not valid is asked about once in a while, too.
func TestARefusalIsRemembered(t *testing.T) {
	t.Parallel()
	v, asked := reviewing(found(func(s *authenticationv1.TokenReviewStatus) { s.Authenticated = false }), nil)
	for range 3 {
		if _, err := v.verify(t.Context(), token("a"), from("10.0.0.1")); !errors.Is(err, auth.ErrInvalidToken) {
			t.Errorf("%v", err)
		}
	}
	if *asked != 1 {
		t.Errorf("it was asked %d times", *asked)
	}
}

// What is no token for this server is refused without a question, however much of it comes.
func TestNothingIsAskedAboutOtherTokens(t *testing.T) {
	t.Parallel()
	v, asked := reviewing(found(), nil)
	for i := range 500 {
		if _, err := v.verify(t.Context(), fmt.Sprint("junk-", i), from("10.0.0.1")); !errors.Is(err, auth.ErrInvalidToken) {
			t.Fatalf("%v", err)
		}
	}
	if *asked != 0 {
		t.Errorf("it was asked %d times", *asked)
	}
}

// A program that sends tokens which only look right takes its own share of the looks, and keeps out neither a new agent nor one that was here before.
func TestForgedTokensKeepNobodyOut(t *testing.T) {
	t.Parallel()
	hold, asks := make(chan struct{}), make(chan struct{}, allUnknown)
	answer := func(wait bool) *fake.Clientset {
		clients := fake.NewClientset()
		clients.PrependReactor("create", "tokenreviews", func(a k8stesting.Action) (bool, runtime.Object, error) {
			review := a.(k8stesting.CreateAction).GetObject().(*authenticationv1.TokenReview)
			if wait && strings.Contains(review.Spec.Token, "forged") {
				asks <- struct{}{}
				<-hold
				return true, &authenticationv1.TokenReview{}, nil
			}
			return true, &authenticationv1.TokenReview{Status: found()}, nil
		})
		return clients
	}
	// The fake client makes one request after the other, so each address has its own here.
	v := newReviewer(answer(false).AuthenticationV1().TokenReviews(), nil, "mcp")
	v.first = firsts{func() reviews { return answer(true).AuthenticationV1().TokenReviews() }}
	v.patience = time.Millisecond
	var forging sync.WaitGroup
	for i := range unknownOf {
		forging.Go(func() { _, _ = v.verify(t.Context(), token("a")+fmt.Sprint("forged", i), from("10.0.0.1")) })
		<-asks
	}
	if _, err := v.verify(t.Context(), token("a")+"forged", from("10.0.0.1")); !errors.Is(err, errUnknown) || errors.Is(err, auth.ErrInvalidToken) {
		t.Errorf("one more of the address: %v", err)
	}
	if _, err := v.verify(t.Context(), token("a"), from("10.0.0.2")); err != nil {
		t.Errorf("a new agent: %v", err)
	}
	v.known.RemoveAll(func(any) bool { return true })
	if _, err := v.verify(t.Context(), token("a"), from("10.0.0.1")); err != nil {
		t.Errorf("an agent that was here before, of the same address: %v", err)
	}
	close(hold)
	forging.Wait()
}

// Agents behind a proxy have one address. They begin at the same time when their node does, and none of them is turned away.
func TestManyAgentsOfOneAddressWaitForEachOther(t *testing.T) {
	t.Parallel()
	hold, asks := make(chan struct{}), make(chan struct{}, allUnknown)
	v := newReviewer(nil, nil, "mcp")
	v.patience = time.Minute
	v.first = firsts{func() reviews {
		clients := fake.NewClientset()
		clients.PrependReactor("create", "tokenreviews", func(k8stesting.Action) (bool, runtime.Object, error) {
			asks <- struct{}{}
			<-hold
			return true, &authenticationv1.TokenReview{Status: found()}, nil
		})
		return clients.AuthenticationV1().TokenReviews()
	}}
	errs := make(chan error, 3*unknownOf)
	var agents sync.WaitGroup
	for i := range cap(errs) {
		agents.Go(func() {
			_, err := v.verify(t.Context(), token("a")+fmt.Sprint(i), from("10.0.0.1"))
			errs <- err
		})
	}
	for range unknownOf {
		<-asks
	}
	// All others wait when the address has no room for one more beside these.
	const beside = waitingOf - (2*unknownOf - 1) + 1 // One has the place that each address has.
	for over := time.Now().Add(time.Minute); v.waiting.Take("10.0.0.1", beside); goruntime.Gosched() {
		if v.waiting.Give("10.0.0.1", beside); time.Now().After(over) {
			t.Fatal("not all of the others wait")
		}
	}
	if len(asks) > 0 || len(errs) > 0 {
		t.Error("more are looked at than may be at once, or one is turned away")
	}
	close(hold)
	agents.Wait()
	for range cap(errs) {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}

// Those that wait hold a connection and a token each, so they have a bound too.
func TestFewTokensOfAnAddressWait(t *testing.T) {
	t.Parallel()
	v, asked := reviewing(found(), nil)
	if !v.firsts.Take("10.0.0.1", 1) || !v.waiting.Take("10.0.0.1", waitingOf) {
		t.Fatal("fewer wait than may")
	}
	if _, err := v.verify(t.Context(), token("a"), from("10.0.0.1")); !errors.Is(err, errUnknown) || *asked != 0 {
		t.Errorf("one more of the address: %v", err)
	}
	if _, err := v.verify(t.Context(), token("a"), from("10.0.0.2")); err != nil {
		t.Errorf("another address: %v", err)
	}
}

// Two addresses that send all that may wait keep no agent of another address out.
func TestAnAddressWithNothingWaitingHasAPlace(t *testing.T) {
	t.Parallel()
	hold, asks := make(chan struct{}), make(chan struct{}, 2*waitingOf+allUnknown)
	v := newReviewer(nil, nil, "mcp")
	v.patience = time.Minute
	v.first = firsts{func() reviews {
		clients := fake.NewClientset()
		clients.PrependReactor("create", "tokenreviews", func(k8stesting.Action) (bool, runtime.Object, error) {
			asks <- struct{}{}
			<-hold
			return true, &authenticationv1.TokenReview{Status: found()}, nil
		})
		return clients.AuthenticationV1().TokenReviews()
	}}
	var flood sync.WaitGroup
	for n, host := range []string{"10.0.0.1", "10.0.0.2"} {
		for i := range waitingOf + unknownOf + 1 {
			flood.Go(func() { _, _ = v.verify(t.Context(), token("a")+fmt.Sprintf("%d-%d", n, i), from(host)) })
			if i < unknownOf {
				<-asks // It is looked at, and waits no more.
			}
		}
	}
	for over := time.Now().Add(time.Minute); v.waiting.Take("10.0.0.3", 1); goruntime.Gosched() {
		if v.waiting.Give("10.0.0.3", 1); time.Now().After(over) {
			t.Fatal("not all of the others wait")
		}
	}
	agent := make(chan error, 1)
	go func() {
		_, err := v.verify(t.Context(), token("a"), from("10.0.0.3"))
		agent <- err
	}()
	close(hold)
	if err := <-agent; err != nil {
		t.Errorf("a new agent: %v", err)
	}
	flood.Wait()
}

// firsts is a client of its own for each review.
type firsts struct {
	of func() reviews
}

func (f firsts) Create(ctx context.Context, r *authenticationv1.TokenReview, o metav1.CreateOptions) (*authenticationv1.TokenReview, error) {
	return f.of().Create(ctx, r, o)
}

// An account that sends many tokens makes no other one unknown.
func TestTokensOfAnAccountAreBounded(t *testing.T) {
	t.Parallel()
	v, _ := reviewing(found(), nil)
	v.remember(sha256.Sum256([]byte("of another")), account{user: "other"})
	for i := range tokensOf + 1 {
		v.remember(sha256.Sum256(fmt.Append(nil, i)), account{user: "many"})
	}
	for token, want := range map[string]bool{"of another": true, "0": false, fmt.Sprint(tokensOf): true} {
		_, seen := v.seen.Get(sha256.Sum256([]byte(token)))
		_, known := v.known.Get(sha256.Sum256([]byte(token)))
		if seen != want || known != want {
			t.Errorf("token %s: seen %t, known %t", token, seen, known)
		}
	}
}
