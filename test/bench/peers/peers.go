// SPDX-License-Identifier: Apache-2.0

// Package peers measures kubernetes-sigs/agent-sandbox and tektoncd/pipeline on a cluster where both are installed: see hack/bench.sh. The
// product imports neither. Their objects are unstructured, and their programs are built in modules of their own, in the folders beside this file.
package peers

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// pause is between two looks at something that no watch is worth.
const pause = 50 * time.Millisecond

// Times are those of one round.
type Times struct {
	// Cold is from the creation of a Sandbox of agent-sandbox until it is ready.
	Cold time.Duration
	// Claim is from the creation of a SandboxClaim until it is ready, with a Sandbox from a warm pool.
	Claim time.Duration
	// Burst are the same times of claims that were created at once.
	Burst []time.Duration
	// Writes is how many requests change something for one claim of the burst, what fills the pool again included.
	Writes float64
	// TaskRun is from the creation of a TaskRun of one step until a watcher sees that the step has ended.
	TaskRun time.Duration
}

// Bench measures in one namespace, which nothing else uses.
type Bench struct {
	Client client.WithWatch
	// Metrics reads the metrics of the API server.
	Metrics func(context.Context) ([]byte, error)
	// Namespace is created by Prepare.
	Namespace string
	// Pod is what each sandbox runs. Its first container has the image of the TaskRun's step.
	Pod corev1.PodSpec
	// Burst is how many claims are made at once, at least 1.
	Burst int
}

// Prepare creates the namespace and the template and the empty pool in it. It is safe to repeat.
func (b *Bench) Prepare(ctx context.Context) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: b.Namespace}}
	if err := b.Client.Create(ctx, namespace); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create the namespace %s: %w", b.Namespace, err)
	}
	template, err := b.template()
	if err != nil {
		return err
	}
	for _, o := range []*unstructured.Unstructured{template, b.pool()} {
		if err := b.Client.Create(ctx, o); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("create the %s %s: %w", o.GetKind(), o.GetName(), err)
		}
	}
	return b.fill(ctx, 0)
}

// Round measures each thing once, one after the other. It leaves no Pod behind.
func (b *Bench) Round(ctx context.Context, name string) (t Times, err error) {
	if t.Cold, err = b.cold(ctx, name+"-cold"); err != nil {
		return t, fmt.Errorf("agent-sandbox: %w", err)
	}
	if err := b.claims(ctx, name, &t); err != nil {
		return t, fmt.Errorf("agent-sandbox: %w", err)
	}
	if t.TaskRun, err = b.taskRun(ctx, name+"-task"); err != nil {
		return t, fmt.Errorf("tekton: %w", err)
	}
	return t, nil
}

// timed creates objects of one kind at once, and returns the time from the creation of each until a watcher sees that it is done.
func (b *Bench) timed(ctx context.Context, objects []*unstructured.Unstructured, done func(*unstructured.Unstructured) (bool, error)) ([]time.Duration, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(objects[0].GroupVersionKind())
	w, err := b.Client.Watch(ctx, list, client.InNamespace(b.Namespace))
	if err != nil {
		return nil, fmt.Errorf("watch %s: %w", list.GetKind(), err)
	}
	defer w.Stop()
	// A create that fails ends the wait for what will never come.
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	began := make([]time.Time, len(objects))
	var creates sync.WaitGroup
	for i, o := range objects {
		creates.Go(func() {
			began[i] = time.Now()
			if err := b.Client.Create(ctx, o.DeepCopy()); err != nil {
				cancel(fmt.Errorf("create the %s %s: %w", o.GetKind(), o.GetName(), err))
			}
		})
	}
	ended := map[string]time.Time{}
	err = follow(ctx, w, objects, done, ended)
	creates.Wait()
	if err != nil {
		return nil, err
	}
	var all []time.Duration
	for i, o := range objects {
		all = append(all, ended[o.GetName()].Sub(began[i]))
	}
	return all, nil
}

// follow notes when each of the objects is done, and returns when all are.
func follow(ctx context.Context, w watch.Interface, objects []*unstructured.Unstructured, done func(*unstructured.Unstructured) (bool, error), ended map[string]time.Time) error {
	wanted := map[string]bool{}
	for _, o := range objects {
		wanted[o.GetName()] = true
	}
	for len(wanted) > 0 {
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d of %d objects are not done: %w", len(wanted), len(objects), context.Cause(ctx))
		case event, open := <-w.ResultChan():
			if !open {
				return fmt.Errorf("the watch ended before %d of %d objects were done", len(wanted), len(objects))
			}
			now := time.Now()
			o, ok := event.Object.(*unstructured.Unstructured)
			if !ok || !wanted[o.GetName()] {
				continue
			}
			isDone, err := done(o)
			if err != nil {
				return fmt.Errorf("the %s %s: %w", o.GetKind(), o.GetName(), err)
			}
			if isDone {
				ended[o.GetName()] = now
				delete(wanted, o.GetName())
			}
		}
	}
	return nil
}

// remove deletes objects and waits until the namespace has no Pod, so that they take no time from the next measurement.
func (b *Bench) remove(ctx context.Context, objects ...*unstructured.Unstructured) error {
	for _, o := range objects {
		if err := b.Client.Delete(ctx, o); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete the %s %s: %w", o.GetKind(), o.GetName(), err)
		}
	}
	return b.until(ctx, "Pods are left", func() (bool, error) {
		var pods corev1.PodList
		err := b.Client.List(ctx, &pods, client.InNamespace(b.Namespace), client.Limit(1))
		return len(pods.Items) == 0, err
	})
}

// until asks again and again until it is so. The error says how it is instead.
func (b *Bench) until(ctx context.Context, instead string, isSo func() (bool, error)) error {
	for {
		if ok, err := isSo(); ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", instead, context.Cause(ctx))
		case <-time.After(pause):
		}
	}
}

// object returns an object of the namespace.
func (b *Bench) object(kind schema.GroupVersionKind, name string, spec map[string]any) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	o.SetGroupVersionKind(kind)
	o.SetNamespace(b.Namespace)
	o.SetName(name)
	return o
}

// condition returns the status of a condition, "" if there is none, and its message.
func condition(o *unstructured.Unstructured, kind string) (status, message string) {
	all, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range all {
		if c, ok := c.(map[string]any); ok && c["type"] == kind {
			status, _ = c["status"].(string)
			message, _ = c["message"].(string)
			return status, message
		}
	}
	return "", ""
}
