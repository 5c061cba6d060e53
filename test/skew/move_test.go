// SPDX-License-Identifier: Apache-2.0

//go:build linux

package skew_test

import (
	"testing"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// move is a run that the manager of one release begins and that of another one carries to its end.
type move struct {
	first, second release
	// box is the release whose tool server is in the sandboxes that the first manager makes.
	box release
}

// moves has runs move between whole managers, controller and engine, in the middle of a call, at an API server with this release's kinds and
// rights, and with the policies of whose manager runs.
func moves(t *testing.T, last, this release) {
	c := startCluster(t)
	for name, m := range map[string]move{
		"update, with a sandbox of this release": {first: last, second: this, box: this},
		// What the first manager proved of it stands, so the attempt goes on in it.
		"update, with a sandbox of the last release": {first: last, second: this, box: last},
		"going back": {first: this, second: last, box: this},
	} {
		// One after the other: the managers of an installation share a Lease.
		t.Run(name, func(t *testing.T) { c.move(t, m) })
	}
}

func (c *cluster) move(t *testing.T, m move) {
	ns := c.namespace(t)
	k := &kubelet{t: t, cluster: c, ns: ns, images: map[string]string{image(m.second): m.second.server, image(m.first): m.box.server}}
	c.policies(t, m.first)
	stop := c.startManager(t, m.first)
	run := &v1alpha1.MotorRun{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "run"},
		Spec: v1alpha1.MotorRunSpec{
			Task: "leave three lines", Tools: []v1alpha1.ToolName{"bash"}, Limits: v1alpha1.RunLimits{ActiveDeadlineSeconds: 1200},
		},
	}
	c.create(t, run)
	with := func(is func() bool) func() bool {
		return func() bool { k.look(); return is() }
	}
	c.await(t, "the call in the middle", run, with(func() bool { return k.has("begun") }))
	epoch := run.Status.Execution.Epoch
	_ = stop()
	c.policies(t, m.second)
	c.startManager(t, m.second)
	c.await(t, "the second manager", run, with(func() bool { return run.Status.Execution.Epoch > epoch }))
	k.give("go")
	c.await(t, "the end", run, with(func() bool { return apimeta.IsStatusConditionTrue(run.Status.Conditions, v1alpha1.ConditionFinished) }))

	st := &run.Status
	if st.Phase != v1alpha1.PhaseCompleted || len(st.Attempts) != 1 {
		t.Fatalf("the run is %s (%s) after %d attempts: %+v", st.Phase, st.Message, len(st.Attempts), st.Attempts)
	}
	if got, want := k.effects(), "first second third"; got != want {
		t.Errorf("the effects are %q, want %q", got, want)
	}
	var steps v1alpha1.MotorStepList
	if err := c.admin.List(t.Context(), &steps, client.InNamespace(ns)); err != nil {
		t.Fatal(err)
	}
	epochs := map[int64]bool{}
	for i := range steps.Items {
		epochs[steps.Items[i].Spec.Epoch] = true
	}
	if len(epochs) < 2 {
		t.Errorf("one manager wrote all %d steps: %v", len(steps.Items), epochs)
	}
}
