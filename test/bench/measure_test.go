// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	blockSize = 256 << 10
	// clockTick is how many units of /proc/PID/stat are a second.
	clockTick = 100
	// parallel is how many clients are denied at once, and how many tunnels move bytes together.
	parallel = 8
)

// measure measures one round of everything but memory. The ways take turns, so that what else the machine does meets all.
func measure(t *testing.T, ways []*way, s size, into found) {
	t.Helper()
	latencies(t, ways, s.samples, into)
	for _, w := range ways {
		f := into.of(w)
		one, _ := throughput(t, w, 1, s.bytes)
		f.one = append(f.one, one)
	}
	for _, w := range ways {
		f := into.of(w)
		eight, cpu := throughput(t, w, parallel, s.bytes)
		f.eight, f.processor = append(f.eight, eight), append(f.processor, cpu)
	}
	for _, w := range ways {
		if w.proxy != "" {
			f := into.of(w)
			f.beside = append(f.beside, besideIdle(t, w, s))
			f.denied = append(f.denied, denials(t, w, s.denied))
		}
	}
}

// latencies measures, one connection after the other, the time from nothing to the first byte of the host's answer. The order
// of the ways is drawn anew each time: a proxy is still clearing up after its last connection when the next way begins, and no
// way must always be the one after it.
func latencies(t *testing.T, ways []*way, n int, into found) {
	t.Helper()
	for range n {
		for _, at := range rand.Perm(len(ways)) {
			begun := time.Now()
			conn, err := ways[at].open()
			if err != nil {
				t.Fatal(err)
			}
			f := into.of(ways[at])
			f.took = append(f.took, time.Since(begun))
			_ = conn.Close()
		}
	}
}

// throughput returns the GiB of a second that come from the host over n connections together, and the seconds of the
// proxy's processor time for each GiB.
func throughput(t *testing.T, w *way, n int, bytes int64) (perSecond, cpu float64) {
	t.Helper()
	conns := openAll(t, w, n)
	defer closeAll(conns)
	before := processorTime(t, w.pid)
	failed := make([]error, n)
	var reading sync.WaitGroup
	begun := time.Now()
	for i, conn := range conns {
		reading.Go(func() { failed[i] = download(conn, bytes/int64(n)) })
	}
	reading.Wait()
	took := time.Since(begun).Seconds()
	for _, err := range failed {
		if err != nil {
			t.Fatalf("%s: %v", w.name, err)
		}
	}
	return float64(bytes) / (1 << 30) / took, (processorTime(t, w.pid) - before) / (float64(bytes) / (1 << 30))
}

// besideIdle is the throughput of one tunnel while others are open on which nothing moves.
func besideIdle(t *testing.T, w *way, s size) (perSecond float64) {
	t.Helper()
	defer closeAll(openAll(t, w, s.beside))
	perSecond, _ = throughput(t, w, 1, s.bytes/2)
	return perSecond
}

func download(conn net.Conn, n int64) error {
	_ = conn.SetDeadline(time.Now().Add(10 * patience))
	if _, err := conn.Write(binary.BigEndian.AppendUint64(nil, uint64(n))); err != nil {
		return err
	}
	block := make([]byte, blockSize)
	for n > 0 {
		got, err := conn.Read(block)
		if err != nil {
			return err
		}
		n -= int64(got)
	}
	return nil
}

// denials returns how many requests of a second are refused.
func denials(t *testing.T, w *way, n int) float64 {
	t.Helper()
	failed := make([]error, parallel)
	var asking sync.WaitGroup
	begun := time.Now()
	for i := range parallel {
		asking.Go(func() {
			for range n / parallel {
				if failed[i] = w.refused(); failed[i] != nil {
					return
				}
			}
		})
	}
	asking.Wait()
	took := time.Since(begun).Seconds()
	for _, err := range failed {
		if err != nil {
			t.Fatal(err)
		}
	}
	return float64(n/parallel*parallel) / took
}

// memory opens idle tunnels through a proxy that has just been started, and measures what its process has with them, and
// how much of that came with them.
func memory(t *testing.T, w *way, n int, into found) {
	t.Helper()
	closeAll(openAll(t, w, parallel))
	before := settled(t, w.pid)
	conns := openAll(t, w, n)
	defer closeAll(conns)
	f := into.of(w)
	with := settled(t, w.pid)
	f.resident = append(f.resident, float64(with)/(1<<20))
	f.tunnel = append(f.tunnel, float64(with-before)/(1<<10)/float64(n))
}

func openAll(t *testing.T, w *way, n int) []net.Conn {
	t.Helper()
	conns := make([]net.Conn, 0, n)
	for range n {
		conn, err := w.open()
		if err != nil {
			closeAll(conns)
			t.Fatalf("after %d connections: %v", len(conns), err)
		}
		conns = append(conns, conn)
	}
	return conns
}

func closeAll(conns []net.Conn) {
	for _, conn := range conns {
		_ = conn.Close()
	}
}

// settled returns the memory of a process when it has stopped changing.
func settled(t *testing.T, pid int) int64 {
	t.Helper()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	last := int64(-1)
	for range 25 {
		<-tick.C
		now := resident(t, pid)
		if now == last {
			break
		}
		last = now
	}
	return last
}

// resident is the memory of a process, in bytes.
func resident(t *testing.T, pid int) int64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	var kib int64
	if _, err := fmt.Sscanf(rest, "%d kB", &kib); err != nil {
		t.Fatalf("VmRSS of %d: %v", pid, err)
	}
	return kib << 10
}

// processorTime is what a process has used, in seconds; 0 if there is no process.
func processorTime(t *testing.T, pid int) float64 {
	t.Helper()
	if pid == 0 {
		return 0
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	// What follows the name begins with the third field; the fourteenth and fifteenth are user's and system's time.
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	var ticks int64
	for _, field := range fields[11:13] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		ticks += n
	}
	return float64(ticks) / clockTick
}
