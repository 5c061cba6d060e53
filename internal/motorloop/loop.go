// SPDX-License-Identifier: Apache-2.0

package motorloop

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"motorcortex.dev/motorcortex/internal/motorloop/catalog"
	"motorcortex.dev/motorcortex/internal/motorloop/chat"
	"motorcortex.dev/motorcortex/internal/motorloop/config"
	"motorcortex.dev/motorcortex/internal/motorloop/conversation"
	"motorcortex.dev/motorcortex/internal/motorloop/outcome"
	"motorcortex.dev/motorcortex/internal/motorloop/record"
	"motorcortex.dev/motorcortex/internal/motorloop/stopwatch"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/motorloop/verdict"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// Loop carries one attempt of a run on. It holds no state between calls of Run. All state that must survive is in the
// Journal, so a Loop can be discarded at any point and another one resumes from the same turns.
type Loop struct {
	Config  config.Config
	Model   chat.Model
	Tools   Tools
	Journal Journal
	// Person responds to the questions of calls. Nil means that there is never a response.
	Person Person
	// Files serves the files that go with answers, after Ready. Nil means that there are none.
	Files AnswerFiles
	// Domains decides about request_domain. If it is nil, every such call is refused.
	Domains DomainPolicy
	// Policy judges the calls that reach the sandbox, and request_approval. Nil allows all of the others, without a key,
	// and refuses request_approval.
	Policy CallPolicy
	// Search serves search_web. Nil means that every such call is refused.
	Search Searcher
	// MCP returns the MCP servers, once Ready has returned nil: the first model call waits for that. Nil means that there are
	// none, and nothing waits.
	MCP func() []catalog.MCPServer
	// Peer returns the capabilities of the sandbox, nil if they are not known. It may wait for a moment; Ready is on its way by then. The model
	// is offered nothing else. Nil means that the sandbox has all of them.
	Peer func(context.Context) *toolapi.Peer
	// Credentials serves save_credential, after Ready. Nil means that every such call is refused.
	Credentials CredentialStore
	// Ready is called at most once per Run, at the same time as the first model call, or before the first tool
	// call if that comes first. No turn is recorded and no tool call made before it returned nil; its error ends Run
	// like a tool's. Run cancels its context and waits for it before returning. Nil means that the tools are ready.
	Ready func(context.Context) error
	// Skills checks the skills that the attempt wrote before it may end well. If it is nil, they are not checked.
	Skills SkillChecker
	// GivesBack reports whether the loop must end so that another run gets its slot. It is asked before each request of a step, with how many bytes the
	// texts of the turns have. began is true before the first request of Run, where the answer must be no: each Run makes progress. Nil means never.
	GivesBack func(held int, began bool) bool
	// HintModel is asked once, with a short timeout, for a hint when the turns show that the attempt failed, unless it is the
	// model that failed. If it is nil, no hint is requested.
	HintModel chat.Model
	// Now is the clock, time.Now if nil. It measures ModelDuration and dates records; no decision depends on it.
	Now func() time.Time
	// Logger gets one line per turn and one per tool call, without contents. Nil logs nothing.
	Logger *slog.Logger
	// Observer is told how the loop spends its time. Nil observes nothing.
	Observer Observer
}

// Run carries the attempt on until it is over or needs a person. turns are those of the journal, oldest first; Run does
// not change them.
//
// An *outcome.Failure of the model, the tools or Ready becomes an Outcome of kind Failed. Run returns an error when nothing is
// decided: a *chat.Outage of the model, ErrStale, ErrGivenBack, the context's error, or the journal's. After any error but ErrStale the caller may load the turns
// and call Run again. That repeats no finished tool call. It costs at most one model call, or, if the attempt was over, one for the partial
// result and one for the hint.
//
//	           ┌──────────────────── settled ────────────────────┐
//	           ▼                                                 │
//	  verdict ──no──► next step or summary ──► Append ──► calls ──► Settle, beside the next step
//	     │                                                  │
//	     ▼                                                  ▼
//	Completed, or partial result, hint, Failed          Awaiting
func (l *Loop) Run(ctx context.Context, turns []*turn.Turn) (outcome.Outcome, error) {
	r := l.newRun(turns)
	defer r.gate.stop()
	out, err := r.run(ctx)
	return concluded(ctx, out, err)
}

// concluded separates the end of the attempt from errors that decide nothing about it.
func concluded(ctx context.Context, out outcome.Outcome, err error) (outcome.Outcome, error) {
	if err == nil {
		return out, nil
	}
	if errors.Is(err, ErrStale) {
		return outcome.Outcome{}, err
	}
	// A cancelled model or tool call may report its cancellation as a failure of its own, which would end the
	// attempt because the manager was stopped.
	if ctxErr := ctx.Err(); ctxErr != nil {
		return outcome.Outcome{}, ctxErr
	}
	if f, ok := errors.AsType[*outcome.Failure](err); ok {
		return outcome.Outcome{Kind: outcome.Failed, Failure: f}, nil
	}
	return outcome.Outcome{}, err
}

// run is the state of one call of Loop.Run.
type run struct {
	cfg     config.Config
	model   chat.Model
	tools   Tools
	journal Journal
	now     func() time.Time
	log     *slog.Logger
	// hintModel may be nil.
	hintModel chat.Model
	person    Person
	// files may be nil.
	files AnswerFiles
	// domains, policy, search and credentials may be nil.
	domains     DomainPolicy
	policy      CallPolicy
	search      Searcher
	credentials CredentialStore
	// skills and givesBack may be nil.
	skills    SkillChecker
	givesBack func(held int, began bool) bool
	// held is the size of the first sized turns.
	held, sized int
	// servers is Loop.MCP; met is true if cfg and catalog have its servers.
	servers func() []catalog.MCPServer
	met     bool
	// ask for peer until it is known.
	askPeer func(context.Context) *toolapi.Peer

	observer Observer
	// watch measures the time in which the loop waits for nothing.
	watch   *stopwatch.Stopwatch
	catalog *catalog.Catalog
	gate    *gate
	turns   []*turn.Turn
	// verdicts and said follow turns.
	verdicts verdict.Judge
	said     conversation.Conversation
	// unrecorded is true if the last turn has entries that the journal lacks.
	unrecorded bool
	// unwritten writes the results of the last turn, nil if they are written; see decide. settled is true if this run has settled a turn.
	unwritten func(context.Context) error
	settled   bool
	// ahead are calls that are made before it is their turn, by their execution; see readAhead.
	ahead map[string]chan early
}

func (l *Loop) newRun(turns []*turn.Turn) *run {
	r := &run{
		cfg: l.Config, model: l.Model, tools: l.Tools, journal: l.Journal, now: l.Now, log: l.Logger,
		hintModel: l.HintModel, person: l.Person, files: l.Files, domains: l.Domains, policy: l.Policy, search: l.Search, credentials: l.Credentials, skills: l.Skills, givesBack: l.GivesBack,
		servers: l.MCP, askPeer: l.Peer, catalog: catalog.With(l.Config.MCPServers), gate: newGate(l.Ready),
		observer: l.Observer, watch: &stopwatch.Stopwatch{},
	}
	if r.person == nil {
		r.person = absent{}
	}
	if r.now == nil {
		r.now = time.Now
	}
	if r.log == nil {
		r.log = slog.New(slog.DiscardHandler)
	}
	if r.observer == nil {
		r.observer = unobserved{}
	}
	r.gate.watch = r.watch
	for _, t := range turns {
		r.turns = append(r.turns, turn.Clone(t))
	}
	return r
}

func (r *run) run(ctx context.Context) (outcome.Outcome, error) {
	appended := false
	for {
		if err := ctx.Err(); err != nil {
			return outcome.Outcome{}, err
		}
		if n := len(r.turns); n > 0 && !r.turns[n-1].Settled() {
			waits, err := r.carryOut(ctx)
			if err != nil {
				return outcome.Outcome{}, err
			}
			if waits != nil {
				return outcome.Outcome{Kind: outcome.Awaiting, Waiting: waits}, nil
			}
		}
		if out, over := r.verdicts.Of(r.cfg, r.turns); over {
			if err := r.writeNow(ctx); err != nil {
				return outcome.Outcome{}, err
			}
			if err := r.close(ctx, out); err != nil {
				return outcome.Outcome{}, err
			}
			return r.conclude(ctx, out)
		}
		if r.mustGiveBack(!appended) {
			if err := r.writeNow(ctx); err != nil {
				return outcome.Outcome{}, err
			}
			return outcome.Outcome{}, ErrGivenBack
		}
		t, err := r.decide(ctx)
		if err != nil {
			return outcome.Outcome{}, err
		}
		// The record of a turn names the sandbox that carries it out, so the sandbox must be known first.
		if err := r.gate.wait(ctx); err != nil {
			return outcome.Outcome{}, err
		}
		if err := r.journal.Append(ctx, t); err != nil {
			return outcome.Outcome{}, err
		}
		r.turns, appended = append(r.turns, t), true
		if own, measured := r.watch.Lap(); measured {
			r.observer.StepRecorded(own)
		}
	}
}

// mustGiveBack reports whether the loop ends between two turns. All turns are settled, so each of them is measured once.
func (r *run) mustGiveBack(began bool) bool {
	if r.givesBack == nil {
		return false
	}
	for ; r.sized < len(r.turns); r.sized++ {
		r.held += r.turns[r.sized].Size()
	}
	return r.givesBack(r.held, began)
}

// decide is next, while the results of the last turn are written. The write takes as long as a model that is near, and nothing is done before both have
// ended: the sandbox has the results as well. A write that fails ends the question to the model.
func (r *run) decide(ctx context.Context) (*turn.Turn, error) {
	write := r.unwritten
	if write == nil {
		return r.next(ctx)
	}
	r.unwritten = nil
	asking, cancel := context.WithCancel(ctx)
	defer cancel()
	var failed error
	written := make(chan struct{})
	go func() {
		defer close(written)
		if failed = guarded(ctx, write); failed != nil {
			cancel()
		}
	}()
	// A panic of next must not leave the write to a loop that has ended.
	defer func() { <-written }()
	t, err := r.next(asking)
	if <-written; failed != nil {
		return nil, failed
	}
	return t, err
}

// guarded is write, but a panic is an error: no other code could recover it in a goroutine of its own.
func guarded(ctx context.Context, write func(context.Context) error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = NewPanic(v)
		}
	}()
	return write(ctx)
}

// writeNow writes the results of the last turn, beside which nothing is decided.
func (r *run) writeNow(ctx context.Context) error {
	write := r.unwritten
	if write == nil {
		return nil
	}
	r.unwritten = nil
	return write(ctx)
}

// next makes the turn that follows: the model's next step, or the checks or a summary if they are due.
func (r *run) next(ctx context.Context) (*turn.Turn, error) {
	if verdict.ChecksDue(r.cfg, r.turns) {
		return verdict.Checks(r.cfg, r.turns), nil
	}
	if err := r.meet(ctx); err != nil {
		return nil, err
	}
	if through := r.said.SummaryDue(r.cfg, r.turns); through > 0 {
		return r.summarize(ctx, through)
	}
	return r.ask(ctx)
}

// ask asks the model for its next step.
func (r *run) ask(ctx context.Context) (*turn.Turn, error) {
	r.learnPeer(ctx)
	a, req, took, err := r.completeStep(ctx)
	if err != nil {
		return nil, err
	}
	t := record.New(r.cfg, r.turns, a)
	stamp(t, req, took)
	r.log.LogAttrs(ctx, slog.LevelInfo, "model answered",
		slog.Int("step", int(t.Index)), slog.String("model", t.Model), slog.Int("calls", len(t.Calls)),
		slog.Int64("promptTokens", t.Usage.PromptTokens), slog.Int64("completionTokens", t.Usage.CompletionTokens),
		slog.Duration("took", took))
	return t, nil
}

// complete makes one model call while the sandbox gets ready. A run without an available sandbox needs no answer, so the
// failing gate ends the call.
func (r *run) complete(ctx context.Context, req chat.Request) (chat.Answer, time.Duration, error) {
	if f := verdict.MaxTokensFor(r.cfg, r.turns, req); f != nil {
		return chat.Answer{}, 0, f
	}
	modelCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	r.gate.start(ctx)
	defer r.gate.onFailure(cancel)()
	if err := r.gate.failed(); err != nil {
		return chat.Answer{}, 0, err
	}
	start := r.now()
	waited := r.watch.Wait()
	a, err := r.model.Complete(modelCtx, req)
	waited()
	if err != nil {
		if gateErr := r.gate.failed(); gateErr != nil {
			return chat.Answer{}, 0, gateErr
		}
		return chat.Answer{}, 0, err
	}
	return a, max(r.now().Sub(start), 0), nil
}

// stamp records in a turn which request it answers and how long that took.
func stamp(t *turn.Turn, req chat.Request, took time.Duration) {
	t.ModelDuration = took
	t.PromptDigest = chat.PromptDigest(req)
	t.RequestDigest = chat.RequestDigest(req)
}
