// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/journal"
	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolclient"
)

// sandboxTools is the run's sandbox as the loop sees it.
type sandboxTools struct {
	engine  *Engine
	loop    *loop
	run     *v1alpha1.MotorRun
	entries *journal.Log
	client  *toolclient.Client
	log     *slog.Logger
	// egress is the way out, nil if there is none.
	egress *egress
	// skill is nil if the run has none.
	skill *pinnedSkill
	// mcp is nil if the run has no MCP servers.
	mcp *mcpServers
	// isolationLost says whether a policy of the sandbox was away since its isolation was last proved.
	isolationLost bool
	// greeted is closed when the tool server has said what it has, prepared when the sandbox is ready.
	greeted, prepared chan struct{}
	// used says that the tool server has started a call, restarted that it has ended since.
	used, restarted bool
	// left says that there was something in the background.
	left bool
	// domains bound what people allow; nil before a loop runs.
	domains *domainPolicy
}

func (s *sandboxTools) close() { s.client.Close() }

// Call runs one tool call, or gives its stored result.
func (s *sandboxTools) Call(ctx context.Context, c toolapi.Call) (toolapi.Result, error) {
	if err := s.awaitOnce(ctx, c); err != nil {
		return toolapi.Result{}, err
	}
	if s.restarted || s.egress.exists() || s.mcp != nil {
		// The tool server can be back before anybody has seen that it was gone.
		if err := s.prepareAgain(ctx); err != nil {
			return toolapi.Result{}, err
		}
		s.restarted = false
	}
	if refused, err := s.refuseMCP(ctx, c); err != nil {
		return toolapi.Result{}, err
	} else if refused != nil {
		return *refused, nil
	}
	if refused, err := s.unserved(c); err != nil {
		return toolapi.Result{}, err
	} else if refused != nil {
		return *refused, nil
	}
	c.Arguments = s.egress.resolve(c.Arguments)
	if len(c.Arguments) > toolapi.MaxArgumentsBytes {
		return toolapi.Result{
			ErrorCode: toolapi.CodeTooLarge, Provenance: toolapi.ProvenanceInternal,
			Output: fmt.Sprintf("with the credentials in them the arguments have more than %d bytes: split the work", toolapi.MaxArgumentsBytes),
		}, nil
	}
	s.used = true
	r, err := s.client.Call(ctx, c)
	if remote, ok := errors.AsType[*toolclient.RemoteError](err); ok && remote.Code == toolapi.ErrCallMismatch && s.egress != nil {
		return s.found(ctx, c.ID)
	}
	s.restarted = err == nil && r.ErrorCode == toolapi.CodeOutcomeUnknown
	if err != nil {
		return r, s.classify(ctx, err)
	}
	return r, s.lookAtPrograms(ctx, c, r)
}

// found gives the result of a call that was made before with other arguments: a credential that the run exposes has
// another value by now.
func (s *sandboxTools) found(ctx context.Context, id string) (toolapi.Result, error) {
	state, err := s.client.State(ctx, id)
	switch {
	case err != nil:
		return toolapi.Result{}, s.classify(ctx, err)
	case state.Result == nil:
		return toolapi.Result{}, fmt.Errorf("the call %s still runs with a former value of a credential: %w", id, errMissing)
	}
	s.restarted = state.Result.ErrorCode == toolapi.CodeOutcomeUnknown
	return *state.Result, nil
}

// prepareAgain does for a tool server that was started again what ready does, but for the files, which are there. It knows
// such a one by what it has forgotten. Without the way out that it was told of, the next call would fail in a way that no
// model could explain.
func (s *sandboxTools) prepareAgain(ctx context.Context) error {
	hello, err := s.client.Hello(ctx)
	if err != nil {
		return s.classify(ctx, err)
	}
	if !hello.Used && s.used {
		p, err := s.proveIsolation(ctx)
		if err != nil {
			return err
		}
		box := s.entries.Sandbox()
		p.record(&box, s.run)
		s.entries.UseSandbox(box)
	}
	s.used = hello.Used
	if hello.Egress != s.egress.exists() {
		if err := s.setEgress(ctx, hello); err != nil {
			return err
		}
	}
	if hello.MCP == (s.mcp != nil) {
		return nil
	}
	return s.setMCP(ctx)
}

// fresh says whether no step was taken in the sandbox yet.
func (s *sandboxTools) fresh() bool { return s.entries.Sandbox().PodUID != s.run.Status.Sandbox.PodUID }

// ready prepares the sandbox while the model thinks: it makes sure that the tool server is the one of this run's Pod,
// that the sandbox can reach nothing, that the files of the skill and of the spec are there, that the way out is open, if there
// is one, and that the MCP servers run.
// It names the sandbox to the journal, so that the next step records which one it was and which key it showed.
func (s *sandboxTools) ready(ctx context.Context) error {
	start := s.engine.Now()
	// From here on the sandbox refuses whoever held the run before. So nothing can happen in it any more behind the back of
	// the loop, which looks next at what its calls have come to.
	hello, err := s.client.Hello(ctx)
	if err != nil {
		return s.classify(ctx, err)
	}
	close(s.greeted)
	box, fresh := s.entries.Sandbox(), s.fresh()
	if fresh {
		box = v1alpha1.StepSandbox{}
	}
	box.PodUID, box.ServerKey = s.run.Status.Sandbox.PodUID, s.client.ServerKey()
	if s.isolationLost {
		if err := s.halt(ctx); err != nil {
			return err
		}
		if hello, err = s.client.Hello(ctx); err != nil {
			return s.classify(ctx, err)
		}
	}
	if fresh || !hello.Used || s.isolationLost {
		// A tool server that was restarted can be in a new network, which its node has to close first.
		proof, err := s.proveIsolation(ctx)
		if err != nil {
			return err
		}
		proof.record(&box, s.run)
	}
	if fresh {
		if err := s.putSkill(ctx); err != nil {
			return err
		}
		if err := s.putFiles(ctx); err != nil {
			return err
		}
	}
	if err := s.setEgress(ctx, hello); err != nil {
		return err
	}
	s.used = hello.Used
	if err := s.setMCP(ctx); err != nil {
		return err
	}
	s.mcp.record(&box)
	s.entries.UseSandbox(box)
	close(s.prepared)
	s.log.Info("the sandbox is ready", "took", s.engine.Now().Sub(start).String(), "fresh", fresh)
	return nil
}
