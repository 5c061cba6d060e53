// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/cache"
	authentication "k8s.io/client-go/kubernetes/typed/authentication/v1"
)

const (
	// maxToken is the most bytes of a token.
	maxToken = 16 << 10
	// tokenLife is how long it is believed that a token is valid.
	tokenLife = 10 * time.Second
	// maxTokens is the most tokens of which is known whose they are.
	maxTokens = 1024
	// reviewTime is how long the API server may take to look at a token.
	reviewTime = 10 * time.Second
)

// account is a ServiceAccount.
type account struct {
	// user is its name for the API server: system:serviceaccount:NAMESPACE:NAME.
	user string
	// uid tells it apart from one that had the name before.
	uid string
}

// namespace is the one that the ServiceAccount is in.
func (a account) namespace() string {
	namespace, _, _ := strings.Cut(strings.TrimPrefix(a.user, serviceAccounts), ":")
	return namespace
}

// serviceAccounts begins the name of every ServiceAccount.
const serviceAccounts = "system:serviceaccount:"

// reviewer finds out whose a token is.
type reviewer struct {
	reviews  authentication.TokenReviewInterface
	audience string
	known    *cache.LRUExpireCache
}

func newReviewer(reviews authentication.TokenReviewInterface, audience string) *reviewer {
	return &reviewer{reviews: reviews, audience: audience, known: cache.NewLRUExpireCache(maxTokens)}
}

// verify returns the account of a token in the information's Extra. An error that is not of auth.ErrInvalidToken says that the token could not be looked at.
func (v *reviewer) verify(ctx context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
	a, err := v.accountOf(ctx, token)
	if err != nil {
		return nil, err
	}
	return &auth.TokenInfo{UserID: a.user + "/" + a.uid, Extra: map[string]any{extraAccount: a}}, nil
}

// extraAccount is the key of the account in the information of a token.
const extraAccount = "account"

func (v *reviewer) accountOf(ctx context.Context, token string) (account, error) {
	if len(token) > maxToken {
		return account{}, fmt.Errorf("%w: it has over %d bytes", auth.ErrInvalidToken, maxToken)
	}
	key := sha256.Sum256([]byte(token))
	if a, ok := v.known.Get(key); ok {
		return a.(account), nil
	}
	ctx, cancel := context.WithTimeout(ctx, reviewTime)
	defer cancel()
	review, err := v.reviews.Create(ctx, &authenticationv1.TokenReview{
		Spec: authenticationv1.TokenReviewSpec{Token: token, Audiences: []string{v.audience}},
	}, metav1.CreateOptions{})
	if err != nil {
		return account{}, fmt.Errorf("ask the API server whose the token is: %w", err)
	}
	a, err := v.judge(&review.Status)
	if err != nil {
		return account{}, fmt.Errorf("%w: %w", auth.ErrInvalidToken, err)
	}
	v.known.Add(key, a, tokenLife)
	return a, nil
}

// judge returns the account that the API server found. Only ServiceAccounts are served: a token of theirs names its audience, and what they may do is
// given to each by itself.
func (v *reviewer) judge(found *authenticationv1.TokenReviewStatus) (account, error) {
	switch {
	case !found.Authenticated:
		return account{}, errors.New("it is not valid")
	// An authenticator that does not know audiences returns none. Its token is for the API server.
	case !slices.Contains(found.Audiences, v.audience):
		return account{}, fmt.Errorf("it is not for the audience %s", v.audience)
	case !strings.HasPrefix(found.User.Username, serviceAccounts) || found.User.UID == "":
		return account{}, errors.New("it is not of a ServiceAccount")
	}
	return account{user: found.User.Username, uid: found.User.UID}, nil
}
