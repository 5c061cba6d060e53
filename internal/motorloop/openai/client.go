// SPDX-License-Identifier: Apache-2.0

// Package openai asks a model at any endpoint that speaks OpenAI's Chat Completions. It maps the loop's messages both
// ways, tries again what may pass, and turns what is left into a failure that says what to do. Nothing that leaves the
// package as an error or a log line holds the API key or what was said.
package openai

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	openaigo "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"motorcortex.dev/motorcortex/internal/motorloop"
)

// DefaultBaseURL is used where an Endpoint has none.
const DefaultBaseURL = "https://api.openai.com/v1"

// Endpoint is a model and where it is to be had.
type Endpoint struct {
	// BaseURL means what OPENAI_BASE_URL means to openai-go: everything before "/chat/completions". A slash at the
	// end makes no difference, and "/v1" is not added: "https://host/v1" asks https://host/v1/chat/completions,
	// "https://host" asks https://host/chat/completions. http or https, without user, query or fragment.
	BaseURL string
	// APIKey is sent as a bearer token; white space around it is not part of it. Empty sends none.
	APIKey string
	Model  string
}

// String leaves the key out, so that an Endpoint that is printed by mistake gives nothing away.
func (e Endpoint) String() string { return e.Model + " at " + e.BaseURL }

// GoString is String for %#v.
func (e Endpoint) GoString() string { return e.String() }

// LogValue is String for slog.
func (e Endpoint) LogValue() slog.Value { return slog.StringValue(e.String()) }

// Options are how an Endpoint is asked. The zero value of each field is its default.
type Options struct {
	// HTTPClient is used for all requests, except that it follows no redirects; by default one that bounds the headers
	// of answers. Its Timeout, if any, ends a try like RequestTimeout.
	HTTPClient *http.Client
	Logger     *slog.Logger
	// RequestTimeout bounds one try, from connecting to the last byte of the answer; 120 s by default.
	RequestTimeout time.Duration
	// MaxTries is how often a request is sent at most; 5 by default.
	MaxTries int
	// InitialBackoff is about the pause before the second try; later ones double; 1 s by default.
	InitialBackoff time.Duration
	// MaxBackoff bounds the pauses that we choose ourselves; 30 s by default.
	MaxBackoff time.Duration
	// MaxRetryAfter bounds the pauses that the endpoint asks for; 60 s by default.
	MaxRetryAfter time.Duration
}

// Client is a motorloop.Model. It may be used by many loops at a time.
type Client struct {
	endpoint    Endpoint
	host        string
	opts        Options
	log         *slog.Logger
	redact      func(string) string
	completions openaigo.ChatCompletionService
}

var _ motorloop.Model = (*Client)(nil)

// New checks the endpoint without contacting it. An error says which field is wrong; it never repeats BaseURL, which
// may have a password in it where none belongs.
func New(e Endpoint, o Options) (*Client, error) {
	e.APIKey = strings.TrimSpace(e.APIKey)
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
	if strings.ContainsFunc(e.APIKey, func(c rune) bool { return c <= ' ' || c >= 0x7f }) {
		return nil, errors.New("the API key has white space or characters in it that cannot be sent")
	}
	c := &Client{endpoint: e, host: host, opts: o.withDefaults(), redact: redactor(e.APIKey)}
	c.log = c.opts.Logger.With(slog.String("host", host), slog.String("model", e.Model))
	// The service is made directly: openai-go's NewClient would take keys, headers and addresses from the manager's
	// environment and send them to an endpoint that somebody else named.
	opts := []option.RequestOption{
		option.WithBaseURL(e.BaseURL),
		option.WithHTTPClient(c.opts.HTTPClient),
		option.WithMaxRetries(0), // tries are counted here, in one layer
		option.WithMiddleware(c.exchange),
	}
	if e.APIKey != "" {
		opts = append(opts, option.WithAPIKey(e.APIKey))
	}
	c.completions = openaigo.NewChatCompletionService(opts...)
	return c, nil
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

// defaultClient is shared, so that the loops of an endpoint share its connections.
var defaultClient = sync.OnceValue(func() *http.Client {
	t, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		t = &http.Transport{Proxy: http.ProxyFromEnvironment}
	}
	t = t.Clone()
	t.MaxResponseHeaderBytes = maxHeaderBytes
	return &http.Client{Transport: t}
})

func (o Options) withDefaults() Options {
	if o.HTTPClient == nil {
		o.HTTPClient = defaultClient()
	}
	// A redirect would take the conversation to an address that nobody configured.
	c := *o.HTTPClient
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	o.HTTPClient = &c
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.RequestTimeout <= 0 {
		o.RequestTimeout = 120 * time.Second
	}
	if o.MaxTries <= 0 {
		o.MaxTries = 5
	}
	if o.InitialBackoff <= 0 {
		o.InitialBackoff = time.Second
	}
	if o.MaxBackoff <= 0 {
		o.MaxBackoff = 30 * time.Second
	}
	if o.MaxRetryAfter <= 0 {
		o.MaxRetryAfter = time.Minute
	}
	return o
}

// Complete asks the model. The error is ctx's if ctx ended, and otherwise a *motorloop.Failure of category
// ModelFailure with one of the ReasonModel constants.
func (c *Client) Complete(ctx context.Context, r motorloop.Request) (motorloop.Answer, error) {
	params, err := requestParams(c.endpoint.Model, r)
	if err != nil {
		return motorloop.Answer{}, err
	}
	tries := 0
	answer, err := backoff.Retry(ctx, func() (motorloop.Answer, error) {
		tries++
		a, err := c.try(ctx, params)
		return a, forBackoff(err)
	},
		backoff.WithBackOff(&backoff.ExponentialBackOff{
			InitialInterval:     c.opts.InitialBackoff,
			RandomizationFactor: backoff.DefaultRandomizationFactor,
			Multiplier:          2,
			MaxInterval:         c.opts.MaxBackoff,
		}),
		backoff.WithMaxTries(uint(c.opts.MaxTries)),
		backoff.WithMaxElapsedTime(0), // tries and their timeouts bound it
		backoff.WithNotify(func(err error, wait time.Duration) { c.logRetry(ctx, tries, err, wait) }),
	)
	if err == nil {
		return answer, nil
	}
	if ctxErr := ctx.Err(); ctxErr != nil {
		return motorloop.Answer{}, ctxErr
	}
	if e, ok := errors.AsType[*tryError](err); ok {
		return motorloop.Answer{}, c.failure(e, tries)
	}
	return motorloop.Answer{}, err
}

// try sends the request once.
func (c *Client) try(ctx context.Context, params openaigo.ChatCompletionNewParams) (motorloop.Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, c.opts.RequestTimeout)
	defer cancel()
	var raw []byte
	_, err := c.completions.New(ctx, params, option.WithResponseBodyInto(&raw))
	if err != nil {
		return motorloop.Answer{}, c.classify(ctx, err)
	}
	return c.parseAnswer(raw)
}

func (c *Client) logRetry(ctx context.Context, tries int, err error, wait time.Duration) {
	attrs := []slog.Attr{slog.Int("try", tries), slog.Duration("wait", wait)}
	if e, ok := errors.AsType[*tryError](err); ok {
		attrs = append(attrs, slog.String("reason", e.reason), slog.Int("status", e.status))
	}
	c.log.LogAttrs(ctx, slog.LevelInfo, "model request will be tried again", attrs...)
}

// forBackoff tells the retrying what may pass and how long the endpoint wants us to wait.
func forBackoff(err error) error {
	if err == nil {
		return nil
	}
	e, ok := errors.AsType[*tryError](err)
	switch {
	case !ok || !e.transient:
		return backoff.Permanent(err)
	case e.retryAfter > 0:
		return fmt.Errorf("%w (%w)", err, &backoff.RetryAfterError{Duration: e.retryAfter})
	default:
		return err
	}
}
