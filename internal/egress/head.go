// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"

	"motorcortex.dev/motorcortex/internal/egress/allowlist"
	"motorcortex.dev/motorcortex/internal/egress/grant"
)

const (
	maxHead   = 64 << 10
	firstHead = 4 << 10
	maxFields = 128
)

// kind is the kind of a request.
type kind int

const (
	kindCheck kind = iota
	kindConnect
	kindPlain
)

// request is the head of a request that can be read in one way only.
type request struct {
	kind   kind
	method string
	// old is true if the client speaks HTTP/1.0.
	old    bool
	header http.Header
	host   allowlist.Host
	port   uint16
	// path is path and query as the client wrote them.
	path string
	// length is the length of the body, or -1 for a chunked one.
	length int64
}

var heads = sync.Pool{New: func() any { return new([firstHead]byte) }}

// readRequest reads the head of a request, and the bytes that came with it. A tunnel keeps what is returned for as long as it is open, so the
// buffer is no part of it. On a refusal the request has the host, if it came that far.
func readRequest(conn io.Reader, room func(bytes int) bool) (req *request, rest []byte, reason Reason) {
	buf, _ := heads.Get().(*[firstHead]byte)
	defer heads.Put(buf)
	head, rest, reason := readHead(conn, buf[:], room)
	if reason != "" {
		return &request{}, nil, reason
	}
	req, reason = parseHead(head)
	if len(rest) == 0 {
		return req, nil, reason
	}
	return req, bytes.Clone(rest), reason
}

// readHead reads until the empty line that ends a head. It returns the head and the bytes after it. A line that ends with LF alone is
// refused as soon as it is seen: a second request can hide where programs disagree about the end of a line. Before a head takes more than
// the bytes of buf, room is asked for the rest.
func readHead(conn io.Reader, buf []byte, room func(bytes int) bool) (head, rest []byte, reason Reason) {
	buf = buf[:0]
	for at := 0; ; {
		for ; at < len(buf); at++ {
			if buf[at] != '\n' {
				continue
			}
			if at < 2 || buf[at-1] != '\r' {
				return nil, nil, ReasonBadRequest
			}
			if buf[at-2] == '\n' {
				return buf[:at+1], buf[at+1:], ""
			}
		}
		if len(buf) == maxHead {
			return nil, nil, ReasonHeadTooLarge
		}
		if len(buf) == cap(buf) {
			size := min(4*cap(buf), maxHead)
			if !room(size - cap(buf)) {
				return nil, nil, ReasonTooMany
			}
			buf = append(make([]byte, 0, size), buf...)
		}
		n, err := conn.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		switch {
		case n > 0:
		case errors.Is(err, os.ErrDeadlineExceeded):
			return nil, nil, ReasonHeadTimeout
		case err != nil && len(buf) == 0:
			return nil, nil, ReasonClosed
		case err != nil:
			return nil, nil, ReasonBadRequest
		}
	}
}

// parseHead reads a head strictly: what could be read in two ways is refused. On a refusal the request has the host, if it
// came that far.
func parseHead(head []byte) (*request, Reason) {
	lines := strings.Split(strings.TrimSuffix(string(head), "\r\n\r\n"), "\r\n")
	r := &request{header: http.Header{}}
	method, rest, ok1 := strings.Cut(lines[0], " ")
	target, version, ok2 := strings.Cut(rest, " ")
	if !ok1 || !ok2 || !isMethod(method) || !visible(target) || version != "HTTP/1.1" && version != "HTTP/1.0" {
		return r, ReasonBadRequest
	}
	r.method, r.old = method, version == "HTTP/1.0"
	if len(lines)-1 > maxFields {
		return r, ReasonHeadTooLarge
	}
	for _, line := range lines[1:] {
		if !r.field(line) {
			return r, ReasonBadRequest
		}
	}
	if !r.framing() {
		return r, ReasonBadRequest
	}
	return r, r.target(target)
}

// field adds a header line.
func (r *request) field(line string) bool {
	name, value, ok := strings.Cut(line, ":")
	// Some programs take a line that begins with a space as a continuation of the line before it; no token begins with one.
	if !ok || !isToken(name) {
		return false
	}
	value = strings.Trim(value, " \t")
	for i := range len(value) {
		if c := value[i]; c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	key := http.CanonicalHeaderKey(name)
	switch key {
	case "Host", "Content-Length", "Transfer-Encoding", "Proxy-Authorization", "Authorization", "Expect", "Upgrade":
		if _, twice := r.header[key]; twice {
			return false
		}
	}
	r.header[key] = append(r.header[key], value)
	return true
}

// framing finds out how long the body is. Two statements about it are one too many.
func (r *request) framing() bool {
	length, hasLength := r.header["Content-Length"]
	encoding, hasEncoding := r.header["Transfer-Encoding"]
	switch {
	case hasLength && hasEncoding:
		return false
	case hasEncoding:
		r.length = -1
		return !r.old && strings.EqualFold(encoding[0], "chunked")
	case hasLength:
		n, err := strconv.ParseUint(length[0], 10, 62)
		r.length = int64(n) //nolint:gosec // it has at most 62 bits
		return err == nil && isDigits(length[0])
	}
	return true
}

// target reads the target of the request, and compares it with the Host header.
func (r *request) target(target string) Reason {
	host, hasHost := r.header["Host"]
	if !hasHost && !r.old {
		return ReasonBadRequest
	}
	switch {
	case r.method == http.MethodConnect:
		r.kind = kindConnect
		if r.length != 0 {
			return ReasonBadRequest
		}
		if reason := r.authority(target, 0); reason != "" {
			return reason
		}
		if hasHost && !r.isSelf(host[0], r.port) {
			return ReasonHostMismatch
		}
		return ""
	case target == grant.CheckPath && r.method == http.MethodGet && r.length == 0:
		r.kind = kindCheck
		return ""
	}
	rest, ok := strings.CutPrefix(target, "http://")
	if !ok {
		return ReasonBadRequest
	}
	r.kind = kindPlain
	end := strings.IndexAny(rest, "/?")
	if end < 0 {
		end = len(rest)
	}
	r.path = rest[end:]
	if reason := r.authority(rest[:end], 80); reason != "" {
		return reason
	}
	switch {
	case strings.ContainsAny(r.path, "#\\"):
		return ReasonBadRequest
	case hasHost && !r.isSelf(host[0], 80):
		return ReasonHostMismatch
	}
	return ""
}

// authority reads host:port. Without a standard port the port is required.
func (r *request) authority(s string, standard uint16) Reason {
	host, port, ok := splitAuthority(s, standard)
	if !ok {
		return ReasonBadHost
	}
	h, err := allowlist.ParseHost(host)
	if err != nil {
		return ReasonBadHost
	}
	r.host, r.port = h, port
	return ""
}

// isSelf reports whether a Host header names the host of the request.
func (r *request) isSelf(s string, standard uint16) bool {
	host, port, ok := splitAuthority(s, standard)
	if !ok {
		return false
	}
	h, err := allowlist.ParseHost(host)
	return err == nil && h == r.host && port == r.port
}

func splitAuthority(s string, standard uint16) (host string, port uint16, ok bool) {
	host, digits, found := strings.Cut(s, ":")
	if !found {
		return host, standard, standard != 0
	}
	n, err := strconv.ParseUint(digits, 10, 16)
	return host, uint16(n), err == nil && n > 0 && digits[0] != '0' && isDigits(digits)
}

func isMethod(s string) bool {
	return s != "" && len(s) <= 32 && strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ-") == ""
}

func isDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || bytes.IndexByte([]byte("!#$%&'*+-.^_`|~"), c) >= 0 {
			continue
		}
		return false
	}
	return s != ""
}

// visible reports whether a text has nothing but visible ASCII, so that no blank, line end or NUL is in it.
func visible(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] >= 0x7f {
			return false
		}
	}
	return s != ""
}
