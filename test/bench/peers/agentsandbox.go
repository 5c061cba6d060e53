// SPDX-License-Identifier: Apache-2.0

package peers

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// poolName is the name of the template and of the pool.
const poolName = "bench"

var (
	sandboxKind  = schema.GroupVersionKind{Group: "agents.x-k8s.io", Version: "v1beta1", Kind: "Sandbox"}
	claimKind    = schema.GroupVersionKind{Group: "extensions.agents.x-k8s.io", Version: "v1beta1", Kind: "SandboxClaim"}
	templateKind = schema.GroupVersionKind{Group: "extensions.agents.x-k8s.io", Version: "v1beta1", Kind: "SandboxTemplate"}
	poolKind     = schema.GroupVersionKind{Group: "extensions.agents.x-k8s.io", Version: "v1beta1", Kind: "SandboxWarmPool"}
)

func (b *Bench) podTemplate() (map[string]any, error) {
	spec, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&b.Pod)
	if err != nil {
		return nil, fmt.Errorf("convert the Pod: %w", err)
	}
	return map[string]any{"spec": spec}, nil
}

func (b *Bench) template() (*unstructured.Unstructured, error) {
	pod, err := b.podTemplate()
	if err != nil {
		return nil, err
	}
	return b.object(templateKind, poolName, map[string]any{"podTemplate": pod}), nil
}

func (b *Bench) pool() *unstructured.Unstructured {
	return b.object(poolKind, poolName, map[string]any{"replicas": int64(0), "sandboxTemplateRef": map[string]any{"name": poolName}})
}

// isReady reports whether a Sandbox or a SandboxClaim is ready.
func isReady(o *unstructured.Unstructured) (bool, error) {
	status, _ := condition(o, "Ready")
	return status == "True", nil
}

// cold returns the time from the creation of a Sandbox without a pool until it is ready.
func (b *Bench) cold(ctx context.Context, name string) (time.Duration, error) {
	pod, err := b.podTemplate()
	if err != nil {
		return 0, err
	}
	sandbox := b.object(sandboxKind, name, map[string]any{"podTemplate": pod})
	times, err := b.timed(ctx, []*unstructured.Unstructured{sandbox}, isReady)
	if err != nil {
		return 0, err
	}
	return times[0], b.remove(ctx, sandbox)
}

// claims measures one claim, and many at once. The pool is empty before and after, so that it takes nothing from the rest of the round.
func (b *Bench) claims(ctx context.Context, name string, t *Times) error {
	if err := b.fill(ctx, b.Burst); err != nil {
		return err
	}
	one := b.claim(name + "-claim")
	times, err := b.timed(ctx, []*unstructured.Unstructured{one}, isReady)
	if err != nil {
		return err
	}
	t.Claim = times[0]
	if err := b.fill(ctx, b.Burst); err != nil {
		return err
	}
	var many []*unstructured.Unstructured
	for i := range b.Burst {
		many = append(many, b.claim(fmt.Sprintf("%s-burst-%d", name, i)))
	}
	before, err := b.writes(ctx)
	if err != nil {
		return err
	}
	if t.Burst, err = b.timed(ctx, many, isReady); err != nil {
		return err
	}
	if err := b.fill(ctx, b.Burst); err != nil {
		return err
	}
	after, err := b.writes(ctx)
	if err != nil {
		return err
	}
	t.Writes = (after - before) / float64(b.Burst)
	if err := b.scale(ctx, 0); err != nil {
		return err
	}
	return b.remove(ctx, append(many, one)...)
}

func (b *Bench) claim(name string) *unstructured.Unstructured {
	return b.object(claimKind, name, map[string]any{"warmPoolRef": map[string]any{"name": poolName}})
}

// fill gives the pool that many sandboxes, and waits until they are ready and the pool has seen all that was taken from it.
func (b *Bench) fill(ctx context.Context, replicas int) error {
	if err := b.scale(ctx, replicas); err != nil {
		return err
	}
	return b.until(ctx, fmt.Sprintf("the pool does not have %d sandboxes", replicas), func() (bool, error) {
		var all unstructured.UnstructuredList
		all.SetGroupVersionKind(sandboxKind)
		if err := b.Client.List(ctx, &all, client.InNamespace(b.Namespace)); err != nil {
			return false, fmt.Errorf("list Sandboxes: %w", err)
		}
		ready := 0
		for i := range all.Items {
			if owner := all.Items[i].GetOwnerReferences(); len(owner) != 1 || owner[0].Kind != poolKind.Kind {
				continue
			}
			if ok, _ := isReady(&all.Items[i]); !ok {
				return false, nil
			}
			ready++
		}
		return ready == replicas, nil
	})
}

func (b *Bench) scale(ctx context.Context, replicas int) error {
	pool := b.pool()
	if err := b.Client.Get(ctx, client.ObjectKeyFromObject(pool), pool); err != nil {
		return fmt.Errorf("get the pool: %w", err)
	}
	before := pool.DeepCopy()
	if err := unstructured.SetNestedField(pool.Object, int64(replicas), "spec", "replicas"); err != nil {
		return err
	}
	if err := b.Client.Patch(ctx, pool, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("scale the pool: %w", err)
	}
	return nil
}
