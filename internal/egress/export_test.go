// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"context"
	"io"

	"motorcortex.dev/motorcortex/internal/egress/allowlist"
	"motorcortex.dev/motorcortex/internal/secret/redact"
)

// ReadHello is readHello for a host that is written as text.
func ReadHello(r io.Reader, name string) ([]byte, Reason) {
	h, err := allowlist.ParseHost(name)
	if err != nil {
		return nil, ReasonBadHost
	}
	return readHello(context.Background(), r, h)
}

// RedactorOf returns the redactor that a run's connections share.
func RedactorOf(g *Grants, runUID string) *redact.Redactor { return g.runs[runUID].values.redactor() }

// FormerOf returns how many values of earlier grants are remembered of a run, and how long they are together.
func FormerOf(g *Grants, runUID string) (n, size int) {
	for _, s := range g.runs[runUID].values.former {
		size += len(s.Value)
	}
	return len(g.runs[runUID].values.former), size
}

// LargeBuffers takes n buffers for tunnels in which bytes come fast, for each of that many runs, and gives all of them back. It returns how many
// buffers each run got.
func LargeBuffers(s *Server, runs, n int) (got []int) {
	var give []func()
	for range runs {
		u, large := newUsage(s.limits), 0
		for range n {
			if buf := s.buffers.takeLarge(u); buf != nil {
				large++
				give = append(give, func() { s.buffers.giveLarge(u, buf) })
			}
		}
		got = append(got, large)
	}
	for _, back := range give {
		back()
	}
	return got
}

// LargeInUse is how many large buffers all tunnels have.
func LargeInUse(s *Server) int { return len(s.buffers.largeSlots) }

// The numbers of buffers that there are at once.
const (
	MostSmall      = maxSmall
	MostLargeOfRun = maxLargeOfRun
)

// ReadHead reads and parses the head of a request.
func ReadHead(r io.Reader) Reason {
	head, _, reason := readHead(r, make([]byte, firstHead), func(int) bool { return true })
	if reason == "" {
		_, reason = parseHead(head)
	}
	return reason
}

// ReadRequest reads the head of a request, and returns the bytes that came with it.
func ReadRequest(r io.Reader) (rest []byte, reason Reason) {
	_, rest, reason = readRequest(r, func(int) bool { return true })
	return rest, reason
}
