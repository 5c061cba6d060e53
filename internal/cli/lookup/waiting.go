// SPDX-License-Identifier: Apache-2.0

package lookup

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// pageSize is how many runs are read in one request.
const pageSize = 500

// Bounds bound what is read of the runs that wait for a person. The zero value bounds nothing.
type Bounds struct {
	// Runs is the most runs that are kept, and RunsOf the most of a namespace.
	Runs, RunsOf int
	// Requests is the most requests to the API server, and PerRequest the most runs that each of them reads.
	Requests, PerRequest int
}

// Waiting reads the runs that wait for a person. Who may not list them in all namespaces at once is shown those of each namespace.
func Waiting(ctx context.Context, c client.Client, namespace string) ([]v1alpha1.MotorRun, error) {
	runs, _, err := WaitingWithin(ctx, c, namespace, Bounds{})
	return runs, err
}

// WaitingWithin is Waiting within bounds. left reports whether there may be further runs.
func WaitingWithin(ctx context.Context, c client.Client, namespace string, b Bounds) (runs []v1alpha1.MotorRun, left bool, err error) {
	w := &waiting{client: c, bounds: b, of: map[string]int{}}
	err = w.read(ctx, namespace)
	if namespace != "" || !apierrors.IsForbidden(err) {
		return w.runs, w.left, err
	}
	namespaces := &corev1.NamespaceList{}
	if listed := c.List(ctx, namespaces, client.Limit(int64(b.Requests))); listed != nil {
		return nil, false, fmt.Errorf("%w. You may not list namespaces either: name one with -n", err)
	}
	w.left = namespaces.Continue != ""
	for i := range namespaces.Items {
		if err := w.read(ctx, namespaces.Items[i].Name); err != nil && !apierrors.IsForbidden(err) {
			return nil, false, err
		}
	}
	return w.runs, w.left, nil
}

// waiting are the runs that were read.
type waiting struct {
	client   client.Client
	bounds   Bounds
	requests int
	runs     []v1alpha1.MotorRun
	// of counts the runs of each namespace that were kept.
	of   map[string]int
	left bool
}

// read reads those of a namespace, of all if it is "".
func (w *waiting) read(ctx context.Context, namespace string) error {
	size := w.bounds.PerRequest
	if size == 0 {
		size = pageSize
	}
	page := &v1alpha1.MotorRunList{}
	for {
		if w.bounds.Requests > 0 && w.requests >= w.bounds.Requests || w.bounds.Runs > 0 && len(w.runs) >= w.bounds.Runs {
			w.left = true
			return nil
		}
		w.requests++
		err := w.client.List(ctx, page, client.InNamespace(namespace), client.Limit(int64(size)), client.Continue(page.Continue),
			client.MatchingFieldsSelector{Selector: fields.OneTermNotEqualSelector("status.pendingKind", "")})
		if err != nil {
			return fmt.Errorf("list MotorRuns: %w", err)
		}
		for i := range page.Items {
			w.keep(&page.Items[i])
		}
		if page.Continue == "" {
			return nil
		}
	}
}

// keep keeps a run if there is room for it. A namespace with very many leaves room for the others.
func (w *waiting) keep(run *v1alpha1.MotorRun) {
	if w.bounds.Runs > 0 && len(w.runs) >= w.bounds.Runs || w.bounds.RunsOf > 0 && w.of[run.Namespace] >= w.bounds.RunsOf {
		w.left = true
		return
	}
	w.of[run.Namespace]++
	w.runs = append(w.runs, *run)
}
