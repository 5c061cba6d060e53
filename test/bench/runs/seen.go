// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/sandbox"
)

// Moment is something that a watcher sees happen to a run, or to a plain Pod.
type Moment string

// The moments of a run and of its sandbox, in the order in which they come.
const (
	PodCreated   Moment = "sandbox Pod created"
	PodScheduled Moment = "Pod scheduled"
	PodRunning   Moment = "Pod runs"
	PodReady     Moment = "Pod ready"
	SandboxReady Moment = "SandboxReady in the status"
	StepRecorded Moment = "first step recorded"
	FirstResult  Moment = "first tool result recorded"
	Asked        Moment = "question in the status"
	NextStep     Moment = "second step recorded"
	LastResult   Moment = "last tool result of many recorded"
	Finished     Moment = "Finished in the status"
)

// seen has the time at which a watcher saw each moment first, by the name of the run or plain Pod.
type seen struct {
	mu      sync.Mutex
	changed chan struct{}
	at      map[string]map[Moment]time.Time
	runs    map[string]*v1alpha1.MotorRun
	steps   map[string]map[string]*v1alpha1.MotorStep
}

func newSeen() *seen {
	return &seen{
		changed: make(chan struct{}), at: map[string]map[Moment]time.Time{},
		runs: map[string]*v1alpha1.MotorRun{}, steps: map[string]map[string]*v1alpha1.MotorStep{},
	}
}

// moments returns the name of the run or plain Pod that an object is about, and what is true of it.
func moments(o client.Object) (string, []Moment) {
	switch o := o.(type) {
	case *corev1.Pod:
		name := sandbox.RunOf(o)
		if name == "" {
			name = o.Name
		}
		return name, momentsOfPod(o)
	case *v1alpha1.MotorRun:
		return o.Name, momentsOfRun(o)
	case *v1alpha1.MotorStep:
		return o.Labels[v1alpha1.LabelRun], momentsOfStep(o)
	}
	return "", nil
}

func momentsOfPod(p *corev1.Pod) []Moment {
	all := []Moment{PodCreated}
	if p.Spec.NodeName != "" {
		all = append(all, PodScheduled)
	}
	if p.Status.Phase == corev1.PodRunning {
		all = append(all, PodRunning)
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
			all = append(all, PodReady)
		}
	}
	return all
}

func momentsOfRun(r *v1alpha1.MotorRun) (all []Moment) {
	if apimeta.IsStatusConditionTrue(r.Status.Conditions, v1alpha1.ConditionSandboxReady) {
		all = append(all, SandboxReady)
	}
	if r.Status.Pending() != nil {
		all = append(all, Asked)
	}
	if apimeta.IsStatusConditionTrue(r.Status.Conditions, v1alpha1.ConditionFinished) {
		all = append(all, Finished)
	}
	return all
}

func momentsOfStep(s *v1alpha1.MotorStep) []Moment {
	switch done := len(s.Status.Results) > 0; {
	case s.Spec.Index == 1 && done:
		return []Moment{StepRecorded, FirstResult}
	case s.Spec.Index == 1:
		return []Moment{StepRecorded}
	case s.Spec.Index == 2:
		return []Moment{NextStep}
	case s.Spec.Index == manySteps && done:
		return []Moment{LastResult}
	}
	return nil
}

// see notes what an object shows, at a time.
func (s *seen) see(o client.Object, now time.Time) {
	name, all := moments(o)
	if name == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch o := o.(type) {
	case *v1alpha1.MotorRun:
		s.runs[name] = o
	case *v1alpha1.MotorStep:
		if s.steps[name] == nil {
			s.steps[name] = map[string]*v1alpha1.MotorStep{}
		}
		s.steps[name][o.Name] = o
	}
	if s.at[name] == nil {
		s.at[name] = map[Moment]time.Time{}
	}
	for _, m := range all {
		if s.at[name][m].IsZero() {
			s.at[name][m] = now
		}
	}
	close(s.changed)
	s.changed = make(chan struct{})
}

// await returns the moments of a run or plain Pod once the last one of them was seen.
func (s *seen) await(ctx context.Context, name string, last Moment) (map[Moment]time.Time, error) {
	for {
		s.mu.Lock()
		at, changed, run := s.at[name], s.changed, s.runs[name]
		if failed := run != nil && run.Status.Result != nil && !run.Status.Result.OK; failed {
			s.mu.Unlock()
			return nil, fmt.Errorf("run %s failed: %s", name, run.Status.Message)
		}
		if !at[last].IsZero() {
			defer s.mu.Unlock()
			return maps.Clone(at), nil
		}
		s.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, fmt.Errorf("%q of %s was not seen: %w", last, name, context.Cause(ctx))
		}
	}
}

// next returns a channel that is closed when a watcher has seen something more.
func (s *seen) next() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}

// run returns a run as it was seen last, and its steps.
func (s *seen) run(name string) (*v1alpha1.MotorRun, []*v1alpha1.MotorStep) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var steps []*v1alpha1.MotorStep
	for _, step := range s.steps[name] {
		steps = append(steps, step)
	}
	return s.runs[name], steps
}

// forget drops what was seen of a run.
func (s *seen) forget(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.at, name)
	delete(s.runs, name)
	delete(s.steps, name)
}

// follow watches a kind of object in a namespace until ctx ends. It calls started when the watch is there. A watch that breaks off is continued where
// it was: the API server ends one that does not keep up when hundreds of runs are created.
func (s *seen) follow(ctx context.Context, c client.WithWatch, namespace string, list client.ObjectList, started func()) error {
	version := ""
	for ctx.Err() == nil {
		w, err := c.Watch(ctx, list, client.InNamespace(namespace), &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: version}})
		if err == nil {
			if started != nil {
				started()
				started = nil
			}
			version, err = s.take(ctx, w, version)
			w.Stop()
		}
		if err != nil && ctx.Err() == nil {
			return fmt.Errorf("watch %T: %w", list, err)
		}
		// A server that ends each watch at once must not be asked in a loop without a pause.
		_ = wait(ctx, 10*time.Millisecond)
	}
	return nil
}

// take notes what a watch shows until it ends or ctx does, and returns the version of the last object.
func (s *seen) take(ctx context.Context, w watch.Interface, version string) (string, error) {
	for {
		select {
		case <-ctx.Done():
			return version, nil
		case event, open := <-w.ResultChan():
			if !open {
				return version, nil
			}
			if event.Type == watch.Error {
				return version, apierrors.FromObject(event.Object)
			}
			now := time.Now()
			o, ok := event.Object.(client.Object)
			if !ok {
				continue
			}
			version = o.GetResourceVersion()
			if event.Type != watch.Deleted {
				s.see(o, now)
			}
		}
	}
}
