// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"motorcortex.dev/motorcortex/test/bench/figures"
	"motorcortex.dev/motorcortex/test/bench/peers"
)

// newPeers measures the peers in a namespace beside the one of the runs.
func newPeers(config *rest.Config, b *bench) (*peers.Bench, error) {
	set, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	return &peers.Bench{
		Client: b.client, Namespace: b.namespace + "-peers", Burst: max(1, b.burst),
		Pod: plainPod("", "", b.image).Spec,
		Metrics: func(ctx context.Context) ([]byte, error) {
			return set.RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
		},
	}, nil
}

// peersOf returns the figures of the peers, and those of ours that must be below them in the same round.
func peersOf(all []taken) []figures.Figure {
	if len(all) == 0 || all[0].peers == nil {
		return nil
	}
	figure := func(name string, of func(taken) time.Duration) figures.Figure {
		return figures.Of(name, durations(all, of))
	}
	pod := figure("plain Pod", func(t taken) time.Duration { return t.pod })
	claim := figure("agent-sandbox: claim created → ready", func(t taken) time.Duration { return t.peers.Claim })
	claims := figure(fmt.Sprintf("agent-sandbox: %d claims at once, p95 of a round", len(all[0].peers.Burst)),
		func(t taken) time.Duration { return figures.Quantile(t.peers.Burst, 0.95) })
	task := figure("tekton: TaskRun created → its step has ended", func(t taken) time.Duration { return t.peers.TaskRun })
	list := []figures.Figure{
		figure("agent-sandbox: Sandbox created → ready", func(t taken) time.Duration { return t.peers.Cold }).Against("plain Pod", pod).OfPeer(),
		claim.Against("plain Pod", pod).OfPeer(), claims.Against("plain Pod", pod).OfPeer(), task.Against("plain Pod", pod).OfPeer(),
		figure("run created → first tool result, beside tekton", func(t taken) time.Duration { return t.path[FirstResult] }).Against("TaskRun", task).
			Within(task.P50/3, "a third of a TaskRun"),
	}
	if len(all[0].warm.path) == 0 {
		return list
	}
	return append(list,
		figure("pool: first tool result, beside agent-sandbox", func(t taken) time.Duration { return t.warm.path[FirstResult] }).Against("claim", claim).
			Within(claim.P50, "a claim"),
		figure(fmt.Sprintf("pool: %d at once, beside agent-sandbox", len(all[0].warm.burst)),
			func(t taken) time.Duration { return figures.Quantile(t.warm.burst, 0.95) }).Against("claims", claims).Within(claims.P50, "as many claims"),
	)
}

// notesOf says how many writes a claim is, if a peer was measured.
func notesOf(all []taken) []string {
	var writes []float64
	for _, t := range all {
		if t.peers != nil {
			writes = append(writes, t.peers.Writes)
		}
	}
	if len(writes) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("a claim of agent-sandbox is %.1f writes, what fills its pool again included", figures.Quantile(writes, 0.5))}
}
