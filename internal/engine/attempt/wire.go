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
)

// wire puts everything between a loop and its model, its tools and its journal that must be there. Each list goes from outside, which is
// next to the loop, to inside. The order is what keeps secret values in: whatever hides them is the last to touch what the loop gets.
//
//	Model    redacting.Model ─► memoModel ─► readableModel ─► readyModel ─► endpoint
//	Tools    redacting.Tools ─► harvest.Tools ─► skills.Tools ─► faultyLoop ─► box.Box
//	Journal  endingJournal ─► faultyLoop ─► box.Journal ─► leasedJournal ─► MotorSteps
func (a *Attempt) wire(loop *motorloop.Loop, model motorloop.Model, sandbox *box.Box, kept *harvest.Artifacts, turns []*motorloop.Turn) {
	faulty := a.newFaultyLoop(sandbox, turns)
	loop.Model, loop.HintModel = a.wireModel(model, sandbox), a.wireHintModel()
	loop.Tools = a.wireTools(sandbox, faulty, kept, loop.Config.WritesSkills)
	loop.Journal = a.wireJournal(sandbox, faulty, kept)
}

func (a *Attempt) wireModel(model motorloop.Model, sandbox *box.Box) motorloop.Model {
	// Inside of all that keeps answers: a request that waits for the sandbox has no answer yet.
	if !a.Memory.Absence.Since.IsZero() || sandbox.Fresh() && readsInputs(a.Env.Run) {
		// Without what is missing the answer would be asked for in vain, and counted nowhere.
		model = readyModel{model, sandbox.Prepared}
	}
	// Inside of memoModel: an answer that was read once is not judged again.
	model = readableModel{model, a.Memory}
	// Inside of redacting.Model: an answer that is given again has those values hidden, too, that are known only since.
	model = memoModel{model, a.Memory}
	// Outermost: no wrapper and no endpoint gets a value, and the loop gets none from either.
	return redacting.Model{Model: model, Secrets: a.Env.Known}
}

// wireHintModel wraps the model of the fast role, whose answers are kept and hidden as those of the other one are.
func (a *Attempt) wireHintModel() motorloop.Model {
	hints := hintModel{host: a.Host, env: a.Env}
	return redacting.Model{Model: memoModel{hints, a.Memory}, Secrets: a.Env.Known}
}

func (a *Attempt) wireTools(sandbox *box.Box, faulty *faultyLoop, kept *harvest.Artifacts, writesSkills bool) motorloop.Tools {
	var tools motorloop.Tools = sandbox
	// Next to the sandbox: a fault of a test must hit what the sandbox does, and not the manager's own words about it.
	if faulty != nil {
		tools = faulty
	}
	// Inside of redacting.Tools: its note has words of the file that was written.
	if writesSkills {
		tools = skills.Tools{Tools: tools}
	}
	// Inside of redacting.Tools: its result names the file and says of what it reads there.
	tools = harvest.Tools{Tools: tools, Artifacts: kept}
	// Outermost: whatever the sandbox and the wrappers say is hidden, with the values that the call itself brought.
	return redacting.Tools{Tools: tools, Secrets: a.Env.Known, Refresh: sandbox.WayOut.Refresh}
}

func (a *Attempt) wireJournal(sandbox *box.Box, faulty *faultyLoop, kept *harvest.Artifacts) motorloop.Journal {
	// Innermost: nothing may come between the look at the Lease and the write.
	var entries motorloop.Journal = leasedJournal{a.Env.Entries, a.Env.Lease}
	// Outside of the Lease, inside of faults: the lock is held for the write alone, or a fault would hold up the calls beside it.
	entries = box.Journal{Journal: entries, Box: sandbox}
	// Inside of endingJournal: the step that a fault stops has everything ended that goes before it.
	if faulty != nil {
		faulty.journal = entries
		entries = faulty
	}
	// Outermost: what runs in the background ends before anything of the last step is recorded.
	return endingJournal{entries, sandbox, kept}
}

// wireOnce is wire for a loop that makes one call, which no model asked for. judge wraps the tools of the sandbox.
func (a *Attempt) wireOnce(loop *motorloop.Loop, sandbox *box.Box, turns []*motorloop.Turn, judge func(motorloop.Tools) motorloop.Tools) {
	loop.Tools, loop.Journal = sandbox, leasedJournal{a.Env.Entries, a.Env.Lease}
	if faulty := a.newFaultyLoop(sandbox, turns); faulty != nil {
		faulty.journal = loop.Journal
		loop.Tools, loop.Journal = faulty, faulty
	}
	loop.Tools = judge(loop.Tools)
}

// readsInputs reports whether other objects of the namespace are read for the run's workspace, which may be gone by then.
func readsInputs(run *v1alpha1.MotorRun) bool {
	return run.Status.Skill != nil || slices.ContainsFunc(run.Spec.Files, func(f v1alpha1.InputFile) bool { return f.Content == nil })
}

// leasedJournal takes no new step without a Lease. What became of the calls of a step is true whoever writes it.
type leasedJournal struct {
	motorloop.Journal
	lease runenv.Lease
}

// Append records a step.
func (j leasedJournal) Append(ctx context.Context, t *motorloop.Turn) error {
	if !j.lease.MayDecide() {
		return runenv.ErrNoLease
	}
	return j.Journal.Append(ctx, t)
}

// endingJournal ends what runs in the background before the step that ends the attempt well.
type endingJournal struct {
	motorloop.Journal
	sandbox *box.Box
	kept    *harvest.Artifacts
}

// Append records a step.
func (j endingJournal) Append(ctx context.Context, t *motorloop.Turn) error {
	if t.Closes {
		j.sandbox.EndPrograms(ctx)
		j.kept.BeforeEnd(ctx)
	}
	return j.Journal.Append(ctx, t)
}
