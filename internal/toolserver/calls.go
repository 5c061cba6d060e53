// SPDX-License-Identifier: Apache-2.0

//go:build linux

package toolserver

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolserver/ledger"
	"motorcortex.dev/motorcortex/internal/toolserver/output"
	"motorcortex.dev/motorcortex/internal/toolserver/plaintext"
	"motorcortex.dev/motorcortex/internal/toolserver/request"
	"motorcortex.dev/motorcortex/internal/toolserver/tool"
)

const (
	// callOverhead is the space for a Call's fields beside its arguments.
	callOverhead = 4 << 10
	// cancelWait is how long a cancel waits for the call's end before it answers that the call still runs.
	cancelWait = 5 * time.Second
)

func (s *Server) hello(*request.Request) (any, error) {
	return toolapi.Hello{
		PodUID: s.podUID, Epoch: s.ledger.Highest(), Used: s.ledger.Busy() || s.mcp.Ran(), Probed: s.probed(), Egress: s.egress.IsSet(), MCP: s.mcp.IsSet(),
		APIVersion: toolapi.APIVersion, Features: toolapi.Features(), Tools: s.toolNames(), Environment: s.environment(),
	}, nil
}

func (s *Server) toolNames() []string { return slices.Sorted(maps.Keys(s.tools)) }

// offered are the tools whose names a model may see.
func (s *Server) offered() string {
	return strings.Join(slices.DeleteFunc(s.toolNames(), func(name string) bool { return toolapi.IsOneshot(name) || name == toolapi.ToolInstall }), ", ")
}

// putCall runs a call, or attaches to its running execution, and returns its result.
func (s *Server) putCall(r *request.Request, id string) (any, error) {
	req, digest, err := readCall(r, id)
	if err != nil {
		return nil, err
	}
	c, err := s.start(r.Epoch, req, digest)
	if err != nil {
		return nil, err
	}
	select {
	case <-c.Done:
	case <-r.Fenced:
		return nil, ledger.ErrStale // A loop that lost the run learns it now, and not when the call ends.
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	state, err := s.ledger.State(r.Epoch, id, c)
	if err != nil {
		return nil, err
	}
	s.fault(FaultAfterFinish, id)
	return state.Result, nil
}

func readCall(r *request.Request, id string) (req toolapi.Call, digest string, err error) {
	content, err := r.Content(toolapi.MaxArgumentsBytes + callOverhead)
	if err != nil {
		return req, "", err
	}
	if err := tool.DecodeStrictly(content, &req); err != nil {
		return req, "", request.Unreadable("the call", err)
	}
	if len(req.Arguments) > toolapi.MaxArgumentsBytes {
		return req, "", request.Refuse(http.StatusRequestEntityTooLarge, toolapi.ErrTooLarge,
			fmt.Sprintf("the arguments of a call may have %d bytes", toolapi.MaxArgumentsBytes))
	}
	if req.ID != id {
		return req, "", request.Bad("the call's id is %q in the body and %q in the path", req.ID, id)
	}
	if req.MaxOutputBytes < 0 {
		return req, "", request.Bad("maxOutputBytes must not be negative")
	}
	if !isKey(req.IdempotencyKey) {
		return req, "", request.Bad("idempotencyKey may have %d printable ASCII characters", toolapi.MaxIdempotencyKey)
	}
	digest, err = ledger.DigestOf(req.Tool, req.Arguments)
	if err != nil {
		return req, "", request.Bad("the call's arguments cannot be read: %v", err)
	}
	return req, digest, nil
}

// start finds the call in the ledger, or records its start and runs it. The execution belongs to the server and not to the request: a
// manager that is replaced while the call runs must find the call still running, and not killed halfway.
func (s *Server) start(epoch int64, req toolapi.Call, digest string) (*ledger.Call, error) {
	if !s.enlist() {
		return nil, tool.ErrStopped
	}
	s.fault(FaultBeforeStart, req.ID)
	ctx, cancel := context.WithCancelCause(s.base)
	c, fresh, err := s.ledger.Begin(epoch, ledger.Work{ID: req.ID, Digest: digest, Key: req.IdempotencyKey, Tool: req.Tool}, cancel)
	if err != nil || !fresh {
		cancel(nil)
		s.running.Done()
		return c, err
	}
	s.thaw(epoch)
	go func() {
		defer s.running.Done()
		defer cancel(nil)
		s.fault(FaultAfterStart, req.ID)
		result := s.once(ctx, c, req)
		if cutOff(ctx, result) {
			s.ledger.Leave(c)
			s.log.Warn("a call was cut off by the end of the tool server; its outcome is unknown", "id", req.ID, "tool", plaintext.Bound(req.Tool, 32))
			return
		}
		s.fault(FaultBeforeFinish, req.ID)
		if err := s.ledger.Finish(c, result); err != nil {
			s.log.Error("a result could not be stored", "id", req.ID, "error", err)
		}
		s.log.Info("call", "id", req.ID, "tool", plaintext.Bound(req.Tool, 32), "ok", result.OK, "code", result.ErrorCode, "ms", result.DurationMs)
	}()
	return c, nil
}

// cutOff reports whether the end of the server ended the call. The tool's result is then not the outcome of the call's work. Recorded as a
// result, it would allow the effect to be caused again without a decision.
func cutOff(ctx context.Context, result toolapi.Result) bool {
	return !result.OK && errors.Is(context.Cause(ctx), tool.ErrStopped)
}

// thaw lets programs start for this claim, and reports whether it did. A sandbox that a newer claim has stopped stays stopped. Otherwise a
// call that was recorded before that claim, and got no further, would run after the files were listed.
func (s *Server) thaw(epoch int64) bool {
	s.thawing.Lock()
	defer s.thawing.Unlock()
	if s.ledger.Highest() != epoch {
		return false
	}
	s.processes.Thaw()
	s.mcp.Thaw()
	return true
}

// freeze ends everything that was started, and lets nothing start until the next call of this claim. The caller holds the lane. The model
// sees the reason for programs in the background.
func (s *Server) freeze(reason string) error {
	s.thawing.Lock() // A thaw of the claim before either is over, or learns of this claim.
	s.processes.FreezeStarts()
	s.thawing.Unlock()
	return s.processes.Freeze(reason)
}

// enlist counts one more running call, unless the server stops.
func (s *Server) enlist() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping {
		return false
	}
	s.running.Add(1)
	return true
}

// execute runs the tool. It returns a Result in every case.
func (s *Server) execute(ctx context.Context, req toolapi.Call) (result toolapi.Result) {
	t, ok := s.toolOf(req.Tool)
	if !ok {
		return tool.Failure(toolapi.CodeUnknownTool, "this sandbox has no tool %q; it has %s", plaintext.Bound(req.Tool, 64), s.offered())
	}
	limit := outputLimit(t, req)
	began := time.Now()
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("a tool panicked", "id", req.ID, "tool", req.Tool, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			result = tool.Failure(toolapi.CodeInternal, "the tool %s failed inside the tool server; what it did until then is not undone", req.Tool)
		}
		result.SetParts(bounded(result, limit))
		result.DurationMs = time.Since(began).Milliseconds()
	}()
	if t.Alone {
		select {
		case s.lane <- struct{}{}:
			defer func() { <-s.lane }()
		case <-ctx.Done():
			return tool.Interrupted(ctx, "before it started")
		}
		if s.processes.IsFrozen() {
			return tool.Failure(toolapi.CodeCancelled, "The call was cancelled before it started: everything in the sandbox was ended.")
		}
		began = time.Now() // Waiting for another call is not this call's work.
	}
	if ctx.Err() != nil {
		return tool.Interrupted(ctx, "before it started")
	}
	if t.Alone {
		watched, leave := s.processes.Disk.Enter(ctx)
		defer func() {
			leave()
			s.processes.Disk.Judge(watched, &result, limit)
		}()
		if full := s.processes.Disk.Refuse(req.Tool); full != nil {
			return *full
		}
		ctx = watched
	}
	result = t.Run(ctx, tool.Job{ID: req.ID, Args: req.Arguments, Key: req.IdempotencyKey, Limit: limit})
	if output.Keeps(req.Tool, t) {
		s.processes.Outputs.Keep(req.ID, &result, limit)
	}
	result.Provenance = s.provenanceOf(req.Tool, result)
	return result
}

func (s *Server) toolOf(name string) (tool.Tool, bool) {
	if t, ok := s.tools[name]; ok {
		return t, true
	}
	return s.mcpTool(name)
}

// outputLimit is the most bytes of output that the result of a call may have.
func outputLimit(t tool.Tool, req toolapi.Call) int {
	if req.MaxOutputBytes > 0 {
		return min(t.Limit, int(req.MaxOutputBytes))
	}
	return t.Limit
}

// getCall looks at a call.
func (s *Server) getCall(r *request.Request, id string) (any, error) {
	return s.ledger.State(r.Epoch, id, s.ledger.Find(id))
}

// cancelCall ends a running call and returns its outcome.
func (s *Server) cancelCall(r *request.Request, id string) (any, error) {
	c := s.ledger.Find(id)
	if c != nil && c.Cancel != nil {
		c.Cancel(tool.ErrCancelled)
		select {
		case <-c.Done:
		case <-r.Fenced:
		case <-r.Context().Done():
		case <-time.After(cancelWait):
		}
	}
	return s.ledger.State(r.Epoch, id, c)
}

// bounded is the output of a result, and its notes, both cleaned, in at most limit bytes.
func bounded(r toolapi.Result, limit int) (data, notes string) {
	data, notes = r.Parts()
	notes = plaintext.Bound(notes, limit)
	return plaintext.Bound(data, limit-len(notes)), notes
}
