// SPDX-License-Identifier: Apache-2.0

package terminate

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"motorcortex.dev/motorcortex/internal/egress"
)

// connection serves the requests of one client connection, one after the other.
type connection struct {
	target    egress.Target
	session   *egress.Session
	transport *http.Transport
}

// refusal is what the client receives instead of an answer.
type refusal struct {
	reason     egress.Reason
	status     int
	credential string
}

// ServeHTTP carries out one request.
func (c *connection) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	no := c.carry(w, r)
	if no == nil {
		return
	}
	d := egress.Denial{Reason: no.reason, Host: c.target.Host.String(), Port: c.target.Port, Credential: no.credential}
	c.session.Deny(d)
	if r.ContentLength != 0 {
		// The rest of the client's request is not read.
		w.Header().Set("Connection", "close")
	}
	writeDenial(w, no.status, net.JoinHostPort(d.Host, strconv.Itoa(int(d.Port))), no)
}

// carry sends the host's answer to the client, or returns why there is none.
func (c *connection) carry(w http.ResponseWriter, r *http.Request) *refusal {
	g := c.session.Current()
	if g == nil {
		return &refusal{reason: egress.ReasonRevoked, status: http.StatusForbidden}
	}
	if reason := c.session.Request(); reason != "" {
		return &refusal{reason: reason, status: http.StatusTooManyRequests}
	}
	if no := check(r, c.target); no != nil {
		return no
	}
	// The values of now are known before the first of them is sent.
	hide := c.session.Redactor()
	out := outgoing(r, c.target)
	used, bad := swap(out.Header, out.URL, bindings(g, c.target), g)
	if bad != nil {
		return &refusal{reason: bad.reason, status: http.StatusForbidden, credential: bad.credential}
	}
	var connected atomic.Bool
	out = out.WithContext(httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{
		// Only a host that has shown its certificate is sent anything.
		GotConn: func(httptrace.GotConnInfo) { connected.Store(true) },
	}))
	answer, err := c.transport.RoundTrip(out)
	if connected.Load() {
		for _, name := range used {
			c.session.Used(name)
		}
	}
	if err != nil {
		return failed(r, err)
	}
	defer answer.Body.Close()
	return pass(w, answer, r.Method, hide)
}

// failed returns why there is no answer.
func failed(r *http.Request, err error) *refusal {
	if r.Context().Err() != nil && errors.Is(err, context.Canceled) {
		panic(http.ErrAbortHandler) // the client is gone, or the grant is
	}
	no := &refusal{reason: egress.ReasonUpstream, status: http.StatusBadGateway}
	var certificate *tls.CertificateVerificationError
	var dial *dialError
	switch {
	case errors.As(err, &certificate):
		no.reason = egress.ReasonUpstreamTLS
	case errors.As(err, &dial):
		no.reason = egress.ReasonDial
	}
	return no
}

// check refuses a request that is not a plain one to the host that the connection is for.
func check(r *http.Request, t egress.Target) *refusal {
	host := t.Host.String()
	port := ":" + strconv.Itoa(int(t.Port))
	switch {
	case r.Method == http.MethodConnect || r.Method == http.MethodTrace || r.Method == "TRACK":
		return &refusal{reason: egress.ReasonMethod, status: http.StatusMethodNotAllowed}
	case !strings.HasPrefix(r.RequestURI, "/"):
		return &refusal{reason: egress.ReasonBadRequest, status: http.StatusBadRequest}
	case !strings.EqualFold(r.Host, host) && !strings.EqualFold(r.Host, host+port):
		return &refusal{reason: egress.ReasonHostMismatch, status: http.StatusMisdirectedRequest}
	case len(r.Header.Values("Upgrade")) > 0 || hasToken(r.Header, "Connection", "upgrade"):
		return &refusal{reason: egress.ReasonUpgrade, status: http.StatusForbidden}
	}
	return nil
}

// hopByHop are headers between two neighbours, which are not passed on.
var hopByHop = []string{
	"Connection", "Proxy-Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Te", "Trailer",
	"Transfer-Encoding", "Upgrade", "Http2-Settings", "Proxy-Authentication-Info",
}

func dropHopByHop(h http.Header) {
	for _, line := range h.Values("Connection") {
		for name := range strings.SplitSeq(line, ",") {
			h.Del(textproto.TrimString(name))
		}
	}
	for _, name := range hopByHop {
		h.Del(name)
	}
}

func hasToken(h http.Header, name, token string) bool {
	return slices.ContainsFunc(h.Values(name), func(line string) bool {
		for t := range strings.SplitSeq(line, ",") {
			if strings.EqualFold(textproto.TrimString(t), token) {
				return true
			}
		}
		return false
	})
}

// outgoing is the request for the host, with the client's credentials still in it. The connection's headers are gone before
// a value comes in, so that no client can have one of them taken out again.
func outgoing(r *http.Request, t egress.Target) *http.Request {
	u := *r.URL
	u.Scheme, u.Host, u.User = "https", authority(t), nil
	header := r.Header.Clone()
	dropHopByHop(header)
	// A value that comes in pieces, or in an alphabet of two or four bytes, would not be found in the answer.
	for _, name := range []string{"Range", "If-Range", "A-Im", "Accept-Charset"} {
		header.Del(name)
	}
	header.Set("Accept-Encoding", "identity")
	if len(header.Values("User-Agent")) == 0 {
		header.Set("User-Agent", "") // or the transport adds its own
	}
	out := &http.Request{
		Method: r.Method, URL: &u, Host: u.Host, Header: header, ContentLength: r.ContentLength,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}
	if r.ContentLength != 0 {
		// The transport may still read it when this handler has returned.
		out.Body = &body{ReadCloser: r.Body}
	}
	return out
}

// body prevents the transport from closing the server's body. The server does that, after it has decided whether to read the remainder.
type body struct{ io.ReadCloser }

// Close implements io.Closer.
func (b *body) Close() error { return nil }
