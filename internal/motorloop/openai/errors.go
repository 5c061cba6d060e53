// SPDX-License-Identifier: Apache-2.0

package openai

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"motorcortex.dev/motorcortex/internal/jsonbound"
	"motorcortex.dev/motorcortex/internal/motorloop"
)

const (
	// maxResponseBytes bounds the body of an answer: an endpoint must not be able to use up the manager's memory. Of an
	// answer 200 KiB are recorded at most.
	maxResponseBytes = 1 << 20
	// maxErrorBytes is how much of an error's body is looked at.
	maxErrorBytes = 64 << 10
	// maxDetail is how many bytes of an endpoint's own words go into a failure.
	maxDetail = 300
)

// tryError is why one try failed.
type tryError struct {
	// reason is one of the ReasonModel constants.
	reason string
	// what says what happened, in words that follow "the model endpoint HOST"; redacted.
	what string
	// advice says what to do, a whole sentence; empty where waiting is all.
	advice string
	// status is that of the HTTP answer, 0 if there was none.
	status int
	// transient says that the same request may succeed.
	transient bool
	// retryAfter is how long the endpoint asks us to wait, already bounded; 0 if it does not say.
	retryAfter time.Duration
}

func (e *tryError) Error() string { return e.what }

// failure is what Complete returns for a try that was the last.
func (c *Client) failure(e *tryError, tries int) *motorloop.Failure {
	msg := fmt.Sprintf("The model endpoint %s %s", c.host, e.what)
	if tries > 1 {
		msg += fmt.Sprintf(" (%d tries)", tries)
	}
	msg += "."
	if e.advice != "" {
		msg += " " + e.advice
	}
	return &motorloop.Failure{
		Category:  motorloop.ModelFailure,
		Reason:    e.reason,
		Message:   msg,
		Retryable: e.transient,
	}
}

// exchange sends a request and reads the whole answer, bounded. It is where foreign errors enter: what comes out is a
// *tryError, the context's error, or a good answer. openai-go's own reading of error bodies loses the status of an
// answer that is no JSON, such as the page of a proxy.
func (c *Client) exchange(
	req *http.Request, next func(*http.Request) (*http.Response, error),
) (*http.Response, error) {
	res, err := next(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode < 200 || res.StatusCode > 299 {
		// The status alone decides; a body that cannot be read only makes the message shorter.
		body, _ := io.ReadAll(io.LimitReader(res.Body, maxErrorBytes))
		return nil, c.statusError(res, body)
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, maxResponseBytes+1))
	switch {
	case err != nil && req.Context().Err() != nil:
		return nil, req.Context().Err()
	case err != nil:
		return nil, malformed("broke off in the middle of its answer")
	case len(body) > maxResponseBytes:
		return nil, malformed(fmt.Sprintf("answered with more than %d MiB", maxResponseBytes>>20))
	}
	res.Body = io.NopCloser(bytes.NewReader(body))
	return res, nil
}

// classify gives what a try ended with its class. ctx is the try's own.
func (c *Client) classify(ctx context.Context, err error) error {
	if e, ok := errors.AsType[*tryError](err); ok {
		return e
	}
	netErr, isNet := errors.AsType[net.Error](err)
	if errors.Is(ctx.Err(), context.DeadlineExceeded) || isNet && netErr.Timeout() {
		return &tryError{
			reason:    motorloop.ReasonModelTimeout,
			what:      fmt.Sprintf("did not answer within %s", c.opts.RequestTimeout),
			advice:    "Check that it is up, or raise the request timeout for a slow model.",
			transient: true,
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	e := &tryError{
		reason:    motorloop.ReasonModelUnavailable,
		what:      "cannot be reached: " + c.detail(innermost(err).Error()),
		advice:    "Check the base URL and that the manager may connect to it.",
		transient: true,
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		e.transient = false
		e.advice = "Check the base URL and the certificates that the manager trusts."
	}
	return e
}

// innermost drops the wrapper that repeats the URL.
func innermost(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

// statusError classifies an HTTP answer that is not a success.
func (c *Client) statusError(res *http.Response, body []byte) *tryError {
	code, text := errorBody(body)
	said := ""
	if text != "" {
		said = ": " + c.detail(text)
	}
	status := res.StatusCode
	e := &tryError{status: status, what: fmt.Sprintf("answered %d%s", status, said)}
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden || status == http.StatusPaymentRequired:
		e.reason = motorloop.ReasonModelUnauthorized
		// Endpoints repeat parts of the key in this answer, so none of it is passed on.
		e.what = fmt.Sprintf("refused the API key with status %d", status)
		if c.endpoint.APIKey == "" {
			e.what = fmt.Sprintf("answered %d, and no API key was sent", status)
		}
		e.advice = fmt.Sprintf("Put a key that may use the model %q into the Secret of the model.", c.endpoint.Model)
	case status == http.StatusNotFound || status == http.StatusMethodNotAllowed:
		e.reason = motorloop.ReasonModelNotFound
		e.advice = fmt.Sprintf("Check that it has the model %q, and the base URL, which is everything before "+
			"/chat/completions and often ends in /v1.", c.endpoint.Model)
	case status == http.StatusTooManyRequests:
		e.reason = motorloop.ReasonModelRateLimited
		e.advice = "Wait, run fewer loops at a time, or raise the limit of the account."
		// An account without money stays without money however long one waits.
		e.transient = code != "insufficient_quota"
	case status == http.StatusRequestTimeout:
		e.reason = motorloop.ReasonModelTimeout
		e.advice = "Try again later."
		e.transient = true
	case status == http.StatusConflict || status >= 500:
		e.reason = motorloop.ReasonModelUnavailable
		e.advice = "Try again later."
		e.transient = true
	case status < 400:
		e.reason = motorloop.ReasonModelRefused
		e.what = fmt.Sprintf("answered %d: it redirects to another address", status)
		e.advice = "Redirects are not followed: baseURL must name the final address."
	default:
		e.reason = motorloop.ReasonModelRefused
		e.advice = "If the conversation is too long for the model, split the task or use a model with a larger window."
	}
	if e.transient {
		e.retryAfter = retryAfter(res.Header, time.Now(), c.opts.MaxRetryAfter)
	}
	return e
}

func malformed(what string) *tryError {
	return &tryError{
		reason:    motorloop.ReasonModelMalformed,
		what:      what,
		advice:    "Check that the base URL is that of a Chat Completions endpoint.",
		transient: true,
	}
}

// errorBody finds an error's code and text in the shapes in which endpoints give them. A body that is no JSON, such
// as a page of HTML, gives none.
func errorBody(body []byte) (code, text string) {
	if jsonbound.Check(body, answerLimits) != nil {
		return "", ""
	}
	var v struct {
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
		Detail  string          `json:"detail"`
	}
	// Fields of another type are left empty, which is all that is to be done about them.
	_ = json.Unmarshal(body, &v)
	var inner struct {
		Message string `json:"message"`
		Code    any    `json:"code"`
		Type    string `json:"type"`
	}
	if json.Unmarshal(v.Error, &inner) == nil {
		code, _ = inner.Code.(string)
		if code == "" {
			code = inner.Type
		}
		return code, inner.Message
	}
	if json.Unmarshal(v.Error, &text) == nil && text != "" {
		return "", text
	}
	if v.Message != "" {
		return "", v.Message
	}
	return "", v.Detail
}

// retryAfter reads how long the endpoint asks us to wait, 0 if it does not say. It is bounded by limit, because a
// wait of a day would hold the run for a day.
func retryAfter(h http.Header, now time.Time, limit time.Duration) time.Duration {
	d := time.Duration(0)
	if ms, ok := nonNegative(h.Get("Retry-After-Ms")); ok {
		d = time.Duration(min(ms, float64(limit.Milliseconds()))) * time.Millisecond
	} else if s, ok := nonNegative(h.Get("Retry-After")); ok {
		d = time.Duration(min(s, limit.Seconds()) * float64(time.Second))
	} else if at, err := http.ParseTime(h.Get("Retry-After")); err == nil {
		d = at.Sub(now)
	}
	return min(max(d, 0), limit)
}

func nonNegative(s string) (float64, bool) {
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil && f >= 0 // false for NaN
}

// detail makes foreign text fit for a message: one line, bounded, without the key.
func (c *Client) detail(s string) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(c.redact(s), "")), " ")
	if len(s) > maxDetail {
		s = strings.ToValidUTF8(s[:maxDetail], "") + "…"
	}
	return strings.TrimSuffix(s, ".")
}

// keyLike is what endpoints print of a key when they shorten it themselves.
var keyLike = regexp.MustCompile(`\b(sk|key|pk)-[A-Za-z0-9_*.…-]{4,}`)

// redactor gives a function that removes the key, what begins like it, and what looks like a shortened key.
func redactor(key string) func(string) string {
	const removed, prefix = "[redacted]", 6
	if key == "" {
		return func(s string) string { return s }
	}
	begins := regexp.MustCompile(regexp.QuoteMeta(key[:min(len(key), prefix)]) + `\S*`)
	return func(s string) string {
		return keyLike.ReplaceAllString(begins.ReplaceAllString(s, removed), removed)
	}
}
