// SPDX-License-Identifier: Apache-2.0

//go:build linux

package wayout

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolserver/plaintext"
)

const (
	wayDialTimeout      = 5 * time.Second
	wayHandshakeTimeout = 15 * time.Second
	wayIdleTimeout      = 30 * time.Second
	// MaxWayHeaderBytes is the most that the head of an answer may have.
	MaxWayHeaderBytes = 64 << 10

	// MaxDenialBytes holds any answer of the proxy's own.
	MaxDenialBytes = 8 << 10
	// DeniedHeader is set on the proxy's own answers, and has the reason.
	DeniedHeader = "Motor-Denied"
)

// ErrNone means that nothing can be reached from the sandbox.
var ErrNone = errors.New("this sandbox has no way out")

// ProxyRefusal is the answer of the egress proxy to a CONNECT that it did not carry out.
type ProxyRefusal struct {
	// Status is of HTTP.
	Status int
	// message is the proxy's own word, in one line.
	message string
	// Reason and Body are the proxy's reason and its explanation.
	Reason, Body string
}

// Error describes the proxy's answer.
func (r *ProxyRefusal) Error() string {
	return fmt.Sprintf("the egress proxy answered %d: %s", r.Status, r.message)
}

// Client makes a client for requests of the server's own. Like those of programs, they go through the egress proxy and nowhere else, and
// trust the same certificates. It follows no redirect and has no time limit of its own. The caller closes its idle connections. The error
// is ErrNone if there is no way out.
func (e *Egress) Client() (*http.Client, error) {
	way := e.Current()
	if way.Proxy == "" {
		return nil, ErrNone
	}
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(e.readSystemCAs())
	trusted.AppendCertsFromPEM([]byte(way.CA))
	proxy := &url.URL{Scheme: "http", User: url.UserPassword(toolapi.EgressUser, way.Token), Host: way.Proxy}
	return &http.Client{
		Transport: &http.Transport{
			Proxy:                  http.ProxyURL(proxy),
			OnProxyConnectResponse: refusalOf,
			DialContext:            (&net.Dialer{Timeout: wayDialTimeout}).DialContext,
			TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: trusted},
			TLSHandshakeTimeout:    wayHandshakeTimeout,
			IdleConnTimeout:        wayIdleTimeout,
			MaxResponseHeaderBytes: MaxWayHeaderBytes,
			DisableCompression:     true, // A small answer could unpack to a large one.
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, nil
}

// refusalOf makes an error of a CONNECT that was not carried out. The body is short and at hand: the proxy sends it with the
// head and closes the connection.
func refusalOf(_ context.Context, _ *url.URL, _ *http.Request, resp *http.Response) error {
	if resp.StatusCode == http.StatusOK {
		return nil
	}
	_, phrase, _ := strings.Cut(resp.Status, " ")
	said, err := io.ReadAll(io.LimitReader(resp.Body, MaxDenialBytes))
	if err != nil {
		said = nil // The phrase is sufficient.
	}
	return &ProxyRefusal{resp.StatusCode, plaintext.Bound(phrase, 200), resp.Header.Get(DeniedHeader), string(said)}
}
