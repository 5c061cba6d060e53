// SPDX-License-Identifier: Apache-2.0

package openai

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"motorcortex.dev/motorcortex/internal/jsonbound"
	"motorcortex.dev/motorcortex/internal/motorloop/openai/breaker"
	"motorcortex.dev/motorcortex/internal/motorloop/outcome"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/outbound"
)

const (
	// maxResponseBytes bounds an answer, whole or put together from its parts, and each line of a stream: an endpoint must not be
	// able to exhaust the manager's memory. At most 200 KiB of an answer are recorded.
	maxResponseBytes = 1 << 20
	// maxStreamBytes bounds a whole stream, most of which is the envelope of the parts. The stream is not held in memory.
	maxStreamBytes = 64 << 20
	// maxErrorBytes is how much of an error's body is looked at.
	maxErrorBytes = 64 << 10
	// maxDetail is how many bytes of an endpoint's own words go into a failure.
	maxDetail = 300
)

// tryError is why one try failed.
type tryError struct {
	// reason is one of the ReasonModel constants.
	reason string
	// what describes the failure, in words that follow "the model endpoint HOST"; redacted.
	what string
	// advice is the remedy, a whole sentence; empty if waiting is the only one.
	advice string
	// status is that of the HTTP answer, 0 if there was none.
	status int
	// transient is true if the same request may succeed by itself, mustAct if it may succeed after a person has changed something.
	transient, mustAct bool
	// tooLong is true if the request does not fit into the model's window.
	tooLong bool
	// refuses is the field of the request that the endpoint does not support, as far as its answer shows. The request is then repeated
	// without it.
	refuses field
	// usage is the cost of the try, as far as the endpoint reported it.
	usage turn.Usage
	// retryAfter is how long the endpoint asks us to wait, already bounded; 0 if it does not ask.
	retryAfter time.Duration
}

func (e *tryError) Error() string { return e.what }

// message describes the failure, the number of tries, and the remedy.
func (c *Client) message(e *tryError, tries int) string {
	msg := fmt.Sprintf("The model endpoint %s %s", c.host, e.what)
	if tries > 1 {
		msg += fmt.Sprintf(" (%d tries)", tries)
	}
	msg += "."
	if e.advice != "" {
		msg += " " + e.advice
	}
	return msg
}

// failure returns the error of Complete for a request that the endpoint refuses. Another attempt has another conversation.
func (c *Client) failure(e *tryError, tries int) *outcome.Failure {
	return &outcome.Failure{Category: outcome.ModelFailure, Reason: e.reason, Message: c.message(e, tries), Retryable: true}
}

// classify returns the error of a try with its class. parent is the context of the caller, ctx the try's own.
func (c *Client) classify(parent, ctx context.Context, err error) error {
	if parentErr := parent.Err(); parentErr != nil {
		return parentErr
	}
	if e, ok := errors.AsType[*tryError](err); ok {
		return e
	}
	if e, ok := errors.AsType[*tryError](context.Cause(ctx)); ok {
		return e
	}
	if netErr, ok := errors.AsType[net.Error](err); ok && netErr.Timeout() {
		return c.tooSlow("did not answer in time")
	}
	e := &tryError{
		reason:    outcome.ReasonModelUnavailable,
		what:      "cannot be reached: " + c.detail(innermost(err).Error()),
		advice:    "Check the base URL and that the manager may connect to it.",
		transient: true,
	}
	if errors.Is(err, outbound.ErrRefused) {
		e.reason, e.transient, e.mustAct = outcome.ReasonModelAddress, false, true
		e.what = "has an address that the manager does not connect with: that of a node, loopback or the like"
		e.advice = "Check the base URL. The administrator of the operator can allow the address with --allowed-model-cidrs."
	}
	if isCertificate(err) {
		e.reason, e.transient, e.mustAct = outcome.ReasonModelCertificate, false, true
		e.advice = "Check the base URL and the certificates that the manager trusts."
	}
	return e
}

// isCertificate reports whether a connection failed for a permanent reason: a certificate that is not trusted, or an endpoint that does not
// speak TLS at all.
func isCertificate(err error) bool {
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return true
	}
	_, ok := errors.AsType[tls.RecordHeaderError](err)
	// net/http has an error of its own for a server that speaks HTTP.
	return ok || errors.Is(err, http.ErrSchemeMismatch)
}

func (c *Client) tooSlow(what string) *tryError {
	return &tryError{
		reason: outcome.ReasonModelTimeout, what: what, transient: true,
		advice: "Check that it is up. For a slow model raise idleTimeoutSeconds or requestTimeoutSeconds of the model in the MotorCortex.",
	}
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
	e := c.statusClass(res.StatusCode, body)
	if res.StatusCode == http.StatusUnauthorized || res.StatusCode == http.StatusForbidden {
		c.shared.Learn(func(f *breaker.Facts) { f.TakesKey = false })
	}
	e.status = res.StatusCode
	if e.transient {
		e.retryAfter = retryAfter(res.Header, time.Now(), c.opts.MaxRetryAfter)
	}
	return e
}

func (c *Client) statusClass(status int, body []byte) *tryError {
	r := errorBody(body)
	said := ""
	if r.text != "" {
		said = ": " + c.detail(r.text)
	}
	e := &tryError{what: fmt.Sprintf("answered %d%s", status, said)}
	switch {
	case status == http.StatusPaymentRequired || isQuota(r.code):
		e.reason, e.mustAct = outcome.ReasonModelQuota, true
		e.advice = "The account of the API key needs credit or a higher quota."
	case status == http.StatusForbidden && c.shared.Facts().TakesKey:
		c.refused(e, r)
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		e.reason, e.mustAct = outcome.ReasonModelUnauthorized, true
		// Endpoints repeat parts of the key in this answer, so none of it is passed on.
		e.what = fmt.Sprintf("refused the API key with status %d", status)
		if c.endpoint.APIKey.IsEmpty() {
			e.what = fmt.Sprintf("answered %d, and no API key was sent", status)
		}
		e.advice = fmt.Sprintf("Put a key that may use the model %q into the Secret of the model.", c.endpoint.Model)
	case status == http.StatusNotFound || status == http.StatusMethodNotAllowed:
		e.reason, e.mustAct = outcome.ReasonModelNotFound, true
		e.advice = fmt.Sprintf("Check that it has the model %q, and the base URL, which is everything before "+
			"/chat/completions and often ends in /v1.", c.endpoint.Model)
	case status == http.StatusTooManyRequests:
		e.reason, e.transient = outcome.ReasonModelRateLimited, true
		e.advice = "Run fewer loops at a time, or raise the limit of the account."
	case status == http.StatusRequestTimeout:
		e.reason, e.transient = outcome.ReasonModelTimeout, true
	case status == http.StatusConflict || status >= 500:
		e.reason, e.transient = outcome.ReasonModelUnavailable, true
	case status < 400:
		e.reason, e.mustAct = outcome.ReasonModelNotFound, true
		e.what = fmt.Sprintf("answered %d: it redirects to another address", status)
		e.advice = "Redirects are not followed: baseURL must name the final address."
	default:
		c.refused(e, r)
	}
	return e
}

// refused classifies an answer that is about the request itself: its length, its form, or its content.
func (c *Client) refused(e *tryError, r apiError) {
	e.reason = outcome.ReasonModelRefused
	e.advice = "Another attempt has another conversation: say in a retry what it is to avoid."
	if r.isTooLong() {
		e.tooLong, e.reason = true, outcome.ReasonModelWindow
		e.advice = "Split the task, or use a model with a larger window."
	} else {
		e.refuses = r.refuses()
	}
	c.shared.Learn(r.teach)
}

// isQuota reports whether the account's credit is exhausted, which does not pass within seconds.
func isQuota(code string) bool {
	switch code {
	case "insufficient_quota", "billing_hard_limit_reached", "billing_not_active":
		return true
	}
	return false
}

func malformed(what string) *tryError {
	return &tryError{
		reason:    outcome.ReasonModelMalformed,
		what:      what,
		advice:    "Check that the base URL is that of a Chat Completions endpoint.",
		transient: true,
	}
}

// errorBody finds an error in the shapes that endpoints use. A body that is no JSON, such as a page of HTML,
// yields none.
func errorBody(body []byte) apiError {
	if jsonbound.Check(body, answerLimits) != nil {
		return apiError{}
	}
	var v struct {
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
		Detail  string          `json:"detail"`
	}
	// Fields of another type stay empty; nothing else can be done about them.
	_ = json.Unmarshal(body, &v)
	var inner struct {
		Message string `json:"message"`
		Code    any    `json:"code"`
		Type    string `json:"type"`
		Param   any    `json:"param"`
	}
	if json.Unmarshal(v.Error, &inner) == nil {
		code, _ := inner.Code.(string)
		param, _ := inner.Param.(string)
		return apiError{code: cmp.Or(code, inner.Type), param: param, text: inner.Message}
	}
	var text string
	if json.Unmarshal(v.Error, &text) == nil && text != "" {
		return apiError{text: text}
	}
	return apiError{text: cmp.Or(v.Message, v.Detail)}
}

// retryAfter returns how long the endpoint asks us to wait, 0 if it does not ask. It is bounded by limit, because a
// wait of a day would block the run for a day.
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

// keyLike matches a key as endpoints print it when they shorten it themselves.
var keyLike = regexp.MustCompile(`\b(sk|key|pk)-[A-Za-z0-9_*.…-]{4,}`)

// redactor returns a function that removes the key, words with the same beginning, and words that look like a shortened key.
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
