// SPDX-License-Identifier: Apache-2.0

package peers

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

func bench() *Bench {
	return &Bench{Client: fake.NewClientBuilder().WithScheme(runtime.NewScheme()).Build(), Namespace: "n"}
}

func named(names ...string) (all []*unstructured.Unstructured) {
	for _, name := range names {
		o := &unstructured.Unstructured{}
		o.SetGroupVersionKind(claimKind)
		o.SetName(name)
		all = append(all, o)
	}
	return all
}

func withCondition(name, status string) *unstructured.Unstructured {
	o := named(name)[0]
	o.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": status, "message": "why"}}}
	return o
}

func TestAnObjectIsDoneWhenItsLastConditionSaysSo(t *testing.T) {
	t.Parallel()
	w := watch.NewFakeWithChanSize(5, false)
	w.Add(withCondition("a", "False"))
	w.Add(withCondition("other", "True"))
	w.Modify(withCondition("b", "True"))
	w.Modify(withCondition("a", "True"))
	ended := map[string]time.Time{}
	if err := follow(t.Context(), w, named("a", "b"), isReady, ended); err != nil {
		t.Fatal(err)
	}
	if len(ended) != 2 || !ended["b"].Before(ended["a"]) {
		t.Errorf("the ends are %v", ended)
	}
}

func TestAWatchThatEndsIsAnError(t *testing.T) {
	t.Parallel()
	w := watch.NewFakeWithChanSize(1, false)
	w.Add(withCondition("a", "False"))
	w.Stop()
	if err := follow(t.Context(), w, named("a"), isReady, map[string]time.Time{}); err == nil || !strings.Contains(err.Error(), "1 of 1") {
		t.Errorf("the error is %v", err)
	}
}

func TestAMeasurementEndsWithItsContext(t *testing.T) {
	t.Parallel()
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	if err := follow(ctx, watch.NewFake(), named("a"), isReady, map[string]time.Time{}); !errors.Is(err, why) {
		t.Errorf("the error is %v", err)
	}
}

func TestAnObjectThatCannotBeCreatedIsAnError(t *testing.T) {
	t.Parallel()
	b, ctx := bench(), t.Context()
	o := b.claim("twice")
	if err := b.Client.Create(ctx, o.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if _, err := b.timed(ctx, []*unstructured.Unstructured{o}, isReady); err == nil || !strings.Contains(err.Error(), "create the SandboxClaim twice") {
		t.Errorf("the error is %v", err)
	}
}
