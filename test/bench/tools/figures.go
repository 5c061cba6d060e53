// SPDX-License-Identifier: Apache-2.0

package main

import "motorcortex.dev/motorcortex/test/bench/figures"

// figuresOf sums up the rounds and the sandboxes.
func figuresOf(t taken, idle []memory) []figures.Figure {
	spawn := figures.Of("plain spawn of bash -c true in the sandbox", t.spawns)
	call := figures.Of("tool call bash true", t.calls).Against("plain spawn", spawn).Within(spawn.P50+1, "the plain spawn and 1 ms")
	exec := figures.Of("kubectl exec of bash -c true", t.execs).Against("tool call", call)
	// Slower is better here: the bound is that of the call.
	exec.Least = true
	var working, anonymous []float64
	for _, m := range idle {
		working, anonymous = append(working, m.working/(1<<20)), append(anonymous, m.anonymous/(1<<20))
	}
	return []figures.Figure{
		spawn, call, exec.Within(20*call.P50, "20 tool calls"),
		figures.Amount("tool server of an idle sandbox, working set", "MiB", working).Within(12, "12 MiB"),
		figures.Amount("tool server of an idle sandbox, anonymous", "MiB", anonymous),
	}
}
