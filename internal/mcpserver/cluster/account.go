// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/cache"

	"motorcortex.dev/motorcortex/internal/mcpserver"
	"motorcortex.dev/motorcortex/internal/serving/shares"
)

const (
	// maxToken is the most bytes of a token.
	maxToken = 16 << 10
	// tokenLife is how long it is believed that a token is valid.
	tokenLife = 10 * time.Second
	// maxTokens is the most tokens of which is known whose they are, and tokensOf the most of one account: a Pod has one, and a new one each hour.
	maxTokens, tokensOf = 8192, 64
	// refusedLife is how long it is believed that a token is not valid, and maxRefused the most tokens of which that is known.
	refusedLife, maxRefused = 10 * time.Second, 4096
	// seenLife is how long a token is remembered that was valid, and so is looked at again before those that never were.
	seenLife = time.Hour
	// allUnknown is the most tokens that are looked at for the first time at once, and unknownOf the most that come from one address.
	allUnknown, unknownOf = 64, 8
	// allWaiting is the most tokens that wait for that beside the first one of each address, and waitingOf the most of those that come from one address. Behind
	// a proxy all agents have the same one.
	allWaiting, waitingOf = 1024, 512
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

// reviewer finds out whose a token is. Anybody who reaches the server can send tokens that are none. So those are looked at apart from the ones that were
// valid before, with a limit of their own.
type reviewer struct {
	again, first reviews
	audience     string
	now          func() time.Time
	// patience is how long a token waits until it is looked at for the first time.
	patience time.Duration
	// known has accounts, refused errors, and seen the tokens that were valid at some time.
	known, refused, seen *cache.LRUExpireCache
	// unknown are the tokens that are looked at for the first time. firsts are those of which each address has one that waits, whatever others have: connections
	// bound how many addresses there are. waiting are the further ones.
	unknown, firsts, waiting *shares.Shares

	mu sync.Mutex
	// of has the tokens of accounts that are known, the oldest first.
	of *cache.LRUExpireCache
}

// reviews asks the API server about a token.
type reviews interface {
	Create(ctx context.Context, r *authenticationv1.TokenReview, o metav1.CreateOptions) (*authenticationv1.TokenReview, error)
}

// newReviewer returns a reviewer that asks about tokens which were valid before by again, and about the others by first.
func newReviewer(again, first reviews, audience string) *reviewer {
	return &reviewer{
		again: again, first: first, audience: audience, now: time.Now, patience: reviewTime, known: cache.NewLRUExpireCache(maxTokens),
		refused: cache.NewLRUExpireCache(maxRefused), seen: cache.NewLRUExpireCache(maxTokens), unknown: shares.New(allUnknown, unknownOf),
		firsts: shares.New(math.MaxInt64, 1), waiting: shares.New(allWaiting, waitingOf), of: cache.NewLRUExpireCache(maxTokens / tokensOf),
	}
}

// verify returns the account of a token in the information's Extra. An error that is not of auth.ErrInvalidToken says that the token could not be looked at.
func (v *reviewer) verify(ctx context.Context, token string, r *http.Request) (*auth.TokenInfo, error) {
	a, err := v.accountOf(ctx, token, r.RemoteAddr)
	if err != nil {
		return nil, err
	}
	return &auth.TokenInfo{UserID: a.user + "/" + a.uid, Extra: map[string]any{extraAccount: a, mcpserver.ExtraShare: a.namespace()}}, nil
}

// extraAccount is the key of the account in the information of a token.
const extraAccount = "account"

// errUnknown is of a token that cannot be looked at now.
var errUnknown = errors.New("too many tokens are looked at for the first time: try again later")

func (v *reviewer) accountOf(ctx context.Context, token, from string) (account, error) {
	if len(token) > maxToken {
		return account{}, fmt.Errorf("%w: it has over %d bytes", auth.ErrInvalidToken, maxToken)
	}
	key := sha256.Sum256([]byte(token))
	if a, ok := v.known.Get(key); ok {
		return a.(account), nil
	}
	if err, ok := v.refused.Get(key); ok {
		return account{}, err.(error)
	}
	if err := glance(token, v.audience, v.now()); err != nil {
		return account{}, fmt.Errorf("%w: %w", auth.ErrInvalidToken, err)
	}
	ask := v.again
	if _, ok := v.seen.Get(key); !ok {
		host, _, err := net.SplitHostPort(from)
		if err != nil {
			host = from
		}
		if err := v.queue(ctx, host); err != nil {
			return account{}, err
		}
		defer v.unknown.Give(host, 1)
		// Another request with the same token may have waited before this one.
		if a, ok := v.known.Get(key); ok {
			return a.(account), nil
		}
		if err, ok := v.refused.Get(key); ok {
			return account{}, err.(error)
		}
		ask = v.first
	}
	ctx, cancel := context.WithTimeout(ctx, reviewTime)
	defer cancel()
	review, err := ask.Create(ctx, &authenticationv1.TokenReview{
		Spec: authenticationv1.TokenReviewSpec{Token: token, Audiences: []string{v.audience}},
	}, metav1.CreateOptions{})
	if err != nil {
		return account{}, fmt.Errorf("ask the API server whose the token is: %w", err)
	}
	a, err := v.judge(&review.Status)
	if err != nil {
		err = fmt.Errorf("%w: %w", auth.ErrInvalidToken, err)
		v.refused.Add(key, err, refusedLife)
		v.seen.Remove(key)
		return account{}, err
	}
	v.remember(key, a)
	return a, nil
}

// queue waits until a token from an address can be looked at for the first time. Then it holds a place, which must be given back.
func (v *reviewer) queue(ctx context.Context, host string) error {
	places := v.firsts
	if !places.Take(host, 1) {
		if places = v.waiting; !places.Take(host, 1) {
			return errUnknown
		}
	}
	defer places.Give(host, 1)
	ctx, cancel := context.WithTimeoutCause(ctx, v.patience, errUnknown)
	defer cancel()
	return v.unknown.Wait(ctx, host, 1)
}

// remember notes that a token is valid. An account that sends many tokens makes room for them by its own alone.
func (v *reviewer) remember(key [sha256.Size]byte, a account) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.known.Add(key, a, tokenLife)
	v.seen.Add(key, true, seenLife)
	var keys [][sha256.Size]byte
	if had, ok := v.of.Get(a); ok {
		keys = had.([][sha256.Size]byte)
	}
	if !slices.Contains(keys, key) {
		keys = append(keys, key)
	}
	if len(keys) > tokensOf {
		v.known.Remove(keys[0])
		v.seen.Remove(keys[0])
		keys = slices.Clone(keys[1:])
	}
	v.of.Add(a, keys, seenLife)
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
