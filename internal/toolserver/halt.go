// SPDX-License-Identifier: Apache-2.0

//go:build linux

package toolserver

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolserver/connections"
	"motorcortex.dev/motorcortex/internal/toolserver/ledger"
	"motorcortex.dev/motorcortex/internal/toolserver/request"
	"motorcortex.dev/motorcortex/internal/toolserver/tool"
)

const (
	// haltTimeout bounds the end of running calls and programs. The client waits a little longer.
	haltTimeout = 20 * time.Second
	// lingerTimeout is how long a connection without a process may take to end: bytes that were written to it are sent first.
	lingerTimeout = 3 * time.Second
	// lingerPause lies between two looks at the connections.
	lingerPause = 20 * time.Millisecond
)

// halt ends all that runs in the sandbox, and returns the connections that remain open.
func (s *Server) halt(r *request.Request) (any, error) {
	ctx, cancel := context.WithTimeout(r.Context(), haltTimeout)
	defer cancel()
	// A call that waits for the lane must not begin when the call before it has ended.
	s.processes.FreezeStarts()
	s.ledger.CancelAll(tool.ErrHalted)
	select {
	case s.lane <- struct{}{}:
		defer func() { <-s.lane }()
	case <-r.Fenced:
		return nil, ledger.ErrStale
	case <-ctx.Done():
		return nil, fmt.Errorf("halt the sandbox: a call still runs: %w", ctx.Err())
	}
	if s.ledger.Highest() != r.Epoch {
		return nil, ledger.ErrStale
	}
	if err := s.freeze(toolapi.StoppedIsolationLost); err != nil {
		return nil, fmt.Errorf("halt the sandbox: %w", err)
	}
	left, all, err := s.connectionsLeft(ctx)
	if err != nil {
		return nil, fmt.Errorf("halt the sandbox: %w", err)
	}
	s.log.Info("everything in the sandbox was ended", "connections", all)
	resp := toolapi.HaltResponse{All: int32(min(all, 1<<30))}
	for _, c := range left {
		resp.Connections = append(resp.Connections, toolapi.Connection{
			Network: c.Network, Local: addressText(c.Local), Remote: addressText(c.Remote), State: c.State,
		})
	}
	return resp, nil
}

// connectionsLeft returns the connections that are there after the time that they may take to end. No program runs.
func (s *Server) connectionsLeft(ctx context.Context) ([]connections.Connection, int, error) {
	own := connections.Own{Listen: s.listens()}
	if proxy, err := netip.ParseAddrPort(s.egress.Current().Proxy); err == nil {
		own.Proxy = proxy
	}
	for deadline := time.Now().Add(lingerTimeout); ; {
		left, all, err := connections.Foreign(s.netTables, own)
		if err != nil || all == 0 || time.Now().After(deadline) {
			return left, all, err
		}
		select {
		case <-ctx.Done():
			return left, all, nil
		case <-time.After(lingerPause):
		}
	}
}

// listens is where the server listens, the zero AddrPort if that is not known.
func (s *Server) listens() netip.AddrPort {
	address, _ := s.listen.Load().(string)
	at, _ := netip.ParseAddrPort(address)
	return at
}

func addressText(a netip.AddrPort) string {
	if !a.IsValid() {
		return ""
	}
	return a.String()
}
