// SPDX-License-Identifier: Apache-2.0

package energy

import (
	"context"
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/pass"
)

// writes stores a level, as another leader does.
func (r *rig) writes(level v1alpha1.EnergyLevel) {
	r.t.Helper()
	c := r.cortex()
	c.Status.Energy = &v1alpha1.EnergyStatus{Level: level, RegenerationPerHour: "0.1"}
	c.Status.Energy.ObservedTime.Time = noon
	r.must(r.api.Status().Update(r.t.Context(), c))
}

// Another leader writes between the look at the level and the drain.
func TestALeaderThatLosesTheRaceDecidesAnew(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		// other is what the other leader leaves, and races how often it is faster.
		other  v1alpha1.EnergyLevel
		races  int
		goesOn bool
		fails  bool
		left   v1alpha1.EnergyLevel
	}{
		"it leaves enough":     {"0.35", 1, true, false, "0.25"},
		"it leaves too little": {"0.25", 1, false, false, "0.25"},
		"it is always faster":  {"0.9", 1000, false, true, "0.9"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var r *rig
			races := tt.races
			r = newRig(t, tenth(), interceptor.Funcs{SubResourcePatch: func(
				ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption,
			) error {
				if races > 0 {
					races--
					// The version must change even if the level does not.
					r.writes("0")      //nolint:contextcheck // The rig has that of the test.
					r.writes(tt.other) //nolint:contextcheck // The rig has that of the test.
				}
				return c.SubResource(sub).Patch(ctx, o, p, opts...)
			}})
			r.writes("1")
			goOn, end, err := r.Drain(t.Context(), pass.NewRun(r.run("a"), r.now))
			if goOn != tt.goesOn || end != nil || apierrors.IsConflict(err) != tt.fails || err != nil && !tt.fails {
				t.Errorf("%v, %+v, %v", goOn, end, err)
			}
			if st := r.cortex().Status.Energy; st.Level != tt.left {
				t.Errorf("the level is %s, want %s", st.Level, tt.left)
			}
		})
	}
}

// The answer to the write was lost, or the leader died before it wrote the run: the next one finds the entry.
func TestADrainWhoseAnswerWasLostIsNotMadeAgain(t *testing.T) {
	t.Parallel()
	lost := true
	r := newRig(t, tenth(), interceptor.Funcs{SubResourcePatch: func(
		ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption,
	) error {
		err := c.SubResource(sub).Patch(ctx, o, p, opts...)
		if lost {
			lost = false
			return errors.New("the connection was lost")
		}
		return err
	}})
	run := r.run("a")
	if goOn, _, err := r.Drain(t.Context(), pass.NewRun(run.DeepCopy(), r.now)); err == nil || goOn {
		t.Fatalf("%v, %v", goOn, err)
	}
	if _, goOn := r.drain(run); !goOn {
		t.Error("the run waits")
	}
	r.wantLevel("0.9", 1, 0)
}
