// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"time"

	"motorcortex.dev/motorcortex/internal/egress/allowlist"
)

const maxHello = 16 << 10

var (
	errHelloRead     = errors.New("the ClientHello was read")
	errHelloTooLarge = errors.New("the ClientHello is too long")
)

// readHello reads a ClientHello, in however many records and segments it comes, and compares the host it names with the one that the client
// asked for. It returns all bytes that it read. crypto/tls does the reading: it refuses a hello that has an extension twice or names two
// hosts, and a name that ends with a dot. A caller that ends the connection closes conn: watching a context here as well would take a
// goroutine for each connection.
func readHello(ctx context.Context, conn io.Reader, want allowlist.Host) (read []byte, reason Reason) {
	rec := &recorder{from: conn}
	var name string
	seen := false
	err := tls.Server(rec, &tls.Config{
		MinVersion: tls.VersionTLS12,
		GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			name, seen = hello.ServerName, true
			return nil, errHelloRead
		},
	}).HandshakeContext(context.WithoutCancel(ctx))
	switch {
	case seen:
		return rec.read.Bytes(), judgeName(name, want)
	case errors.Is(err, errHelloTooLarge):
		return nil, ReasonHelloTooLarge
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, ReasonHelloTimeout
	case rec.read.Len() == 0:
		return nil, ReasonClosed
	}
	return nil, ReasonNotTLS
}

func judgeName(name string, want allowlist.Host) Reason {
	if name == "" {
		return ReasonNoServerName
	}
	if h, err := allowlist.ParseHost(name); err != nil || h != want {
		return ReasonServerName
	}
	return ""
}

// recorder is a connection that records the bytes read from it, up to maxHello, and on which nothing can be sent.
type recorder struct {
	from io.Reader
	read bytes.Buffer
}

func (r *recorder) Read(p []byte) (int, error) {
	left := maxHello - r.read.Len()
	if left == 0 {
		return 0, errHelloTooLarge
	}
	n, err := r.from.Read(p[:min(len(p), left)])
	r.read.Write(p[:n])
	return n, err
}

func (*recorder) Write(p []byte) (int, error)      { return len(p), nil }
func (*recorder) Close() error                     { return nil }
func (*recorder) LocalAddr() net.Addr              { return nil }
func (*recorder) RemoteAddr() net.Addr             { return nil }
func (*recorder) SetDeadline(time.Time) error      { return nil }
func (*recorder) SetReadDeadline(time.Time) error  { return nil }
func (*recorder) SetWriteDeadline(time.Time) error { return nil }

// TLS alerts with the reason of a refusal, for a client that could not read an answer in HTTP.
const (
	alertAccessDenied     = 49
	alertInternalError    = 80
	alertUnrecognizedName = 112
)

// alertFor returns the record of a fatal alert, or nil where the client does not speak TLS.
func alertFor(why Reason) []byte {
	var description byte
	switch why {
	case ReasonNoServerName, ReasonServerName:
		description = alertUnrecognizedName
	case ReasonDial, ReasonResolve, ReasonShutdown, ReasonNotReady:
		description = alertInternalError
	case ReasonAddress, ReasonRateLimited, ReasonNoTerminator, ReasonBytes, ReasonHelloTooLarge, ReasonTooMany:
		description = alertAccessDenied
	default:
		return nil
	}
	const alert, fatal = 21, 2
	return []byte{alert, 3, 3, 0, 2, fatal, description}
}

// prefixed is a connection that replays some bytes before its own.
type prefixed struct {
	net.Conn
	pre []byte
}

func (c *prefixed) Read(p []byte) (int, error) {
	if len(c.pre) > 0 {
		n := copy(p, c.pre)
		c.pre = c.pre[n:]
		return n, nil
	}
	return c.Conn.Read(p)
}
