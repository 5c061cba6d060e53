// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"motorcortex.dev/motorcortex/internal/motorloop"
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
	if s.fresh() || len(s.entries.AllSteps()) == 0 {
		return nil
	}
	// The programs of MCP servers are no attempt's but the one's that began them.
	former := len(s.entries.Steps()) == 0 && hasMCPPrograms(s.run)
	if !former && !s.entries.MayHavePrograms() {
		return nil
	}
	if s.isolationLost {
		if err := s.halt(ctx); err != nil {
			return err
		}
	}
	hello, err := s.client.Hello(ctx)
	if err != nil {
		return s.classify(ctx, err)
	}
	programs, err := s.client.Background(ctx)
	if err == nil && !hello.Egress && s.egress.request().Proxy != "" {
		// They were started before there was a way out, and a person gave it to the calls that follow.
		programs, err = s.client.EndBackground(ctx, toolapi.StoppedWayOut)
	}
	if err == nil && (former || s.entries.HasForeignPrograms(programs)) {
		programs, err = s.client.EndPrograms(ctx, toolapi.StoppedFinished)
	}
	if errors.Is(err, toolclient.ErrUnsupported) {
		return nil
	}
	if err != nil {
		return s.classify(ctx, err)
	}
	return s.entries.NotePrograms(ctx, programs)
}

// lookAtPrograms has the next record say what runs in the background, if this call left something there, or something was there.
func (s *sandboxTools) lookAtPrograms(ctx context.Context, c toolapi.Call, r toolapi.Result) error {
	if !s.left && !s.entries.HasPrograms() && !leavesProgram(c, r) {
		return nil
	}
	programs, err := s.client.Background(ctx)
	if errors.Is(err, toolclient.ErrUnsupported) {
		return nil
	}
	if err != nil {
		return s.classify(ctx, err)
	}
	s.left = true
	s.entries.UsePrograms(programs)
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
	if !s.left && !s.entries.HasPrograms() && !hasMCPPrograms(s.run) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, endProgramsLimit)
	defer cancel()
	programs, err := s.client.EndPrograms(ctx, toolapi.StoppedFinished)
	if errors.Is(err, toolclient.ErrUnsupported) {
		return
	}
	if err == nil {
		err = s.entries.NotePrograms(ctx, programs)
	}
	if err != nil {
		s.log.Warn("what runs in the background could not be ended with the attempt", "error", err)
	}
}

// endingJournal ends what runs in the background before the step that ends the attempt well.
type endingJournal struct {
	motorloop.Journal
	box  *sandboxTools
	kept *artifacts
}

// Append records a step.
func (j endingJournal) Append(ctx context.Context, t *motorloop.Turn) error {
	if t.Closes {
		j.box.endPrograms(ctx)
		j.kept.beforeEnd(ctx)
	}
	return j.Journal.Append(ctx, t)
}
