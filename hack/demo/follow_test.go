// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

func pod(name, phase string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: name}, Status: corev1.PodStatus{Phase: corev1.PodPhase(phase)}}
}

// A watch that is closed, and one that is too old, are taken up again from a list that has what happened meanwhile.
func TestObserveResumes(t *testing.T) {
	watches := []func(w *watch.FakeWatcher, c client.Client){
		func(w *watch.FakeWatcher, c client.Client) {
			w.Modify(pod("a", "Running"))
			if err := c.Create(t.Context(), pod("b", "Pending")); err != nil {
				t.Error(err)
			}
			w.Stop()
		},
		func(w *watch.FakeWatcher, c client.Client) {
			w.Error(&metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonExpired, Code: 410})
		},
		func(w *watch.FakeWatcher, c client.Client) {
			w.Delete(pod("a", "Running"))
			w.Add(pod("last", "Pending"))
		},
	}
	next := 0
	c := fake.NewClientBuilder().WithScheme(testScheme(t)).WithObjects(pod("a", "Pending")).WithInterceptorFuncs(interceptor.Funcs{
		Watch: func(_ context.Context, c client.WithWatch, _ client.ObjectList, _ ...client.ListOption) (watch.Interface, error) {
			w := watch.NewFakeWithOptions(watch.FakeOptions{ChannelSize: 10})
			play := watches[next]
			next++
			play(w, c)
			return w, nil
		},
	}).Build()
	var got [][]string
	err := observe(t.Context(), c, &corev1.PodList{}, []client.ListOption{client.InNamespace("demo")}, func(all []client.Object) bool {
		var seen []string
		for _, o := range all {
			p := o.(*corev1.Pod)
			seen = append(seen, p.Name+" "+string(p.Status.Phase))
		}
		got = append(got, seen)
		return named(all, "last") != nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := [][]string{
		{"a Pending"}, {"a Running"}, // the first watch
		{"a Pending", "b Pending"}, // the list after it, which in this test does not know of the change
		{"a Pending", "b Pending"}, // the list after the second watch
		{"b Pending"}, {"b Pending", "last Pending"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("seen (-want +got):\n%s", diff)
	}
}

func TestObserveGivesUp(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", errors.New("not for you"))
	c := fake.NewClientBuilder().WithScheme(testScheme(t)).WithInterceptorFuncs(interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
			return forbidden
		},
	}).Build()
	err := observe(t.Context(), c, &corev1.PodList{}, nil, func([]client.Object) bool { return false })
	if !apierrors.IsForbidden(err) {
		t.Errorf("error %v", err)
	}
}

func TestObserveEndsWithItsContext(t *testing.T) {
	reason := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	c := fake.NewClientBuilder().WithScheme(testScheme(t)).Build()
	err := observe(ctx, c, &corev1.PodList{}, nil, func([]client.Object) bool {
		cancel(reason)
		return false
	})
	if !errors.Is(err, reason) {
		t.Errorf("error %v, want %v", err, reason)
	}
}

func TestAwaitGone(t *testing.T) {
	deleting := make(chan struct{})
	c := fake.NewClientBuilder().WithScheme(testScheme(t)).WithObjects(pod("old", "Running"), pod("other", "Running")).WithInterceptorFuncs(interceptor.Funcs{
		Watch: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) (watch.Interface, error) {
			w, err := c.Watch(ctx, list, opts...)
			close(deleting)
			return w, err
		},
	}).Build()
	go func() {
		<-deleting
		if err := c.Delete(context.Background(), pod("old", "")); err != nil {
			t.Error(err)
		}
	}()
	if err := awaitGone(t.Context(), c, &corev1.PodList{}, client.ObjectKey{Namespace: "demo", Name: "old"}); err != nil {
		t.Fatal(err)
	}
}
