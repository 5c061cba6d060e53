// SPDX-License-Identifier: Apache-2.0

// Package toolclient is the engine's client of the tool server in a sandbox.
//
// Both ends know each other by their keys. The tool server accepts only the manager's key that its Pod was created
// with. The client accepts the key of the first server that answers with the UID of the right Pod, and no other
// afterwards. Callers must store ServerKey with the run and pass it to the next Client of the same sandbox.
//
// Everything that comes back is from a hostile place: the client bounds and parses it, and the caller must judge its
// content.
package toolclient

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"motorcortex.dev/motorcortex/internal/toolapi"
)

const (
	// DefaultUnreachable is how long a Client keeps trying when the server does not answer.
	DefaultUnreachable = 10 * time.Second

	dialTimeout      = 3 * time.Second
	handshakeTimeout = 5 * time.Second
	idleTimeout      = 90 * time.Second
	firstPause       = 20 * time.Millisecond
	longestPause     = time.Second
)

// Config identifies the tool server that a Client talks to, and the client.
type Config struct {
	// Address is IP:port of the sandbox Pod.
	Address string
	// PodUID is the UID of the intended Pod; an address can belong to another one by now.
	PodUID string
	// ClientCert is the manager's certificate and key; see ClientCertificate.
	ClientCert tls.Certificate
	// Epoch is that of the caller's claim on the run, from 0.
	Epoch int64
	// PinnedServerKey is the ServerKey of an earlier Client of this sandbox; empty means to pin at first contact.
	PinnedServerKey string
	// Unreachable is how long requests are repeated while the server does not answer; 0 means DefaultUnreachable.
	Unreachable time.Duration
}

// Client talks to one tool server. It can be used by several goroutines at once.
type Client struct {
	cfg  Config
	http *http.Client

	// introduced is held while the first Hello is on its way. Nothing else is sent before it has come back, since
	// the identity of the server is not known until then.
	introduced chan struct{}

	mu       sync.Mutex
	key      string    // pinned, "" before the first contact
	verified bool      // Hello has named the right Pod
	contact  time.Time // the last answer of any kind
	peer     *toolapi.Peer
}

// New makes a client. It does not connect yet.
func New(cfg Config) (*Client, error) {
	if _, _, err := net.SplitHostPort(cfg.Address); err != nil {
		return nil, fmt.Errorf("address of the tool server: %w", err)
	}
	if cfg.PodUID == "" {
		return nil, errors.New("the UID of the tool server's Pod is missing")
	}
	if len(cfg.ClientCert.Certificate) == 0 {
		return nil, errors.New("the manager's certificate is missing")
	}
	if cfg.Epoch < 0 {
		return nil, fmt.Errorf("the epoch %d is negative", cfg.Epoch)
	}
	if cfg.Unreachable <= 0 {
		cfg.Unreachable = DefaultUnreachable
	}
	c := &Client{cfg: cfg, key: cfg.PinnedServerKey, introduced: make(chan struct{}, 1)}
	dialer := &net.Dialer{Timeout: dialTimeout}
	c.http = &http.Client{
		Transport: &http.Transport{
			Proxy:               nil, // A proxy of the environment must not stand between manager and sandbox.
			DialContext:         dialer.DialContext,
			TLSHandshakeTimeout: handshakeTimeout,
			TLSClientConfig: &tls.Config{
				MinVersion:   tls.VersionTLS13,
				Certificates: []tls.Certificate{cfg.ClientCert},
				// There is no CA and no name: VerifyConnection compares the server's key with the pinned one.
				InsecureSkipVerify: true,
				VerifyConnection:   func(cs tls.ConnectionState) error { return c.checkKey(cs.PeerCertificates) },
			},
			DisableCompression:     true, // A small answer could unpack to a large one.
			MaxResponseHeaderBytes: 16 << 10,
			// With fewer, most concurrent read calls of an answer would need a new handshake in each answer. Unused connections
			// end after idleTimeout.
			MaxIdleConnsPerHost: toolapi.MaxReads,
			IdleConnTimeout:     idleTimeout,
		},
		// The API has no redirects; one would lead out of the sandbox.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return c, nil
}

// ServerKey is the pinned key of the server, "sha256:" and the hash of its public key in hex; "" before the first Hello.
func (c *Client) ServerKey() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.key
}

// Close closes idle connections. Requests on their way continue; end them by their contexts.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// checkKey compares a server's key with the pinned one. Before one is pinned, it accepts any.
func (c *Client) checkKey(chain []*x509.Certificate) error {
	if len(chain) == 0 {
		return fmt.Errorf("%w: it shows no key", ErrServerKeyChanged)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.key != "" && c.key != pinOf(chain[0]) {
		return ErrServerKeyChanged
	}
	return nil
}

// introduce makes sure that Hello has named the right Pod once.
func (c *Client) introduce(ctx context.Context) error {
	select {
	case c.introduced <- struct{}{}:
		defer func() { <-c.introduced }()
	case <-ctx.Done():
		return ctx.Err()
	}
	c.mu.Lock()
	verified := c.verified
	c.mu.Unlock()
	if verified {
		return nil
	}
	_, err := c.hello(ctx)
	return err
}

// hello asks once for the server's identity, and pins the key of the connection that returned the right answer.
func (c *Client) hello(ctx context.Context) (toolapi.Hello, error) {
	var h toolapi.Hello
	chain, err := c.send(ctx, exchange{method: http.MethodGet, path: toolapi.PathHello, timeout: shortTimeout, into: &h})
	if err == nil && h.PodUID != c.cfg.PodUID {
		err = fmt.Errorf("%w: its UID is %q and not %s", ErrWrongPod, plain(h.PodUID, 64), c.cfg.PodUID)
	}
	if err == nil {
		err = c.checkKey(chain)
	}
	if err == nil && h.APIVersion > toolapi.APIVersion {
		err = fmt.Errorf("%w: it speaks version %d of the format, and this manager %d", ErrUnsupported, h.APIVersion, toolapi.APIVersion)
	}
	if err != nil {
		// A connection to a wrong server must not be used for the next request.
		c.http.CloseIdleConnections()
		return toolapi.Hello{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.key, c.verified, c.peer = pinOf(chain[0]), true, h.Peer()
	return h, nil
}

// Peer returns the server's features of the format, nil before the first Hello.
func (c *Client) Peer() *toolapi.Peer {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.peer
}

// persist repeats attempt while the server cannot be reached, with growing pauses, until it has not answered anything
// for the configured time or ctx ends. Every request of the API may be repeated: calls have an id that the server's
// ledger knows, and the others request a state and not a change of it.
func (c *Client) persist(ctx context.Context, attempt func(context.Context) error) error {
	began := time.Now()
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		err := attempt(ctx)
		if err == nil || final(err) {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		silent := time.Since(c.lastContact(began))
		if silent >= c.cfg.Unreachable {
			return fmt.Errorf("%w for %s: %w", ErrUnreachable, silent.Round(time.Millisecond), err)
		}
		// Other connections of the pool may be dead like the one that failed.
		c.http.CloseIdleConnections()
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(min(pause, c.cfg.Unreachable-silent)):
		}
	}
}

// lastContact is when the server last answered, but not before began.
func (c *Client) lastContact(began time.Time) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.contact.After(began) {
		return c.contact
	}
	return began
}

func (c *Client) answered() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.contact = time.Now()
}
