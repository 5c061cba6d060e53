// SPDX-License-Identifier: Apache-2.0

package energy

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

func entry(uid string) v1alpha1.EnergyOpen {
	return v1alpha1.EnergyOpen{RunUID: uid, EnergyRates: v1alpha1.EnergyRates{Base: "0.1", FreeIterations: 5, PerIteration: "0.01"}}
}

func TestTheMemoryOfDeletedRunsHasABound(t *testing.T) {
	t.Parallel()
	g := &gone{}
	for i := range 2 * maxGone {
		g.note(&v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", UID: types.UID(fmt.Sprint(i))}, Status: v1alpha1.MotorRunStatus{Steps: 6}})
	}
	if n := len(g.steps["ns"]); n != maxGone {
		t.Errorf("%d are remembered", n)
	}
	first, last := entry("0"), entry(fmt.Sprint(2*maxGone-1))
	if cost := g.costOf("ns", &first).String(); cost != "0.11" {
		t.Errorf("the first one costs %s, because of others", cost)
	}
	if cost := g.costOf("ns", &last).String(); cost != "0.1" {
		t.Errorf("one beyond the bound costs %s", cost)
	}
	if cost := g.costOf("other", &first).String(); cost != "0.1" {
		t.Errorf("in another namespace it costs %s", cost)
	}
}

func TestARunIsRememberedWhileItIsNotSettled(t *testing.T) {
	t.Parallel()
	g := &gone{}
	for _, uid := range []string{"a", "b"} {
		g.note(&v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", UID: types.UID(uid)}, Status: v1alpha1.MotorRunStatus{Steps: 6}})
	}
	a, b := entry("a"), entry("b")
	g.keep("ns", []v1alpha1.EnergyOpen{b})
	if g.costOf("ns", &a).String() != "0.1" || g.costOf("ns", &b).String() != "0.11" {
		t.Errorf("%+v", g.steps)
	}
	g.keep("ns", nil)
	if len(g.steps) != 0 {
		t.Errorf("%+v", g.steps)
	}
}

// Finished runs are settled before they are deleted. They would take the places of those that are not.
func TestOnlyRunsThatAreDeletedUnderWayAreNoted(t *testing.T) {
	t.Parallel()
	finished := []metav1.Condition{{Type: v1alpha1.ConditionFinished, Status: metav1.ConditionTrue}}
	for name, tt := range map[string]struct {
		status v1alpha1.MotorRunStatus
		want   int
	}{
		"under way":      {v1alpha1.MotorRunStatus{Energy: &v1alpha1.RunEnergy{}}, 1},
		"finished":       {v1alpha1.MotorRunStatus{Energy: &v1alpha1.RunEnergy{}, Conditions: finished}, 0},
		"without energy": {v1alpha1.MotorRunStatus{}, 0},
	} {
		r := &Reconciler{}
		run := &v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", UID: "a"}, Status: tt.status}
		if !r.ends().Delete(event.DeleteEvent{Object: run}) || len(r.gone.steps["ns"]) != tt.want {
			t.Errorf("%s: %+v", name, r.gone.steps)
		}
	}
}
