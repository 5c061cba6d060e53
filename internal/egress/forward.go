// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
)

const copyBuffer = 32 << 10

var copyBuffers = sync.Pool{New: func() any { return new([copyBuffer]byte) }}

// forward sends a request to the host and its answer to the client.
func (x *exchange) forward(out *http.Request, host net.Conn, old bool) Reason {
	transport := &http.Transport{
		// The connection is to an address that was judged. There is no other: nothing is dialed here.
		DialContext:            func(context.Context, string, string) (net.Conn, error) { return Answering(host), nil },
		DisableKeepAlives:      true,
		DisableCompression:     true,
		MaxResponseHeaderBytes: maxHead,
	}
	defer transport.CloseIdleConnections()
	resp, err := transport.RoundTrip(out)
	if err != nil {
		x.write(x.answer(ReasonUpstream))
		if e, ok := errors.AsType[endError](err); ok {
			return e.why
		}
		return ReasonUpstream
	}
	defer resp.Body.Close()
	if resp.StatusCode < 200 || resp.StatusCode > 999 {
		x.write(x.answer(ReasonUpstream))
		return ReasonUpstream
	}
	client := &counted{Conn: x.client, x: x, idle: x.server.timeouts.Idle}
	if err := x.reply(bufio.NewWriter(client), resp, old); err != nil {
		if e, ok := errors.AsType[endError](err); ok {
			return e.why
		}
		return ReasonClosed
	}
	x.linger()
	return ReasonClosed
}

// reply writes an answer. One that breaks off is left incomplete, so that the client sees that it is.
func (x *exchange) reply(w *bufio.Writer, resp *http.Response, old bool) error {
	header := passedOn(resp.Header)
	header["Connection"] = []string{"close"}
	empty := x.method == http.MethodHead || resp.StatusCode == http.StatusNoContent || resp.StatusCode == http.StatusNotModified
	chunked := false
	switch {
	case resp.ContentLength >= 0 && resp.StatusCode != http.StatusNoContent:
		header["Content-Length"] = []string{strconv.FormatInt(resp.ContentLength, 10)}
	case !empty && !old:
		chunked = true
		header["Transfer-Encoding"] = []string{"chunked"}
	}
	fmt.Fprintf(w, "HTTP/1.1 %03d %s\r\n", resp.StatusCode, http.StatusText(resp.StatusCode))
	if err := header.Write(w); err != nil {
		return err
	}
	_, _ = w.WriteString("\r\n")
	if err := w.Flush(); err != nil || empty {
		return err
	}
	return copyBody(w, resp.Body, chunked)
}

// copyBody passes on what comes as it comes.
func copyBody(w *bufio.Writer, body io.Reader, chunked bool) error {
	buf, _ := copyBuffers.Get().(*[copyBuffer]byte)
	defer copyBuffers.Put(buf)
	for {
		n, err := body.Read(buf[:])
		if n > 0 {
			if chunked {
				fmt.Fprintf(w, "%x\r\n", n)
			}
			_, _ = w.Write(buf[:n])
			if chunked {
				_, _ = w.WriteString("\r\n")
			}
		}
		end := errors.Is(err, io.EOF)
		if end && chunked {
			_, _ = w.WriteString("0\r\n\r\n")
		}
		// A bufio.Writer keeps its first error until here.
		if failed := w.Flush(); failed != nil || end {
			return failed
		}
		if err != nil {
			return err
		}
	}
}
