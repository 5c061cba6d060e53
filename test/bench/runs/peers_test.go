// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/test/bench/peers"
)

// Ours must be below a peer's of the same measurement.
func TestPeersBindOurs(t *testing.T) {
	t.Parallel()
	round := taken{pod: 300 * time.Millisecond, path: map[Moment]time.Duration{FirstResult: 900 * time.Millisecond}}
	if peersOf([]taken{round}) != nil || notesOf([]taken{round}) != nil {
		t.Error("there are figures of peers that were not measured")
	}
	round.peers = &peers.Times{Claim: 70 * time.Millisecond, TaskRun: 3 * time.Second, Burst: []time.Duration{time.Second}, Writes: 16}
	round.warm = warm{path: map[Moment]time.Duration{FirstResult: 140 * time.Millisecond}, burst: []time.Duration{2 * time.Second}}
	bounds := map[string]float64{}
	for _, f := range peersOf([]taken{round}) {
		if f.Bound > 0 {
			bounds[f.Over] = f.Bound
		}
	}
	if len(bounds) != 3 || bounds["TaskRun"] != 1000 || bounds["claim"] != 70 || bounds["claims"] != 1000 {
		t.Errorf("the bounds are %v", bounds)
	}
	if notes := notesOf([]taken{round}); len(notes) != 1 || !strings.Contains(notes[0], "16.0 writes") {
		t.Errorf("%q", notes)
	}
}
