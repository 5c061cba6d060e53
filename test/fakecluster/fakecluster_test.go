// SPDX-License-Identifier: Apache-2.0

package fakecluster_test

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/reply"
	"motorcortex.dev/motorcortex/test/fakecluster"
)

func TestAResponseIsTakenOnce(t *testing.T) {
	t.Parallel()
	run := fakecluster.Run("ns", "run", v1alpha1.PendingInput{ID: "q", Kind: v1alpha1.InputQuestion})
	c := fakecluster.New(t, run)
	a := reply.Ask{Client: c, Run: run, PendingInput: &run.Status.PendingInputs[0]}
	if err := a.Send(t.Context(), v1alpha1.Response{Answer: "yes"}); err != nil {
		t.Fatal(err)
	}
	if err := a.Send(t.Context(), v1alpha1.Response{Answer: "no"}); err == nil {
		t.Error("a second response was taken")
	}
	if sent := c.Sent(); len(sent) != 1 || sent[0].Answer != "yes" || sent[0].RespondedBy != fakecluster.User {
		t.Errorf("sent are %+v", sent)
	}
}

func TestRightsAreTakenAway(t *testing.T) {
	t.Parallel()
	c := fakecluster.New(t)
	c.Deny("list motorsteps")
	if err := c.List(t.Context(), &v1alpha1.MotorStepList{}, client.InNamespace("ns")); !apierrors.IsForbidden(err) {
		t.Errorf("%v", err)
	}
	if err := c.List(t.Context(), &v1alpha1.MotorRunList{}, client.InNamespace("ns")); err != nil {
		t.Error(err)
	}
}
