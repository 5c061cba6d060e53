// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// marks are moments of a run as the demo saw them. The API's own times have a resolution of a second.
type marks struct {
	created, firstStep, firstResult, finished time.Time

	askedAt time.Time
	waited  time.Duration
}

func (m *marks) step(now time.Time) {
	if m.firstStep.IsZero() {
		m.firstStep = now
	}
}

func (m *marks) result(now time.Time) {
	if m.firstResult.IsZero() {
		m.firstResult = now
	}
}

func (m *marks) ask(now time.Time) { m.askedAt = now }

func (m *marks) answer(now time.Time) {
	if !m.askedAt.IsZero() {
		m.waited += now.Sub(m.askedAt)
		m.askedAt = time.Time{}
	}
}

// figures are those of docs/performance.md. Compare the ratios: the times are those of one machine.
type figures struct {
	// TotalMs is from MOTOR_DEMO_START to the end of the run.
	TotalMs int64 `json:"totalMs"`
	// RunMs is from the run's creation to its end.
	RunMs int64 `json:"runMs"`
	// FirstResultMs is from the run's creation to the result of its first tool call.
	FirstResultMs int64 `json:"firstResultMs"`
	// PodReadyMs are from the creation of a plain Pod until it is ready, on the same cluster right after the run.
	PodReadyMs []int64 `json:"podReadyMs"`
	// PodReadyMedianMs is the median of these.
	PodReadyMedianMs int64 `json:"podReadyMedianMs"`
	// FirstResultToPodReady is the ratio of the two.
	FirstResultToPodReady float64 `json:"firstResultToPodReady"`

	Steps    int   `json:"steps"`
	ModelMs  int64 `json:"modelMilliseconds"`
	ToolMs   int64 `json:"toolMilliseconds"`
	WaitedMs int64 `json:"waitedMilliseconds"`
	// StepOverheadMs is the time per step outside model, tools and waiting for a person, from the first step on.
	StepOverheadMs float64 `json:"stepOverheadMs"`
	// ManagerRSSBytes is the manager's memory, 0 if it was not given.
	ManagerRSSBytes int64 `json:"managerRSSBytes,omitempty"`
}

// compute makes the figures of a run from what was seen of it.
func compute(start time.Time, m marks, steps []v1alpha1.MotorStep, podReady []time.Duration) figures {
	f := figures{
		TotalMs: m.finished.Sub(start).Milliseconds(), RunMs: m.finished.Sub(m.created).Milliseconds(),
		WaitedMs: m.waited.Milliseconds(), Steps: len(steps),
	}
	if !m.firstResult.IsZero() {
		f.FirstResultMs = m.firstResult.Sub(m.created).Milliseconds()
	}
	var laterModelMs int64
	for i := range steps {
		f.ModelMs += steps[i].Spec.ModelMilliseconds
		f.ToolMs += steps[i].Status.ToolMilliseconds
		if i > 0 {
			laterModelMs += steps[i].Spec.ModelMilliseconds
		}
	}
	if len(steps) > 0 {
		outside := m.finished.Sub(m.firstStep).Milliseconds() - laterModelMs - f.ToolMs - f.WaitedMs
		f.StepOverheadMs = float64(max(0, outside)) / float64(len(steps))
	}
	for _, d := range podReady {
		f.PodReadyMs = append(f.PodReadyMs, d.Milliseconds())
	}
	if len(f.PodReadyMs) > 0 {
		f.PodReadyMedianMs = slices.Sorted(slices.Values(f.PodReadyMs))[len(f.PodReadyMs)/2]
	}
	if f.PodReadyMedianMs > 0 {
		f.FirstResultToPodReady = float64(f.FirstResultMs) / float64(f.PodReadyMedianMs)
	}
	return f
}

func (f figures) String() string {
	var b strings.Builder
	line := func(what, format string, args ...any) {
		fmt.Fprintf(&b, "%-46s "+format+"\n", append([]any{what}, args...)...)
	}
	line("total", "%8.1f s", float64(f.TotalMs)/1000)
	line("run created → run ended", "%8.1f s", float64(f.RunMs)/1000)
	line("run created → first tool call's result", "%8d ms", f.FirstResultMs)
	line(fmt.Sprintf("plain Pod created → ready, median of %d", len(f.PodReadyMs)), "%8d ms", f.PodReadyMedianMs)
	line("ratio of the two", "%8.2f", f.FirstResultToPodReady)
	line(fmt.Sprintf("per step outside model and tools, of %d steps", f.Steps), "%8.1f ms", f.StepOverheadMs)
	line("model / tools / waiting for the answer", "%s ms", fmt.Sprintf("%d / %d / %d", f.ModelMs, f.ToolMs, f.WaitedMs))
	if f.ManagerRSSBytes > 0 {
		line("memory of the manager", "%8.1f MiB", float64(f.ManagerRSSBytes)/(1<<20))
	}
	return b.String()
}

// measure times plain Pods after the run, and prints the figures.
func (d *demo) measure(ctx context.Context) error {
	image := cmp.Or(d.opts.podImage, d.image)
	if image == "" {
		return errors.New("the sandbox's Pod was gone before its image was known: name one by -pod-image")
	}
	d.print.linef("measuring %s of image %s", plural(d.opts.pods, "plain Pod"), image)
	var ready []time.Duration
	for range d.opts.pods {
		took, err := d.timePod(ctx, plainPod(d.key.Namespace, image))
		if err != nil {
			return fmt.Errorf("measure a plain Pod: %w", err)
		}
		ready = append(ready, took)
	}
	f := compute(d.opts.start, d.marks, d.story.steps, ready)
	f.ManagerRSSBytes = d.opts.managerRSS
	d.print.rawf("\nFigures\n")
	d.print.block(f.String())
	if d.opts.figuresJSON == "" {
		return nil
	}
	content, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(d.opts.figuresJSON, append(content, '\n'), 0o644)
}
