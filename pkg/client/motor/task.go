// SPDX-License-Identifier: Apache-2.0

package motor

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// eachRun calls do for each run of the namespace, in pages. phase restricts them to one phase, "" to none.
func (c *Client) eachRun(ctx context.Context, phase v1alpha1.RunPhase, do func(*v1alpha1.MotorRun)) error {
	options := metav1.ListOptions{Limit: pageSize}
	if phase != "" {
		options.FieldSelector = fields.OneTermEqualSelector("status.phase", string(phase)).String()
	}
	return inPages(options, func(o metav1.ListOptions) (string, error) {
		page, err := c.runs().List(ctx, o)
		if err != nil {
			return "", c.refused("list the runs of the namespace "+c.namespace, err, roleViewer)
		}
		for i := range page.Items {
			do(&page.Items[i])
		}
		return page.Continue, nil
	})
}

// Runs returns the newest runs of the namespace, the newest first, and how many there are. phase restricts them to one phase, "" to none; limit is the most
// that are returned. They lack the contents of files, and the files
// of answers.
func (c *Client) Runs(ctx context.Context, phase v1alpha1.RunPhase, limit int) (runs []v1alpha1.MotorRun, total int, err error) {
	newest := func(a, b v1alpha1.MotorRun) int {
		return cmp.Or(b.CreationTimestamp.Compare(a.CreationTimestamp.Time), cmp.Compare(b.Name, a.Name))
	}
	err = c.eachRun(ctx, phase, func(run *v1alpha1.MotorRun) {
		total++
		dropContents(run)
		runs = append(runs, *run)
		if len(runs) >= 2*limit+pageSize {
			slices.SortFunc(runs, newest)
			runs = slices.Clone(runs[:limit])
		}
	})
	slices.SortFunc(runs, newest)
	return runs[:min(limit, len(runs))], total, err
}

// dropContents takes the contents of files from a run that is kept: those of some hundred runs would take more memory than a server for many has.
func dropContents(run *v1alpha1.MotorRun) {
	for i := range run.Spec.Files {
		run.Spec.Files[i].Content = nil
	}
	for i := range run.Spec.Responses {
		run.Spec.Responses[i].Files = nil
	}
}

// Run reads a run.
func (c *Client) Run(ctx context.Context, name string) (*v1alpha1.MotorRun, error) {
	run, err := c.runs().Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, fmt.Errorf("there is no run %s in the namespace %s: list them: %w", name, c.namespace, err)
	case err != nil:
		return nil, c.refused("get the run "+name, err, roleViewer)
	}
	return run, nil
}

// Changed says what came of a change of a run.
type Changed struct {
	Run string `json:"runId"`
	// Previous and New are the phase of the run before the change and after it. New is that from before, and Observed false, if the operator has not
	// looked at the change yet.
	Previous v1alpha1.RunPhase `json:"previousStatus"`
	New      v1alpha1.RunPhase `json:"newStatus"`
	Observed bool              `json:"observed"`
}

// Cancel ends a run, in any phase, for ever. To cancel a run that was cancelled, or that has ended, is an error.
func (c *Client) Cancel(ctx context.Context, name string) (*Changed, error) {
	run, err := c.Run(ctx, name)
	switch {
	case err != nil:
		return nil, err
	case run.Status.CompletionTime != nil:
		return nil, fmt.Errorf("the run %s has ended already (%s)", name, run.Status.Reason)
	case run.Spec.Cancel:
		return nil, fmt.Errorf("the run %s is cancelled already", name)
	}
	// A run of the same name that was created meanwhile has another UID.
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": run.UID}, "spec": map[string]any{"cancel": true}})
	if err != nil {
		return nil, err
	}
	changed, err := c.runs().Patch(ctx, name, types.MergePatchType, body, metav1.PatchOptions{})
	switch {
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		return nil, fmt.Errorf("cancel the run %s: it is gone, and another one may have its name", name)
	case err != nil:
		return nil, c.refused("cancel the run "+name, err, roleEditor)
	}
	return c.observed(ctx, run, changed), nil
}

var errObserved = errors.New("observed")

// observed waits a moment until the operator has looked at a change.
func (c *Client) observed(ctx context.Context, before, changed *v1alpha1.MotorRun) *Changed {
	result := &Changed{Run: before.Name, Previous: before.Status.Phase, New: before.Status.Phase}
	ctx, cancel := context.WithTimeoutCause(ctx, c.observe, errObserved)
	defer cancel()
	f := follower{client: c, name: before.Name, uid: before.UID, asked: map[string]*v1alpha1.PendingInput{}}
	f.yield = func(e Event, _ error) bool {
		result.New = e.Run.Status.Phase
		result.Observed = e.Run.Status.ObservedGeneration >= changed.Generation || e.Type == EventEnded
		return !result.Observed
	}
	// A change of the status that is none of an event is found in the end, by reading the run.
	if err := f.look(ctx); err != nil || result.Observed {
		return result
	}
	if now, err := c.runs().Get(context.WithoutCancel(ctx), before.Name, metav1.GetOptions{}); err == nil && now.UID == before.UID {
		result.New, result.Observed = now.Status.Phase, now.Status.ObservedGeneration >= changed.Generation
	}
	return result
}
