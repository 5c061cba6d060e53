// SPDX-License-Identifier: Apache-2.0

package energy

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

var noon = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)

// rig is a namespace with energy in an API server of memory, and a clock that is set by hand.
type rig struct {
	*Reconciler

	t    *testing.T
	api  client.WithWatch
	now  time.Time
	told []string
}

// newRig returns a rig whose MotorCortex has that energy, none if it is nil. faults stand before the API server.
func newRig(t *testing.T, e *v1alpha1.Energy, faults interceptor.Funcs) *rig {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	c := &v1alpha1.MotorCortex{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: v1alpha1.CortexName}, Spec: v1alpha1.MotorCortexSpec{Energy: e}}
	r := &rig{t: t, now: noon, api: fake.NewClientBuilder().WithScheme(scheme).WithObjects(c).WithStatusSubresource(&v1alpha1.MotorCortex{}, &v1alpha1.MotorRun{}).Build()}
	faulty := interceptor.NewClient(r.api, faults)
	r.Reconciler = &Reconciler{Ledger: Ledger{Client: faulty, Live: faulty, Observer: r, Now: func() time.Time { return r.now }}}
	return r
}

// EnergyDrained makes the rig an Observer.
func (r *rig) EnergyDrained(kind string, amount float64) {
	r.told = append(r.told, kind+" "+time.Duration(amount*1e9+0.5).String())
}

func (r *rig) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// run makes a run.
func (r *rig) run(name string, change ...func(*v1alpha1.MotorRun)) *v1alpha1.MotorRun {
	r.t.Helper()
	run := &v1alpha1.MotorRun{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID("uid-" + name), CreationTimestamp: metav1.NewTime(noon)},
		Spec:       v1alpha1.MotorRunSpec{Mode: v1alpha1.ModeAgentic},
	}
	for _, c := range change {
		c(run)
	}
	r.must(r.api.Create(r.t.Context(), run))
	return run
}

func oneshot(run *v1alpha1.MotorRun) { run.Spec.Mode = v1alpha1.ModeOneshot }

func condition(kind string) func(*v1alpha1.MotorRun) {
	return func(run *v1alpha1.MotorRun) {
		run.Status.Conditions = append(run.Status.Conditions, metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: "R", LastTransitionTime: metav1.NewTime(noon)})
	}
}

// becomes changes the status of a run.
func (r *rig) becomes(run *v1alpha1.MotorRun, change ...func(*v1alpha1.MotorRun)) {
	r.t.Helper()
	for _, c := range change {
		c(run)
	}
	r.must(r.api.Status().Update(r.t.Context(), run))
}

func steps(n int32) func(*v1alpha1.MotorRun) {
	return func(run *v1alpha1.MotorRun) { run.Status.Steps = n }
}

// cortex returns the MotorCortex.
func (r *rig) cortex() *v1alpha1.MotorCortex {
	r.t.Helper()
	c := &v1alpha1.MotorCortex{}
	r.must(r.api.Get(r.t.Context(), client.ObjectKey{Namespace: "ns", Name: v1alpha1.CortexName}, c))
	return c
}

// wantLevel compares the stored level, and how many runs are open and settled.
func (r *rig) wantLevel(level v1alpha1.EnergyLevel, open, recent int) *v1alpha1.EnergyStatus {
	r.t.Helper()
	st := r.cortex().Status.Energy
	if st == nil || st.Level != level || len(st.Open) != open || len(st.Recent) != recent {
		r.t.Fatalf("the ledger has %+v, want %s with %d open and %d settled", st, level, open, recent)
	}
	return st
}
