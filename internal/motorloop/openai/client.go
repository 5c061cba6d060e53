// SPDX-License-Identifier: Apache-2.0

// Package openai asks a model at any endpoint that speaks OpenAI's Chat Completions. It maps the loop's messages both
// ways, retries failures that may pass, and turns all others into a failure with advice. No error or log line of the
// package contains the API key or the conversation.
package openai

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"time"

	openaigo "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"motorcortex.dev/motorcortex/internal/motorloop/chat"
	"motorcortex.dev/motorcortex/internal/motorloop/openai/breaker"
	"motorcortex.dev/motorcortex/internal/motorloop/outcome"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/secret"
)

// DefaultBaseURL is used where an Endpoint has none.
const DefaultBaseURL = "https://api.openai.com/v1"

// Endpoint is a model and its address.
type Endpoint struct {
	// BaseURL has the meaning of OPENAI_BASE_URL in openai-go: everything before "/chat/completions". A slash at the
	// end makes no difference, and "/v1" is not added: "https://host/v1" asks https://host/v1/chat/completions,
	// "https://host" asks https://host/chat/completions. http or https, without user, query or fragment.
	BaseURL string
	// APIKey is sent as a bearer token; white space around it is not part of it. An empty one sends none.
	APIKey secret.Value
	Model  string
	// Tenant is the tenant that asks. Only the clients of one tenant share their knowledge of the endpoint: the requests of another tenant
	// may be the cause of its failures.
	Tenant string
}

// String returns the model and its address, for messages.
func (e Endpoint) String() string { return e.Model + " at " + e.BaseURL }

// Options are how an Endpoint is asked. The zero value of each field is its default.
type Options struct {
	// HTTPClient is used for all requests, except that it follows no redirects; by default one that bounds the headers
	// of answers. Its Timeout, if any, ends a try like RequestTimeout.
	HTTPClient *http.Client
	Logger     *slog.Logger
	// Observer is told of the requests; by default none is.
	Observer Observer
	// Endpoints shares the state of the endpoint among its clients; by default each client has its own.
	Endpoints *breaker.Registry
	// RequestTimeout bounds one try, from connecting to the last byte of the answer; 30 minutes by default.
	RequestTimeout time.Duration
	// IdleTimeout is how long the endpoint may send nothing at all; 90 s by default. Before the first byte of an answer it
	// doubles when requests timed out for that reason, up to three times and to 10 minutes, until an answer begins. An endpoint that does not
	// stream is silent until it has the whole answer.
	IdleTimeout time.Duration
	// Patience is for how long Complete retries by itself; 10 s by default. A failure that lasts longer is an Outage.
	Patience time.Duration
	// MaxTries is how often a request is sent at most in that time; 5 by default.
	MaxTries int
	// InitialBackoff is about the pause before the second try; later ones double; 1 s by default.
	InitialBackoff time.Duration
	// MaxRetryAfter bounds the pauses that the endpoint asks for; 5 minutes by default.
	MaxRetryAfter time.Duration
}

// Observer is told of requests to models.
type Observer interface {
	// ModelAsked is told of a call of Complete that has ended: OutcomeAnswered, OutcomeCancelled or the reason of its error, how long it took with all
	// waits and tries, and its tokens as far as the endpoint reports them. It must return at once.
	ModelAsked(model, outcome string, took time.Duration, usage turn.Usage)
}

// Outcomes of requests that are no reasons of failures.
const (
	OutcomeAnswered  = "Answered"
	OutcomeCancelled = "Cancelled"
)

// unobserved is the Observer of a client that has none.
type unobserved struct{}

func (unobserved) ModelAsked(string, string, time.Duration, turn.Usage) {}

// Client is a chat.Model. It may be used by many loops at a time.
type Client struct {
	endpoint    Endpoint
	host        string
	opts        Options
	shared      *breaker.Endpoint
	log         *slog.Logger
	redact      func(string) string
	completions openaigo.ChatCompletionService
}

var _ chat.Model = (*Client)(nil)

// New checks the endpoint without contacting it. An error names the wrong field; it never repeats BaseURL, which
// may contain a password where none belongs.
func New(e Endpoint, o Options) (*Client, error) {
	e.APIKey = secret.New(bytes.TrimSpace(e.APIKey.Reveal()))
	if e.BaseURL == "" {
		e.BaseURL = DefaultBaseURL
	}
	host, err := checkBaseURL(e.BaseURL)
	if err != nil {
		return nil, err
	}
	if e.Model == "" {
		return nil, errors.New("the endpoint names no model")
	}
	if bytes.ContainsFunc(e.APIKey.Reveal(), func(c rune) bool { return c <= ' ' || c >= 0x7f }) {
		return nil, errors.New("the API key has white space or characters in it that cannot be sent")
	}
	c := &Client{endpoint: e, host: host, opts: o.withDefaults(), redact: redactor(e.APIKey.RevealText())}
	c.shared = c.opts.Endpoints.Of(e.key())
	c.log = c.opts.Logger.With(slog.String("host", host), slog.String("model", e.Model))
	// The service is made directly: openai-go's NewClient would take keys, headers and addresses from the manager's
	// environment and send them to an endpoint that another party named.
	opts := []option.RequestOption{
		option.WithBaseURL(e.BaseURL),
		option.WithHTTPClient(c.opts.HTTPClient),
		option.WithMaxRetries(0), // tries are counted here, in one layer
	}
	if !e.APIKey.IsEmpty() {
		opts = append(opts, option.WithAPIKey(e.APIKey.RevealText()))
	}
	c.completions = openaigo.NewChatCompletionService(opts...)
	return c, nil
}

// key covers everything that an endpoint's answers depend on. The API key is in it as a digest: a replaced key is
// tried at once, and a wrong key does not block requests with another. The tenant is in it, because one tenant's excessive requests can make an
// endpoint fail that has no keys, or whose key several namespaces share.
func (e Endpoint) key() string {
	sum := sha256.Sum256([]byte(e.Tenant + "\x00" + e.BaseURL + "\x00" + e.Model + "\x00" + e.APIKey.RevealText()))
	return string(sum[:])
}

func checkBaseURL(raw string) (host string, err error) {
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		return "", errors.New("the base URL is not a URL")
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return "", errors.New("the base URL must begin with http:// or https:// and name a host")
	case u.User != nil:
		return "", errors.New("the base URL must not have a user or password: the API key has its own field")
	case u.RawQuery != "" || u.Fragment != "":
		return "", errors.New("the base URL must not have a query or fragment")
	}
	return u.Host, nil
}

// maxHeaderBytes bounds the headers of an answer, like maxResponseBytes its body.
const maxHeaderBytes = 64 << 10

// deadAfter is how long a connection may be silent, and how long the answer to a ping may then take, until it counts as dead.
// Without pings, requests would be sent on a connection that a middlebox has forgotten, until its streams are used up.
const deadAfter = 15 * time.Second

// defaultClient is shared, so that the loops of an endpoint share its connections.
var defaultClient = sync.OnceValue(func() *http.Client { return &http.Client{Transport: newTransport(deadAfter)} })

// Transport returns a new transport like the default one: it detects dead connections.
func Transport() *http.Transport { return newTransport(deadAfter) }

func newTransport(dead time.Duration) *http.Transport {
	t, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		t = &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true}
	}
	t = t.Clone()
	t.MaxResponseHeaderBytes = maxHeaderBytes
	t.HTTP2 = &http.HTTP2Config{SendPingTimeout: dead, PingTimeout: dead}
	return t
}

func (o Options) withDefaults() Options {
	if o.HTTPClient == nil {
		o.HTTPClient = defaultClient()
	}
	// A redirect would send the conversation to an address that is not configured.
	c := *o.HTTPClient
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	o.HTTPClient = &c
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Observer == nil {
		o.Observer = unobserved{}
	}
	if o.Endpoints == nil {
		o.Endpoints = &breaker.Registry{}
	}
	if o.RequestTimeout <= 0 {
		o.RequestTimeout = 30 * time.Minute
	}
	if o.IdleTimeout <= 0 {
		o.IdleTimeout = 90 * time.Second
	}
	if o.Patience <= 0 {
		o.Patience = 10 * time.Second
	}
	if o.MaxTries <= 0 {
		o.MaxTries = 5
	}
	if o.InitialBackoff <= 0 {
		o.InitialBackoff = time.Second
	}
	if o.MaxRetryAfter <= 0 {
		o.MaxRetryAfter = 5 * time.Minute
	}
	return o
}

// Window returns how many tokens a request and its answer may have together, as the endpoint said itself, 0 if it did not.
func (c *Client) Window() int64 { return c.shared.Facts().Window }

// Away returns the outage that the endpoint is known to have now, nil if it may be asked. It sends nothing.
func (c *Client) Away() *chat.Outage {
	wait, last := c.shared.Closed()
	e, ok := errors.AsType[*tryError](last)
	if wait <= 0 || !ok {
		return nil
	}
	a := asking{Client: c, last: e}
	return a.outage(wait)
}

// Complete asks the model. The error is ctx's if ctx ended, and otherwise a *chat.Outage, a *chat.TooLong, or a
// *outcome.Failure of category ModelFailure.
func (c *Client) Complete(ctx context.Context, r chat.Request) (chat.Answer, error) {
	params, err := requestParams(c.endpoint.Model, r)
	if err != nil {
		return chat.Answer{}, err
	}
	began := time.Now()
	a := asking{Client: c, until: began.Add(c.opts.Patience)}
	answer, err := a.ask(ctx, params)
	if err == nil && answer.Usage.Total() == 0 {
		// Without a number no bound on the tokens of a run would ever be reached.
		answer.Usage = chat.Estimated(r, answer)
	}
	c.opts.Observer.ModelAsked(c.endpoint.Model, outcomeOf(err), time.Since(began), answer.Usage.Add(a.wasted))
	return answer, err
}

// outcomeOf returns what an Observer is told of the error of Complete.
func outcomeOf(err error) string {
	if err == nil {
		return OutcomeAnswered
	}
	if o, ok := errors.AsType[*chat.Outage](err); ok {
		return o.Reason
	}
	if l, ok := errors.AsType[*chat.TooLong](err); ok {
		return l.Failure.Reason
	}
	if f, ok := errors.AsType[*outcome.Failure](err); ok {
		return f.Reason
	}
	return OutcomeCancelled
}

// asking is one call of Complete.
type asking struct {
	*Client
	// until is when it stops trying again.
	until time.Time
	tries int
	// wasted is the cost of failed tries.
	wasted turn.Usage
	// last is why the last try failed.
	last *tryError
	// sent are the facts that the last try was made with.
	sent breaker.Facts
	// noUsage and noStream are true if the endpoint refused this request for its stream_options or for its stream.
	noUsage, noStream bool
}

func (a *asking) ask(ctx context.Context, params openaigo.ChatCompletionNewParams) (chat.Answer, error) {
	for {
		report, err := a.enter(ctx)
		var wait time.Duration
		if away, ok := errors.AsType[*breaker.Away](err); ok {
			a.last, _ = errors.AsType[*tryError](away.Last)
			wait = away.Wait
		} else if err != nil {
			return chat.Answer{}, err
		} else {
			a.tries++
			a.sent = a.facts()
			answer, err := a.reported(ctx, params, report)
			if err == nil {
				answer.Failed = a.wasted
				return answer, nil
			}
			e, ok := errors.AsType[*tryError](err)
			if !ok {
				return chat.Answer{}, err
			}
			a.wasted = a.wasted.Add(e.usage)
			switch {
			case a.without(e.refuses):
				// The request is repeated at once in another form.
				a.tries--
				continue
			case e.tooLong:
				return chat.Answer{}, &chat.TooLong{Window: a.Window(), Failure: a.failure(e, a.tries), Usage: a.wasted}
			case !e.transient && !e.mustAct:
				return chat.Answer{}, a.failure(e, a.tries)
			}
			a.last = e
			wait = breaker.Jittered(max(e.retryAfter, a.backoff()))
			a.log.LogAttrs(ctx, slog.LevelInfo, "model request came to nothing", a.attrs(wait)...)
		}
		if err := a.pause(ctx, wait); err != nil {
			return chat.Answer{}, err
		}
	}
}

// enter waits for a slot among the concurrent requests. The wait does not count against the time for tries.
func (a *asking) enter(ctx context.Context) (report func(breaker.Verdict), err error) {
	began := time.Now()
	defer func() { a.until = a.until.Add(time.Since(began)) }()
	return a.shared.Enter(ctx)
}

// reported tries once and reports the outcome, also if the try panics: a slot that is never released blocks all other requests.
func (a *asking) reported(
	ctx context.Context, params openaigo.ChatCompletionNewParams, report func(breaker.Verdict),
) (chat.Answer, error) {
	v := verdict(malformed("sent an answer that the manager failed to read"))
	defer func() { report(v) }()
	answer, err := a.try(ctx, params, a.sent)
	v = verdict(err)
	if err == nil {
		a.shared.Learn(func(f *breaker.Facts) { f.TakesKey, f.Fitted = true, max(f.Fitted, answer.Usage.Total()) })
	}
	return answer, err
}

// backoff is how long to wait after the tries so far.
func (a *asking) backoff() time.Duration { return a.opts.InitialBackoff << min(max(a.tries-1, 0), 10) }

// pause waits before the next try. It returns an error if there is none now.
func (a *asking) pause(ctx context.Context, wait time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if a.last != nil && a.last.mustAct || a.tries >= a.opts.MaxTries || time.Now().Add(wait).After(a.until) {
		return a.outage(wait)
	}
	select {
	case <-time.After(wait):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (a *asking) attrs(wait time.Duration) []slog.Attr {
	attrs := []slog.Attr{slog.Int("try", a.tries), slog.Duration("wait", wait)}
	if a.last != nil {
		attrs = append(attrs, slog.String("reason", a.last.reason), slog.Int("status", a.last.status))
	}
	return attrs
}

// outage returns the error of Complete for a failure that outlasts its patience.
func (a *asking) outage(wait time.Duration) *chat.Outage {
	return &chat.Outage{
		Reason: a.last.reason, Message: a.message(a.last, 1), MustAct: a.last.mustAct, RetryAfter: wait, Usage: a.wasted,
	}
}

// verdict returns the result of a try that is shared with all clients of the same endpoint.
func verdict(err error) breaker.Verdict {
	e, ok := errors.AsType[*tryError](err)
	switch {
	case err == nil:
		return breaker.Verdict{}
	case !ok:
		return breaker.Verdict{Unknown: true}
	case !e.transient && !e.mustAct:
		// The endpoint answered, and refuses this particular request.
		return breaker.Verdict{}
	case e.reason == outcome.ReasonModelMalformed:
		// The answer is about this particular request, and proves nothing about others.
		return breaker.Verdict{Unknown: true}
	}
	// A 403 may be about this particular request. It is about the key if every other request fails too.
	mustAct := e.mustAct && e.status != http.StatusForbidden
	return breaker.Verdict{Err: e, MustAct: mustAct, Busy: e.status == http.StatusTooManyRequests && !e.mustAct, RetryAfter: e.retryAfter}
}
