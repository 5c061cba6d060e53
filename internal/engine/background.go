// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolclient"
)

// A program that a call leaves in the background is an effect that goes on after the call. The journal has its beginning with the
// result of the call, and its end as soon as the sandbox is asked again: after each call while one runs, and before a loop goes on.
//
//	call ─► left in the background ─► asked after each call ─► ended by itself
//	                                   │                     └► lost with the tool server ─► the model is told, and an attempt after it asks
//	                                   └─ attempt over, run suspended, long wait ─► ended

// endProgramsLimit bounds how long the end of an attempt waits for that of the programs in its background.
const endProgramsLimit = 15 * time.Second

// reviewPrograms records what became of the programs in the background while no loop ran, so that the first request of this one
// tells the model. Those of an earlier attempt, which could not be ended with it, are ended.
func (s *sandboxTools) reviewPrograms(ctx context.Context) error {
	if s.fresh() || len(s.env.Entries.AllSteps()) == 0 {
		return nil
	}
	// The programs of MCP servers are no attempt's but the one's that began them.
	former := len(s.env.Entries.Steps()) == 0 && hasMCPPrograms(s.env.Run)
	if !former && !s.env.Entries.MayHavePrograms() {
		return nil
	}
	if s.isolationLost {
		if err := s.halt(ctx); err != nil {
			return err
		}
	}
	hello, err := s.client.Hello(ctx)
	if err != nil {
		return s.env.Classify(ctx, err)
	}
	programs, err := s.client.Background(ctx)
	if err == nil && !hello.Egress && s.egress.request().Proxy != "" {
		// They were started before there was a way out, and a person gave it to the calls that follow.
		programs, err = s.client.EndBackground(ctx, toolapi.StoppedWayOut)
	}
	if err == nil && (former || s.env.Entries.HasForeignPrograms(programs)) {
		programs, err = s.client.EndPrograms(ctx, toolapi.StoppedFinished)
	}
	if errors.Is(err, toolclient.ErrUnsupported) {
		return nil
	}
	if err != nil {
		return s.env.Classify(ctx, err)
	}
	return s.env.Entries.NotePrograms(ctx, programs)
}

// lookAtPrograms has the next record say what runs in the background, if this call left something there, or something was there.
func (s *sandboxTools) lookAtPrograms(ctx context.Context, c toolapi.Call, r toolapi.Result) error {
	if !s.left && !s.env.Entries.HasPrograms() && !leavesProgram(c, r) {
		return nil
	}
	programs, err := s.client.Background(ctx)
	if errors.Is(err, toolclient.ErrUnsupported) {
		return nil
	}
	if err != nil {
		return s.env.Classify(ctx, err)
	}
	s.left = true
	s.env.Entries.UsePrograms(programs)
	return nil
}

// leavesProgram reports whether a call may have left a program in the background.
func leavesProgram(c toolapi.Call, r toolapi.Result) bool {
	var args toolapi.BashArgs
	return c.Tool == toolapi.ToolBash && (r.OK || r.ErrorCode == toolapi.CodeOutcomeUnknown) &&
		json.Unmarshal(c.Arguments, &args) == nil && args.Background
}

// endPrograms ends what runs in the background at the end of an attempt, and the programs of MCP servers. The attempt is over whether that succeeds or not: what could
// not be ended ends with the sandbox, and its record says that nobody saw it.
func (s *sandboxTools) endPrograms(ctx context.Context) {
	if !s.left && !s.env.Entries.HasPrograms() && !hasMCPPrograms(s.env.Run) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, endProgramsLimit)
	defer cancel()
	programs, err := s.client.EndPrograms(ctx, toolapi.StoppedFinished)
	if errors.Is(err, toolclient.ErrUnsupported) {
		return
	}
	if err == nil {
		err = s.env.Entries.NotePrograms(ctx, programs)
	}
	if err != nil {
		s.env.Log.Warn("what runs in the background could not be ended with the attempt", "error", err)
	}
}

// hasMCPPrograms reports whether MCP servers of the run are programs of its sandbox.
func hasMCPPrograms(run *v1alpha1.MotorRun) bool {
	return slices.ContainsFunc(run.Spec.MCPServers, func(s v1alpha1.MCPServer) bool { return len(s.Command) > 0 })
}
