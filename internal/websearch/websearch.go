// SPDX-License-Identifier: Apache-2.0

// Package websearch asks a search provider: a SearXNG instance, or Brave. The provider is not trusted: its
// answer is bounded, parsed and made plain text. No error contains the API key or any part of the answer.
package websearch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"motorcortex.dev/motorcortex/internal/jsonbound"
	"motorcortex.dev/motorcortex/internal/secret"
)

// Type is the shape of a provider's API.
type Type string

const (
	SearXNG Type = "SearXNG"
	Brave   Type = "Brave"
)

const (
	// BraveURL is Brave's own address.
	BraveURL = "https://api.search.brave.com"
	// MaxQuery is the longest query, in characters: Brave accepts no more.
	MaxQuery = 400
	// MaxResults is the most results of a search.
	MaxResults = 20

	// timeout bounds a search, with everything that is tried again.
	timeout = 15 * time.Second
	// maxPause is the longest that a provider may ask us to wait before the second try; pause is the default.
	maxPause = 5 * time.Second
	pause    = time.Second
	// maxBody is the most bytes of an answer.
	maxBody = 1 << 20
	// maxHeaders is the most bytes of its headers.
	maxHeaders = 64 << 10
	// maxRedirects is how many redirects are followed, all of them within the provider's own host.
	maxRedirects = 3
)

// Provider is the search provider.
type Provider struct {
	Type Type
	// URL is its address, http or https: for SearXNG everything before /search, for Brave everything before /res, where "" means Brave's
	// own address.
	URL string
	// APIKey is sent as Brave wants it, and to SearXNG as a bearer token. An empty one sends none.
	APIKey secret.Value
	// Transport makes its requests, one for all if it is nil.
	Transport http.RoundTripper
}

// String returns the type and the host of the provider, for messages.
func (p Provider) String() string { return string(p.Type) + " at " + p.host() }

func (p Provider) host() string {
	u, err := url.Parse(p.base())
	if err != nil {
		return ""
	}
	return u.Host
}

func (p Provider) base() string {
	if p.Type == Brave && p.URL == "" {
		return BraveURL
	}
	return strings.TrimRight(p.URL, "/")
}

// answerLimits bound an answer: providers send much beside the results.
var answerLimits = jsonbound.Limits{Depth: 64, Values: 32 << 10}

// Result is one result, in plain text of one line each.
type Result struct{ Title, URL, Snippet string }

// Error is why the search has no result. Message is a sentence for a person.
type Error struct {
	Message string
	// NoAnswer is true if the provider could not be reached or did not answer, Passes if the same search may succeed soon.
	NoAnswer, Passes bool
}

func (e *Error) Error() string { return e.Message }

// Search asks for at most so many results, 1 to MaxResults. Its errors are *Error, or the context's.
func (p Provider) Search(ctx context.Context, query string, limit int) ([]Result, error) {
	within, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	body, err := p.ask(within, query, limit)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	found, err := p.parse(body)
	if err != nil {
		return nil, err
	}
	return clean(found, limit), nil
}

// ask sends the request, and repeats it once if the provider was overloaded.
func (p Provider) ask(ctx context.Context, query string, limit int) ([]byte, error) {
	for tries := 1; ; tries++ {
		req, err := p.request(ctx, query, limit)
		if err != nil {
			return nil, err
		}
		resp, err := p.client().Do(req)
		if err != nil {
			return nil, p.unreachable(ctx, err)
		}
		body, err := p.read(ctx, resp)
		wait, again := retryAfter(resp)
		if !again || tries > 1 || wait > maxPause {
			return body, err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil, err
		}
	}
}

func (p Provider) request(ctx context.Context, query string, limit int) (*http.Request, error) {
	path, q := "/search", url.Values{"q": {query}, "format": {"json"}}
	if p.Type == Brave {
		path, q = "/res/v1/web/search", url.Values{"q": {query}, "count": {strconv.Itoa(limit)}}
	}
	u, err := url.Parse(p.base() + path)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, &Error{Message: "The URL of the search provider cannot be used: it begins with http:// or https:// and a host, and has no user, query or fragment."}
	}
	u.RawQuery = q.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), http.NoBody)
	if err != nil {
		return nil, &Error{Message: "The URL of the search provider cannot be used."}
	}
	req.Header.Set("Accept", "application/json")
	switch {
	case p.APIKey.IsEmpty():
	case bytes.ContainsFunc(p.APIKey.Reveal(), func(c rune) bool { return c <= ' ' || c >= 0x7f }):
		return nil, &Error{Message: "The API key of the search provider has white space or characters in it that cannot be sent."}
	case p.Type == Brave:
		req.Header.Set("X-Subscription-Token", p.APIKey.RevealText())
	default:
		req.Header.Set("Authorization", "Bearer "+p.APIKey.RevealText())
	}
	return req, nil
}

// read returns the body of an answer, or why it is unusable.
func (p Provider) read(ctx context.Context, resp *http.Response) ([]byte, error) {
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, p.refused(resp.StatusCode)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	switch {
	case err != nil:
		return nil, p.unreachable(ctx, err)
	case len(body) > maxBody:
		return nil, p.problem("answered more than %d bytes", maxBody)
	}
	return body, nil
}

func (p Provider) problem(format string, args ...any) *Error {
	return &Error{Message: fmt.Sprintf("The search provider %s ", p) + fmt.Sprintf(format, args...) + "."}
}

// refused explains a status.
func (p Provider) refused(status int) *Error {
	var e *Error
	switch {
	case status == http.StatusTooManyRequests:
		e = p.problem("says that there were too many searches (status 429)")
	case status >= http.StatusInternalServerError:
		e = p.problem("failed (status %d)", status)
	case p.Type == SearXNG && status == http.StatusForbidden:
		e = p.problem("refused (status 403): search.formats in its settings must have json, or it wants an API key")
	case status == http.StatusUnauthorized, status == http.StatusForbidden, status == http.StatusUnprocessableEntity && p.Type == Brave:
		e = p.problem("refused (status %d): check the API key", status)
	case status == http.StatusNotFound:
		e = p.problem("has no search there (status 404): check spec.search.url of the MotorCortex")
	default:
		e = p.problem("answered with the status %d", status)
	}
	e.Passes = status == http.StatusTooManyRequests || status >= http.StatusInternalServerError
	return e
}

// errElsewhere ends a request that is redirected to another host, which must not see the key or the query.
var errElsewhere = errors.New("it redirects to another host")

// unreachable returns why there is no answer.
func (p Provider) unreachable(ctx context.Context, err error) *Error {
	if errors.Is(err, errElsewhere) {
		return p.problem("cannot be asked, because %v", errElsewhere)
	}
	e := p.problem("did not answer within %s", timeout)
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		// The error of the client has the whole address in it, with the query.
		if u, ok := errors.AsType[*url.Error](err); ok {
			err = u.Err
		}
		e = p.problem("cannot be reached: %s", oneLine(err.Error(), maxCause))
	}
	e.NoAnswer, e.Passes = true, true
	return e
}

// maxCause is the maximum number of characters of an error in a message.
const maxCause = 200

// retryAfter reports whether the same request may succeed soon, and how long to wait before.
func retryAfter(resp *http.Response) (wait time.Duration, again bool) {
	if resp.StatusCode != http.StatusTooManyRequests && resp.StatusCode < http.StatusInternalServerError {
		return 0, false
	}
	says := resp.Header.Get("Retry-After")
	if says == "" {
		return pause, true
	}
	if seconds, err := strconv.ParseUint(says, 10, 16); err == nil {
		return time.Duration(seconds) * time.Second, true
	}
	if at, err := http.ParseTime(says); err == nil {
		return max(0, time.Until(at)), true
	}
	// The header is present but cannot be parsed.
	return 0, false
}

// client makes requests. It keeps no cookies.
func (p Provider) client() *http.Client {
	next := p.Transport
	if next == nil {
		next = transport()
	}
	return &http.Client{Transport: next, CheckRedirect: func(req *http.Request, via []*http.Request) error {
		first := via[0].URL
		if req.URL.Scheme != first.Scheme || req.URL.Host != first.Host {
			return errElsewhere
		}
		if len(via) > maxRedirects {
			return errors.New("it redirects too often")
		}
		return nil
	}}
}

// transport is shared, so that searches share connections.
var transport = sync.OnceValue(func() *http.Transport {
	t, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		t = &http.Transport{Proxy: http.ProxyFromEnvironment}
	}
	t = t.Clone()
	t.MaxResponseHeaderBytes = maxHeaders
	return t
})

// parse reads the provider's results.
func (p Provider) parse(body []byte) ([]Result, error) {
	type found struct {
		Title       string `json:"title"`
		URL         string `json:"url"`
		Content     string `json:"content"`
		Description string `json:"description"`
	}
	var answer struct {
		Results *[]found `json:"results"`
		Web     struct {
			Results []found `json:"results"`
		} `json:"web"`
	}
	err := jsonbound.Check(body, answerLimits)
	if err == nil {
		err = json.Unmarshal(body, &answer)
	}
	if err != nil {
		return nil, p.problem("answered with something else than JSON of its kind")
	}
	list := answer.Web.Results
	if p.Type == SearXNG {
		if answer.Results == nil {
			return nil, p.problem("answered with JSON that has no results: check spec.search of the MotorCortex")
		}
		list = *answer.Results
	}
	results := make([]Result, 0, len(list))
	for _, f := range list {
		r := Result{Title: f.Title, URL: f.URL, Snippet: f.Content}
		if p.Type == Brave {
			r.Snippet = f.Description
		}
		results = append(results, r)
	}
	return results, nil
}
