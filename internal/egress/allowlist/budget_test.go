// SPDX-License-Identifier: Apache-2.0

package allowlist

import (
	"fmt"
	"testing"
)

// decisions are the hosts of one list of rules of which the last one of each kind decides.
func decisions(tb testing.TB) (List, map[string]Host) {
	tb.Helper()
	var rules []string
	for i := range 50 {
		rules = append(rules, fmt.Sprintf("host-%d.example.org", i), fmt.Sprintf("*.a-domain-with-a-name-of-some-length-%d.example.org", i))
	}
	list, err := ParseList(rules)
	if err != nil {
		tb.Fatal(err)
	}
	return list, map[string]Host{
		"host":     mustHost(tb, "host-49.example.org"),
		"wildcard": mustHost(tb, "deep.below.a-domain-with-a-name-of-some-length-49.example.org"),
		"denied":   mustHost(tb, "evil.example.net"),
	}
}

// Each connection of each sandbox is decided, and a decision must not make garbage.
func TestADecisionAllocatesNothing(t *testing.T) {
	list, hosts := decisions(t)
	for name, host := range hosts {
		if got := testing.AllocsPerRun(100, func() { list.Match(host, DefaultPort) }); got != 0 {
			t.Errorf("%s: a decision makes %g allocations", name, got)
		}
	}
}

func BenchmarkMatch(b *testing.B) {
	list, hosts := decisions(b)
	for name, host := range hosts {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				list.Match(host, DefaultPort)
			}
		})
	}
}

func BenchmarkParseHost(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ParseHost("deep.below.a-domain.example.org"); err != nil {
			b.Fatal(err)
		}
	}
}
