// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

const (
	// window is that of a small model, in tokens.
	window = 16_000
	// defaultWindow is what a model is taken to have that does not say.
	defaultWindow = 128_000
	// maxStatus and maxStep are what a run's status and a step may have, in bytes.
	maxStatus, maxStep = 32 << 10, 256 << 10
	// longest is the most that a run may be asked.
	longest = 50
)

func TestALongRunStaysSmall(t *testing.T) {
	t.Parallel()
	mark := lastModelCall(t)
	run := startRun(t, "fifty", withLimits(v1alpha1.RunLimits{MaxIterations: longest}))
	done := wantCompleted(t, run, 4*soon)
	if n := len(jsonOf(t, done.Status)); n > maxStatus {
		t.Errorf("the status has %d bytes", n)
	} else {
		t.Logf("the status of a run of %d steps has %d bytes", done.Status.Steps, n)
	}
	var sizes []int
	for _, s := range wantWholeJournal(t, done) {
		size := len(jsonOf(t, s))
		if size > maxStep {
			t.Errorf("step %s has %d bytes", s.Name, size)
		}
		if len(s.Spec.ToolCalls) == 1 && s.Spec.ToolCalls[0].Tool != toolapi.ToolFinish {
			sizes = append(sizes, size)
		}
	}
	t.Logf("the steps that print 10 MB each have these bytes: %v", sizes)
	if len(sizes) != longest-1 {
		t.Fatalf("the run has %d such steps", len(sizes))
	}
	// What a step is told of the past does not make it larger: 1 % is for numbers that have a digit more.
	if first, last := sizes[0], sizes[len(sizes)-1]; last > first+first/100+16 {
		t.Errorf("the last step has %d bytes, the first %d", last, first)
	}
	wantSmallRequests(t, "fifty", mark, defaultWindow)
}

func TestALongRunFitsIntoASmallWindow(t *testing.T) {
	t.Parallel()
	mark := lastModelCall(t)
	run := startRun(t, "compact", withLimits(v1alpha1.RunLimits{MaxIterations: longest}))
	done := wantCompleted(t, run, 4*soon)
	summaries := 0
	for _, s := range wantWholeJournal(t, done) {
		if s.Spec.Type == v1alpha1.StepSummary {
			summaries++
		}
	}
	if done.Status.Result.Stats.Iterations != longest || summaries < 1 || summaries > 6 {
		t.Errorf("the run has %d answers and %d summaries", done.Status.Result.Stats.Iterations, summaries)
	}
	if s := done.Status.Result.Summary; !strings.HasPrefix(s, "I know of the rest: ") || len(s) < 40 {
		t.Errorf("the model was not told of its first turns: %q", s)
	}
	wantSmallRequests(t, "compact", mark, window)
}

// wantSmallRequests fails unless every request to the model since then that was answered fits into the window.
func wantSmallRequests(t *testing.T, script string, after int64, most int) {
	t.Helper()
	calls, err := modelCalls(t.Context(), script, after)
	must(t, err)
	largest, kinds := 0, map[string]int{}
	for _, c := range calls {
		if c.Status == 400 {
			// The endpoint says once how much fits.
			continue
		}
		largest = max(largest, c.PromptTokens)
		kinds[c.Kind]++
	}
	t.Logf("requests: %v, the largest of %d tokens", kinds, largest)
	if kinds[kindTurn] != longest || largest == 0 || largest > most {
		t.Errorf("the model was asked %v, with up to %d tokens", kinds, largest)
	}
}

func jsonOf(t *testing.T, o any) []byte {
	t.Helper()
	text, err := json.Marshal(o)
	must(t, err)
	return text
}

// A run that has used up its answers has something to show for them.
func TestARunWithoutStepsLeftSaysWhatItHas(t *testing.T) {
	t.Parallel()
	run := startRun(t, "endless", withLimits(v1alpha1.RunLimits{MaxIterations: 3}))
	ended := wantEnd(t, run, soon, v1alpha1.PhaseFailed, "MaxIterations")
	if r := ended.Status.Result; r.Partial == "" || r.Stats.Iterations != 3 {
		t.Errorf("the result is %+v", r)
	}
	journal := wantWholeJournal(t, ended)
	last := journal[len(journal)-1]
	if last.Spec.Type != v1alpha1.StepEnd || last.Spec.Content == "" || last.Name != fmt.Sprintf("%s-a01-s0004", run.Name) {
		t.Errorf("the last step is %s: %q", last.Name, last.Spec.Content)
	}
}
