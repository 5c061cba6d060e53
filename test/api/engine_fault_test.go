// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/engine"
	"motorcortex.dev/motorcortex/internal/motorloop/chat"
	"motorcortex.dev/motorcortex/internal/motorloop/outcome"
)

func TestEngineSurvivesPanics(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		panics, asked int32
		reason        string
	}{
		"twice":    {2, 3, ""},
		"for ever": {99, 3, v1alpha1.ReasonInternalError},
	} {
		t.Run(name, func(t *testing.T) {
			r := newEngineRig(t, &stubModel{answers: []chat.Answer{says("done")}, panics: tt.panics})
			r.startEngine("worker-1", nil)
			steps := r.steps(journalEnded)
			reason := ""
			if o := steps[0].Spec.Outcome; o != nil {
				reason = o.Reason
			}
			if len(steps) != 1 || reason != tt.reason || r.model.asked.Load() != tt.asked {
				t.Errorf("ended with %q after %d requests", reason, r.model.asked.Load())
			}
		})
	}
}

func TestEngineEndsARunWhoseJournalHasAGap(t *testing.T) {
	r := newEngineRig(t, &stubModel{answers: []chat.Answer{says("done")}})
	l := loadLog(r.ctx, t, manager, r.run, claim1)
	must(t, l.Append(r.ctx, turnAt(1, "", "bash:{}")))
	must(t, l.Append(r.ctx, turnAt(2, "", "bash:{}")))
	must(t, admin.Delete(r.ctx, &l.Steps()[0]))
	r.startEngine("worker-1", nil)
	steps := r.ended(2)
	o := steps[1].Spec.Outcome
	if o == nil || o.Reason != v1alpha1.ReasonInternalError || o.Category != v1alpha1.CategoryInfraFailure || !strings.Contains(o.Message, "run-a01-s0001") {
		t.Errorf("the journal is %+v", steps)
	}
	if r.model.asked.Load() != 0 {
		t.Error("the model was asked")
	}
}

// waitFor waits until a condition holds.
func (r *engineRig) waitFor(condition func() bool) {
	r.t.Helper()
	must(r.t, wait.PollUntilContextCancel(r.ctx, 10*time.Millisecond, true, func(context.Context) (bool, error) { return condition(), nil }))
}

// countReads starts an engine and counts how often it looks for a ConfigMap.
func (r *engineRig) countReads() *atomic.Int32 {
	var looked atomic.Int32
	r.startEngineWith("worker-1", func(e *engine.Engine) {
		e.Live = configMapReads{e.Live, &looked}
		holdsItsLease(e)
	})
	return &looked
}

// holdsItsLease has an engine keep its Lease while the clock is put forward by minutes. Without it the loops would end, and what
// was missing would be waited for anew.
func holdsItsLease(e *engine.Engine) { e.Config.LeaseDuration = 3 * time.Hour }

// configMapReads counts the ConfigMaps that are read through it.
type configMapReads struct {
	client.Reader
	count *atomic.Int32
}

func (c configMapReads) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if _, ok := o.(*corev1.ConfigMap); ok {
		c.count.Add(1)
	}
	return c.Reader.Get(ctx, key, o, opts...)
}

// A Secret or a ConfigMap can be changed by deleting it and creating it again: that must not end the runs that use it.
func TestEngineWaitsForWhatIsMissing(t *testing.T) {
	t.Parallel()
	meta := func(r *engineRig) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: r.run.Namespace, Name: "it"} }
	answers := []chat.Answer{says("done")}
	useSecret := func(r *engineRig) {
		cortex := &v1alpha1.MotorCortex{ObjectMeta: metav1.ObjectMeta{Namespace: r.run.Namespace, Name: v1alpha1.CortexName}}
		cortex.Spec.Models.Motor = &v1alpha1.ModelEndpoint{
			BaseURL: "https://model.example.org/v1", Model: "m", APIKeySecretRef: &v1alpha1.SecretKeyRef{Name: "it", Key: "key"}, Finish: v1alpha1.FinishText,
		}
		must(r.t, admin.Create(r.ctx, cortex))
	}
	useConfigMap := func(run *v1alpha1.MotorRun) {
		run.Spec.Files = []v1alpha1.InputFile{{Path: "a", ConfigMapKeyRef: &v1alpha1.ConfigMapKeyRef{Name: "it", Key: "key"}}}
	}
	ended := func(t *testing.T, r *engineRig, reason string) {
		t.Helper()
		steps := slices.DeleteFunc(r.steps(journalEnded), isOutage)
		got := ""
		if o := steps[0].Spec.Outcome; o != nil {
			got = o.Reason
		}
		if len(steps) != 1 || got != reason {
			t.Errorf("ended with %q, want %q", got, reason)
		}
	}
	t.Run("a Secret comes back", func(t *testing.T) {
		r := newEngineRig(t, &stubModel{answers: answers})
		useSecret(r)
		r.startEngine("worker-1", nil)
		r.waitFor(func() bool { return r.resolved.Load() >= 2 })
		must(t, admin.Create(r.ctx, &corev1.Secret{ObjectMeta: meta(r), StringData: map[string]string{"key": "k"}}))
		ended(t, r, "")
	})
	t.Run("a Secret does not come back", func(t *testing.T) {
		r := newEngineRig(t, &stubModel{answers: answers})
		useSecret(r)
		r.startEngineWith("worker-1", holdsItsLease)
		r.waitFor(func() bool { return r.resolved.Load() >= 2 })
		r.skipped.Store(int64(time.Hour + time.Second))
		ended(t, r, v1alpha1.ReasonModelSecretNotFound)
	})
	t.Run("a ConfigMap comes back", func(t *testing.T) {
		r := newEngineRig(t, &stubModel{answers: answers}, useConfigMap)
		looked := r.countReads()
		r.waitFor(func() bool { return looked.Load() >= 2 })
		must(t, admin.Create(r.ctx, &corev1.ConfigMap{ObjectMeta: meta(r), Data: map[string]string{"key": "content"}}))
		ended(t, r, "")
		if asked := r.model.asked.Load(); asked > 2 {
			t.Errorf("the model was asked %d times in vain", asked-1)
		}
		if got, err := os.ReadFile(filepath.Join(r.workspace, "a")); string(got) != "content" {
			t.Errorf("the file has %q (%v)", got, err)
		}
	})
	t.Run("a ConfigMap does not come back", func(t *testing.T) {
		r := newEngineRig(t, &stubModel{answers: answers}, useConfigMap)
		looked := r.countReads()
		r.waitFor(func() bool { return looked.Load() >= 2 })
		r.skipped.Store(int64(time.Minute))
		ended(t, r, outcome.ReasonInputFile)
	})
}
