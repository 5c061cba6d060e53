// SPDX-License-Identifier: Apache-2.0

package energy

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/energy"
)

func TestTheMemoryOfDeletedRunsHasABound(t *testing.T) {
	t.Parallel()
	g := &gone{}
	for i := range 2*maxGone + 1 {
		g.note(&v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{UID: types.UID(fmt.Sprint(i))}, Status: v1alpha1.MotorRunStatus{Steps: 6}})
	}
	if len(g.steps) > maxGone {
		t.Errorf("%d are remembered", len(g.steps))
	}
	o := &v1alpha1.EnergyOpen{RunUID: fmt.Sprint(2 * maxGone), EnergyRates: v1alpha1.EnergyRates{Base: "0.1", FreeIterations: 5, PerIteration: "0.01"}}
	if cost := g.costOf(o).String(); cost != "0.11" {
		t.Errorf("the last one costs %s", cost)
	}
	g.forget(map[string]energy.Amount{o.RunUID: 0})
	if cost := g.costOf(o).String(); cost != "0.1" {
		t.Errorf("one that is forgotten costs %s", cost)
	}
}
