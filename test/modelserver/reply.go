// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"motorcortex.dev/motorcortex/test/modelserver/script"
)

// reply is a response that was decided on, down to where it breaks off. Deciding
// and sending are apart so that every fault can be seen as data.
type reply struct {
	// wait passes before anything is sent.
	wait time.Duration
	// late sends it also if the client has given up by then.
	late bool
	// status 0 sends nothing at all.
	status int
	header map[string]string
	// length is what Content-Length promises; -1 for a stream.
	length int
	// frames are written one by one, each flushed.
	frames [][]byte
	// between passes before each of the frames but the first.
	between time.Duration
	// stall passes after the frames, with the connection open.
	stall time.Duration
	// abort breaks the connection after that.
	abort bool
}

func jsonReply(status int, body []byte) reply {
	return reply{
		status: status, header: map[string]string{"Content-Type": "application/json"},
		length: len(body), frames: [][]byte{body},
	}
}

func errorReply(e *apiError) reply {
	r := jsonReply(e.status, mustJSON(map[string]*apiError{"error": e}))
	if e.retryAfter > 0 {
		r.header["Retry-After"] = strconv.Itoa(e.retryAfter)
	}
	if e.noRetry {
		r.header["X-Should-Retry"] = "false"
	}
	return r
}

func streamReply(frames [][]byte) reply {
	return reply{
		status: http.StatusOK,
		header: map[string]string{"Content-Type": "text/event-stream; charset=utf-8", "Cache-Control": "no-cache"},
		length: -1, frames: frames,
	}
}

func event(data []byte) []byte {
	out := append([]byte("data: "), data...)
	return append(out, '\n', '\n')
}

var done = []byte("data: [DONE]\n\n")

func events(chunks [][]byte) [][]byte {
	out := make([][]byte, len(chunks), len(chunks)+1)
	for i, c := range chunks {
		out[i] = event(c)
	}
	return out
}

// whole is the answer as it should be.
func (s said) whole(stream, withChoices bool) reply {
	if stream {
		return streamReply(append(events(s.chunks(withChoices)), done))
	}
	return jsonReply(http.StatusOK, s.body(withChoices))
}

// broken is the answer with a fault in it.
func (s said) broken(f script.Fault, stream bool) reply {
	var r reply
	switch f.Kind {
	case script.FaultStatus:
		r = errorReply(statusError(f.Status, f.RetryAfterSeconds, f.Code, f.Message))
	case script.FaultHang, script.FaultDisconnect:
		r = reply{abort: true}
	case script.FaultEmpty:
		s.play = &script.Play{FinishReason: "stop"}
		s.usage.TotalTokens -= s.usage.CompletionTokens
		s.usage.CompletionTokens = 0
		r = s.whole(stream, true)
	case script.FaultNoChoices:
		r = s.whole(stream, false)
	case script.FaultCutStream, script.FaultCutBody:
		r = s.cut(stream)
	case script.FaultStall:
		r = s.cut(stream)
		r.stall = f.Delay
		return r
	case script.FaultEndStream, script.FaultTruncatedJSON, script.FaultMalformedJSON:
		r = s.garbled(f.Kind, stream)
	case script.FaultTrickle:
		if r = s.whole(stream, true); stream {
			r.between = f.Delay / time.Duration(len(r.frames)-1)
			return r
		}
	default: // Slow and late, which are the delay below and nothing else.
		r = s.whole(stream, true)
	}
	r.wait, r.late = f.Delay, f.Kind == script.FaultLate
	return r
}

// cut sends the first half and breaks the connection.
func (s said) cut(stream bool) reply {
	var r reply
	if stream {
		chunks := s.chunks(true)
		r = streamReply(events(chunks[:len(chunks)/2]))
	} else {
		r = s.whole(false, true)
		r.frames[0] = r.frames[0][:len(r.frames[0])/2]
	}
	r.abort = true
	return r
}

// garbled sends a response that is whole to HTTP and broken to who reads it.
func (s said) garbled(kind script.FaultKind, stream bool) reply {
	if !stream {
		body := s.body(true)
		if kind == script.FaultMalformedJSON {
			return jsonReply(http.StatusOK, malformed(body))
		}
		return jsonReply(http.StatusOK, body[:len(body)/2])
	}
	chunks := s.chunks(true)
	half := len(chunks) / 2
	frames := events(chunks[:half])
	switch kind {
	case script.FaultMalformedJSON:
		frames = append(frames, event(malformed(chunks[half])), done)
	case script.FaultTruncatedJSON:
		frames = append(frames, event(chunks[half][:len(chunks[half])/2]))
	default: // endStream: nothing more.
	}
	return streamReply(frames)
}

// malformed spoils JSON from its start, as a proxy's error page would be.
func malformed(body []byte) []byte {
	return append([]byte("{'"), body[1:]...)
}

// What became of a request, as the log tells it.
const (
	outcomeWaiting    = "waiting"
	outcomeSent       = "sent"
	outcomeCut        = "cut"
	outcomeClientGone = "clientGone"
)

// deliver sends a reply. It reports the outcome just before the last bytes go
// out, so that a client that has its answer finds it in the log, and corrects
// itself if they did not go out.
func (r reply) deliver(w http.ResponseWriter, req *http.Request, wait waiter, report func(string)) (abort bool) {
	if r.wait > 0 {
		ctx := req.Context()
		if r.late {
			ctx = context.WithoutCancel(ctx)
		}
		if err := wait(ctx, r.wait); err != nil {
			report(outcomeClientGone)
			return true
		}
	}
	planned := outcomeSent
	if r.abort {
		planned = outcomeCut
	}
	report(planned)
	if r.status == 0 {
		return true
	}
	err := r.write(req.Context(), w, wait)
	if err == nil && r.stall > 0 {
		err = wait(req.Context(), r.stall)
	}
	if err != nil {
		report(outcomeClientGone)
	}
	return r.abort
}

// write sends the frames. Whether the client is there is asked before each and not after the last: a client that has the
// whole answer may hang up before this returns.
func (r reply) write(ctx context.Context, w http.ResponseWriter, wait waiter) error {
	for key, value := range r.header {
		w.Header().Set(key, value)
	}
	if r.length >= 0 {
		w.Header().Set("Content-Length", strconv.Itoa(r.length))
	}
	w.WriteHeader(r.status)
	flush := http.NewResponseController(w)
	for i, frame := range r.frames {
		if err := ctx.Err(); err != nil {
			return err
		}
		if i > 0 && r.between > 0 {
			if err := wait(ctx, r.between); err != nil {
				return err
			}
		}
		if _, err := w.Write(frame); err != nil {
			return err
		}
		if err := flush.Flush(); err != nil {
			return err
		}
	}
	return nil
}

// waiter waits, or returns an error if the context ends first. Tests replace it.
type waiter func(context.Context, time.Duration) error

func waitTimer(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
