// SPDX-License-Identifier: Apache-2.0

// Package cluster serves Motor Cortex by the Model Context Protocol to ServiceAccounts of a cluster. A program sends a token of its ServiceAccount. What it
// asks for is done as that ServiceAccount, by impersonation: the server itself has no right to runs or skills.
package cluster

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"

	"motorcortex.dev/motorcortex/internal/mcpserver"
	"motorcortex.dev/motorcortex/internal/serving/answers"
	"motorcortex.dev/motorcortex/pkg/client/motor"
)

const (
	// Path is where the server of a namespace is.
	Path = "/namespaces/{namespace}/mcp"
	// Impersonator is the ClusterRole that lets the server act as the ServiceAccounts of the namespaces in which it is bound.
	Impersonator = "motorcortex-mcp-impersonator"
	// maxServers is the most servers at once: one for each account and namespace. maxOfAccount is the most of an account, maxOfHome the most of the accounts
	// of one namespace.
	maxServers, maxOfAccount, maxOfHome = 256, 8, 64
	// unused is how long a server stays that has no session.
	unused = time.Minute
	// requestTime is how long a request may last. A stream ends then, and the program sends its token again.
	requestTime = 15 * time.Minute
)

// Options are what a person decides about a Cluster.
type Options struct {
	// Audience is the one that tokens must be for.
	Audience string
	// Consent lets programs decide what only a person may decide, if they have the verbs for that.
	Consent bool
}

// Cluster has the servers of accounts.
type Cluster struct {
	config  *rest.Config
	options Options
	tokens  *reviewer
	limits  *limits
	// lending is the limit of questions whether the server may act as accounts, and refused are those of which the answer was no.
	lending flowcontrol.RateLimiter
	refused *cache.LRUExpireCache
	now     func() time.Time
	all     context.Context //nolint:containedctx // It is the life of the servers, which do not end with the request that began them.

	mu      sync.Mutex
	servers map[key]*entry
}

// key is what a server is for.
type key struct {
	account
	namespace string
}

// entry is a server that may be in use.
type entry struct {
	*mcpserver.Server
	cancel context.CancelFunc
	used   time.Time
}

// New returns a Cluster that acts by the configuration. Its servers end with the context.
func New(ctx context.Context, config *rest.Config, options Options) (*Cluster, error) {
	again, err := reviewsOf(config, limiterOf(config))
	if err != nil {
		return nil, err
	}
	first, err := reviewsOf(config, flowcontrol.NewTokenBucketRateLimiter(firstQPS, firstBurst))
	if err != nil {
		return nil, err
	}
	return &Cluster{
		config: config, options: options, tokens: newReviewer(again, first, options.Audience), limits: newLimits(config), now: time.Now, all: ctx,
		servers: map[key]*entry{}, lending: flowcontrol.NewTokenBucketRateLimiter(firstQPS, firstBurst), refused: cache.NewLRUExpireCache(maxRefused),
	}, nil
}

// firstQPS and firstBurst are the reviews of tokens that were never valid, and apart from those the questions about accounts that have no server.
const firstQPS, firstBurst = 50, 100

// reviewsOf returns what asks about tokens, within a limit of its own.
func reviewsOf(config *rest.Config, limit flowcontrol.RateLimiter) (reviews, error) {
	own := rest.CopyConfig(config)
	own.RateLimiter = limit
	clients, err := kubernetes.NewForConfig(own)
	if err != nil {
		return nil, fmt.Errorf("make the client of the cluster: %w", err)
	}
	return clients.AuthenticationV1().TokenReviews(), nil
}

// Handler serves programs at Path.
func (c *Cluster) Handler() http.Handler {
	serve := mcpserver.Handler(c.tokens.verify, c.find)
	mux := http.NewServeMux()
	mux.HandleFunc(Path, func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), requestTime)
		defer cancel()
		serve.ServeHTTP(w, r.WithContext(ctx))
	})
	return mux
}

// Close ends all sessions, and returns when the servers have ended. The context of the Cluster must have ended.
func (c *Cluster) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for k, e := range c.servers {
		c.remove(k, e)
		for session := range e.Sessions() {
			_ = session.Close() // It ends with the program.
		}
		e.Wait()
	}
}

// find returns the server of the account and the namespace, and makes it if there is none.
func (c *Cluster) find(w http.ResponseWriter, r *http.Request) *mcpserver.Server {
	a, ok := auth.TokenInfoFromContext(r.Context()).Extra[extraAccount].(account)
	namespace := r.PathValue("namespace")
	if problems := validation.IsDNS1123Label(namespace); !ok || len(problems) > 0 {
		http.Error(w, "the path names no namespace: it is /namespaces/NAME/mcp", http.StatusNotFound)
		return nil
	}
	k := key{a, namespace}
	if s := c.known(k); s != nil {
		return s
	}
	client, status, err := c.client(r.Context(), k)
	if err != nil {
		http.Error(w, err.Error(), status)
		return nil
	}
	if s := c.add(k, client); s != nil { //nolint:contextcheck // A server lives longer than the request that began it.
		return s
	}
	mcpserver.Busy(w, "servers")
	return nil
}

// known returns the server of a key, nil if there is none.
func (c *Cluster) known(k key) *mcpserver.Server {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.servers[k]
	if e == nil {
		return nil
	}
	e.used = c.now()
	return e.Server
}

// add makes the server of a key, nil if there are too many.
func (c *Cluster) add(k key, client *motor.Client) *mcpserver.Server {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.servers[k]; e != nil {
		return e.Server // Another request was quicker.
	}
	of, home := 0, 0
	for other, e := range c.servers {
		if e.Idle() && c.now().Sub(e.used) >= unused {
			c.remove(other, e)
			continue
		}
		if other.account == k.account {
			of++
		}
		if other.account.namespace() == k.account.namespace() {
			home++
		}
	}
	if len(c.servers) >= maxServers || of >= maxOfAccount || home >= maxOfHome || c.all.Err() != nil {
		return nil
	}
	ctx, cancel := context.WithCancel(c.all)
	s := mcpserver.New(ctx, client, c.options.Consent, c.limits.bounds(k.account))
	c.servers[k] = &entry{Server: s, cancel: cancel, used: c.now()}
	return s
}

// remove forgets a server. The lock is held.
func (c *Cluster) remove(k key, e *entry) {
	e.cancel()
	delete(c.servers, k)
}

// client returns a client that acts as the account, or the status with which a request is refused.
func (c *Cluster) client(ctx context.Context, k key) (client *motor.Client, status int, err error) {
	config := rest.CopyConfig(c.config)
	// The API server adds the groups of a ServiceAccount.
	config.Impersonate = rest.ImpersonationConfig{UserName: k.user}
	// All clients of the accounts of a namespace have one limit.
	config.RateLimiter = c.limits.of(k.account).requests
	config.Wrap(answers.Bound)
	if err := c.lends(ctx, config, k); err != nil {
		if apierrors.IsForbidden(err) {
			return nil, http.StatusForbidden, fmt.Errorf(
				"the server may not act as the ServiceAccounts of the namespace %[1]s: bind the ClusterRole %[2]s to its own ServiceAccount there", k.account.namespace(), Impersonator)
		}
		return nil, http.StatusServiceUnavailable, fmt.Errorf("the cluster cannot be asked: %w", err)
	}
	if client, err = motor.New(config, k.namespace); err != nil {
		return nil, http.StatusInternalServerError, err
	}
	return client, http.StatusOK, nil
}

// lends returns an error unless the server may act as the account. That it may not is remembered for a while: an account that is not lent could ask
// again and again.
func (c *Cluster) lends(ctx context.Context, as *rest.Config, k key) error {
	if err, ok := c.refused.Get(k.account); ok {
		return err.(error)
	}
	own := rest.CopyConfig(as)
	own.RateLimiter = c.lending
	err := c.permitted(ctx, own, k)
	if apierrors.IsForbidden(err) {
		c.refused.Add(k.account, err, refusedLife)
	}
	return err
}

// permitted returns an error unless the server may act as the account.
func (c *Cluster) permitted(ctx context.Context, as *rest.Config, k key) error {
	clients, err := kubernetes.NewForConfig(as)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, reviewTime)
	defer cancel()
	who, err := clients.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	if got := who.Status.UserInfo.Username; got != k.user {
		return fmt.Errorf("the API server takes it for %s, and it is %s", got, k.user)
	}
	return nil
}
