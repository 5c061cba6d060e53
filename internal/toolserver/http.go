// SPDX-License-Identifier: Apache-2.0

//go:build linux

package toolserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"strconv"
	"time"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolserver/ledger"
	"motorcortex.dev/motorcortex/internal/toolserver/request"
	"motorcortex.dev/motorcortex/internal/toolserver/tool"
)

// handler serves the API: route, epoch, answer, and every failure as an Error.
func (s *Server) handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			if p := recover(); p != nil {
				if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
					panic(p)
				}
				s.log.Error("a request panicked", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
				s.respond(w, nil, errors.New("the request failed inside the tool server"))
			}
		}()
		serve, err := s.route(r) //nolint:contextcheck // a call runs on the server's context and outlives its request
		if err != nil {
			s.respond(w, nil, err)
			return
		}
		epoch, fenced, err := s.admit(r)
		if err != nil {
			s.respond(w, nil, err)
			return
		}
		answer, err := serve(&request.Request{Request: r, Epoch: epoch, Fenced: fenced, Control: http.NewResponseController(w)})
		if r.Context().Err() != nil && !errors.Is(err, ledger.ErrStale) {
			return // The client is gone.
		}
		s.respond(w, answer, err)
	})
}

// admit checks the request's epoch. It stands before everything else that a request can do.
func (s *Server) admit(r *http.Request) (int64, <-chan struct{}, error) {
	epoch, err := strconv.ParseInt(r.Header.Get(toolapi.HeaderEpoch), 10, 64)
	if err != nil || epoch < 0 {
		return 0, nil, request.Bad("the header %s must be a decimal number from 0", toolapi.HeaderEpoch)
	}
	fenced, err := s.ledger.Enter(epoch)
	return epoch, fenced, err
}

// respond writes an answer, or the Error that err is.
func (s *Server) respond(w http.ResponseWriter, answer any, err error) {
	if errors.Is(err, tool.ErrStopped) || errors.Is(err, ledger.ErrDamaged) {
		// The broken connection makes the client ask again, and perhaps find this server restarted. An Error would be final.
		panic(http.ErrAbortHandler)
	}
	status := http.StatusOK
	if err != nil {
		var r *request.Refusal
		switch {
		case errors.As(err, &r):
		case errors.Is(err, ledger.ErrStale):
			r = request.Refuse(http.StatusConflict, toolapi.ErrStaleEpoch, err.Error())
		case errors.Is(err, ledger.ErrMismatch):
			r = request.Refuse(http.StatusConflict, toolapi.ErrCallMismatch, err.Error())
		case errors.Is(err, ledger.ErrFull):
			r = request.Refuse(http.StatusInsufficientStorage, toolapi.ErrLedgerFull, err.Error())
		default:
			s.log.Error("a request failed", "error", err)
			r = request.Refuse(http.StatusInternalServerError, toolapi.ErrInternal, err.Error())
		}
		status, answer = r.Status, toolapi.Error{Code: r.Code, Message: r.Message}
	}
	var body bytes.Buffer
	enc := json.NewEncoder(&body)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(answer); err != nil {
		s.log.Error("an answer cannot be encoded", "error", err)
		status = http.StatusInternalServerError
		body.Reset()
		body.WriteString(`{"code":"` + toolapi.ErrInternal + `","message":"the answer cannot be encoded"}`)
	}
	// A client that does not read must not hold its connection for ever.
	if err := http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		s.log.Debug("the time to write an answer is not limited", "error", err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if _, err := w.Write(body.Bytes()); err != nil {
		s.log.Debug("an answer was not read", "error", err)
	}
}
