// SPDX-License-Identifier: Apache-2.0

//go:build linux

package toolserver

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolserver/nearby"
	"motorcortex.dev/motorcortex/internal/toolserver/plaintext"
	"motorcortex.dev/motorcortex/internal/toolserver/proc"
	"motorcortex.dev/motorcortex/internal/toolserver/request"
	"motorcortex.dev/motorcortex/internal/toolserver/tool"
)

const (
	maxProbeBytes   = 64 << 10
	maxProbeTimeout = 5 * time.Second
)

// dnsQuery asks for the A record of kubernetes.default.svc.cluster.local, which every cluster's DNS answers.
var dnsQuery = []byte("\x4d\x43\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00" +
	"\x0akubernetes\x07default\x03svc\x07cluster\x05local\x00" + "\x00\x01\x00\x01")

// probe tries connections that must not succeed. It runs in the server itself, before any tool: network policies hold
// for the whole Pod.
func (s *Server) probe(r *request.Request) (any, error) {
	content, err := r.Content(maxProbeBytes)
	if err != nil {
		return nil, err
	}
	var req toolapi.ProbeRequest
	if err := tool.DecodeStrictly(content, &req); err != nil {
		return nil, request.Unreadable("the probe", err)
	}
	timeout := time.Duration(req.TimeoutMs) * time.Millisecond
	if timeout <= 0 || timeout > maxProbeTimeout {
		return nil, request.Bad("timeoutMs may be 1 to %d", maxProbeTimeout.Milliseconds())
	}
	if len(req.Targets) == 0 || len(req.Targets) > toolapi.MaxProbeTargets {
		return nil, request.Bad("a probe has 1 to %d targets", toolapi.MaxProbeTargets)
	}
	for i, t := range req.Targets {
		// With a name instead of an address, the tried address would depend on the resolver, which the sandbox may not have.
		if _, err := netip.ParseAddrPort(t.Address); err != nil || t.Network != "tcp" && t.Network != "udp" {
			return nil, request.Bad("target %d must have the network tcp or udp and an address of the form IP:port", i)
		}
	}
	began := time.Now()
	ctx, cancel := context.WithTimeout(r.Context(), timeout)
	defer cancel()
	results := make([]toolapi.ProbeResult, len(req.Targets))
	var all sync.WaitGroup
	for i, t := range req.Targets {
		all.Go(func() { results[i] = probeTarget(ctx, t) })
	}
	var around []toolapi.NearbyResult
	if !s.address.IsLoopback() { // Else this is no Pod, and what is nearby is none of ours.
		all.Go(func() { around = lookAround(ctx) })
	}
	all.Wait()
	if err := r.Context().Err(); err != nil {
		return nil, err // Tries that were cut off show nothing.
	}
	resp := toolapi.ProbeResponse{Results: results, Nearby: around, Confinement: s.confinement()}
	s.countProbe(req.Digest(), len(resp.Open()) == 0, began, time.Now())
	return resp, nil
}

// blockedProbes are probes in a row with the same targets that reached nothing.
type blockedProbes struct {
	targets             string
	tries               int32
	firstEnd, lastBegan time.Time
}

// maxBlocked is where counting ends: more would say no more.
const maxBlocked = 100

// countProbe notes a probe. A manager that takes the run over learns from it that the isolation was proved to this process.
func (s *Server) countProbe(targets string, blocked bool, began, ended time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := &s.blocked
	switch {
	case !blocked:
		*b = blockedProbes{}
		return
	case b.targets != targets || b.tries == 0:
		*b = blockedProbes{targets: targets, firstEnd: ended}
	}
	b.tries, b.lastBegan = min(b.tries+1, maxBlocked), began
}

// probed returns what a manager is told about the probes, nil if something was reached in the last one.
func (s *Server) probed() *toolapi.Probed {
	s.mu.Lock()
	b := s.blocked
	s.mu.Unlock()
	if b.tries == 0 {
		return nil
	}
	return &toolapi.Probed{Targets: b.targets, Tries: b.tries, OverMs: max(0, b.lastBegan.Sub(b.firstEnd).Milliseconds()), Confinement: s.confinement()}
}

// maxNearby bounds the report of the neighbourhood. Reached addresses come first.
const maxNearby = 64

func lookAround(ctx context.Context) []toolapi.NearbyResult {
	var reached, blocked []toolapi.NearbyResult
	for _, t := range nearby.Look(ctx, dnsQuery) {
		r := toolapi.NearbyResult{Family: familyName(t.IPv6), ProbeResult: toolapi.ProbeResult{
			Name: plaintext.Bound(t.Name, 200), Reached: t.Reached, Detail: plaintext.Bound(t.Detail, 300),
		}}
		if t.Reached {
			reached = append(reached, r)
		} else {
			blocked = append(blocked, r)
		}
	}
	all := slices.Concat(reached, blocked)
	return all[:min(len(all), maxNearby)]
}

// confinement reports how the programs of this sandbox are confined.
func (s *Server) confinement() *toolapi.Confinement {
	c := &toolapi.Confinement{Landlock: proc.LandlockABI() >= proc.MinLandlock, ProcessLimit: proc.ProcessesLimited()}
	if err := s.processes.Ready(); err != nil {
		c.Refused = plaintext.Bound(err.Error(), 500)
	}
	families := proc.ProgramFamilies(s.address)
	if name := proc.NameOf(families); name != "" {
		c.Families = []string{name}
	}
	if !families.IPv6 && nearby.HasIPv6() {
		c.Denied = []string{toolapi.FamilyIPv6}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if ip, err := netip.ParseAddrPort(s.listening); err == nil && ip.Addr().IsUnspecified() {
		c.Listening = []string{s.listening}
	}
	return c
}

func familyName(six bool) string {
	if six {
		return toolapi.FamilyIPv6
	}
	return toolapi.FamilyIPv4
}

// probeTarget tries one address. Only an established connection, or a datagram that comes back, counts as reached. A refused connection
// does not: firewalls answer with a refusal in the host's name, and the address is known to have a listener.
func probeTarget(ctx context.Context, t toolapi.ProbeTarget) toolapi.ProbeResult {
	result := toolapi.ProbeResult{Name: t.Name}
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, t.Network, t.Address)
	if err == nil {
		if t.Network == "udp" {
			err = askUDP(ctx, conn)
		}
		_ = conn.Close()
	}
	result.Reached = err == nil
	if err != nil {
		result.Detail = plaintext.Bound(err.Error(), 300)
	}
	return result
}

// askUDP returns nil if any datagram comes back. The query is sent twice: one lost datagram would look like a wall.
func askUDP(ctx context.Context, conn net.Conn) error {
	end, _ := ctx.Deadline()
	half := time.Now().Add(time.Until(end) / 2)
	answer := make([]byte, 512)
	var err error
	for _, deadline := range []time.Time{half, end} {
		if err := conn.SetDeadline(deadline); err != nil {
			return err
		}
		if _, err := conn.Write(dnsQuery); err != nil {
			return err
		}
		if _, err = conn.Read(answer); !isTimeout(err) {
			return err
		}
	}
	return err
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}
