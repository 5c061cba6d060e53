// SPDX-License-Identifier: Apache-2.0

//go:build linux

package toolserver

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
	maxWayHeaderBytes   = 64 << 10
)

// errNoWayOut says that nothing can be reached from the sandbox.
var errNoWayOut = errors.New("this sandbox has no way out")

// proxyRefusal is the answer of the egress proxy to a CONNECT that it did not carry out.
type proxyRefusal struct {
	status int
	// message is the proxy's own word, in one line.
	message string
	// reason and body are why it refused, and what it says to that.
	reason, body string
}

func (r *proxyRefusal) Error() string {
	return fmt.Sprintf("the egress proxy answered %d: %s", r.status, r.message)
}

// wayOutClient makes a client for requests of the server's own: they go where those of programs go, through the egress
// proxy and nowhere else, and trust what those trust. It follows no redirect and has no time limit of its own. Whoever makes
// it closes its idle connections. The error is errNoWayOut if there is no way out.
func (e *egress) wayOutClient() (*http.Client, error) {
	way := e.wayOut()
	if way.Proxy == "" {
		return nil, errNoWayOut
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
			MaxResponseHeaderBytes: maxWayHeaderBytes,
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
	said, err := io.ReadAll(io.LimitReader(resp.Body, maxDenialBytes))
	if err != nil {
		said = nil // The phrase says enough.
	}
	return &proxyRefusal{resp.StatusCode, plaintext.Bound(phrase, 200), resp.Header.Get(deniedHeader), string(said)}
}
