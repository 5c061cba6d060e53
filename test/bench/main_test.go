// SPDX-License-Identifier: Apache-2.0

// Package bench compares the egress proxy with no proxy, tinyproxy and squid: same machine, same run, loopback alone.
// hack/bench-egress.sh runs it; without its flag only a small part of it runs, and only to see that it works.
package bench

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"motorcortex.dev/motorcortex/test/bench/figures"
)

var (
	egressFlag = flag.Bool("egress", false, "measure the egress proxy against those of tinyproxy and squid that are on PATH")
	rounds     = flag.Int("rounds", 5, "how often everything is measured")
	samples    = flag.Int("connections", 2000, "connections of one round and way whose latency is measured")
	volume     = flag.Int64("bytes", 1<<30, "bytes of one round and way whose throughput is measured")
	idle       = flag.Int("idle", 1000, "idle tunnels whose memory is measured")

	results figures.Results
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
	results.Flags(flag.CommandLine)
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
	got := found{}
	measure(t, ways, size{samples: 3, bytes: 1 << 20, beside: 2, denied: 9}, got)
	fresh := startOurs(t, up)
	memory(t, fresh, 10, got)
	for _, w := range ways {
		if f := got[w.name]; len(f.took) != 3 || f.took[0] <= 0 || f.one[0] <= 0 || f.eight[0] <= 0 {
			t.Errorf("%s: %+v", w.name, f)
		}
	}
	if f := got[ours]; f.denied[0] <= 0 || f.beside[0] <= 0 || f.resident[0] <= 0 {
		t.Errorf("%s: %+v", ours, f)
	}
}

// TestEgressFigures measures, and fails if a figure misses its bound.
func TestEgressFigures(t *testing.T) {
	if !*egressFlag {
		t.Skip("only measured with -egress: see hack/bench-egress.sh")
	}
	if err := results.Open(); err != nil {
		t.Fatal(err)
	}
	up := startUpstream(t)
	ways := []*way{direct(up), startOurs(t, up)}
	fresh := []func(*testing.T, *upstream) *way{startOurs}
	var notes []string
	for _, other := range []struct {
		program, debian string
		start           func(*testing.T, *upstream) *way
	}{{"tinyproxy", "tinyproxy-bin", startTinyproxy}, {"squid", "squid", startSquid}} {
		if _, err := exec.LookPath(other.program); err != nil {
			notes = append(notes, fmt.Sprintf("%s: it is not on PATH, so no figure is compared with it: install the Debian package %s", other.program, other.debian))
			continue
		}
		ways, fresh = append(ways, other.start(t, up)), append(fresh, other.start)
	}
	all := size{samples: *samples, bytes: *volume, idle: *idle, beside: 200, denied: 4000}
	measure(t, ways, size{samples: all.samples / 10, bytes: all.bytes / 10, denied: all.denied / 10}, found{}) // warms up
	got := found{}
	for i := range *rounds {
		fmt.Fprintln(os.Stderr, "round "+strconv.Itoa(i+1)+" of "+strconv.Itoa(*rounds))
		measure(t, ways, all, got)
		for _, start := range fresh {
			memory(t, start(t, up), all.idle, got)
		}
	}
	switch err := results.Put(os.Stdout, figures.Report{Figures: got.figures(all), Notes: notes}); {
	case errors.Is(err, figures.ErrMissed):
		t.Fail() // The figure was shown.
	case err != nil:
		t.Fatal(err)
	}
}
