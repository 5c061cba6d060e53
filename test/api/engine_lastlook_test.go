// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cortex"
	"motorcortex.dev/motorcortex/internal/engine"
	"motorcortex.dev/motorcortex/internal/motorloop/chat"
)

// awayModel knows without being asked that it cannot be had.
type awayModel struct{ *stubModel }

func (awayModel) Away() *chat.Outage { return outage(v1alpha1.ReasonModelUnavailable, false, 0) }

// failingSecrets refuses the first reads of Secrets, as an API server that is away does.
type failingSecrets struct {
	client.Reader
	left *atomic.Int32
}

func (f failingSecrets) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if _, ok := o.(*corev1.Secret); ok && f.left.Add(-1) >= 0 {
		return errors.New("etcd is away")
	}
	return f.Reader.Get(ctx, key, o, opts...)
}

// The end of a run whose model is away is like any other: what its workspace holds is collected. What the key of the model is must be known
// before that, wherever there is one.
func TestEngineLooksOnceMoreBesideAModelThatIsAway(t *testing.T) {
	t.Parallel()
	const key = "the-key-of-the-model-1234567890"
	var failing atomic.Int32
	failing.Store(2)
	for name, tt := range map[string]struct {
		change  func(*engine.Engine)
		removes bool
		want    string
	}{
		"it is known to be away": {func(e *engine.Engine) {
			open := e.NewModel
			e.NewModel = func(at cortex.Endpoint) (chat.Model, error) {
				model, err := open(at)
				stub, ok := model.(*stubModel)
				if !ok {
					return model, err
				}
				return awayModel{stub}, err
			}
		}, false, "artifacts/late!SecretFound"},
		"its endpoint cannot be used": {func(e *engine.Engine) {
			e.NewModel = func(cortex.Endpoint) (chat.Model, error) { return nil, errors.New("no such scheme") }
		}, false, "artifacts/late!SecretFound"},
		"its key is gone":            {func(*engine.Engine) {}, true, "artifacts/late=" + key[:20]},
		"its key cannot be read yet": {func(e *engine.Engine) { e.Models.Secrets = failingSecrets{e.Models.Secrets, &failing} }, false, "artifacts/late!SecretFound"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newEngineRig(t, &stubModel{
				answers: []chat.Answer{says("", call("bash", `{"command":"mkdir artifacts"}`))},
				fail: func(n int32) error {
					if n < 2 {
						return nil
					}
					return outage(v1alpha1.ReasonModelUnavailable, false, time.Hour)
				},
			})
			secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: r.run.Namespace, Name: "it"}, StringData: map[string]string{"key": key}}
			must(t, admin.Create(r.ctx, secret))
			cortex := &v1alpha1.MotorCortex{ObjectMeta: metav1.ObjectMeta{Namespace: r.run.Namespace, Name: v1alpha1.CortexName}}
			cortex.Spec.Models.Motor = &v1alpha1.ModelEndpoint{
				BaseURL: "https://model.example.org/v1", Model: "m", APIKeySecretRef: &v1alpha1.SecretKeyRef{Name: "it", Key: "key"},
			}
			must(t, admin.Create(r.ctx, cortex))
			stop := r.startEngine("worker-1", nil)
			r.steps(func(s []v1alpha1.MotorStep) bool { return slices.ContainsFunc(s, isOutage) })
			stop()
			must(t, os.WriteFile(filepath.Join(r.workspace, "artifacts", "late"), []byte(key), 0o644))
			if tt.removes {
				must(t, admin.Delete(r.ctx, secret))
			}
			r.changeStatus(func(st *v1alpha1.MotorRunStatus) {
				st.Execution.Worker, st.Execution.Epoch = "worker-2", 2
				st.Ending = &v1alpha1.RunEnding{DecisionTime: metav1.Now(), Reason: v1alpha1.ReasonCancelled}
			})
			r.startEngineWith("worker-2", tt.change)
			steps := r.steps(func(s []v1alpha1.MotorStep) bool { return s[0].Status.Closed != nil })
			if problem := steps[0].Status.Closed.Problem; problem != "" {
				t.Errorf("not everything was collected: %s", problem)
			}
			r.wantKept(steps[0].Status.Artifacts, tt.want)
		})
	}
}
