// SPDX-License-Identifier: Apache-2.0

package box

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

// A background program of a call is an effect that outlasts the call. The journal has its beginning with the
// result of the call. It has its end as soon as the sandbox is asked again: after each call while one runs, and before a loop resumes.
//
//	call ─► left in the background ─► asked after each call ─► ended by itself
//	                                   │                     └► lost with the tool server ─► the model is told, and an attempt after it asks
//	                                   └─ attempt over, run suspended, long wait ─► ended

// endProgramsLimit bounds how long the end of an attempt waits for the end of its background programs.
const endProgramsLimit = 15 * time.Second

// ReviewPrograms records how background programs ended while no loop ran, so that the first request of this loop
// contains it. It ends those of an earlier attempt, which could not be ended with it.
func (s *Box) ReviewPrograms(ctx context.Context) error {
	if s.Fresh() || len(s.Env.Entries.AllSteps()) == 0 {
		return nil
	}
	// The programs of MCP servers belong only to the attempt that started them.
	former := len(s.Env.Entries.Steps()) == 0 && HasMCPPrograms(s.Env.Run)
	if !former && !s.Env.Entries.MayHavePrograms() {
		return nil
	}
	if s.IsolationLost {
		if err := s.halt(ctx); err != nil {
			return err
		}
	}
	hello, err := s.Client.Hello(ctx)
	if err != nil {
		return s.Env.Classify(ctx, err)
	}
	programs, err := s.Client.Background(ctx)
	if err == nil && !hello.Egress && s.WayOut.request().Proxy != "" {
		// They were started before there was egress, which a person allowed for the calls that follow.
		programs, err = s.Client.EndBackground(ctx, toolapi.StoppedWayOut)
	}
	if err == nil && (former || s.Env.Entries.HasForeignPrograms(programs)) {
		programs, err = s.Client.EndPrograms(ctx, toolapi.StoppedFinished)
	}
	if errors.Is(err, toolclient.ErrUnsupported) {
		return nil
	}
	if err != nil {
		return s.Env.Classify(ctx, err)
	}
	return s.Env.Entries.NotePrograms(ctx, programs)
}

// lookAtPrograms adds the state of the background programs to the next record, if this call left one, or one was there.
func (s *Box) lookAtPrograms(ctx context.Context, c toolapi.Call, r toolapi.Result) error {
	if !s.left && !s.Env.Entries.HasPrograms() && !leavesProgram(c, r) {
		return nil
	}
	programs, err := s.Client.Background(ctx)
	if errors.Is(err, toolclient.ErrUnsupported) {
		return nil
	}
	if err != nil {
		return s.Env.Classify(ctx, err)
	}
	s.left = true
	s.Env.Entries.UsePrograms(programs)
	return nil
}

// leavesProgram reports whether a call may have left a background program.
func leavesProgram(c toolapi.Call, r toolapi.Result) bool {
	var args toolapi.BashArgs
	return c.Tool == toolapi.ToolBash && (r.OK || r.ErrorCode == toolapi.CodeOutcomeUnknown) &&
		json.Unmarshal(c.Arguments, &args) == nil && args.Background
}

// EndPrograms ends the background programs at the end of an attempt, and the programs of MCP servers. The attempt is over whether that succeeds
// or not. Programs that could not be ended end with the sandbox, and their record has an unknown end.
func (s *Box) EndPrograms(ctx context.Context) {
	if !s.left && !s.Env.Entries.HasPrograms() && !HasMCPPrograms(s.Env.Run) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, endProgramsLimit)
	defer cancel()
	programs, err := s.Client.EndPrograms(ctx, toolapi.StoppedFinished)
	if errors.Is(err, toolclient.ErrUnsupported) {
		return
	}
	if err == nil {
		err = s.Env.Entries.NotePrograms(ctx, programs)
	}
	if err != nil {
		s.Env.Log.Warn("what runs in the background could not be ended with the attempt", "error", err)
	}
}

// HasMCPPrograms reports whether MCP servers of the run are programs of its sandbox.
func HasMCPPrograms(run *v1alpha1.MotorRun) bool {
	return slices.ContainsFunc(run.Spec.MCPServers, func(s v1alpha1.MCPServer) bool { return len(s.Command) > 0 })
}
