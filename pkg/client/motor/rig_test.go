// SPDX-License-Identifier: Apache-2.0

package motor

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	corefake "k8s.io/client-go/kubernetes/fake"
	metafake "k8s.io/client-go/metadata/fake"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/pkg/client/clientset/versioned/fake"
)

// rig is a client of a cluster that is played, with short times.
type rig struct {
	t *testing.T
	*Client
	motor *fake.Clientset
	core  *corefake.Clientset
	meta  *metafake.FakeMetadataClient
}

func newRig(t *testing.T, objects ...runtime.Object) *rig {
	t.Helper()
	scheme := metafake.NewTestScheme()
	if err := metav1.AddMetaToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, motor: fake.NewSimpleClientset(objects...), core: corefake.NewClientset(), meta: metafake.NewSimpleMetadataClient(scheme)}
	c, err := NewFor(Clients{Motor: r.motor, Core: r.core, Metadata: r.meta}, "ns")
	if err != nil {
		t.Fatal(err)
	}
	c.observe, c.pause, c.quiet, c.patience = 20*time.Millisecond, time.Millisecond, 50*time.Millisecond, time.Second
	r.Client = c
	return r
}

// run reads the run.
func (r *rig) run(name string) *v1alpha1.MotorRun {
	r.t.Helper()
	run, err := r.motor.MotorCortexV1alpha1().MotorRuns("ns").Get(r.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		r.t.Fatal(err)
	}
	return run
}

// becomes writes the run as it is now. It does not use the client, which a reactor must not.
func (r *rig) becomes(run *v1alpha1.MotorRun) {
	r.t.Helper()
	if err := r.motor.Tracker().Update(v1alpha1.GroupVersion.WithResource("motorruns"), run, "ns"); err != nil {
		r.t.Error(err)
	}
}

// aRun is a run that goes on.
func aRun(name string, change ...func(*v1alpha1.MotorRun)) *v1alpha1.MotorRun {
	run := &v1alpha1.MotorRun{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns", UID: "uid", CreationTimestamp: metav1.Unix(1000, 0)},
		// The API server fills in a list. The played one needs an entry for one to be there.
		Spec:   v1alpha1.MotorRunSpec{Mode: v1alpha1.ModeAgentic, Task: "count", Responses: []v1alpha1.Response{{ID: "earlier", Answer: "x"}}},
		Status: v1alpha1.MotorRunStatus{Phase: v1alpha1.PhaseRunning, Reason: "Running"},
	}
	for _, c := range change {
		c(run)
	}
	return run
}

// ended ends a run.
func ended(ok bool) func(*v1alpha1.MotorRun) {
	return func(run *v1alpha1.MotorRun) {
		st := &run.Status
		st.CompletionTime = &metav1.Time{Time: time.Unix(2000, 0)}
		st.Phase, st.Reason = v1alpha1.PhaseCompleted, "Completed"
		status := metav1.ConditionTrue
		if !ok {
			st.Phase, st.Reason, status = v1alpha1.PhaseFailed, "Stuck", metav1.ConditionFalse
		}
		st.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionSucceeded, Status: status}}
		st.Result = &v1alpha1.RunResult{OK: ok, Summary: "done", Stats: v1alpha1.RunStats{Iterations: 4, ToolCalls: 3, Tokens: 100}}
	}
}

// asking has a run ask things.
func asking(inputs ...v1alpha1.PendingInput) func(*v1alpha1.MotorRun) {
	return func(run *v1alpha1.MotorRun) {
		run.Status.Phase, run.Status.PendingInputs = v1alpha1.PhaseAwaitingInput, inputs
	}
}

// wantError fails unless err says every part.
func wantError(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Error("there is no error")
		return
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error does not say %q: %v", part, err)
		}
	}
}
