// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/internal/toolapi"
)

// benchRound is the number of calls, and of plain starts, that follow each other. The two alternate, so that other load of the machine affects
// both.
const benchRound = 50

// spawns times plain starts of the program that a call of bash starts, by a program that does nothing else.
const spawns = `
import os, time
for _ in range(%d):
    began = time.perf_counter_ns()
    pid = os.posix_spawn("/usr/bin/bash", ["bash", "-c", "--", "true"], os.environ)
    os.waitpid(pid, 0)
    print(time.perf_counter_ns() - began)
`

// BenchmarkCall measures the cost of a tool call beyond the program that it starts, from the request of a client until the result is there. It
// includes everything between them in a sandbox except its limits and the network.
func BenchmarkCall(b *testing.B) {
	p := newPod(b)
	c := p.client()
	run := func(tool string, args any) toolapi.Result {
		r, err := c.Call(context.Background(), call(b, tool, args))
		if err != nil || !r.OK {
			b.Fatalf("%+v %v", r, err)
		}
		return r
	}
	var calls, starts []time.Duration
	var busy time.Duration
	for n := 0; b.Loop(); n++ {
		if n%benchRound == 0 {
			b.StopTimer()
			r := run(toolapi.ToolCode, toolapi.CodeArgs{Language: toolapi.LanguagePython, Source: fmt.Sprintf(spawns, benchRound)})
			for line := range strings.Lines(r.Output) {
				var took time.Duration
				if _, err := fmt.Sscan(line, &took); err != nil {
					break // What follows is the program's value.
				}
				starts = append(starts, took)
			}
			b.StartTimer()
		}
		before, began := p.cpuTime(), time.Now()
		run(toolapi.ToolBash, toolapi.BashArgs{Command: "true"})
		calls = append(calls, time.Since(began))
		busy += p.cpuTime() - before
	}
	b.ReportMetric(busy.Seconds()*1e3/float64(len(calls)), "ms/server-cpu")
	for name, part := range map[string]int{"p10": 10, "p50": 2} {
		spawn, full := quantile(starts, part), quantile(calls, part)
		b.ReportMetric(spawn.Seconds()*1e3, "ms/spawn-"+name)
		b.ReportMetric((full-spawn).Seconds()*1e3, "ms/more-"+name)
		b.ReportMetric(float64(full)/float64(spawn), "spawns/call-"+name)
	}
}

// quantile returns the value below which one part of the list lies. On a machine with other load, only the lowest tenth is stable.
func quantile(list []time.Duration, part int) time.Duration {
	return slices.Sorted(slices.Values(list))[len(list)/part]
}

// cpuTime returns the processor time of the tool server, without that of its child processes.
func (p *pod) cpuTime() (sum time.Duration) {
	p.t.Helper()
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", p.cmd.Process.Pid))
	if err != nil {
		p.t.Fatal(err)
	}
	for _, file := range threads {
		var ran time.Duration
		if content, err := os.ReadFile(file); err == nil { // A thread may have ended.
			_, _ = fmt.Sscan(string(content), &ran)
		}
		sum += ran
	}
	return sum
}
