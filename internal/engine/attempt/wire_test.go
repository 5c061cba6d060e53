// SPDX-License-Identifier: Apache-2.0

package attempt

import (
	"context"
	"errors"
	"testing"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/engine/box"
	"motorcortex.dev/motorcortex/internal/engine/enginetest"
	"motorcortex.dev/motorcortex/internal/engine/harvest"
	"motorcortex.dev/motorcortex/internal/engine/redacting"
	"motorcortex.dev/motorcortex/internal/engine/runenv"
	"motorcortex.dev/motorcortex/internal/engine/skills"
	"motorcortex.dev/motorcortex/internal/motorloop"
	"motorcortex.dev/motorcortex/internal/motorloop/config"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
)

// writes counts the writes that reach the journal.
type writes struct {
	motorloop.Journal
	n int
}

func (w *writes) Append(context.Context, *turn.Turn) error { w.n++; return nil }

// A process that was frozen decides nothing any more when it thaws, not even before its loops are ended.
func TestNoStepWithoutALease(t *testing.T) {
	t.Parallel()
	lease := &enginetest.Lease{}
	w := &writes{}
	j := leasedJournal{w, lease}
	if err := j.Append(t.Context(), nil); err != nil || w.n != 1 {
		t.Fatalf("with a Lease: %v", err)
	}
	lease.Lose(true)
	if err := j.Append(t.Context(), nil); !errors.Is(err, runenv.ErrNoLease) || w.n != 1 {
		t.Fatalf("without a Lease: %v, %d steps", err, w.n)
	}
}

// The order of the wrappers protects secret values. Every type assertion fails the test if another wrapper is there.
func TestTheOrderOfTheWrappers(t *testing.T) {
	t.Parallel()
	env := lookEnv(t)
	a := &Attempt{
		Host: &Host{Fault: func(context.Context, FaultPoint, *v1alpha1.MotorRun, int32) {}, Storage: fullStorage{}}, Env: env,
		Memory: &Memory{Absence: runenv.Absence{Since: enginetest.Noon}},
	}
	loop := &motorloop.Loop{Config: config.Config{WritesSkills: true}}
	sandbox := &box.Box{Env: env}
	a.wire(loop, &countingModel{}, sandbox, &harvest.Artifacts{}, nil)
	model := loop.Model.(redacting.Model).Model.(memoModel).Model.(readableModel).Model.(readyModel).Model.(heldModel)
	if _, ok := model.Model.(*countingModel); !ok {
		t.Errorf("innermost is the model %T", model.Model)
	}
	hints := loop.HintModel.(redacting.Model).Model.(memoModel)
	if _, ok := hints.Model.(hintModel); !ok {
		t.Errorf("innermost is the model %T of hints", hints.Model)
	}
	faulty := loop.Tools.(redacting.Tools).Tools.(harvest.Tools).Tools.(skills.Tools).Tools.(*faultyLoop)
	if faulty.sandbox != sandbox {
		t.Error("innermost is another sandbox")
	}
	entries := loop.Journal.(endingJournal).Journal.(*faultyLoop).journal.(box.Journal).Journal.(leasedJournal)
	if entries.Journal != env.Entries {
		t.Error("innermost is another journal")
	}
}

// A loop without faults and without skills has none of their wrappers.
func TestWrappersThatAreNotNeeded(t *testing.T) {
	t.Parallel()
	env := lookEnv(t)
	a := &Attempt{Host: &Host{}, Env: env, Memory: &Memory{}}
	loop, sandbox := &motorloop.Loop{}, &box.Box{Env: env}
	a.wire(loop, &countingModel{}, sandbox, &harvest.Artifacts{}, nil)
	if _, ok := loop.Model.(redacting.Model).Model.(memoModel).Model.(readableModel).Model.(*countingModel); !ok {
		t.Error("a model waits for a sandbox that is ready")
	}
	if loop.Tools.(redacting.Tools).Tools.(harvest.Tools).Tools != sandbox {
		t.Error("there is something between the tools and the sandbox")
	}
	if entries := loop.Journal.(endingJournal).Journal.(box.Journal).Journal.(leasedJournal); entries.Journal != env.Entries {
		t.Error("there is something between the journal and the API server")
	}
}

// A run of one call has wrappers of its own, around the same sandbox and the same journal.
func TestTheOrderOfTheWrappersOfOneCall(t *testing.T) {
	t.Parallel()
	env := lookEnv(t)
	a := &Attempt{Host: &Host{Fault: func(context.Context, FaultPoint, *v1alpha1.MotorRun, int32) {}}, Env: env, Memory: &Memory{}}
	sandbox, way := &box.Box{Env: env}, &box.WayOut{}
	for name, tt := range map[string]struct {
		outer func(motorloop.Tools) motorloop.Tools
		inner func(motorloop.Tools) motorloop.Tools
	}{
		"code":                {a.wireOneshot(nil), func(t motorloop.Tools) motorloop.Tools { return t.(oneshotTools).Tools }},
		"code with a way out": {a.wireOneshot(way), func(t motorloop.Tools) motorloop.Tools { return t.(oneshotTools).Tools.(redacting.Tools).Tools }},
		"packages":            {a.wireInstall(sandbox, way), func(t motorloop.Tools) motorloop.Tools { return t.(redacting.Tools).Tools.(installTools).Tools }},
	} {
		loop := &motorloop.Loop{}
		a.wireOnce(loop, sandbox, nil, tt.outer)
		if faulty := tt.inner(loop.Tools).(*faultyLoop); faulty.sandbox != sandbox {
			t.Errorf("%s: innermost is another sandbox", name)
		}
		if entries := loop.Journal.(*faultyLoop).journal.(leasedJournal); entries.Journal != env.Entries {
			t.Errorf("%s: innermost is another journal", name)
		}
	}
}
