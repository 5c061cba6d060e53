// SPDX-License-Identifier: Apache-2.0

// Package attempt carries an attempt of a run on, from its claim to its outcome.
package attempt

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cortex"
	"motorcortex.dev/motorcortex/internal/engine/box"
	"motorcortex.dev/motorcortex/internal/engine/harvest"
	"motorcortex.dev/motorcortex/internal/engine/redacting"
	"motorcortex.dev/motorcortex/internal/engine/runenv"
	"motorcortex.dev/motorcortex/internal/engine/savedcredential"
	"motorcortex.dev/motorcortex/internal/engine/skills"
	"motorcortex.dev/motorcortex/internal/engine/spending"
	"motorcortex.dev/motorcortex/internal/journal"
	"motorcortex.dev/motorcortex/internal/motorloop"
	"motorcortex.dev/motorcortex/internal/motorloop/chat"
	"motorcortex.dev/motorcortex/internal/motorloop/outcome"
	"motorcortex.dev/motorcortex/internal/runpolicy"
)

// maxPanics is how many times in a row a loop may panic. A loop that panics that often does so because of the run.
const maxPanics = 3

// errNothingAsked reports that the loop waits for a person, and its journal has no question for them.
var errNothingAsked = errors.New("the loop waits for an ask that is not in its journal")

// Host is the shared state of the replica that makes the attempts.
type Host struct {
	Client client.Client
	// Live reads past the cache: the journal must be complete.
	Live client.Reader
	// Bucket stores artifacts that are too large for objects; if it is nil, they are not stored.
	Bucket runenv.Bucket
	Lease  Lease
	Clock  runenv.Clock
	Limits *runenv.Limits
	Box    box.Config
	Models cortex.Resolver
	// AwayModels finds the endpoint of a model that was not available, by a key that may be some seconds old. Without it each run looks for itself.
	AwayModels cortex.Resolver
	// NewModel makes the model of an endpoint. It fails if no request can be sent there, whenever it is tried.
	NewModel func(cortex.Endpoint) (chat.Model, error)
	// Storage keeps the runs of a namespace from asking their models while they keep too much in the cluster; if it is nil, they are never kept.
	Storage Storage
	// SearchTransport reaches search providers, one of its own kind if it is nil.
	SearchTransport http.RoundTripper
	// Observer is told how loops spend their time; if it is nil, nothing is.
	Observer motorloop.Observer
	// Spending is told what calls of models cost; if it is nil, nothing is.
	Spending spending.Observer
	// Fault is called at each FaultPoint. It is nil but in tests.
	Fault Fault
}

// NewEnv returns the environment of the parts of an attempt, without the journal.
func (h *Host) NewEnv(run *v1alpha1.MotorRun, claim journal.Claim, absence *runenv.Absence, known *redacting.Secrets, log *slog.Logger) *runenv.Env {
	return &runenv.Env{
		Client: h.Client, Live: h.Live, Bucket: h.Bucket, Lease: h.Lease, Clock: h.Clock, Limits: h.Limits,
		Run: run, Claim: claim, Absence: absence, Known: known, Log: log,
	}
}

// Attempt is one start of the loop of an attempt of a run.
type Attempt struct {
	Host *Host
	Env  *runenv.Env
	// Index is that of the attempt.
	Index  int32
	Memory *Memory
	// Carries reports whether the loop's task still matches the run in its current state.
	Carries func(*v1alpha1.MotorRun) bool
	// GivesBack reports whether the loop must end between two turns, and is told how many bytes it has in memory; see motorloop.Loop.
	GivesBack func(held int, began bool) bool
	// Closing is called when the attempt has ended and its files are being collected.
	Closing func()
	// awaySeconds is how long to wait for the model at most.
	awaySeconds int32
	// account is what the loop spends, nil while it has asked no model.
	account *spending.Account
}

// Waiting is the open ask that a loop ended with.
type Waiting struct {
	Ask v1alpha1.StepAsk
	// Expires is ask.ExpiresAt, extended by the times in which no manager led.
	Expires time.Time
}

// Run carries the attempt on from the end of its journal, until it ends too or waits for a person; then it
// returns what it waits for. An error decides nothing: Run can be called again.
func (a *Attempt) Run(ctx context.Context) (waitingFor *Waiting, err error) {
	env := a.Env
	if o := a.stillAway(ctx); o != nil {
		return nil, o
	}
	env.Entries, err = journal.Load(ctx, env.Client, env.Live, env.Run, a.Index, env.Claim, env.APINow)
	if err == nil && env.Entries.Closed() {
		return nil, nil
	}
	if err == nil && (env.Entries.Ended() || env.Run.Status.Ending != nil) {
		return nil, a.lastLook(ctx)
	}
	var out outcome.Outcome
	// aboutOutage is how many writes only record that the model is not available, so that they are no progress of the loop.
	var aboutOutage int
	if err == nil {
		defer a.closeAccount(ctx)
		defer func() {
			if env.Entries.Writes() > aboutOutage {
				a.Memory.gotFurther()
			}
		}()
		out, err = a.runLoop(ctx)
		err = a.unlessOvertaken(ctx, err)
	}
	if o, ok := errors.AsType[*chat.Outage](err); ok {
		before := env.Entries.Writes()
		err = a.awayUntil(ctx, o)
		aboutOutage = env.Entries.Writes() - before
	}
	if f, ok := errors.AsType[*outcome.Failure](err); ok {
		out, err = outcome.Outcome{Kind: outcome.Failed, Failure: f}, nil
	}
	if err != nil {
		return nil, err
	}
	return a.concluded(ctx, out)
}

// concluded records the outcome of the loop, if that is the end of the attempt, and takes the last look.
func (a *Attempt) concluded(ctx context.Context, out outcome.Outcome) (waitingFor *Waiting, err error) {
	env := a.Env
	switch out.Kind {
	case outcome.Completed:
		// Its last step has the result. The only step of a run without a model needs no last look.
		if !env.Entries.Ended() {
			return nil, nil
		}
		return nil, a.lastLook(ctx)
	case outcome.Failed:
		if !env.Lease.MayDecide() {
			return nil, runenv.ErrNoLease
		}
		env.Log.Info("the attempt failed", "reason", out.Failure.Reason, "category", string(out.Failure.Category))
		out.Partial, out.Hint = env.Known.Hide(out.Partial), env.Known.Hide(out.Hint)
		if err := env.Entries.End(ctx, env.Known.HideFailure(out.Failure), out); err != nil {
			return nil, err
		}
		return nil, a.lastLook(ctx)
	case outcome.Awaiting:
		steps := env.Entries.Steps()
		open := runpolicy.OpenAsk(&steps[len(steps)-1])
		if open == nil {
			return nil, errNothingAsked
		}
		return &Waiting{*open, env.Observed().Extend(open.AskTime.Time, runpolicy.ExpiresAt(env.Run, open))}, nil
	}
	return nil, nil
}

// panicked ends an attempt whose loop panics whenever it is started.
func (a *Attempt) panicked() *outcome.Failure {
	return &outcome.Failure{
		Category: outcome.InfraFailure, Reason: outcome.ReasonInternalError,
		Message: fmt.Sprintf("The loop of the run panicked %d times in a row, which is a fault of the manager and not of the task. "+
			"The log of the manager %s says where; please report it.", a.Memory.Panics, a.Env.Claim.Worker),
	}
}

// runLoop runs the loop from the end of the journal. An *outcome.Failure means that the attempt cannot be carried on.
func (a *Attempt) runLoop(ctx context.Context) (outcome.Outcome, error) {
	if a.Memory.Panics >= maxPanics {
		return outcome.Outcome{}, a.panicked()
	}
	switch a.Env.Run.Spec.Mode {
	case v1alpha1.ModeOneshot:
		return a.runOnce(ctx)
	case v1alpha1.ModeInstall:
		return a.runInstall(ctx)
	case v1alpha1.ModeAgentic:
	}
	return a.runAgent(ctx)
}

// runAgent runs the loop of a model.
func (a *Attempt) runAgent(ctx context.Context) (outcome.Outcome, error) {
	env := a.Env
	progress := runpolicy.ReadJournal(env.Run, env.Entries.Everything())
	model, endpoint, err := a.openModel(ctx)
	model, err = unneeded(model, err, progress)
	if err != nil {
		return outcome.Outcome{}, err
	}
	a.openAccount(progress)
	window := window(endpoint, model)
	sandbox, store, err := a.openHands(ctx, progress)
	if err != nil {
		return outcome.Outcome{}, err
	}
	defer sandbox.Close()
	if err := sandbox.ReviewPrograms(ctx); err != nil {
		return outcome.Outcome{}, err
	}
	tainted, err := tainted(ctx, env.Client, env.Run, env.Entries.AllSteps())
	if err != nil {
		return outcome.Outcome{}, err
	}
	kept := &harvest.Artifacts{Env: env, Client: sandbox.Client, Reachable: sandbox.Reachable, Tainted: tainted, Recorded: progress.Artifacts}
	turns := env.Entries.Turns()
	loop := &motorloop.Loop{
		Config:      loopConfig(env.Run, progress, env.APINow()),
		Domains:     NewDomainPolicy(env.Run, progress, sandbox.Bounds),
		Person:      Person{Env: env},
		Files:       box.AnswerFiles{Env: env, Client: sandbox.Client},
		Policy:      CallPolicy{Run: env.Run, Entries: env.Entries},
		Credentials: store,
		Ready:       sandbox.Ready,
		Peer:        sandbox.Peer,
		GivesBack:   a.GivesBack,
		Now:         env.APINow,
		Logger:      env.Log,
		Observer:    a.Host.Observer,
	}
	if sandbox.MCP != nil {
		loop.MCP = sandbox.MCP.Servers
	}
	if err := a.openSearch(ctx, loop); err != nil {
		return outcome.Outcome{}, err
	}
	loop.Config.Files = append(loop.Config.Files, earlierAnswers(env.Entries)...)
	loop.Config.Tainted, loop.Config.Skill = tainted, sandbox.Skill.Config(env.Run)
	loop.Config.Window, loop.Config.TextEnds, loop.Config.UsedTokens = window, endpoint.TextEnds, usedBefore(progress, turns)
	if loop.Config.WritesSkills {
		loop.Skills = skills.Check{Env: env, Client: sandbox.Client}
	}
	a.wire(loop, spending.Model{Model: model, Account: a.account, Name: endpoint.Model}, sandbox, kept, turns)
	// The background programs may have ended just now, and permissions for one call count since then.
	loop.Config.SettleEach, _ = runpolicy.Once(env.Run, runpolicy.ReadJournal(env.Run, env.Entries.Everything()), sandbox.Bounds)
	out, err := loop.Run(ctx, turns)
	if err != nil {
		return outcome.Outcome{}, err
	}
	if out.Kind == outcome.Failed {
		sandbox.EndPrograms(ctx)
	}
	return out, kept.AfterLoop(ctx, out)
}

// openHands opens the dependencies of the run's tools: the sandbox, its egress, the credentials, the domains and the skill.
func (a *Attempt) openHands(ctx context.Context, progress runpolicy.Progress) (*box.Box, *savedcredential.Store, error) {
	env := a.Env
	// Secret values must be registered before anything is read that could contain one.
	way, err := box.OpenWayOut(ctx, env, a.Host.Box)
	if err != nil {
		return nil, nil, err
	}
	store := &savedcredential.Store{Env: env, Lent: way.Holds}
	if err := store.Recall(ctx, env.Entries.AllSteps()); err != nil {
		return nil, nil, err
	}
	bounds, err := a.readBounds(ctx)
	if err != nil {
		return nil, nil, err
	}
	skill, err := skills.Open(ctx, env)
	if err != nil {
		return nil, nil, err
	}
	sandbox, err := box.Open(env, a.Host.Box)
	if err != nil {
		return nil, nil, err
	}
	sandbox.WayOut, sandbox.Skill, store.Client = way, skill, sandbox.Client
	sandbox.MCP = box.NewMCPServers(env.Run, env.Entries.AllSteps(), env.Known)
	sandbox.Bounds, sandbox.Limited = bounds, true
	sandbox.IsolationLost = runpolicy.IsolationLost(env.Run, progress)
	return sandbox, store, nil
}
