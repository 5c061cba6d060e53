// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/lookup"
	"motorcortex.dev/motorcortex/internal/cli/verb"
	"motorcortex.dev/motorcortex/internal/pending"
)

const (
	// patience is for how long the API server may be away before that ends the verb.
	patience = time.Minute
	// pause is between two tries to reach it.
	pause = time.Second
	// quiet is how long a run is not read while no event tells of a change.
	quiet = 30 * time.Second
)

// Options say how long to follow a run.
type Options struct {
	// Timeout ends it, 0 for never.
	Timeout time.Duration
	// UntilAsked ends it as soon as the run waits for a person.
	UntilAsked bool
	// WithoutSteps leaves the steps unread, for who needs the run alone.
	WithoutSteps bool
	// Trouble, if it is set, is told each time that the API server cannot be asked.
	Trouble func(error)
}

// Reader is shown the run and its steps each time that they were read. Reporter is one.
type Reader interface {
	// Steps are all steps, in their order.
	Steps(steps []v1alpha1.MotorStep)
	// Run reports whether the run has ended.
	Run(run *v1alpha1.MotorRun) (ended bool)
	// End is called last, if the run has ended.
	End()
}

// Run shows what the run does until it has ended, and returns nil if it succeeded, verb.ErrNo if not, and verb.ErrWaits if it waits for a person
// when the time is over.
func Run(ctx context.Context, c client.WithWatch, p Reader, run *v1alpha1.MotorRun, o Options) error {
	within := ctx
	if o.Timeout > 0 {
		var cancel context.CancelFunc
		within, cancel = context.WithTimeout(ctx, o.Timeout)
		defer cancel()
	}
	trouble := o.Trouble
	if trouble == nil {
		trouble = func(error) {}
	}
	for failedSince := (time.Time{}); ; {
		now, done, err := look(within, c, p, run, o)
		if now != nil {
			run = now
		}
		switch {
		case done:
			return result(run)
		case ctx.Err() != nil:
			return errors.New("interrupted; the run goes on without you")
		case within.Err() != nil && len(pending.Open(run)) > 0:
			return verb.ErrWaits
		case within.Err() != nil:
			return fmt.Errorf("%s has not ended after %s, it goes on without you: %w", run.Name, o.Timeout, verb.ErrTimeout)
		case err == nil:
			failedSince = time.Time{}
			continue
		case apierrors.IsForbidden(err), apierrors.IsNotFound(err), errors.Is(err, errGone):
			return err
		case failedSince.IsZero():
			failedSince = time.Now()
		case time.Since(failedSince) > patience:
			return err
		}
		trouble(err)
		select {
		case <-within.Done():
		case <-time.After(pause):
		}
	}
}

var errGone = errors.New("the run was deleted")

// look reads run and steps, shows them, and returns when something may have happened since.
func look(ctx context.Context, c client.WithWatch, p Reader, run *v1alpha1.MotorRun, o Options) (now *v1alpha1.MotorRun, done bool, err error) {
	var steps []v1alpha1.MotorStep
	var version string
	if !o.WithoutSteps {
		if steps, version, err = lookup.StepsAt(ctx, c, run); err != nil {
			return nil, false, err
		}
	}
	now = &v1alpha1.MotorRun{}
	if err := c.Get(ctx, client.ObjectKeyFromObject(run), now); apierrors.IsNotFound(err) {
		return nil, false, fmt.Errorf("%s/%s: %w", run.Namespace, run.Name, errGone)
	} else if err != nil {
		return nil, false, err
	}
	if now.UID != run.UID {
		return nil, false, fmt.Errorf("%s/%s: %w, and there is another one of its name", run.Namespace, run.Name, errGone)
	}
	p.Steps(steps)
	if p.Run(now) {
		if !o.WithoutSteps {
			// The last step may have been written between the two reads.
			if steps, err = lookup.Steps(ctx, c, now); err != nil {
				return now, false, err
			}
			p.Steps(steps)
		}
		p.End()
		return now, true, nil
	}
	if o.WithoutSteps {
		version = now.ResourceVersion
	}
	if o.UntilAsked && len(pending.Open(now)) > 0 {
		return now, true, nil
	}
	return now, false, await(ctx, c, now, version, o.WithoutSteps)
}

// await returns when the run or one of its steps has changed since a version, and else after a while.
func await(ctx context.Context, c client.WithWatch, run *v1alpha1.MotorRun, version string, withoutSteps bool) error {
	ctx, cancel := context.WithTimeout(ctx, quiet)
	defer cancel()
	// A watch writes its selectors into these options: two watches with the same would both have those of either.
	since := func() client.ListOption {
		return &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: version}}
	}
	runs, err := c.Watch(ctx, &v1alpha1.MotorRunList{}, since(), client.InNamespace(run.Namespace),
		client.MatchingFieldsSelector{Selector: fields.OneTermEqualSelector("metadata.name", run.Name)})
	if err != nil {
		return settled(ctx, err)
	}
	defer runs.Stop()
	// Without steps there are no events of them: nothing comes out of a channel that is nil.
	var ofSteps <-chan watch.Event
	if !withoutSteps {
		steps, err := c.Watch(ctx, &v1alpha1.MotorStepList{}, since(), client.InNamespace(run.Namespace), client.MatchingLabels{v1alpha1.LabelRun: run.Name})
		if err != nil {
			return settled(ctx, err)
		}
		defer steps.Stop()
		ofSteps = steps.ResultChan()
	}
	var e watch.Event
	var open bool
	select {
	case e, open = <-runs.ResultChan():
	case e, open = <-ofSteps:
	case <-ctx.Done():
		return nil
	}
	if !open || e.Type == watch.Error {
		return errors.New("the API server ended the watch")
	}
	return nil
}

// settled is nil for the error of a wait that was over.
func settled(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil //nolint:nilerr // The wait has a time, after which the run is read again.
	}
	return err
}

// result is the error that stands for the outcome of a run.
func result(run *v1alpha1.MotorRun) error {
	switch {
	case run.Status.CompletionTime == nil:
		return verb.ErrWaits
	case apimeta.IsStatusConditionTrue(run.Status.Conditions, v1alpha1.ConditionSucceeded):
		return nil
	}
	return verb.ErrNo
}
