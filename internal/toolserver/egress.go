// SPDX-License-Identifier: Apache-2.0

//go:build linux

package toolserver

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolserver/ledger"
	"motorcortex.dev/motorcortex/internal/toolserver/plaintext"
	"motorcortex.dev/motorcortex/internal/toolserver/request"
	"motorcortex.dev/motorcortex/internal/toolserver/tool"
	"motorcortex.dev/motorcortex/internal/toolserver/wayout"
)

const (
	// checkTryTimeout bounds one try of the way, and checkPause is the time between two. A network policy that is not
	// programmed yet drops packets in silence, so a try that is waited on for long would find the open way late.
	checkTryTimeout = 300 * time.Millisecond
	checkPause      = 50 * time.Millisecond
)

// errClosed ends the check of a way when its time is over.
var errClosed = errors.New("the time to check the way out is over")

// putEgress takes the way out in, and then waits until it is open: a program that needs it must not be the first to find
// that it is not yet.
func (s *Server) putEgress(r *request.Request) (any, error) {
	content, err := r.Content(wayout.MaxRequestBytes)
	if err != nil {
		return nil, err
	}
	var req toolapi.EgressRequest
	if err := tool.DecodeStrictly(content, &req); request.IsUnknownField(err) {
		return nil, request.Unreadable("the way out", err)
	} else if err != nil {
		return nil, request.Bad("the way out cannot be read") // The error could quote a value.
	}
	if err := wayout.Check(req); err != nil {
		return nil, err
	}
	err = s.egress.Set(req, func() error {
		if s.ledger.Highest() != r.Epoch {
			return ledger.ErrStale
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if req.Proxy == "" {
		return toolapi.EgressResponse{}, nil
	}
	return s.checkWayOut(r, req)
}

// checkWayOut tries the way until it is open or the request's time is over.
func (s *Server) checkWayOut(r *request.Request, req toolapi.EgressRequest) (any, error) {
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	defer context.AfterFunc(s.base, func() { cancel(tool.ErrStopped) })()
	ctx, stop := context.WithTimeoutCause(ctx, time.Duration(req.TimeoutMs)*time.Millisecond, errClosed)
	defer stop()
	client := &http.Client{
		Transport:     &http.Transport{Proxy: nil, DisableKeepAlives: true, MaxResponseHeaderBytes: 16 << 10},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	var last error
	for {
		err := tryWayOut(ctx, client, req)
		if err == nil {
			return toolapi.EgressResponse{Ready: true}, nil
		}
		if last == nil || ctx.Err() == nil {
			last = err // The earlier error is more useful than the timeout.
		}
		select {
		case <-time.After(checkPause):
			continue
		case <-r.Fenced:
			return nil, ledger.ErrStale
		case <-ctx.Done():
		}
		if cause := context.Cause(ctx); !errors.Is(cause, errClosed) {
			return nil, cause
		}
		detail := strings.ReplaceAll(last.Error(), req.Token, "[token]")
		return toolapi.EgressResponse{Detail: plaintext.Bound(detail, 300)}, nil
	}
}

// tryWayOut asks the proxy once whether it lets this sandbox through.
func tryWayOut(ctx context.Context, client *http.Client, req toolapi.EgressRequest) error {
	ctx, cancel := context.WithTimeout(ctx, checkTryTimeout)
	defer cancel()
	get, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+req.Proxy+toolapi.EgressCheckPath, nil)
	if err != nil {
		return err
	}
	get.Header.Set("Proxy-Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(toolapi.EgressUser+":"+req.Token)))
	resp, err := client.Do(get)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusNoContent {
		return nil
	}
	said, _ := io.ReadAll(io.LimitReader(resp.Body, 200)) // The status is sufficient.
	return fmt.Errorf("the egress proxy answered %d: %s", resp.StatusCode, strings.Join(strings.Fields(string(said)), " "))
}
