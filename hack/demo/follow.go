// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// resumeDelay keeps a server that ends every watch at once from being asked without pause.
const resumeDelay = 200 * time.Millisecond

// observe shows see all objects of a kind that match, by name: first as they are, then after each change. It ends
// when see returns true. A watch that breaks off is taken up again from a new list, so that nothing is missed.
func observe(ctx context.Context, c client.WithWatch, kind client.ObjectList, opts []client.ListOption, see func([]client.Object) bool) error {
	for {
		done, err := observeOnce(ctx, c, kind, opts, see)
		switch {
		case done:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case hopeless(err):
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(resumeDelay):
		}
	}
}

// hopeless errors stay until somebody changes something in the cluster.
func hopeless(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) || apierrors.IsNotFound(err) || meta.IsNoMatchError(err)
}

func observeOnce(ctx context.Context, c client.WithWatch, kind client.ObjectList, opts []client.ListOption, see func([]client.Object) bool) (done bool, err error) {
	list := emptyList(kind)
	if err := c.List(ctx, list, opts...); err != nil {
		return false, err
	}
	present := map[client.ObjectKey]client.Object{}
	err = meta.EachListItem(list, func(o runtime.Object) error {
		return put(present, watch.Added, o)
	})
	if err != nil {
		return false, err
	}
	if see(sorted(present)) {
		return true, nil
	}
	from := &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: list.GetResourceVersion()}}
	w, err := c.Watch(ctx, emptyList(kind), append(slices.Clone(opts), from)...)
	if err != nil {
		return false, err
	}
	defer w.Stop()
	for {
		select {
		case <-ctx.Done():
			return false, context.Cause(ctx)
		case event, open := <-w.ResultChan():
			if !open {
				return false, nil
			}
			if err := put(present, event.Type, event.Object); err != nil {
				return false, err
			}
			if see(sorted(present)) {
				return true, nil
			}
		}
	}
}

func emptyList(kind client.ObjectList) client.ObjectList {
	list, ok := kind.DeepCopyObject().(client.ObjectList)
	if !ok {
		panic("a copy of a list is a list")
	}
	return list
}

// put applies one event of a watch.
func put(present map[client.ObjectKey]client.Object, event watch.EventType, o runtime.Object) error {
	if event == watch.Error {
		return apierrors.FromObject(o)
	}
	object, ok := o.(client.Object)
	if !ok {
		return errors.New("the API server sent something that is no object")
	}
	if event == watch.Deleted {
		delete(present, client.ObjectKeyFromObject(object))
	} else {
		present[client.ObjectKeyFromObject(object)] = object
	}
	return nil
}

func sorted(present map[client.ObjectKey]client.Object) []client.Object {
	all := make([]client.Object, 0, len(present))
	for _, object := range present {
		all = append(all, object)
	}
	slices.SortFunc(all, func(a, b client.Object) int { return cmp.Compare(a.GetName(), b.GetName()) })
	return all
}

// awaitGone waits until no object of the kind has the name.
func awaitGone(ctx context.Context, c client.WithWatch, kind client.ObjectList, key client.ObjectKey) error {
	return observe(ctx, c, kind, []client.ListOption{client.InNamespace(key.Namespace)}, func(all []client.Object) bool {
		return named(all, key.Name) == nil
	})
}

func named(all []client.Object, name string) client.Object {
	i := slices.IndexFunc(all, func(o client.Object) bool { return o.GetName() == name })
	if i < 0 {
		return nil
	}
	return all[i]
}

// view is what is to be seen of a run at one moment: the run, or its steps, whichever changed. Both nil says that the
// run does not exist.
type view struct {
	run   *v1alpha1.MotorRun
	steps []v1alpha1.MotorStep
}

// followRun sends what is to be seen of a run, from now on, until ctx ends. The channel is never closed; an error
// that no waiting mends ends everything by cancel.
func followRun(ctx context.Context, cancel context.CancelCauseFunc, c client.WithWatch, key client.ObjectKey) <-chan view {
	views := make(chan view)
	send := func(v view) bool {
		select {
		case views <- v:
			return false
		case <-ctx.Done():
			return true
		}
	}
	inNamespace := client.InNamespace(key.Namespace)
	run := func(all []client.Object) bool {
		r, _ := named(all, key.Name).(*v1alpha1.MotorRun)
		return send(view{run: r})
	}
	steps := func(all []client.Object) bool {
		return len(all) > 0 && send(view{steps: stepsIn(all)})
	}
	go func() {
		if err := observe(ctx, c, &v1alpha1.MotorRunList{}, []client.ListOption{inNamespace}, run); err != nil {
			cancel(err)
		}
	}()
	go func() {
		opts := []client.ListOption{inNamespace, client.MatchingLabels{v1alpha1.LabelRun: key.Name}}
		if err := observe(ctx, c, &v1alpha1.MotorStepList{}, opts, steps); err != nil {
			cancel(err)
		}
	}()
	return views
}

func stepsIn(all []client.Object) []v1alpha1.MotorStep {
	var steps []v1alpha1.MotorStep
	for _, o := range all {
		if s, ok := o.(*v1alpha1.MotorStep); ok {
			steps = append(steps, *s)
		}
	}
	return steps
}
