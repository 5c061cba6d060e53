// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"motorcortex.dev/motorcortex/internal/serving/shares"
)

// small is a message that needs no room of its own. largeBytes are the bytes of larger ones that are read at once, and largeOf those of one account: messages are
// read whole.
const small, largeBytes, largeOf = 64 << 10, 4 * MaxMessage, MaxMessage

// sizeHeader tells a call how many bytes its message has, if it is large. A program cannot set it.
const sizeHeader = "Motorcortex-Message-Bytes"

// fewBytes bounds the bytes of large messages that are read, and the time in which a message comes. What one takes is given back when the server has read it: its
// call can wait for long, and has a bound of its own. A slow message has room for what came of it alone.
func fewBytes(next http.Handler) http.Handler {
	room := shares.New(largeBytes, largeOf)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		account, taken := sharerOf(r), int64(0)
		give := sync.OnceFunc(func() { room.Give(account, taken) })
		defer give()
		take := func(much int64) bool {
			if !room.Take(account, much) {
				return false
			}
			taken += much
			return true
		}
		if r.ContentLength != 0 {
			timed(w, r)
		}
		r.Header.Del(sizeHeader)
		if r.ContentLength < 0 || r.ContentLength > small {
			if !readWhole(w, r, take) {
				return
			}
			if r.ContentLength > small {
				r.Header.Set(sizeHeader, strconv.FormatInt(r.ContentLength, 10))
			}
			r.Body = &givingBody{r.Body, give}
		}
		next.ServeHTTP(w, r)
	})
}

var (
	// errNoRoom is of a message for which there is no room beside the others.
	errNoRoom = errors.New("no room")
	// errLong is of a message that is too long.
	errLong = fmt.Errorf("a message has at most %d bytes", MaxMessage)
)

// givingBody returns the room of a message when it has been read.
type givingBody struct {
	io.ReadCloser
	give func()
}

func (b *givingBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		b.give()
	}
	return n, err
}

// sizeOf is how many bytes a call keeps of its message, 0 if it is a small one.
func sizeOf(req *mcp.CallToolRequest) int64 {
	if req.Extra == nil {
		return 0
	}
	size, err := strconv.ParseInt(req.Extra.Header.Get(sizeHeader), 10, 64)
	if err != nil {
		return 0
	}
	return size
}

// readWhole reads the message of a request, and reports whether it could. Otherwise the request is answered.
func readWhole(w http.ResponseWriter, r *http.Request, take func(int64) bool) bool {
	message, err := whole(r.Body, take)
	switch {
	case errors.Is(err, errNoRoom):
		Busy(w, "large messages")
	case errors.Is(err, errLong):
		http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
	case err != nil:
		http.Error(w, "the message breaks off", http.StatusBadRequest)
	default:
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(message)), int64(len(message))
		return true
	}
	return false
}

// whole reads a message part by part, and takes room for each part before it comes. A short one takes none.
func whole(body io.Reader, take func(int64) bool) ([]byte, error) {
	var message bytes.Buffer
	for room, taken := int64(small), int64(0); ; {
		_, err := io.CopyN(&message, body, room-int64(message.Len()))
		switch {
		case errors.Is(err, io.EOF):
			return message.Bytes(), nil
		case err != nil:
			return nil, err
		case room > MaxMessage:
			return nil, errLong
		}
		if room *= 2; room > MaxMessage {
			room = MaxMessage + 1 // It is reached by a message that is too long alone.
		}
		if more := min(room, MaxMessage) - taken; more > 0 {
			if !take(more) {
				return nil, errNoRoom
			}
			taken += more
		}
	}
}

// oneMessage refuses batches, which an older version of the protocol has: one request would be hundreds of calls.
func oneMessage(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			body := bufio.NewReader(http.MaxBytesReader(w, r.Body, MaxMessage))
			if first, err := firstOf(body); err == nil && first == '[' {
				http.Error(w, "batches are not served: send one message in each request", http.StatusBadRequest)
				return
			}
			r.Body = struct {
				io.Reader
				io.Closer
			}{body, r.Body}
		}
		next.ServeHTTP(w, r)
	})
}

// firstOf drops the white space before a message, and returns its first byte, which stays.
func firstOf(body *bufio.Reader) (byte, error) {
	for {
		b, err := body.ReadByte()
		if err != nil {
			return 0, err
		}
		if b != ' ' && b != '\t' && b != '\r' && b != '\n' {
			return b, body.UnreadByte()
		}
	}
}
