// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolclient"
)

// program is what a tool call of bash true starts, and what is started without one.
var program = []string{"bash", "-c", "--", "true"}

// spawns times as many plain starts of the program in the same Pod, by a program that does nothing else.
const spawns = `
import os, time
for _ in range(%d):
    began = time.perf_counter_ns()
    pid = os.posix_spawn("/usr/bin/bash", ["bash", "-c", "--", "true"], os.environ)
    os.waitpid(pid, 0)
    print(time.perf_counter_ns() - began)
`

// taken are the times of all rounds. Those at the same place of two lists are of the same round.
type taken struct{ spawns, calls, execs []time.Duration }

// takeTurns measures spawns, calls and execs in turns, so that what else the machine does meets all three. The first round warms caches and is
// not counted.
func (b *bench) takeTurns(ctx context.Context, run *v1alpha1.MotorRun, rounds, perRound int) (taken, error) {
	box, err := b.toolServer(ctx, run)
	if err != nil {
		return taken{}, err
	}
	defer box.Close()
	var all taken
	for round := range rounds + 1 {
		var t taken
		if t.spawns, err = plainSpawns(ctx, box, fmt.Sprintf("spawns-%d", round), perRound); err != nil {
			return all, err
		}
		for i := range perRound {
			took, err := timed(func() error {
				_, err := call(ctx, box, fmt.Sprintf("true-%d-%d", round, i), toolapi.ToolBash, toolapi.BashArgs{Command: "true"})
				return err
			})
			if err != nil {
				return all, err
			}
			t.calls = append(t.calls, took)
		}
		for range perRound {
			took, err := timed(func() error { return b.exec(ctx, run.Status.Sandbox.PodName) })
			if err != nil {
				return all, err
			}
			t.execs = append(t.execs, took)
		}
		if round > 0 {
			all.spawns, all.calls, all.execs = append(all.spawns, t.spawns...), append(all.calls, t.calls...), append(all.execs, t.execs...)
		}
	}
	return all, nil
}

func timed(do func() error) (time.Duration, error) {
	began := time.Now()
	err := do()
	return time.Since(began), err
}

func call(ctx context.Context, box *toolclient.Client, id, tool string, arguments any) (toolapi.Result, error) {
	content, err := json.Marshal(arguments)
	if err != nil {
		return toolapi.Result{}, err
	}
	r, err := box.Call(ctx, toolapi.Call{ID: id, Tool: tool, Arguments: content})
	if err == nil && !r.OK {
		err = fmt.Errorf("%s: %+v", id, r)
	}
	return r, err
}

func plainSpawns(ctx context.Context, box *toolclient.Client, id string, n int) ([]time.Duration, error) {
	r, err := call(ctx, box, id, toolapi.ToolCode, toolapi.CodeArgs{Language: toolapi.LanguagePython, Source: fmt.Sprintf(spawns, n)})
	if err != nil {
		return nil, err
	}
	return readSpawns(r.Output, n)
}

// readSpawns reads a time from each of the first lines. The tool adds lines of its own after them.
func readSpawns(output string, n int) ([]time.Duration, error) {
	var list []time.Duration
	for line := range strings.Lines(output) {
		var took time.Duration
		if _, err := fmt.Sscan(line, &took); err != nil || len(list) == n {
			break
		}
		list = append(list, took)
	}
	if len(list) < n {
		return nil, fmt.Errorf("the sandbox timed %d of %d spawns: %.200q", len(list), n, output)
	}
	return list, nil
}

// exec starts the program by kubectl exec, and waits for its end.
func (b *bench) exec(ctx context.Context, pod string) error {
	args := append([]string{"-n", b.namespace, "exec", pod, "-c", container, "--"}, program...)
	if out, err := exec.CommandContext(ctx, b.kubectl, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("kubectl exec: %w: %.500s", err, out)
	}
	return nil
}
