// SPDX-License-Identifier: Apache-2.0

package reply

import (
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// What went wrong, where, and what to do.
func TestExplain(t *testing.T) {
	t.Parallel()
	runs := schema.GroupResource{Group: "motorcortex.dev", Resource: "motorruns"}
	asks := func(uid types.UID, inputs ...v1alpha1.PendingInput) *v1alpha1.MotorRun {
		run := &v1alpha1.MotorRun{Status: v1alpha1.MotorRunStatus{PendingInputs: inputs}}
		run.Name, run.Namespace, run.UID = "run", "ns", uid
		return run
	}
	p := v1alpha1.PendingInput{ID: "q", Kind: v1alpha1.InputQuestion}
	answered := asks("uid", p)
	answered.Spec.Responses = []v1alpha1.Response{{ID: "q", Answer: "hers", RespondedBy: "eve"}}
	byPolicy := errors.New(`ValidatingAdmissionPolicy 'motorcortex-runs' with binding 'motorcortex-runs' denied request: dana may not answer this run: bind it`)
	invalid := apierrors.NewInvalid(schema.GroupKind{Group: "motorcortex.dev", Kind: "MotorRun"}, "run", field.ErrorList{field.Invalid(field.NewPath("spec", "responses"), "x", "it is no answer")})
	conflict := apierrors.NewGenericServerResponse(422, "patch", runs, "run", "the server rejected our request", 0, false)
	for name, tt := range map[string]struct {
		err  error
		now  *v1alpha1.MotorRun
		want string
	}{
		"gone":                {apierrors.NewNotFound(runs, "run"), nil, "ns/run did not take it: the run that asked is gone"},
		"another run":         {conflict, asks("other", p), "ns/run did not take it: the run that asked is gone"},
		"no right to patch":   {apierrors.NewForbidden(runs, "run", errors.New("no")), asks("uid", p), `ns/run did not take it: motorruns.motorcortex.dev "run" is forbidden: no. Have the ClusterRole motorcortex-responder bound to you in the namespace ns`},
		"refused by a policy": {apierrors.NewForbidden(runs, "run", byPolicy), asks("uid", p), "ns/run did not take it: dana may not answer this run: bind it"},
		"answered meanwhile":  {conflict, answered, `ns/run did not take it: it was answered a moment ago, by eve: "hers"`},
		"asked no more":       {conflict, asks("uid"), `ns/run did not take it: it does not ask that any more. "kubectl motor get run" says how it stands`},
		"refused by the kind": {invalid, asks("uid", p), `ns/run did not take it: spec.responses: Invalid value: "x": it is no answer`},
		"something else":      {errors.New("no route to host"), nil, "ns/run did not take it: no route to host"},
	} {
		s := &Ask{Run: asks("uid", p), PendingInput: &p}
		if got := explain(tt.err, s, v1alpha1.Response{Answer: "mine"}, tt.now).Error(); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
	same, own := v1alpha1.Response{Answer: "hers"}, &Ask{Run: asks("uid", p), PendingInput: &p}
	if err := explain(errors.New("connection reset"), own, same, answered); err != nil {
		t.Errorf("an answer that arrived: %v", err)
	}
	want := `ns/run did not take it: it has this very answer already, by eve: "hers". If that is you, an earlier try sent it`
	if got := explain(conflict, own, same, answered).Error(); got != want {
		t.Errorf("an answer that was there: %q, want %q", got, want)
	}
}
