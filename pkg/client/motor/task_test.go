// SPDX-License-Identifier: Apache-2.0

package motor

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	k8stesting "k8s.io/client-go/testing"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

func TestRunsAreListedTheNewestFirst(t *testing.T) {
	t.Parallel()
	var objects []runtime.Object
	for i := range 30 {
		objects = append(objects, aRun(fmt.Sprintf("run-%02d", i), func(run *v1alpha1.MotorRun) { run.CreationTimestamp = metav1.Unix(int64(i%10), 0) }))
	}
	r := newRig(t, objects...)
	runs, total, err := r.Runs(t.Context(), "", 4)
	var names []string
	for i := range runs {
		names = append(names, runs[i].Name)
	}
	if got, want := strings.Join(names, " "), "run-29 run-19 run-09 run-28"; got != want || total != 30 || err != nil {
		t.Errorf("%s of %d, %v, want %s", got, total, err, want)
	}
	if runs, total, err := newRig(t).Runs(t.Context(), "", 4); len(runs) != 0 || total != 0 || err != nil {
		t.Errorf("none: %v, %d, %v", runs, total, err)
	}
}

// A namespace without an end does not keep the caller for ever.
func TestRunsWithoutAnEnd(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.motor.PrependReactor("list", "motorruns", func(k8stesting.Action) (bool, runtime.Object, error) {
		return true, &v1alpha1.MotorRunList{ListMeta: metav1.ListMeta{Continue: "more"}, Items: []v1alpha1.MotorRun{*aRun("a")}}, nil
	})
	if _, _, err := r.Runs(t.Context(), "", 4); !errors.Is(err, ErrTooMany) {
		t.Errorf("%v", err)
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	runs := schema.GroupResource{Group: "motorcortex.dev", Resource: "motorruns"}
	for name, tt := range map[string]struct {
		run  *v1alpha1.MotorRun
		err  error
		says string
	}{
		"it runs":      {aRun("a"), nil, ""},
		"it has ended": {aRun("a", ended(true)), nil, "has ended already (Completed)"},
		"a second one": {aRun("a", func(run *v1alpha1.MotorRun) { run.Spec.Cancel = true }), nil, "is cancelled already"},
		"another run":  {aRun("a"), apierrors.NewConflict(runs, "a", errors.New("uid")), "it is gone"},
		"no right":     {aRun("a"), apierrors.NewForbidden(runs, "a", errors.New("no")), "motorcortex-editor"},
		"no run":       {aRun("b"), nil, "there is no run a in the namespace ns"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, tt.run)
			var sent string
			r.motor.PrependReactor("patch", "motorruns", func(a k8stesting.Action) (bool, runtime.Object, error) {
				sent = string(a.(k8stesting.PatchAction).GetPatch())
				return tt.err != nil, nil, tt.err
			})
			changed, err := r.Cancel(t.Context(), "a")
			if tt.says != "" {
				wantError(t, err, tt.says)
				return
			}
			if err != nil || sent != `{"metadata":{"uid":"uid"},"spec":{"cancel":true}}` || *changed != (Changed{Run: "a", Previous: v1alpha1.PhaseRunning, New: v1alpha1.PhaseRunning, Observed: true}) {
				t.Errorf("%+v, %v, sent %s", changed, err, sent)
			}
		})
	}
}
