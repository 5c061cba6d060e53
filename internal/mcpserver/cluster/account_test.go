// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/auth"
	authenticationv1 "k8s.io/api/authentication/v1"
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
	return newReviewer(clients.AuthenticationV1().TokenReviews(), "mcp"), asked
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
		info, err := v.verify(t.Context(), "token", nil)
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
	if _, err := v.verify(t.Context(), "token", nil); err == nil || errors.Is(err, auth.ErrInvalidToken) {
		t.Errorf("%v", err)
	}
}

func TestATokenIsLookedAtOnceInAWhile(t *testing.T) {
	t.Parallel()
	v, asked := reviewing(found(), nil)
	for range 3 {
		if _, err := v.verify(t.Context(), "token", nil); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := v.verify(t.Context(), "another", nil); err != nil || *asked != 2 {
		t.Errorf("it was asked %d times, %v", *asked, err)
	}
	if _, err := v.verify(t.Context(), strings.Repeat("x", maxToken+1), nil); !errors.Is(err, auth.ErrInvalidToken) || *asked != 2 {
		t.Errorf("it was asked %d times, %v", *asked, err)
	}
}
