// SPDX-License-Identifier: Apache-2.0

package terminate

import (
	"bufio"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"io"
	"net/http"
	"strings"

	"motorcortex.dev/motorcortex/internal/egress"
	"motorcortex.dev/motorcortex/internal/secret/redact"
)

// copyBuffer is how much of a body is held at a time.
const copyBuffer = 32 << 10

// pass sends the host's answer to the client, without any of the values. It can refuse while nothing has been sent. An answer that breaks
// off later ends the client's connection, so that the client does not take a part for the whole.
func pass(w http.ResponseWriter, answer *http.Response, method string, hide *redact.Redactor) *refusal {
	if answer.StatusCode < 200 || answer.StatusCode == http.StatusPartialContent {
		// Neither an upgrade nor a part was asked for.
		return &refusal{reason: egress.ReasonUpstream, status: http.StatusBadGateway}
	}
	body, decoded, err := decode(answer, hasBody(method, answer.StatusCode))
	if err != nil || hasBody(method, answer.StatusCode) && wide(answer.Header) {
		return &refusal{reason: egress.ReasonEncoding, status: http.StatusBadGateway}
	}
	header := w.Header()
	clear(header)
	dropHopByHop(answer.Header)
	for _, name := range []string{"Alt-Svc", "Content-Length", "Accept-Ranges", "Content-Encoding"} {
		answer.Header.Del(name)
	}
	redactHeader(header, answer.Header, hide)
	if len(header["Content-Type"]) == 0 {
		header["Content-Type"] = nil // or the server guesses one
	}
	if decoded {
		header.Del("Content-Md5")
		header.Del("Digest")
	}
	if answer.ContentLength == 0 && hasBody(method, answer.StatusCode) {
		header.Set("Content-Length", "0")
	}
	w.WriteHeader(answer.StatusCode)
	if !hasBody(method, answer.StatusCode) {
		return nil
	}
	if err := stream(w, body, hide); err != nil {
		panic(http.ErrAbortHandler)
	}
	trailers := http.Header{}
	redactHeader(trailers, answer.Trailer, hide)
	for name, values := range trailers {
		header[http.TrailerPrefix+name] = values
	}
	return nil
}

// hasBody reports whether HTTP lets the answer have a body.
func hasBody(method string, status int) bool {
	return method != http.MethodHead && status >= 200 && status != http.StatusNoContent && status != http.StatusNotModified
}

// redactHeader adds the fields of one header to another. A name with a value in it is omitted.
func redactHeader(to, from http.Header, hide *redact.Redactor) {
	for name, values := range from {
		if hide.String(name) != name || hide.String(strings.ToLower(name)) != strings.ToLower(name) {
			continue
		}
		for _, v := range values {
			to.Add(name, hide.String(v))
		}
	}
}

// wide reports whether a text is in a charset that encodes even ASCII differently. A value is not found in such a text.
func wide(h http.Header) bool {
	for _, v := range h.Values("Content-Type") {
		_, charset, _ := strings.Cut(strings.ToLower(v), "charset")
		charset = strings.NewReplacer("-", "", "_", "").Replace(charset)
		for _, name := range []string{"utf16", "utf32", "utf7", "ucs2", "ucs4", "unicode", "ebcdic", "ibm037", "cp037"} {
			if strings.Contains(charset, name) {
				return true
			}
		}
	}
	return false
}

// broken notes that a body ended before its end.
type broken struct {
	io.Reader
	is bool
}

// Read implements io.Reader.
func (b *broken) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	b.is = b.is || err != nil && !errors.Is(err, io.EOF)
	return n, err
}

// stream copies bytes as soon as they arrive, so that a host may answer little by little. The size of a write depends on how many bytes
// arrived, and not on their content. Otherwise the sandbox could have the host repeat guesses at a value, and see which of them the
// Redactor held back. For the same reason, bytes that the Redactor still holds are dropped when the host breaks off.
func stream(w http.ResponseWriter, body io.Reader, hide *redact.Redactor) error {
	flusher := http.NewResponseController(w)
	host := &broken{Reader: body}
	from := hide.Reader(host)
	buffer := make([]byte, copyBuffer)
	// The Redactor may hold all there is for long; the head of the answer does not wait for it.
	if err := flusher.Flush(); err != nil {
		return err
	}
	for {
		n, err := from.Read(buffer)
		if host.is {
			return errBroken
		}
		if n > 0 {
			if _, err := w.Write(buffer[:n]); err != nil {
				return err
			}
			if err := flusher.Flush(); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			// Without it an empty body would get a length, and trailers after it could not be sent.
			return flusher.Flush()
		}
		if err != nil {
			return err
		}
	}
}

// decode returns the body without its content encoding, although the host was asked for none. A packed body is read as a stream: a bomb is
// never in memory as a whole, however long it is.
func decode(answer *http.Response, body bool) (io.Reader, bool, error) {
	if answer.Uncompressed || len(answer.TransferEncoding) > 0 && !strings.EqualFold(strings.Join(answer.TransferEncoding, ","), "chunked") {
		return nil, false, errEncoding
	}
	encoding := strings.ToLower(strings.TrimSpace(strings.Join(answer.Header.Values("Content-Encoding"), ",")))
	if !body || encoding == "" || encoding == "identity" {
		return answer.Body, false, nil
	}
	switch encoding {
	case "gzip", "x-gzip":
		return &lazy{open: func() (io.Reader, error) { return gzip.NewReader(answer.Body) }}, true, nil
	case "deflate":
		return &lazy{open: func() (io.Reader, error) { return inflate(answer.Body) }}, true, nil
	}
	return nil, false, errEncoding
}

type encodingError string

func (e encodingError) Error() string { return string(e) }

const (
	errEncoding encodingError = "the answer is encoded in an unknown way"
	errBroken   encodingError = "the answer has no end"
)

// inflate reads the "deflate" encoding, and the form that some hosts take for it: the same without a frame.
func inflate(from io.Reader) (io.Reader, error) {
	r := bufio.NewReader(from)
	head, err := r.Peek(2)
	if err != nil {
		return nil, err
	}
	if head[0]&0x0f == 8 && (uint(head[0])<<8|uint(head[1]))%31 == 0 {
		return zlib.NewReader(r)
	}
	return flate.NewReader(r), nil
}

// lazy opens a packed body when it is read, so that the head of the answer does not wait for it. A body without a byte is empty, whatever
// its Content-Encoding is.
type lazy struct {
	open func() (io.Reader, error)
	r    io.Reader
}

// Read implements io.Reader.
func (l *lazy) Read(p []byte) (int, error) {
	if l.r == nil {
		r, err := l.open()
		if err != nil {
			return 0, err
		}
		l.r = r
	}
	return l.r.Read(p)
}
