// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"os"
	"testing"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/motorloop"
)

// A sandbox of the last release has no filter of system calls. Nothing is run in it, and the attempt ends so that another one gets a new
// sandbox: an update costs runs that are under way an attempt, and not their end.
func TestEngineLeavesASandboxOfTheLastRelease(t *testing.T) {
	if os.Getenv("SKEW_LAST_RELEASE") == "" {
		t.Skip("test/skew runs this one, with the tool server of the last release as the sandbox")
	}
	r := newEngineRig(t, &stubModel{answers: []motorloop.Answer{says("", call("bash", slowSideEffect)), says("done")}})
	r.startEngine("worker-1", nil)
	steps := r.ended(1)
	o := steps[len(steps)-1].Spec.Outcome
	if o == nil || o.Category != v1alpha1.CategoryInfraFailure || o.Reason != motorloop.ReasonSandboxOutdated || !o.Retryable {
		t.Errorf("the attempt ended with %+v", o)
	}
	if r.effects() != "" {
		t.Errorf("something was run: %q", r.effects())
	}
}
