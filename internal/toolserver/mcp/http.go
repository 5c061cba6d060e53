// SPDX-License-Identifier: Apache-2.0

//go:build linux

package mcp

import (
	"context"
	"io"
	"mime"
	"net/http"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"motorcortex.dev/motorcortex/internal/toolapi"
)

// openURL makes the way to a server at a URL. Nothing is sent yet.
func (m *Servers) openURL(words toolapi.MCPServer) (*transport, error) {
	way := m.wayWords()
	client, err := m.egress.Client()
	if err != nil {
		return nil, err
	}
	life, end := context.WithCancel(context.Background())
	trip := &roundTripper{next: client.Transport, life: life, authorization: words.Authorization, traffic: newTraffic(m.maxTraffic)}
	client.Transport = trip
	return &transport{
		Transport: &mcp.StreamableClientTransport{
			Endpoint:     words.URL,
			HTTPClient:   client,
			MaxRetries:   -1,
			MaxEventSize: maxMessage,
			// Servers notify of changed tools on the stream of any answer too, and the tools are checked when a loop starts.
			DisableStandaloneSSE: true,
		},
		traffic: trip.traffic,
		begun:   func(version string) { trip.version.Store(&version) },
		abort: func() {
			end()
			client.CloseIdleConnections()
		},
		current: func() bool { return m.wayWords() == way },
	}, nil
}

// wayWords is the way out in words that can be compared.
func (m *Servers) wayWords() string {
	way := m.egress.Current()
	return way.Proxy + " " + way.Token + " " + way.CA
}

// roundTripper makes the requests of one session.
type roundTripper struct {
	next http.RoundTripper
	// life is that of the session.
	life          context.Context //nolint:containedctx // requests end with the session, whatever their own contexts say
	authorization string
	traffic       *traffic
	// version of the protocol, nil until it is known.
	version atomic.Pointer[string]
}

// RoundTrip makes one request, whose answer is measured.
func (t *roundTripper) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(r.Context())
	stop := context.AfterFunc(t.life, cancel) //nolint:contextcheck // the session's end is one more reason to end the request
	r = r.Clone(ctx)
	if t.authorization != "" {
		r.Header.Set("Authorization", t.authorization)
	}
	if v := t.version.Load(); v != nil {
		// The library knows it of connections of its own kind only.
		r.Header.Set("Mcp-Protocol-Version", *v)
	}
	resp, err := t.next.RoundTrip(r)
	if err != nil {
		stop()
		cancel()
		return nil, err
	}
	message := int64(maxMessage)
	if kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type")); err == nil && kind == "text/event-stream" {
		message = -1 // Each event is measured by itself.
	}
	resp.Body = &body{ReadCloser: resp.Body, end: func() { stop(); cancel() }}
	resp.Body = &measured{ReadCloser: resp.Body, traffic: t.traffic, message: message}
	return resp, nil
}

// CloseIdleConnections closes what no request uses.
func (t *roundTripper) CloseIdleConnections() {
	(&http.Client{Transport: t.next}).CloseIdleConnections()
}

// body releases the resources of a request when its answer was read.
type body struct {
	io.ReadCloser
	end func()
}

// Close closes the body.
func (b *body) Close() error {
	err := b.ReadCloser.Close()
	b.end()
	return err
}
