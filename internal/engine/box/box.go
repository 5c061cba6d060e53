// SPDX-License-Identifier: Apache-2.0

// Package box is the sandbox of a run as its loop sees it: connected, proved to be isolated, with its inputs, its egress and its MCP
// servers.
package box

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
	"motorcortex.dev/motorcortex/internal/engine/skills"
	"motorcortex.dev/motorcortex/internal/journal"
	"motorcortex.dev/motorcortex/internal/motorloop"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolclient"
)

// Box is the run's sandbox as the loop sees it.
type Box struct {
	Env    *runenv.Env
	config Config
	Client *toolclient.Client
	// WayOut is the egress of the sandbox, nil if there is none.
	WayOut *WayOut
	// Skill is nil if the run has none.
	Skill *skills.Pinned
	// MCP is nil if the run has no MCP servers.
	MCP *MCPServers
	// IsolationLost reports whether a policy of the sandbox was away since its isolation was last proved.
	IsolationLost bool
	// greeted is closed when the tool server has answered Hello, Prepared when the sandbox is ready.
	greeted, Prepared chan struct{}
	// used is true if the tool server has started a call, restarted if it has ended since.
	used, restarted bool
	// left is true if there was a background program.
	left bool
	// missing are the files of earlier answers that the workspace lacks, until the journal has them.
	missing []journal.MissingFile
	// Bounds are the most that people can allow. Only a sandbox with Limited learns which domains were allowed once.
	Bounds  []v1alpha1.Domain
	Limited bool

	// mu is held while a call uses this state, or that of the loop or the journal: calls that read run concurrently. It
	// is not held while the tool server has the call.
	mu sync.Mutex
	// flying counts the calls that the tool server has.
	flying int
	// failed is why a call could not be made, nil if none has failed.
	failed error
}

// Close closes the connection with the tool server.
func (s *Box) Close() { s.Client.Close() }

// Call runs one tool call, or returns its stored result.
func (s *Box) Call(ctx context.Context, c toolapi.Call) (toolapi.Result, error) {
	refused, err := s.begin(ctx, &c)
	switch {
	case err != nil:
		return toolapi.Result{}, err
	case refused != nil:
		return *refused, nil
	}
	r, err := s.Client.Call(ctx, c)
	return s.end(ctx, c, r, err)
}

// begin prepares for a call, or returns the result of one that is not made.
func (s *Box) begin(ctx context.Context, c *toolapi.Call) (*toolapi.Result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed != nil {
		// The error of a call ends the loop. Without this check each of the waiting calls would try for itself whether a sandbox
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

// prepareFor prepares the sandbox for a call, and resolves the names in it that the model used. It returns the result of a call that must not be
// made.
func (s *Box) prepareFor(ctx context.Context, c *toolapi.Call) (*toolapi.Result, error) {
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
	c.Arguments = s.WayOut.resolve(c.Arguments)
	if len(c.Arguments) > toolapi.MaxArgumentsBytes {
		return &toolapi.Result{
			ErrorCode: toolapi.CodeTooLarge, Provenance: toolapi.ProvenanceInternal,
			Output: fmt.Sprintf("with the credentials in them the arguments have more than %d bytes: split the work", toolapi.MaxArgumentsBytes),
		}, nil
	}
	return nil, nil
}

// mustPrepare reports whether the tool server must identify itself before a call. The preparation for a running call also
// covers the read calls beside it. They start no program, and if the tool server ended meanwhile, the running call reports it.
func (s *Box) mustPrepare(tool string) bool {
	if s.restarted {
		return true
	}
	// The tool server can restart before its absence is noticed.
	return (s.WayOut.Exists() || s.MCP != nil) && (s.flying == 0 || !toolapi.OnlyReads(tool))
}

// end judges the outcome of a call that the tool server had.
func (s *Box) end(ctx context.Context, c toolapi.Call, r toolapi.Result, err error) (toolapi.Result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flying--
	if remote, ok := errors.AsType[*toolclient.RemoteError](err); ok && remote.Code == toolapi.ErrCallMismatch && s.WayOut != nil {
		r, err = s.found(ctx, c.ID)
	} else if err != nil {
		err = s.Env.Classify(ctx, err)
	}
	if slices.Contains(s.Env.Entries.Sandbox().Unconfined, v1alpha1.WithoutLandlock) {
		// Its programs can reach the tool server and speak for it: none of its text may stand outside of the mark of data.
		r.NoteBytes = 0
	}
	if err == nil && r.ErrorCode == toolapi.CodeOutcomeUnknown {
		// Only a new preparation resets this. A concurrent call that the next tool server has made proves nothing about it.
		s.restarted = true
	}
	if err == nil && s.failed == nil {
		err = s.lookAtPrograms(ctx, c, r)
	}
	s.noteFailed(ctx, err)
	return r, err
}

// noteFailed records the error of a call, unless the call was only interrupted.
func (s *Box) noteFailed(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil && s.failed == nil {
		s.failed = err
	}
}

// Journal records what the sandbox lacks, and settles no step while a call uses the journal: the loop settles while it waits for calls that read.
type Journal struct {
	motorloop.Journal
	Box *Box
}

// Append records a step. The first one in a new workspace comes after the files that this lacks, so that the model of the step is told of them, and no
// other loop looks for them again.
func (j Journal) Append(ctx context.Context, t *turn.Turn) error {
	// Another worker may have the run by now, and have found the files.
	if len(j.Box.missing) > 0 && !j.Box.Env.Lease.MayDecide() {
		return runenv.ErrNoLease
	}
	if err := j.Box.Env.Entries.NoteMissing(ctx, j.Box.missing); err != nil {
		return err
	}
	j.Box.missing = nil
	return j.Journal.Append(ctx, t)
}

// Settle records the results of a step's calls.
func (j Journal) Settle(ctx context.Context, t *turn.Turn) error {
	j.Box.mu.Lock()
	defer j.Box.mu.Unlock()
	return j.Journal.Settle(ctx, t)
}

// SettleLater is Settle, but for the write.
func (j Journal) SettleLater(t *turn.Turn) func(context.Context) error {
	j.Box.mu.Lock()
	defer j.Box.mu.Unlock()
	write := j.Journal.SettleLater(t)
	if write == nil {
		return nil
	}
	return func(ctx context.Context) error {
		j.Box.mu.Lock()
		defer j.Box.mu.Unlock()
		return write(ctx)
	}
}

// found returns the result of a call that was made before with other arguments: the value of an exposed credential
// has changed since.
func (s *Box) found(ctx context.Context, id string) (toolapi.Result, error) {
	state, err := s.Client.State(ctx, id)
	switch {
	case err != nil:
		return toolapi.Result{}, s.Env.Classify(ctx, err)
	case state.Result == nil:
		return toolapi.Result{}, fmt.Errorf("the call %s still runs with a former value of a credential: %w", id, runenv.ErrMissing)
	}
	return *state.Result, nil
}

// prepareAgain repeats Ready for a tool server that was started again, except for the files, which are there. It recognizes a new tool server by its
// lost state, or by a call whose end was not seen. The second sign is needed because a concurrent call can be the first one of the new tool server,
// which then reports that it is used. Without the egress settings the next call would fail in a way that no model could explain.
func (s *Box) prepareAgain(ctx context.Context) error {
	hello, err := s.Client.Hello(ctx)
	if err != nil {
		return s.Env.Classify(ctx, err)
	}
	if s.restarted || !hello.Used && s.used {
		box := s.Env.Entries.Sandbox()
		if err := s.proveIsolation(ctx, &box); err != nil {
			return err
		}
		s.Env.Entries.UseSandbox(box)
	}
	s.used = hello.Used
	if hello.Egress != s.WayOut.Exists() {
		if err := s.setEgress(ctx, hello); err != nil {
			return err
		}
	}
	if hello.MCP == (s.MCP != nil) {
		return nil
	}
	return s.setMCP(ctx)
}

// Fresh reports whether no step was taken in the sandbox yet.
func (s *Box) Fresh() bool {
	return s.Env.Entries.Sandbox().PodUID != s.Env.Run.Status.Sandbox.PodUID
}

// Ready prepares the sandbox while the model thinks. It makes sure that the tool server is the one of this run's Pod. It makes sure
// that the sandbox can reach nothing, that the files of the skill, of the spec and of earlier answers are there, that the egress is open, if there is one,
// and that the MCP servers run. It sets the sandbox in the journal, so that the next step records its identity and its key.
func (s *Box) Ready(ctx context.Context) error {
	start := s.Env.Now()
	// From here on the sandbox refuses earlier workers of the run. So nothing can happen in it any more without the
	// loop's knowledge, which next looks at the results of its calls.
	hello, err := s.Client.Hello(ctx)
	if err != nil {
		return s.Env.Classify(ctx, err)
	}
	close(s.greeted)
	box, fresh := s.Env.Entries.Sandbox(), s.Fresh()
	if fresh {
		box = v1alpha1.StepSandbox{}
	}
	box.PodUID, box.ServerKey = s.Env.Run.Status.Sandbox.PodUID, s.Client.ServerKey()
	if s.IsolationLost {
		if err := s.halt(ctx); err != nil {
			return err
		}
		if hello, err = s.Client.Hello(ctx); err != nil {
			return s.Env.Classify(ctx, err)
		}
	}
	if fresh || s.IsolationLost || !hello.Used {
		// A restarted tool server can be in a new network, whose policies its node has to enforce first.
		if err := s.confirmIsolation(ctx, hello, &box); err != nil {
			return err
		}
	}
	if fresh {
		if err := s.Skill.Put(ctx, s.Env, s.Client); err != nil {
			return err
		}
		if err := s.putFiles(ctx); err != nil {
			return err
		}
		if s.missing, err = (AnswerFiles{Env: s.Env, Client: s.Client}).putAll(ctx); err != nil {
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
	s.MCP.record(&box)
	s.Env.Entries.UseSandbox(box)
	close(s.Prepared)
	s.Env.Log.Info("the sandbox is ready", "took", s.Env.Now().Sub(start).String(), "fresh", fresh)
	return nil
}

// Reachable reports whether the sandbox is known to be the run's: from an earlier step, or because it was made ready.
func (s *Box) Reachable() bool {
	select {
	case <-s.Prepared:
		return true
	default:
		return !s.Fresh()
	}
}

// Open makes the client of the run's sandbox. It sends nothing yet.
func Open(env *runenv.Env, config Config) (*Box, error) {
	box := &Box{Env: env, config: config, greeted: make(chan struct{}), Prepared: make(chan struct{})}
	pinned := ""
	if !box.Fresh() {
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
	box.Client = client
	return box, nil
}
