// SPDX-License-Identifier: Apache-2.0

// Package deliver posts a signal to a sink, and tells what its answer means.
package deliver

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"golang.org/x/net/http/httpguts"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/outbound"
	"motorcortex.dev/motorcortex/internal/secret"
	"motorcortex.dev/motorcortex/internal/signal"
)

const (
	// timeout bounds one delivery, from the connection to the end of the answer.
	timeout = 10 * time.Second
	// maxAnswer is how much of an answer is read. It is not used: a connection is only used again if its answer was read.
	maxAnswer = 4 << 10
	// maxPause bounds the pause that a sink can ask for.
	maxPause = 5 * time.Minute
)

// Target is a sink with the values of its Secrets. It does not print them.
type Target struct {
	URL string
	// Authorization is the value of the header Authorization, the zero Value for none.
	Authorization secret.Value
	// SigningKey is the key of signatures, the zero Value for none.
	SigningKey secret.Value
	// Format words the signal as JSON of another kind; nil for a CloudEvent.
	Format func(*signal.Signal) ([]byte, error)
	// Mail is where an e-mail goes, nil for a target of HTTP.
	Mail *Mail
}

// Mail is a mail server, and the mailboxes that it is asked to deliver to.
type Mail struct {
	Host string
	Port int
	// Implicit has TLS begin with the connection, and not after STARTTLS.
	Implicit bool
	From     string
	To       []string
	// Username and Password log in, unless they are the zero Value.
	Username, Password secret.Value
	// PageURL is where messages link to, "" for nowhere.
	PageURL string
}

// Failure is why a sink did not take a signal.
type Failure struct {
	// Reason is a reason of the condition SinkReady. Message is a sentence for a person; it has nothing that the sink worded.
	Reason, Message string
	// Final is true if the sink refuses this very signal, and would refuse it again. A sink that refuses others too may have another signing key.
	Final bool
	// Pause is the pause that the sink asks for, at most five minutes; 0 if it asks for none.
	Pause time.Duration
}

func (f *Failure) Error() string { return f.Message }

// Sender posts signals to one sink.
type Sender struct {
	client *http.Client
	inside func(netip.Addr) bool
	now    func() time.Time
}

// New returns a Sender with its own connections. The transport decides which hosts it connects to; New changes it. caBundle has the authorities that
// the sink is known by, "" for those of the system. inside reports whether an address is of the cluster: of such a sink, a Failure tells no code.
func New(transport *http.Transport, caBundle string, inside func(netip.Addr) bool, now func() time.Time) (*Sender, error) {
	if caBundle != "" {
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM([]byte(caBundle)) {
			return nil, errors.New("caBundle has no certificate in PEM")
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	transport.MaxConnsPerHost = 2
	return &Sender{inside: inside, now: now, client: &http.Client{
		Transport: transport, Timeout: timeout,
		// A redirect would take the authorization and the results of runs to a host that no MotorCortex names.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// Close closes the connections that are not in use.
func (s *Sender) Close() { s.client.CloseIdleConnections() }

// Send posts a signal. It returns nil if the sink has taken it, else a *Failure, or the error of the context if that has ended.
func (s *Sender) Send(ctx context.Context, to Target, what *signal.Signal) error {
	format, contentType := to.Format, "application/json; charset=utf-8"
	if format == nil {
		format, contentType = Encode, event.ApplicationCloudEventsJSON+"; charset=utf-8"
	}
	body, err := format(what)
	if err != nil {
		return &Failure{Reason: v1alpha1.ReasonSinkRefuses, Message: "The signal cannot be written as JSON.", Final: true}
	}
	var outside atomic.Bool
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(c httptrace.GotConnInfo) {
		at, err := netip.ParseAddrPort(c.Conn.RemoteAddr().String())
		outside.Store(err == nil && !s.inside(at.Addr()))
	}})
	req, err := http.NewRequestWithContext(traced, http.MethodPost, to.URL, bytes.NewReader(body))
	if err != nil {
		return &Failure{Reason: v1alpha1.ReasonSinkRefuses, Message: "The url is none that can be posted to. Correct it."}
	}
	req.Header.Set("Content-Type", contentType)
	req.Header.Set("User-Agent", "motorcortex")
	if v := to.Authorization; !v.IsEmpty() {
		if !httpguts.ValidHeaderFieldValue(v.RevealText()) {
			return &Failure{Reason: v1alpha1.ReasonSinkRefuses, Message: "The Secret of the authorization has a character that no header can have. Correct it."}
		}
		req.Header.Set("Authorization", v.RevealText())
	}
	if err := sign(req.Header, to.SigningKey, what.ID, s.now(), body); err != nil {
		return &Failure{Reason: v1alpha1.ReasonSinkRefuses, Message: "The signing key begins with " + keyPrefix + " and is not in base64 after that. Correct it in its Secret."}
	}
	res, err := s.client.Do(req)
	if err != nil {
		return unreachable(ctx, err)
	}
	defer res.Body.Close()
	// What the sink says beside its status decides nothing, and neither does the end of a connection after it.
	_, _ = io.CopyN(io.Discard, res.Body, maxAnswer)
	return s.judge(res, outside.Load())
}

// Encode returns a signal as a CloudEvent in JSON.
func Encode(what *signal.Signal) ([]byte, error) {
	e := event.New()
	e.SetID(what.ID)
	e.SetType(signal.Type(what.Event))
	e.SetSource(what.Source)
	e.SetSubject(what.Subject)
	e.SetTime(what.Time)
	if err := e.SetData(event.ApplicationJSON, what.Data); err != nil {
		return nil, fmt.Errorf("encode the data: %w", err)
	}
	return json.Marshal(e)
}

// unreachable returns why there is no answer. The error of the network is not told: it would show an editor of a MotorCortex what the manager
// can reach.
func unreachable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	f := &Failure{Reason: v1alpha1.ReasonSinkUnavailable, Message: "The sink cannot be reached. Check url, and whether the service is up."}
	var failed *url.Error
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.Is(err, outbound.ErrRefused):
		f.Message = "The sink has an address that the manager does not connect with. Allow it with --allowed-sink-cidrs, or choose another url."
	case errors.As(err, &certificate):
		f.Message = "The certificate of the sink is of no authority that is known. Put the authority into caBundle."
	case errors.As(err, &failed) && failed.Timeout():
		f.Message = fmt.Sprintf("The sink did not answer within %s.", timeout)
	}
	return f
}

// judge returns nil for an answer that takes the signal. Only of a sink outside of the cluster it tells the code: an editor of a MotorCortex could
// find out by it which services and paths there are inside.
func (s *Sender) judge(res *http.Response, outside bool) error {
	code := res.StatusCode
	f := s.meaning(res)
	switch {
	case f == nil:
		return nil
	case outside:
		f.Message = fmt.Sprintf("The sink answers with status %d. %s", code, f.Message)
	case f.Reason == v1alpha1.ReasonSinkUnavailable:
		f.Message = "The sink is unavailable. It is tried again."
	default:
		f.Message = "The sink refuses the signal. Check url, and the Secrets of the sink."
	}
	return f
}

// meaning returns what an answer means, nil if it takes the signal.
func (s *Sender) meaning(res *http.Response) *Failure {
	code := res.StatusCode
	switch {
	case code >= 200 && code < 300:
		return nil
	case code == http.StatusBadRequest, code == http.StatusRequestEntityTooLarge, code == http.StatusUnsupportedMediaType, code == http.StatusUnprocessableEntity:
		return &Failure{Reason: v1alpha1.ReasonSinkRefuses, Message: "It refuses the signal. Check the Secret of the signing key.", Final: true}
	case code == http.StatusRequestTimeout, code == http.StatusTooEarly, code == http.StatusTooManyRequests, code >= 500:
		return &Failure{Reason: v1alpha1.ReasonSinkUnavailable, Message: "It is tried again.", Pause: s.pause(res.Header.Get("Retry-After"))}
	case code >= 300 && code < 400:
		return &Failure{Reason: v1alpha1.ReasonSinkRefuses, Message: "Redirects are not followed. Set url to where it leads."}
	}
	return &Failure{Reason: v1alpha1.ReasonSinkRefuses, Message: "Check url and the Secret of the authorization."}
}

// pause reads Retry-After: seconds, or an instant.
func (s *Sender) pause(after string) time.Duration {
	after = strings.TrimSpace(after)
	if seconds, err := strconv.Atoi(after); err == nil {
		return min(max(time.Duration(min(seconds, int(maxPause/time.Second)))*time.Second, 0), maxPause)
	}
	if at, err := http.ParseTime(after); err == nil {
		return min(max(at.Sub(s.now()), 0), maxPause)
	}
	return 0
}
