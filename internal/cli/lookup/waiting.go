// SPDX-License-Identifier: Apache-2.0

package lookup

import (
	"context"
	"encoding/json"
	"fmt"
	"math"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/rights"
)

// pageSize is how many objects are read in one request.
const pageSize = 500

// Bounds bound what is read of the runs that wait for a person. The zero value bounds nothing.
type Bounds struct {
	// Runs is the most runs that are kept, and RunsOf the most of a namespace.
	Runs, RunsOf int
	// Requests is the most requests to the API server, and PerRequest the most runs that each of them reads.
	Requests, PerRequest int
	// Bytes is the most bytes of what the runs that are kept ask, and BytesOf the most of a namespace. With it, of a run no more is kept than its asks
	// and who answers them need.
	Bytes, BytesOf int
}

// Waiting reads the runs that wait for a person. Who may not list them in all namespaces at once is shown those of each namespace.
func Waiting(ctx context.Context, c client.Client, namespace string) ([]v1alpha1.MotorRun, error) {
	runs, _, err := WaitingWithin(ctx, c, namespace, Bounds{})
	return runs, err
}

// WaitingWithin is Waiting within bounds. left reports whether there may be further runs.
func WaitingWithin(ctx context.Context, c client.Client, namespace string, b Bounds) (runs []v1alpha1.MotorRun, left bool, err error) {
	w := &waiting{client: c, bounds: b, of: map[string]int{}, bytesOf: map[string]int{}}
	err = w.read(ctx, namespace)
	if namespace != "" || !apierrors.IsForbidden(err) {
		return w.runs, w.left, rights.Refused(err, rights.ToRead, namespace)
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
	of map[string]int
	// bytesOf counts the bytes of what those ask, and bytes all of them.
	bytesOf map[string]int
	bytes   int
	left    bool
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
	b := &w.bounds
	if b.Runs > 0 && len(w.runs) >= b.Runs || b.RunsOf > 0 && w.of[run.Namespace] >= b.RunsOf {
		w.left = true
		return
	}
	if b.Bytes > 0 {
		var size int
		run, size = asking(run)
		if w.bytes+size > b.Bytes || w.bytesOf[run.Namespace]+size > b.BytesOf {
			w.left = true
			return
		}
		w.bytes, w.bytesOf[run.Namespace] = w.bytes+size, w.bytesOf[run.Namespace]+size
	}
	w.of[run.Namespace]++
	w.runs = append(w.runs, *run)
}

// asking is what there is to know of a run for an answer, and how many bytes that has as JSON.
func asking(run *v1alpha1.MotorRun) (slim *v1alpha1.MotorRun, size int) {
	slim = &v1alpha1.MotorRun{
		ObjectMeta: metav1.ObjectMeta{Namespace: run.Namespace, Name: run.Name, UID: run.UID, CreationTimestamp: run.CreationTimestamp},
		Spec:       v1alpha1.MotorRunSpec{Requester: run.Spec.Requester},
		Status:     v1alpha1.MotorRunStatus{PendingInputs: run.Status.PendingInputs, Egress: run.Status.Egress},
	}
	for i := range run.Spec.Responses {
		slim.Spec.Responses = append(slim.Spec.Responses, v1alpha1.Response{ID: run.Spec.Responses[i].ID})
	}
	b, err := json.Marshal(slim)
	if err != nil {
		return slim, math.MaxInt32 // Strings and numbers have a JSON form.
	}
	return slim, len(b)
}
