// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// away records an outage as the engine does.
func (r *rig) away(reason string, mustAct bool) {
	r.t.Helper()
	_, err := r.log().Away(r.ctx, outage(reason, mustAct, 0), 3600)
	must(r.t, err)
}

// While the model cannot be had the run says so, and its clock stands.
func TestRunWaitsForItsModel(t *testing.T) {
	r := newRig(t, func(run *v1alpha1.MotorRun) { run.Spec.Limits.ActiveDeadlineSeconds = 60 })
	r.ready()
	r.said(turnAt(1, "", "bash:{}"))
	r.step()
	r.want(v1alpha1.PhaseRunning, "ModelAvailable ")
	r.away(v1alpha1.ReasonModelUnavailable, false)
	r.step()
	r.want(v1alpha1.PhaseRunning, "ModelAvailable False ModelUnavailable", "Stalled ")
	if m := r.run().Status.Message; !strings.Contains(m, "The model endpoint is away.") || !strings.Contains(m, "since 20") {
		t.Errorf("message %q", m)
	}
	r.away(v1alpha1.ReasonModelUnauthorized, true)
	r.step()
	r.want(v1alpha1.PhaseRunning, "ModelAvailable False ModelUnauthorized", "Stalled True ModelUnauthorized")
	r.now = r.now.Add(59 * time.Minute)
	r.step()
	r.want(v1alpha1.PhaseRunning, "ModelAvailable False ModelUnauthorized", "Finished False Running")
	r.said(turnAt(2, "", "bash:{}"))
	r.now = time.Now()
	r.step()
	r.want(v1alpha1.PhaseRunning, "ModelAvailable True ModelAnswers", "Stalled ", "Finished False Running")
	for _, e := range []string{"Warning ModelUnavailable", "Warning ModelUnauthorized", "Normal ModelAnswers"} {
		if !slices.Contains(r.events, e) {
			t.Errorf("events %v lack %s", r.events, e)
		}
	}
	if u := r.run().Status.Usage; u.PromptTokens < 6 {
		t.Errorf("the tries are not counted: %+v", u)
	}
	// From here on its time passes again.
	r.now = r.now.Add(2 * time.Minute)
	r.step()
	r.wantEnd(v1alpha1.PhaseFailed, "Timeout")
	r.want(v1alpha1.PhaseFailed, "ModelAvailable False RunEnded")
}

// A run with search_web says whether its model is offered it, and goes on without.
func TestToolThatIsNotOffered(t *testing.T) {
	r := newRig(t, func(run *v1alpha1.MotorRun) { run.Spec.Tools = append(run.Spec.Tools, "search_web") })
	r.ready()
	r.want(v1alpha1.PhaseRunning, "ToolsOffered False SearchNotConfigured", "Accepted True Accepted")
	if !slices.Contains(r.events, "Warning SearchNotConfigured") {
		t.Errorf("events %v", r.events)
	}
	must(t, admin.Create(r.ctx, &v1alpha1.MotorCortex{
		ObjectMeta: meta(r.run().Namespace, v1alpha1.CortexName),
		Spec:       v1alpha1.MotorCortexSpec{Search: &v1alpha1.SearchProvider{Type: "SearXNG", URL: "https://search.example.org"}},
	}))
	r.step()
	r.want(v1alpha1.PhaseRunning, "ToolsOffered True AllOffered")
}

// If nobody gives the attempt up, the run ends by its own time all the same.
func TestOutageThatNobodyEnds(t *testing.T) {
	r := newRig(t, func(run *v1alpha1.MotorRun) { run.Spec.Limits.ActiveDeadlineSeconds = 60 })
	r.ready()
	r.away(v1alpha1.ReasonModelUnavailable, false)
	r.step()
	r.now = r.now.Add(time.Hour + 4*time.Minute)
	r.step()
	r.wantEnd(v1alpha1.PhaseFailed, "Timeout")
}
