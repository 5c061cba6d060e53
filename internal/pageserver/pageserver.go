// SPDX-License-Identifier: Apache-2.0

// Package pageserver serves the page to the persons of a cluster. They log in with OpenID Connect. Whatever they do is done as them, by impersonation: the
// server itself has no right to runs or skills, and an approval has the name of the person.
package pageserver

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"golang.org/x/sync/semaphore"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/lookup"
	"motorcortex.dev/motorcortex/internal/page"
	"motorcortex.dev/motorcortex/internal/page/gate"
	"motorcortex.dev/motorcortex/internal/page/live"
	"motorcortex.dev/motorcortex/internal/pageserver/oidc"
	"motorcortex.dev/motorcortex/internal/pageserver/slack"
	"motorcortex.dev/motorcortex/internal/serving/answers"
	"motorcortex.dev/motorcortex/internal/serving/connlimit"
)

const (
	// maxPersons is of how many persons the clients are kept, and personLife for how long.
	maxPersons, personLife = 512, time.Hour
	// qps is the most requests to the API server a second for one person, and burst how many may come at once.
	qps, burst = 20, 60
	// windowsOf is how many windows of one person are told of changes at once, and namespacesOf of how many namespaces.
	windowsOf, namespacesOf = 8, 4
	// everywhere is where the page begins: in all namespaces.
	everywhere = "*"
	// bySlack stands for the issuer of persons who are found by Slack. No URL of an issuer is like it.
	bySlack = "slack"
)

// Options are what a person decides about a Server.
type Options struct {
	Login oidc.Options
	// Slack has buttons of messages answered. Without a signing secret, it is off.
	Slack slack.Options
	// Windows is how many windows of all persons are told of changes at once.
	Windows int
}

// Server serves the page.
type Server struct {
	config  *rest.Config
	scheme  *runtime.Scheme
	mapper  apimeta.RESTMapper
	persons *cache.LRUExpireCache
	turns   *answers.Turns
	page    *page.Page
	slack   *slack.Handler
	handler http.Handler
}

// personKey is of the person of a request that came by Slack.
type personKey struct{}

// New returns a server that acts by the configuration.
func New(config *rest.Config, options Options, log *slog.Logger) (*Server, error) {
	if options.Windows < 1 {
		return nil, errors.New("the number of windows is less than 1")
	}
	logins, err := oidc.New(options.Login, log)
	if err != nil {
		return nil, fmt.Errorf("set up logins: %w", err)
	}
	s := &Server{config: config, scheme: runtime.NewScheme(), persons: cache.NewLRUExpireCache(maxPersons), turns: answers.NewTurns(turns)}
	if err := errors.Join(v1alpha1.AddToScheme(s.scheme), corev1.AddToScheme(s.scheme), authenticationv1.AddToScheme(s.scheme), authorizationv1.AddToScheme(s.scheme)); err != nil {
		return nil, err
	}
	h, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("reach the API server: %w", err)
	}
	// Which kinds there are is the same for all persons.
	if s.mapper, err = apiutil.NewDynamicRESTMapper(config, h); err != nil {
		return nil, fmt.Errorf("read the kinds of the API server: %w", err)
	}
	s.page = page.New(s.access, page.Bounds{
		Live:  live.Limits{Pages: options.Windows, PagesOf: windowsOf, Feeds: options.Windows, FeedsOf: namespacesOf},
		Inbox: lookup.Bounds{Runs: 500, RunsOf: 100, Requests: 100, PerRequest: 100, Bytes: 8 << 20, BytesOf: 2 << 20},
	})
	own := gate.SameOrigin([]string{options.Login.URL}, logins.Require(http.HandlerFunc(s.inTurn)))
	s.handler = gate.Headers(s.withSlack(options.Slack, own, log))
	return s, nil
}

// withSlack has requests of Slack served, if that is on. They are of no browser: their signature counts, and neither a cookie nor an origin.
func (s *Server) withSlack(options slack.Options, others http.Handler, log *slog.Logger) http.Handler {
	if options.SecretFile == "" {
		return others
	}
	s.slack = slack.New(options, s.as, log)
	mux := http.NewServeMux()
	mux.Handle(slack.Path, s.slack)
	mux.Handle("/", others)
	return mux
}

// as returns the page as a person sees it who was found by Slack.
func (s *Server) as(p slack.Person) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		session := oidc.Session{Issuer: bySlack, User: p.User, Groups: p.Groups}
		s.inTurn(w, r.WithContext(context.WithValue(r.Context(), personKey{}, session)))
	})
}

// ServeHTTP serves a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// Close ends what came by Slack, and the watches of the page.
func (s *Server) Close() {
	if s.slack != nil {
		s.slack.Close()
	}
	s.page.Close()
}

// person is what is kept of a person.
type person struct {
	client client.WithWatch
	// turn is that of the requests with large answers.
	turn *semaphore.Weighted
}

// inTurn serves a request of the page, whose large answers of the API server wait for their turn.
func (s *Server) inTurn(w http.ResponseWriter, r *http.Request) {
	if _, ok := oidc.Of(r.Context()); ok {
		connlimit.Known(r.Context())
	}
	t := s.turns.Begin()
	defer t.End()
	s.page.ServeHTTP(w, r.WithContext(t.With(r.Context())))
}

// access returns the person of a request.
func (s *Server) access(r *http.Request) (page.Person, error) {
	session, ok := oidc.Of(r.Context())
	if !ok {
		session, ok = r.Context().Value(personKey{}).(oidc.Session)
	}
	// Without a name, a request would be the server's own.
	if !ok || session.User == "" {
		return page.Person{}, errors.New("the request is of no person")
	}
	key, err := keyOf(&session)
	if err != nil {
		return page.Person{}, err
	}
	p, err := s.personOf(key, &session)
	if err != nil {
		return page.Person{}, err
	}
	if t := answers.Of(r.Context()); t != nil {
		t.For(p.turn)
	}
	return page.Person{Key: key, Client: p.client, Namespace: everywhere, Logout: oidc.PathLogout}, nil
}

// keyOf tells persons apart. One whose groups changed with a login is another one: a watch that was begun before has rights that they may have lost.
func keyOf(s *oidc.Session) (string, error) {
	text, err := json.Marshal([]any{s.Issuer, s.User, s.Groups})
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}

// personOf returns a client that acts as the person.
func (s *Server) personOf(key string, session *oidc.Session) (*person, error) {
	if p, ok := s.persons.Get(key); ok {
		return p.(*person), nil
	}
	config := rest.CopyConfig(s.config)
	config.Impersonate = rest.ImpersonationConfig{UserName: session.User, Groups: session.Groups}
	config.RateLimiter = flowcontrol.NewTokenBucketRateLimiter(qps, burst)
	config.Wrap(answers.Bound)
	c, err := client.NewWithWatch(config, client.Options{Scheme: s.scheme, Mapper: s.mapper})
	if err != nil {
		return nil, fmt.Errorf("make the client of the person: %w", err)
	}
	p := &person{parts{c}, answers.NewOwn()}
	s.persons.Add(key, p, personLife)
	return p, nil
}
