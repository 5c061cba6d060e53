// SPDX-License-Identifier: Apache-2.0

package egress_test

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"sync"
	"syscall"
	"time"

	"motorcortex.dev/motorcortex/internal/egress"
	"motorcortex.dev/motorcortex/internal/egress/grant"
)

type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) forward(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// names answers for names. Each question takes the next answer; the last one stays.
type names struct {
	mu      sync.Mutex
	answers map[string][][]netip.Addr
	asked   []string
}

func (n *names) is(name string, answers ...[]netip.Addr) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.answers[name+"."] = answers
}

func (n *names) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.asked = append(n.asked, host)
	answers := n.answers[host]
	if len(answers) == 0 {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	if len(answers) > 1 {
		n.answers[host] = answers[1:]
	}
	return answers[0], nil
}

func (n *names) questions() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.asked)
}

// internet leads addresses to listeners of the test.
type internet struct {
	mu     sync.Mutex
	to     map[netip.AddrPort]string
	dialed []netip.AddrPort
	// socket sets up each socket of the proxy and of its clients. May be nil.
	socket control
}

// control is what net.Dialer and net.ListenConfig call for each socket.
type control = func(network, address string, c syscall.RawConn) error

// holding makes sockets that hold about that many bytes for each direction. The kernel keeps megabytes otherwise before an end that does not read
// makes the other one wait.
func holding(n int) control {
	return func(_, _ string, c syscall.RawConn) error {
		var errs [2]error
		err := c.Control(func(fd uintptr) {
			errs[0] = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_SNDBUF, n)
			errs[1] = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, n)
		})
		return errors.Join(err, errs[0], errs[1])
	}
}

func (i *internet) lead(at, to string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.to[netip.MustParseAddrPort(at)] = to
}

func (i *internet) dial(ctx context.Context, at netip.AddrPort) (net.Conn, error) {
	i.mu.Lock()
	i.dialed = append(i.dialed, at)
	to, ok := i.to[at]
	i.mu.Unlock()
	if !ok {
		return nil, errors.New("nobody is there")
	}
	return (&net.Dialer{Control: i.socket}).DialContext(ctx, "tcp", to)
}

func (i *internet) calls() []netip.AddrPort {
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.Clone(i.dialed)
}

type people struct {
	mu   sync.Mutex
	told []egress.Denial
}

func (p *people) Denied(_ *grant.Grant, d egress.Denial) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.told = append(p.told, d)
}

func (p *people) has(r egress.Reason) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.ContainsFunc(p.told, func(d egress.Denial) bool { return d.Reason == r })
}
