// SPDX-License-Identifier: Apache-2.0

// Package bench compares the egress proxy with no proxy, tinyproxy and squid: same machine, same run, loopback alone.
// hack/bench-egress.sh runs it; without its flag only a small part of it runs, and only to see that it works.
package bench

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"testing"
)

var (
	egressFlag = flag.Bool("egress", false, "measure the egress proxy against tinyproxy and squid, which must be on PATH")
	rounds     = flag.Int("rounds", 3, "how often everything is measured; the best of each figure is shown")
	samples    = flag.Int("connections", 2000, "connections of one round and way whose latency is measured")
	volume     = flag.Int64("bytes", 2<<30, "bytes of one round and way whose throughput is measured")
)

// TestMain is the egress proxy if it was started as that, so that its memory and its time are its own.
func TestMain(m *testing.M) {
	if upstream := os.Getenv(proxyRole); upstream != "" {
		if err := serveProxy(upstream, os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// size is how much of everything a round measures.
type size struct {
	samples int
	bytes   int64
	idle    int
	beside  int
	denied  int
}

// TestEgressWorks carries out each measurement, as small as it can be, without the proxies of others.
func TestEgressWorks(t *testing.T) {
	up := startUpstream(t)
	ways := []*way{direct(up), startOurs(t, up)}
	got := figures{}
	measure(t, ways, size{samples: 3, bytes: 1 << 20, beside: 2, denied: 9}, got)
	fresh := startOurs(t, up)
	memory(t, fresh, 10, got)
	for _, w := range ways {
		if f := got[w.name]; f.p50 <= 0 || f.p99 < f.p50 || f.one <= 0 || f.eight <= 0 {
			t.Errorf("%s: %+v", w.name, f)
		}
	}
	if f := got[ours]; f.denied <= 0 || f.beside <= 0 || f.rss <= 0 {
		t.Errorf("%s: %+v", ours, f)
	}
}

// TestEgressFigures prints the table. A figure that is missed fails nothing: what a busy machine measures is no defect.
func TestEgressFigures(t *testing.T) {
	if !*egressFlag {
		t.Skip("only measured with -egress: see hack/bench-egress.sh")
	}
	up := startUpstream(t)
	ways := []*way{direct(up), startOurs(t, up), startTinyproxy(t, up), startSquid(t, up)}
	all := size{samples: *samples, bytes: *volume, idle: 1000, beside: 200, denied: 4000}
	measure(t, ways, size{samples: all.samples / 10, bytes: all.bytes / 10, denied: all.denied / 10}, figures{}) // warms up
	best := figures{}
	for i := range *rounds {
		fmt.Fprintln(os.Stderr, "round "+strconv.Itoa(i+1)+" of "+strconv.Itoa(*rounds))
		got := figures{}
		measure(t, ways, all, got)
		for _, start := range []func(*testing.T, *upstream) *way{startOurs, startTinyproxy, startSquid} {
			memory(t, start(t, up), all.idle, got)
		}
		best.better(got)
	}
	best.table(os.Stdout, ways, all)
}
