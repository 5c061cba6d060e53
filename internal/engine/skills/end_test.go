// SPDX-License-Identifier: Apache-2.0

package skills

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/engine/enginetest"
	"motorcortex.dev/motorcortex/internal/engine/runenv"
)

// A run ends, whatever the result for its skills: the skills that were not read in time are reported.
func TestSkillsThatCannotBeReadInTime(t *testing.T) {
	t.Parallel()
	r := newSkillRig(t)
	r.sandbox.hangs = true
	got, err := r.collector().Collect(t.Context(), 50*time.Millisecond)
	want := &v1alpha1.SkillsResult{Rejected: []v1alpha1.RejectedSkill{{Path: ".", Message: "not all skills could be read and kept in time"}}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	// A sandbox that is gone is waited for a while.
	r.address = "127.0.0.1:1"
	c := r.collector()
	if got, err := c.Collect(t.Context(), time.Minute); !errors.Is(err, runenv.ErrMissing) {
		t.Errorf("%+v %v", got, err)
	}
	c.env.Absence.Since = enginetest.Noon.Add(-runenv.MissingFor)
	want.Rejected[0].Message = "the skills could not be read, as the sandbox does not answer any more"
	got, err = c.Collect(t.Context(), time.Minute)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	// The end of the manager ends nothing else.
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got, err := r.collector().Collect(ctx, time.Minute); err == nil {
		t.Errorf("%+v", got)
	}
	r.lease.Lose(true)
	if got, err := r.collector().Collect(t.Context(), time.Minute); !errors.Is(err, runenv.ErrNoLease) {
		t.Errorf("without a Lease: %+v %v", got, err)
	}
}

func TestWhenSkillsAreCollected(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(*v1alpha1.MotorRun)
		calls  []string
		// failed is true if the run ended in any other way than well.
		failed bool
		want   bool
	}{
		"it succeeded":              {calls: []string{"read", "write"}, want: true},
		"it failed":                 {calls: []string{"bash"}, failed: true},
		"it failed, and all counts": {func(r *v1alpha1.MotorRun) { r.Spec.ExtractSkills = v1alpha1.ExtractAlways }, []string{"bash"}, true, true},
		"it succeeded for all":      {func(r *v1alpha1.MotorRun) { r.Spec.ExtractSkills = v1alpha1.ExtractAlways }, []string{"patch"}, false, true},
		"nobody wants them":         {func(r *v1alpha1.MotorRun) { r.Spec.ExtractSkills = v1alpha1.ExtractNever }, []string{"bash"}, false, false},
		"it is a review":            {func(r *v1alpha1.MotorRun) { r.Spec.SkillReview = true }, []string{"bash"}, false, false},
		"it called nothing":         {},
		"it only read":              {calls: []string{"read", "grep", "ask_user"}},
		"an MCP tool was called":    {calls: []string{"mcp__srv__x"}, want: true},
		"the program of a server ran": {change: func(r *v1alpha1.MotorRun) {
			r.Spec.MCPServers = []v1alpha1.MCPServer{{Name: "srv", Command: []string{"x"}}}
		}, want: true},
		"a server elsewhere": {change: func(r *v1alpha1.MotorRun) { r.Spec.MCPServers = []v1alpha1.MCPServer{{Name: "srv", URL: "https://x"}} }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newSkillRig(t)
			r.must(r.client.Delete(t.Context(), &r.steps[0]))
			r.steps = nil
			for _, tool := range tt.calls {
				r.did(tool, "{}")
			}
			if tt.change != nil {
				tt.change(r.run)
			}
			if got := r.collector().Wanted(!tt.failed); got != tt.want {
				t.Errorf("they are collected: %v", got)
			}
		})
	}
}

// The parts of a collection have one time together, and their ends are distinguished.
func TestPartsOfACollection(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		found := &found{left: 3 * time.Second}
		wait := func(d time.Duration) func(context.Context) error {
			return func(ctx context.Context) error {
				select {
				case <-time.After(d):
					return nil
				case <-ctx.Done():
					return ctx.Err()
				}
			}
		}
		turn, done := context.WithTimeoutCause(t.Context(), time.Second, runenv.ErrTimeOver)
		defer done()
		stopped, cancel := context.WithCancel(t.Context())
		cancel()
		for i, tt := range []struct {
			ctx  context.Context
			do   func(context.Context) error
			want error
			left time.Duration
		}{
			{turn, wait(time.Minute), runenv.ErrTimeOver, 2 * time.Second},
			{stopped, wait(time.Minute), context.Canceled, 2 * time.Second},
			{t.Context(), wait(time.Second), nil, time.Second},
			{t.Context(), wait(time.Minute), runenv.ErrTimeOver, 0},
			{t.Context(), wait(time.Minute), runenv.ErrTimeOver, 0},
		} {
			err := found.within(tt.ctx, tt.do)
			if !errors.Is(err, tt.want) || errors.Is(err, runenv.ErrTimeOver) != errors.Is(tt.want, runenv.ErrTimeOver) || found.left != tt.left {
				t.Errorf("%d: %v, left are %v", i, err, found.left)
			}
		}
	})
}
