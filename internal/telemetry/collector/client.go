// SPDX-License-Identifier: Apache-2.0

// Package collector sends spans to a collector of OpenTelemetry: OTLP, as protobuf over HTTP. The environment of the process configures it, which only
// the operator of the installation has: no address comes from a namespace, and so none is judged.
package collector

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"syscall"
	"time"

	collectorv1 "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

const (
	contentType = "application/x-protobuf"
	// maxAnswer bounds what is read of an answer.
	maxAnswer = 64 << 10
	// maxAfter bounds how long the collector can have the sender wait.
	maxAfter    = 5 * time.Minute
	idleTimeout = 90 * time.Second
	tlsTimeout  = 10 * time.Second
)

// Client posts spans to one URL.
type Client struct {
	config Config
	http   *http.Client
}

// New makes a client. The configuration must have a URL.
func New(c *Config) *Client {
	return &Client{config: *c, http: &http.Client{
		Timeout: c.Timeout,
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, TLSClientConfig: c.TLS, TLSHandshakeTimeout: tlsTimeout, MaxIdleConns: 2, IdleConnTimeout: idleTimeout,
			ForceAttemptHTTP2: true, MaxResponseHeaderBytes: maxAnswer,
		},
		// A redirect would send the keys of the headers to another host.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Close closes idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Failure is a request that the collector did not take.
type Failure struct {
	// Again is true if the same request can succeed later, and After is how long the collector asks to wait, 0 if it does not say.
	Again bool
	After time.Duration
	// TooLarge is true if a smaller request can succeed.
	TooLarge bool
	// Err says what happened, without any text of the collector's.
	Err error
}

func (f *Failure) Error() string { return f.Err.Error() }

func (f *Failure) Unwrap() error { return f.Err }

// Send posts spans. rejected is how many of them the collector refused while it took the others: they must not be sent again. Its error is a *Failure, or
// one of the spans themselves.
func (c *Client) Send(ctx context.Context, spans []*tracev1.ResourceSpans) (rejected int, err error) {
	body, err := proto.Marshal(&collectorv1.ExportTraceServiceRequest{ResourceSpans: spans})
	if err != nil {
		return 0, fmt.Errorf("write OTLP: %w", err)
	}
	request, err := c.request(ctx, body)
	if err != nil {
		return 0, err
	}
	answer, err := c.http.Do(request)
	if err != nil {
		return 0, &Failure{Again: true, Err: unreached(err)}
	}
	defer func() { _ = answer.Body.Close() }() // It was read as far as it counts.
	content, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if answer.StatusCode/100 != 2 {
		return 0, &Failure{
			Again: again(answer.StatusCode), After: after(answer.Header), TooLarge: answer.StatusCode == http.StatusRequestEntityTooLarge,
			Err: fmt.Errorf("the collector answers %d", answer.StatusCode),
		}
	}
	// The collector has taken the spans, whatever else it says: sent again, they would be there twice.
	var said collectorv1.ExportTraceServiceResponse
	if err != nil || proto.Unmarshal(content, &said) != nil {
		return 0, nil
	}
	return int(min(max(said.GetPartialSuccess().GetRejectedSpans(), 0), int64(len(body)))), nil
}

// unreached says why there is no answer. The library's words have the URL, whose query can be a key, and what the other end sent, which can be the key of
// a header that was sent to it. So only the kind of an error is told, and what the system says.
func unreached(err error) error {
	number, isNumber := errors.AsType[syscall.Errno](err)
	certificate, isCertificate := errors.AsType[*tls.CertificateVerificationError](err)
	name, isName := errors.AsType[*net.DNSError](err)
	timeout, isTimeout := errors.AsType[net.Error](err)
	switch {
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("reach the collector: %w", context.Canceled)
	case errors.Is(err, context.DeadlineExceeded), isTimeout && timeout.Timeout():
		return errors.New("reach the collector: it does not answer in time")
	case isNumber:
		return fmt.Errorf("reach the collector: %w", number)
	case isName && name.IsNotFound:
		return errors.New("reach the collector: its name is not known")
	case isCertificate && certificate != nil:
		return errors.New("reach the collector: its certificate is not valid here. Check OTEL_EXPORTER_OTLP_CERTIFICATE")
	}
	return errors.New("reach the collector: it gives no valid answer")
}

func (c *Client) request(ctx context.Context, body []byte) (*http.Request, error) {
	encoding := ""
	if c.config.Gzip {
		var small bytes.Buffer
		w := gzip.NewWriter(&small)
		if _, err := w.Write(body); err != nil {
			return nil, fmt.Errorf("compress OTLP: %w", err)
		}
		if err := w.Close(); err != nil {
			return nil, fmt.Errorf("compress OTLP: %w", err)
		}
		body, encoding = small.Bytes(), "gzip"
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.config.URL, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("make a request for the collector: %w", err)
	}
	r.Header.Set("Content-Type", contentType)
	if encoding != "" {
		r.Header.Set("Content-Encoding", encoding)
	}
	for name, value := range c.config.Headers {
		r.Header.Set(name, value.RevealText())
	}
	return r, nil
}

// again reports whether a status says that a later request can succeed, as OTLP has it. One that says nothing of the content counts too: a collector that
// moved, or whose key was replaced, takes the same spans later.
func again(status int) bool {
	switch status {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity:
		return false
	}
	return true
}

// after returns the seconds of Retry-After, 0 without.
func after(h http.Header) time.Duration {
	seconds, err := strconv.ParseUint(h.Get("Retry-After"), 10, 31)
	if err != nil {
		return 0
	}
	return min(time.Duration(seconds)*time.Second, maxAfter)
}
