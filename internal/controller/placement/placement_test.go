// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/pass"
	"motorcortex.dev/motorcortex/internal/runpolicy/replica"
)

// living are the workers that live. None of the others is lost: they released their runs.
type living []string

func (l living) Live() []replica.Worker {
	workers := make([]replica.Worker, 0, len(l))
	for _, id := range l {
		workers = append(workers, replica.Worker{ID: id, Renewed: true})
	}
	return workers
}

func (living) Lost(string) bool { return false }

// A run stays with a worker that lives. Each time that it moves, its epoch is higher than any in its status and in its journal.
func TestPlace(t *testing.T) {
	t.Parallel()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		status  v1alpha1.ExecutionStatus
		journal int64
		workers living
		want    v1alpha1.ExecutionStatus
	}{
		"a new run":                     {v1alpha1.ExecutionStatus{}, 0, living{"a", "b"}, v1alpha1.ExecutionStatus{Worker: "a", Epoch: 1}},
		"its worker lives":              {v1alpha1.ExecutionStatus{Worker: "b", Epoch: 3}, 3, living{"a", "b"}, v1alpha1.ExecutionStatus{Worker: "b", Epoch: 3}},
		"its worker has gone":           {v1alpha1.ExecutionStatus{Worker: "c", Epoch: 3}, 2, living{"a", "b"}, v1alpha1.ExecutionStatus{Worker: "a", Epoch: 4}},
		"no worker lives":               {v1alpha1.ExecutionStatus{Worker: "c", Epoch: 3}, 3, nil, v1alpha1.ExecutionStatus{Worker: "c", Epoch: 3}},
		"the journal is ahead":          {v1alpha1.ExecutionStatus{Worker: "b", Epoch: 3}, 7, living{"a", "b"}, v1alpha1.ExecutionStatus{Worker: "b", Epoch: 8}},
		"ahead, and its worker is gone": {v1alpha1.ExecutionStatus{Worker: "c", Epoch: 3}, 7, living{"a", "b"}, v1alpha1.ExecutionStatus{Worker: "a", Epoch: 8}},
	} {
		run := &v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "run", UID: types.UID("uid")}}
		run.Status.Execution = tt.status
		c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(run.DeepCopy()).Build()
		p := &Placer{Client: c, Workers: tt.workers, State: &State{}}
		s := pass.NewRun(run, time.Unix(1000, 0))
		s.Progress.Epoch = tt.journal
		if err := p.Place(t.Context(), s); err != nil || run.Status.Execution != tt.want {
			t.Errorf("%s: %+v, %v", name, run.Status.Execution, err)
		}
	}
}
