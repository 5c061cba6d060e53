// SPDX-License-Identifier: Apache-2.0

//go:build linux

package internet

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"

	"golang.org/x/net/dns/dnsmessage"
)

// Answer is what the DNS server says to one question.
type Answer struct {
	// Alias is the name that the name stands for, "" if none. Its addresses are Addresses.
	Alias     string
	Addresses []netip.Addr
}

// Names is what the DNS server knows, and what it was asked.
type Names struct {
	mu      sync.Mutex
	answers map[string][]Answer
	asked   []string
}

func newNames() *Names { return &Names{answers: map[string][]Answer{}} }

// Set sets the answers for a name, to one look-up after the other; the last one stays. A look-up for A and AAAA counts as one.
func (n *Names) Set(name string, answers ...Answer) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.answers[strings.ToLower(name)] = answers
}

// Asked returns the names that were asked for so far, in order, each question for A records.
func (n *Names) Asked() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.asked)
}

func (n *Names) look(q dnsmessage.Question) (Answer, bool) {
	name := strings.TrimSuffix(strings.ToLower(q.Name.String()), ".")
	n.mu.Lock()
	defer n.mu.Unlock()
	if q.Type != dnsmessage.TypeAAAA {
		n.asked = append(n.asked, name)
	}
	list, ok := n.answers[name]
	if !ok {
		return Answer{}, false
	}
	a := list[0]
	if len(list) > 1 && q.Type == dnsmessage.TypeA {
		n.answers[name] = list[1:]
	}
	return a, true
}

// serveDNS answers on UDP and TCP.
func (i *Internet) serveDNS(ctx context.Context) error {
	var packets net.PacketConn
	at := netip.AddrPortFrom(DNS, 53)
	err := i.space.do(func() (err error) {
		packets, err = new(net.ListenConfig).ListenPacket(ctx, "udp", at.String())
		return err
	})
	if err != nil {
		return fmt.Errorf("start the DNS server: %w", err)
	}
	i.onClose(packets.Close)
	i.wg.Go(func() {
		buffer := make([]byte, 4096)
		for ctx.Err() == nil {
			k, from, err := packets.ReadFrom(buffer)
			if err != nil {
				return
			}
			if answer, err := i.Names.reply(buffer[:k]); err == nil {
				_, _ = packets.WriteTo(answer, from)
			}
		}
	})
	return nil
}

func (n *Names) reply(query []byte) ([]byte, error) {
	var p dnsmessage.Parser
	header, err := p.Start(query)
	if err != nil {
		return nil, err
	}
	q, err := p.Question()
	if err != nil {
		return nil, err
	}
	a, known := n.look(q)
	header.Response, header.Authoritative, header.RecursionAvailable = true, true, true
	if !known {
		header.RCode = dnsmessage.RCodeNameError
	}
	b := dnsmessage.NewBuilder(nil, header)
	if err := b.StartQuestions(); err != nil {
		return nil, err
	}
	if err := b.Question(q); err != nil {
		return nil, err
	}
	if err := b.StartAnswers(); err != nil {
		return nil, err
	}
	return n.fill(&b, q, a)
}

func (n *Names) fill(b *dnsmessage.Builder, q dnsmessage.Question, a Answer) ([]byte, error) {
	owner := q.Name
	if a.Alias != "" {
		alias, err := dnsmessage.NewName(a.Alias + ".")
		if err != nil {
			return nil, err
		}
		if err := b.CNAMEResource(dnsmessage.ResourceHeader{Name: owner, Class: dnsmessage.ClassINET}, dnsmessage.CNAMEResource{CNAME: alias}); err != nil {
			return nil, err
		}
		owner = alias
	}
	head := dnsmessage.ResourceHeader{Name: owner, Class: dnsmessage.ClassINET}
	for _, addr := range a.Addresses {
		var err error
		switch {
		case addr.Is4() && q.Type == dnsmessage.TypeA:
			err = b.AResource(head, dnsmessage.AResource{A: addr.As4()})
		case !addr.Is4() && q.Type == dnsmessage.TypeAAAA:
			err = b.AAAAResource(head, dnsmessage.AAAAResource{AAAA: addr.As16()})
		}
		if err != nil {
			return nil, err
		}
	}
	return b.Finish()
}
