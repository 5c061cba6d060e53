// SPDX-License-Identifier: Apache-2.0

package attempt

import (
	"context"
	"slices"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/engine/box"
	"motorcortex.dev/motorcortex/internal/engine/harvest"
	"motorcortex.dev/motorcortex/internal/engine/redacting"
	"motorcortex.dev/motorcortex/internal/engine/runenv"
	"motorcortex.dev/motorcortex/internal/engine/skills"
	"motorcortex.dev/motorcortex/internal/motorloop"
	"motorcortex.dev/motorcortex/internal/motorloop/chat"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
)

// wire puts the required wrappers between a loop and its model, its tools and its journal. Each list goes from outside, which is
// next to the loop, to inside. The order protects secret values: the wrapper that hides them is the last to touch the loop's inputs.
//
//	Model    redacting.Model ─► memoModel ─► readableModel ─► readyModel ─► heldModel ─► spending.Model ─► endpoint
//	Tools    redacting.Tools ─► harvest.Tools ─► skills.Tools ─► faultyLoop ─► box.Box
//	Journal  endingJournal ─► faultyLoop ─► box.Journal ─► leasedJournal ─► MotorSteps
func (a *Attempt) wire(loop *motorloop.Loop, model chat.Model, sandbox *box.Box, kept *harvest.Artifacts, turns []*turn.Turn) {
	faulty := a.newFaultyLoop(sandbox, turns)
	loop.Model, loop.HintModel = a.wireModel(model, sandbox), a.wireHintModel()
	loop.Tools = a.wireTools(sandbox, faulty, kept, loop.Config.WritesSkills)
	loop.Journal = a.wireJournal(sandbox, faulty)
}

func (a *Attempt) wireModel(model chat.Model, sandbox *box.Box) chat.Model {
	// Innermost: an answer that is there already, but could not be recorded, is no further step.
	if a.Host.Storage != nil {
		model = heldModel{model, a.Host.Storage, a.Env.Run.Namespace}
	}
	// Inside of all wrappers that store answers: a request that waits for the sandbox has no answer yet.
	if !a.Memory.Absence.Since.IsZero() || sandbox.Fresh() && readsInputs(a.Env.Run) {
		// Without the missing input the request would be in vain, and its usage counted nowhere.
		model = readyModel{model, sandbox.Prepared}
	}
	// Inside of memoModel: a stored answer is not judged again.
	model = readableModel{model, a.Memory}
	// Inside of redacting.Model: in a repeated answer, values that were registered later are hidden, too.
	model = memoModel{model, a.Memory}
	// Outermost: no wrapper and no endpoint gets a value, and the loop gets none from either.
	return redacting.Model{Model: model, Secrets: a.Env.Known}
}

// wireHintModel wraps the model of the fast role. Its answers are stored and redacted like those of the other model.
func (a *Attempt) wireHintModel() chat.Model {
	hints := hintModel{host: a.Host, env: a.Env, account: a.account}
	return redacting.Model{Model: memoModel{hints, a.Memory}, Secrets: a.Env.Known}
}

func (a *Attempt) wireTools(sandbox *box.Box, faulty *faultyLoop, kept *harvest.Artifacts, writesSkills bool) motorloop.Tools {
	var tools motorloop.Tools = sandbox
	// Next to the sandbox: a fault of a test must affect the sandbox's results, and not the manager's own text about them.
	if faulty != nil {
		tools = faulty
	}
	// Inside of redacting.Tools: its note quotes the written file.
	if writesSkills {
		tools = skills.Tools{Tools: tools}
	}
	// Inside of redacting.Tools: its result names the file and describes its content.
	tools = harvest.Tools{Tools: tools, Artifacts: kept}
	// Outermost: all text of the sandbox and the wrappers is redacted, also of the values that the call itself brought.
	return redacting.Tools{Tools: tools, Secrets: a.Env.Known, Refresh: sandbox.WayOut.Refresh}
}

func (a *Attempt) wireJournal(sandbox *box.Box, faulty *faultyLoop) motorloop.Journal {
	// Innermost: nothing may come between the check of the Lease and the write.
	var entries motorloop.Journal = leasedJournal{a.Env.Entries, a.Env.Lease}
	// Outside of the Lease, inside of faults: the lock is held for the write alone, or a fault would delay the concurrent calls.
	entries = box.Journal{Journal: entries, Box: sandbox}
	// Inside of endingJournal: when a fault stops a step, everything that must end before it has ended.
	if faulty != nil {
		faulty.journal = entries
		entries = faulty
	}
	// Outermost: background programs end before anything of the last step is recorded.
	return endingJournal{entries, sandbox}
}

// wireOnce is wire for a loop that makes one call, which no model requested. outer wraps the tools of the sandbox: wireOneshot or wireInstall.
//
//	Tools    outer ─► faultyLoop ─► box.Box
//	Journal  faultyLoop ─► leasedJournal ─► MotorSteps
func (a *Attempt) wireOnce(loop *motorloop.Loop, sandbox *box.Box, turns []*turn.Turn, outer func(motorloop.Tools) motorloop.Tools) {
	loop.Tools, loop.Journal = sandbox, leasedJournal{a.Env.Entries, a.Env.Lease}
	if faulty := a.newFaultyLoop(sandbox, turns); faulty != nil {
		faulty.journal = loop.Journal
		loop.Tools, loop.Journal = faulty, faulty
	}
	loop.Tools = outer(loop.Tools)
}

// wireOneshot wraps the tools of a Oneshot run. A run without a way out, for which way is nil, has no secret values that could be hidden.
//
//	Tools    oneshotTools ─► redacting.Tools, with a way out ─► …
func (a *Attempt) wireOneshot(way *box.WayOut) func(motorloop.Tools) motorloop.Tools {
	return func(tools motorloop.Tools) motorloop.Tools {
		if way != nil {
			// Inside of oneshotTools, so that the results that it accepts no longer contain any secret value.
			tools = redacting.Tools{Tools: tools, Secrets: a.Env.Known, Refresh: way.Refresh}
		}
		// Outermost: it makes its results of words that are redacted.
		return oneshotTools{tools}
	}
}

// wireInstall wraps the tools of a run that installs packages.
//
//	Tools    redacting.Tools ─► installTools ─► …
func (a *Attempt) wireInstall(sandbox *box.Box, way *box.WayOut) func(motorloop.Tools) motorloop.Tools {
	return func(tools motorloop.Tools) motorloop.Tools {
		tools = installTools{tools, a.Env, sandbox.Client}
		// Outermost: the result that installTools makes has names of packages, which the sandbox wrote.
		return redacting.Tools{Tools: tools, Secrets: a.Env.Known, Refresh: way.Refresh}
	}
}

// readsInputs reports whether the run's input files come from other objects of the namespace, which may be gone by then.
func readsInputs(run *v1alpha1.MotorRun) bool {
	return run.Status.Skill != nil || slices.ContainsFunc(run.Spec.Files, func(f v1alpha1.InputFile) bool { return f.Content == nil }) ||
		slices.ContainsFunc(run.Spec.Responses, func(r v1alpha1.Response) bool {
			return slices.ContainsFunc(r.Files, func(f v1alpha1.ResponseFile) bool { return f.ConfigMapKeyRef != nil || f.ArtifactRef != nil })
		})
}

// leasedJournal accepts no new step without a Lease. The results of a step's calls are true for any writer.
type leasedJournal struct {
	motorloop.Journal
	lease runenv.Lease
}

// Append records a step.
func (j leasedJournal) Append(ctx context.Context, t *turn.Turn) error {
	if !j.lease.MayDecide() {
		return runenv.ErrNoLease
	}
	return j.Journal.Append(ctx, t)
}

// endingJournal ends the background programs before the step that ends the attempt well.
type endingJournal struct {
	motorloop.Journal
	sandbox *box.Box
}

// Append records a step.
func (j endingJournal) Append(ctx context.Context, t *turn.Turn) error {
	if t.Closes {
		j.sandbox.EndPrograms(ctx)
	}
	return j.Journal.Append(ctx, t)
}
