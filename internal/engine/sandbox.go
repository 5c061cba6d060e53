// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/engine/runenv"
	"motorcortex.dev/motorcortex/internal/motorloop"
	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolclient"
)

// sandboxTools is the run's sandbox as the loop sees it.
type sandboxTools struct {
	env    *runenv.Env
	config BoxConfig
	client *toolclient.Client
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
	// bounds are the most that people can allow. Only a sandbox with limited is told what was allowed once.
	bounds  []v1alpha1.Domain
	limited bool

	// mu is held while something of this, of the loop or of the journal is used for a call: calls that read are made side by side. It
	// is not held while the tool server has the call.
	mu sync.Mutex
	// flying counts the calls that the tool server has.
	flying int
	// failed is why a call could not be made, nil if none has failed.
	failed error
}

func (s *sandboxTools) close() { s.client.Close() }

// Call runs one tool call, or gives its stored result.
func (s *sandboxTools) Call(ctx context.Context, c toolapi.Call) (toolapi.Result, error) {
	refused, err := s.begin(ctx, &c)
	if err != nil || refused != nil {
		return orNone(refused), err
	}
	r, err := s.client.Call(ctx, c)
	return s.end(ctx, c, r, err)
}

// begin makes everything ready for a call, or gives the result of one that is not made.
func (s *sandboxTools) begin(ctx context.Context, c *toolapi.Call) (*toolapi.Result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed != nil {
		// The error of a call ends the loop. Without this each of those that wait here would try for itself whether a sandbox
		// that is gone answers, one after the other.
		return nil, s.failed
	}
	refused, err := s.prepareFor(ctx, c)
	s.noteFailed(ctx, err)
	if err == nil && refused == nil {
		s.used = true
		s.flying++
	}
	return refused, err
}

// prepareFor has the sandbox ready for a call, and puts into it what the model only named. It gives the result of one that must not be made.
func (s *sandboxTools) prepareFor(ctx context.Context, c *toolapi.Call) (*toolapi.Result, error) {
	if err := s.awaitOnce(ctx, *c); err != nil {
		return nil, err
	}
	if s.mustPrepare(c.Tool) {
		if err := s.prepareAgain(ctx); err != nil {
			return nil, err
		}
		s.restarted = false
	}
	if refused, err := s.refuseMCP(ctx, *c); err != nil || refused != nil {
		return refused, err
	}
	if refused, err := s.unserved(*c); err != nil || refused != nil {
		return refused, err
	}
	c.Arguments = s.egress.resolve(c.Arguments)
	if len(c.Arguments) > toolapi.MaxArgumentsBytes {
		return &toolapi.Result{
			ErrorCode: toolapi.CodeTooLarge, Provenance: toolapi.ProvenanceInternal,
			Output: fmt.Sprintf("with the credentials in them the arguments have more than %d bytes: split the work", toolapi.MaxArgumentsBytes),
		}, nil
	}
	return nil, nil
}

// mustPrepare reports whether the tool server is to be asked who it is before a call. What was prepared for a call that it still has holds
// for those that read beside it: they start no program, and if it ended meanwhile, the call that it had says so.
func (s *sandboxTools) mustPrepare(tool string) bool {
	if s.restarted {
		return true
	}
	// It can be back before anybody has seen that it was gone.
	return (s.egress.exists() || s.mcp != nil) && (s.flying == 0 || !toolapi.OnlyReads(tool))
}

// end judges what came of a call that the tool server had.
func (s *sandboxTools) end(ctx context.Context, c toolapi.Call, r toolapi.Result, err error) (toolapi.Result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flying--
	if remote, ok := errors.AsType[*toolclient.RemoteError](err); ok && remote.Code == toolapi.ErrCallMismatch && s.egress != nil {
		r, err = s.found(ctx, c.ID)
	} else if err != nil {
		err = s.env.Classify(ctx, err)
	}
	if slices.Contains(s.env.Entries.Sandbox().Unconfined, v1alpha1.WithoutLandlock) {
		// Its programs can get at the tool server and speak for it: nothing that it says stands outside of the mark of data.
		r.NoteBytes = 0
	}
	if err == nil && r.ErrorCode == toolapi.CodeOutcomeUnknown {
		// Only who prepares it again takes this back. A call beside this one that the next tool server has made says nothing of it.
		s.restarted = true
	}
	if err == nil && s.failed == nil {
		err = s.lookAtPrograms(ctx, c, r)
	}
	s.noteFailed(ctx, err)
	return r, err
}

// noteFailed keeps the error of a call, unless it is only that the call was broken off.
func (s *sandboxTools) noteFailed(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil && s.failed == nil {
		s.failed = err
	}
}

// sharedJournal settles no step while a call uses the journal: the loop settles while it waits for calls that read.
type sharedJournal struct {
	motorloop.Journal
	box *sandboxTools
}

// Settle records what became of a step's calls.
func (j sharedJournal) Settle(ctx context.Context, t *motorloop.Turn) error {
	j.box.mu.Lock()
	defer j.box.mu.Unlock()
	return j.Journal.Settle(ctx, t)
}

// found gives the result of a call that was made before with other arguments: a credential that the run exposes has
// another value by now.
func (s *sandboxTools) found(ctx context.Context, id string) (toolapi.Result, error) {
	state, err := s.client.State(ctx, id)
	switch {
	case err != nil:
		return toolapi.Result{}, s.env.Classify(ctx, err)
	case state.Result == nil:
		return toolapi.Result{}, fmt.Errorf("the call %s still runs with a former value of a credential: %w", id, runenv.ErrMissing)
	}
	return *state.Result, nil
}

// prepareAgain does for a tool server that was started again what ready does, but for the files, which are there. It knows
// such a one by what it has forgotten, or by a call whose end nobody saw: another call that was made beside that one can be the first of
// the new tool server, which says then that it is used. Without the way out that it was told of, the next call would fail in a way that
// no model could explain.
func (s *sandboxTools) prepareAgain(ctx context.Context) error {
	hello, err := s.client.Hello(ctx)
	if err != nil {
		return s.env.Classify(ctx, err)
	}
	if s.restarted || !hello.Used && s.used {
		p, err := s.proveIsolation(ctx)
		if err != nil {
			return err
		}
		box := s.env.Entries.Sandbox()
		p.record(&box, s.env.Run)
		s.env.Entries.UseSandbox(box)
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
func (s *sandboxTools) fresh() bool {
	return s.env.Entries.Sandbox().PodUID != s.env.Run.Status.Sandbox.PodUID
}

// ready prepares the sandbox while the model thinks: it makes sure that the tool server is the one of this run's Pod,
// that the sandbox can reach nothing, that the files of the skill and of the spec are there, that the way out is open, if there
// is one, and that the MCP servers run.
// It names the sandbox to the journal, so that the next step records which one it was and which key it showed.
func (s *sandboxTools) ready(ctx context.Context) error {
	start := s.env.Now()
	// From here on the sandbox refuses whoever held the run before. So nothing can happen in it any more behind the back of
	// the loop, which looks next at what its calls have come to.
	hello, err := s.client.Hello(ctx)
	if err != nil {
		return s.env.Classify(ctx, err)
	}
	close(s.greeted)
	box, fresh := s.env.Entries.Sandbox(), s.fresh()
	if fresh {
		box = v1alpha1.StepSandbox{}
	}
	box.PodUID, box.ServerKey = s.env.Run.Status.Sandbox.PodUID, s.client.ServerKey()
	if s.isolationLost {
		if err := s.halt(ctx); err != nil {
			return err
		}
		if hello, err = s.client.Hello(ctx); err != nil {
			return s.env.Classify(ctx, err)
		}
	}
	if fresh || !hello.Used || s.isolationLost {
		// A tool server that was restarted can be in a new network, which its node has to close first.
		proof, err := s.proveIsolation(ctx)
		if err != nil {
			return err
		}
		proof.record(&box, s.env.Run)
	}
	if fresh {
		if err := s.skill.put(ctx, s.env, s.client); err != nil {
			return err
		}
		if err := s.putFiles(ctx); err != nil {
			return err
		}
		if err := s.makeRepository(ctx); err != nil {
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
	s.env.Entries.UseSandbox(box)
	close(s.prepared)
	s.env.Log.Info("the sandbox is ready", "took", s.env.Now().Sub(start).String(), "fresh", fresh)
	return nil
}

// reachable reports whether the sandbox is known to be the run's: from an earlier step, or because it was made ready.
func (s *sandboxTools) reachable() bool {
	select {
	case <-s.prepared:
		return true
	default:
		return !s.fresh()
	}
}

// openSandbox makes the client of the run's sandbox. Nothing is sent yet.
func openSandbox(env *runenv.Env, config BoxConfig) (*sandboxTools, error) {
	box := &sandboxTools{env: env, config: config, greeted: make(chan struct{}), prepared: make(chan struct{})}
	pinned := ""
	if !box.fresh() {
		pinned = env.Entries.Sandbox().ServerKey
	}
	client, err := toolclient.New(toolclient.Config{
		Address:         net.JoinHostPort(env.Run.Status.Sandbox.PodIP, strconv.Itoa(toolapi.Port)),
		PodUID:          env.Run.Status.Sandbox.PodUID,
		ClientCert:      config.ClientCert,
		Epoch:           env.Claim.Epoch,
		PinnedServerKey: pinned,
		Unreachable:     config.ConnectTimeout,
	})
	if err != nil {
		return nil, fmt.Errorf("make the tool server's client: %w", err)
	}
	box.client = client
	return box, nil
}
