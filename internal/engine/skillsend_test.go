// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/motorloop"
)

// A run ends, whatever becomes of its skills: what there was no time for is said.
func TestSkillsThatCannotBeReadInTime(t *testing.T) {
	t.Parallel()
	r := newSkillRig(t)
	r.sandbox.hangs = true
	got, err := r.collector().collect(t.Context(), 50*time.Millisecond)
	want := &v1alpha1.SkillsResult{Rejected: []v1alpha1.RejectedSkill{{Path: ".", Message: "not all skills could be read and kept in time"}}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	// A sandbox that is gone is waited for a while.
	r.address = "127.0.0.1:1"
	c := r.collector()
	if got, err := c.collect(t.Context(), time.Minute); !errors.Is(err, errMissing) {
		t.Errorf("%+v %v", got, err)
	}
	c.box.loop.missingSince = noon.Add(-missingFor)
	want.Rejected[0].Message = "the skills could not be read, as the sandbox does not answer any more"
	got, err = c.collect(t.Context(), time.Minute)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	// The end of the manager is the end of nothing else.
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got, err := r.collector().collect(ctx, time.Minute); err == nil {
		t.Errorf("%+v", got)
	}
	r.engine.heldUntil = noon
	if got, err := r.collector().collect(t.Context(), time.Minute); !errors.Is(err, errNoLease) {
		t.Errorf("without a Lease: %+v %v", got, err)
	}
}

func TestWhenSkillsAreCollected(t *testing.T) {
	t.Parallel()
	failed := motorloop.Outcome{Kind: motorloop.Failed, Failure: &motorloop.Failure{Reason: motorloop.ReasonMaxIterations}}
	lost := motorloop.Outcome{Kind: motorloop.Failed, Failure: &motorloop.Failure{Reason: motorloop.ReasonSandboxLost}}
	waits := motorloop.Outcome{Kind: motorloop.Awaiting}
	for name, tt := range map[string]struct {
		change func(*v1alpha1.MotorRun)
		calls  []string
		// out is how the loop ended, nil if well.
		out  *motorloop.Outcome
		want bool
	}{
		"it succeeded":              {calls: []string{"read", "write"}, want: true},
		"it failed":                 {calls: []string{"bash"}, out: &failed},
		"it failed, and all counts": {func(r *v1alpha1.MotorRun) { r.Spec.ExtractSkills = v1alpha1.ExtractAlways }, []string{"bash"}, &failed, true},
		"its sandbox is lost":       {func(r *v1alpha1.MotorRun) { r.Spec.ExtractSkills = v1alpha1.ExtractAlways }, []string{"bash"}, &lost, false},
		"it waits":                  {func(r *v1alpha1.MotorRun) { r.Spec.ExtractSkills = v1alpha1.ExtractAlways }, []string{"bash"}, &waits, false},
		"it succeeded for all":      {func(r *v1alpha1.MotorRun) { r.Spec.ExtractSkills = v1alpha1.ExtractAlways }, []string{"patch"}, nil, true},
		"nobody wants them":         {func(r *v1alpha1.MotorRun) { r.Spec.ExtractSkills = v1alpha1.ExtractNever }, []string{"bash"}, nil, false},
		"it is a review":            {func(r *v1alpha1.MotorRun) { r.Spec.SkillReview = true }, []string{"bash"}, nil, false},
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
			c := r.collector()
			if tt.out == nil {
				r.must(c.beforeEnd(t.Context()))
			} else {
				r.must(c.afterLoop(t.Context(), *tt.out, true))
			}
			if asked := r.sandbox.asked > 0; asked != tt.want {
				t.Errorf("the sandbox was asked: %v", asked)
			}
		})
	}
}
