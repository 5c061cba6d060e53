// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"motorcortex.dev/motorcortex/internal/egress/allowlist"
	"motorcortex.dev/motorcortex/internal/egress/grant"
)

const (
	handleText = 32
)

// hopByHop are the fields that are about one connection.
var hopByHop = []string{
	"Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection", "Proxy-Authentication-Info",
	"Te", "Trailer", "Transfer-Encoding", "Upgrade", "Content-Length", "Expect", "Host", "Http2-Settings", "Forwarded",
}

// plain serves a request for http://. There is one for each connection, so that bytes after it are never read as another request.
func (x *exchange) plain(ctx context.Context, req *request, bound bool) {
	if reason := x.judgePlain(req, bound); reason != "" {
		x.refuse(reason)
		return
	}
	out, err := x.outgoing(ctx, req)
	if err != nil {
		x.refuse(ReasonBadRequest)
		return
	}
	addrs, reason := x.resolve(ctx)
	if reason != "" {
		x.refuse(whyEnded(ctx, reason))
		return
	}
	conn, reason := x.dial(ctx, addrs)
	if reason != "" {
		x.refuse(whyEnded(ctx, reason))
		return
	}
	up := newUpstream(ctx, conn, func() {})
	defer up.Close()
	x.allowed()
	x.finished(whyEnded(ctx, x.forward(out, &timed{Conn: up, idle: x.server.timeouts.Idle}, req.old)))
}

// judgePlain refuses requests that must not go over an unencrypted connection, which anyone on the path can read.
func (x *exchange) judgePlain(req *request, bound bool) Reason {
	_, upgrade := req.header["Upgrade"]
	switch {
	case req.method == http.MethodTrace || req.method == "TRACK":
		return ReasonMethod
	case upgrade || slices.Contains(named(req.header), "Upgrade"):
		return ReasonUpgrade
	case x.showsCredential(req):
		return ReasonCredentialPlaintext
	case bound || req.port == allowlist.DefaultPort:
		return ReasonTLSRequired
	}
	return ""
}

// showsCredential finds handles, and values that are exposed to the sandbox, in the address and the header of a request. A value that the
// sandbox does not have is not looked for: a refusal would tell a program in it that it has guessed right.
func (x *exchange) showsCredential(req *request) bool {
	texts := []string{req.path}
	if decoded, err := url.PathUnescape(req.path); err == nil {
		texts = append(texts, decoded)
	}
	for name, values := range req.header {
		if name == "Proxy-Authorization" {
			continue
		}
		for _, v := range values {
			texts = append(texts, name+": "+v)
			if _, encoded, ok := strings.Cut(v, " "); ok {
				if pair, err := base64.StdEncoding.DecodeString(encoded); err == nil {
					texts = append(texts, string(pair))
				}
			}
		}
	}
	return slices.ContainsFunc(texts, func(t string) bool {
		return hasHandle(t) || x.session.policy.held.String(t) != t
	})
}

// hasHandle finds the handle of any run.
func hasHandle(s string) bool {
	s = strings.ToLower(s)
	for {
		_, after, ok := strings.Cut(s, grant.HandlePrefix)
		if !ok {
			return false
		}
		if len(after) >= handleText && strings.Trim(after[:handleText], "abcdefghijklmnopqrstuvwxyz234567") == "" {
			return true
		}
		s = after
	}
}

// outgoing makes the request that the host gets. Its head is written anew: nothing of the client's bytes passes unparsed.
func (x *exchange) outgoing(ctx context.Context, req *request) (*http.Request, error) {
	authority := req.host.String()
	if req.port != 80 {
		authority = net.JoinHostPort(authority, strconv.Itoa(int(req.port)))
	}
	path := req.path
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	u, err := url.Parse("http://" + authority + path)
	if err != nil {
		// The error of url.Parse has the text in it.
		return nil, errors.New("the address cannot be parsed")
	}
	header := passedOn(req.header)
	if _, ok := header["User-Agent"]; !ok {
		// Otherwise one is added.
		header["User-Agent"] = []string{""}
	}
	in := &counted{Conn: &prefixed{Conn: x.client, pre: x.pre}, x: x, idle: x.server.timeouts.Idle}
	out := (&http.Request{Method: req.method, URL: u, Host: authority, Header: header, Close: true}).WithContext(ctx)
	switch {
	case req.length > 0:
		out.Body, out.ContentLength = io.NopCloser(io.LimitReader(in, req.length)), req.length
	case req.length < 0:
		out.Body, out.ContentLength = io.NopCloser(httputil.NewChunkedReader(in)), -1
	default:
		out.Body = http.NoBody
	}
	if strings.EqualFold(req.header.Get("Expect"), "100-continue") && req.length != 0 {
		out.Body = &continued{ReadCloser: out.Body, client: x.client}
	}
	return out, nil
}

// continued sends 100 Continue to the client when the body is first read.
type continued struct {
	io.ReadCloser
	client io.Writer
	told   bool
}

func (c *continued) Read(p []byte) (int, error) {
	if !c.told {
		c.told = true
		if _, err := io.WriteString(c.client, "HTTP/1.1 100 Continue\r\n\r\n"); err != nil {
			return 0, err
		}
	}
	return c.ReadCloser.Read(p)
}

// passedOn is a header without the fields that are about one connection.
func passedOn(h http.Header) http.Header {
	out := h.Clone()
	for _, name := range named(h) {
		delete(out, name)
	}
	for _, name := range hopByHop {
		delete(out, name)
	}
	return out
}

// named are the fields that Connection names.
func named(h http.Header) []string {
	var names []string
	for name := range strings.SplitSeq(strings.Join(h["Connection"], ","), ",") {
		names = append(names, http.CanonicalHeaderKey(strings.TrimSpace(name)))
	}
	return names
}
