// SPDX-License-Identifier: Apache-2.0

// Package recent shares answers of the API server among the runs of a process. Secrets of runs are not watched, because that would take the right to
// list all of them. So each run reads them again and again, and runs that wait for the same Secret would make as many requests as there are runs.
package recent

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Creator creates an object.
type Creator interface {
	Create(ctx context.Context, o client.Object, opts ...client.CreateOption) error
}

// Answers has the recent answers about Secrets, Services and rights. It must be started, or it forgets nothing but answers that are replaced.
type Answers struct {
	// Live reads past the cache.
	Live client.Reader
	// Reviews asks the API server what a user may do.
	Reviews Creator
	// Now is the process's clock.
	Now func() time.Time

	mu sync.Mutex
	// begun counts the requests so far, and open are those under way.
	begun uint64
	open  map[question]*request
	kept  kept
}

// Within returns a reader whose Secrets and Services are as old as that at most. Everything else is read past it.
func (a *Answers) Within(age time.Duration) client.Reader { return reader{a.Live, a, age} }

// Asking returns a Creator whose reviews are as old as that at most. Everything else is created.
func (a *Answers) Asking(age time.Duration) Creator { return reviewer{a, age} }

// NeedLeaderElection is false: all replicas of the manager read Secrets.
func (a *Answers) NeedLeaderElection() bool { return false }

// Start forgets answers when they are of no use any more, until the manager ends: values of Secrets must not stay in memory because no run asks again.
func (a *Answers) Start(ctx context.Context) error {
	tick := time.NewTicker(keptFor / 2)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			a.mu.Lock()
			a.kept.forgetBefore(a.Now().Add(-keptFor))
			a.mu.Unlock()
		}
	}
}

type reader struct {
	client.Reader
	answers *Answers
	age     time.Duration
}

// Get implements client.Reader.
func (r reader) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	get := func(o client.Object) error { return r.Reader.Get(ctx, key, o, opts...) }
	switch into := o.(type) {
	case *corev1.Secret:
		is, err := r.answers.to(ctx, question{"secret", key.Namespace, key.Name}, r.age, func() (client.Object, error) {
			fresh := &corev1.Secret{}
			return fresh, get(fresh)
		})
		if s, ok := is.(*corev1.Secret); ok && err == nil {
			s.DeepCopyInto(into)
		}
		return err
	case *corev1.Service:
		is, err := r.answers.to(ctx, question{"service", key.Namespace, key.Name}, r.age, func() (client.Object, error) {
			fresh := &corev1.Service{}
			return fresh, get(fresh)
		})
		if s, ok := is.(*corev1.Service); ok && err == nil {
			s.DeepCopyInto(into)
		}
		return err
	}
	return get(o)
}

type reviewer struct {
	answers *Answers
	age     time.Duration
}

// Create implements Creator.
func (r reviewer) Create(ctx context.Context, o client.Object, opts ...client.CreateOption) error {
	into, ok := o.(*authorizationv1.LocalSubjectAccessReview)
	if !ok {
		return r.answers.Reviews.Create(ctx, o, opts...)
	}
	spec, err := json.Marshal(into.Spec)
	if err != nil {
		return fmt.Errorf("encode a review of rights: %w", err)
	}
	is, err := r.answers.to(ctx, question{"review", into.Namespace, string(spec)}, r.age, func() (client.Object, error) {
		fresh := into.DeepCopy()
		return fresh, r.answers.Reviews.Create(ctx, fresh, opts...)
	})
	if review, ok := is.(*authorizationv1.LocalSubjectAccessReview); ok && err == nil {
		review.DeepCopyInto(into)
	}
	return err
}

// request is one request to the API server, and what it said.
type request struct {
	// number is the place of this request among all of the process, and at is when it began: what changed since then may not be in the answer.
	number uint64
	at     time.Time
	// done is closed when it has ended. What follows does not change then.
	done chan struct{}
	is   client.Object
	err  error
	// own is true if it ended for a reason that concerns its caller alone.
	own bool
}

// to returns the answer to a question, and asks unless there is one that is young enough: one that is kept, or one to a request that began after
// this caller came. It waits for a request under way, also if the answer will be too old: then all callers that came meanwhile make one more request
// together. An error is that of all callers that waited, so that they do not wait for one timeout after another.
func (a *Answers) to(ctx context.Context, q question, age time.Duration, ask func() (client.Object, error)) (client.Object, error) {
	a.mu.Lock()
	before, oldest := a.begun, a.Now().Add(-min(age, keptFor))
	suits := func(r *request) bool { return r.number > before || r.at.After(oldest) }
	for {
		if r := a.kept.answers[q]; r != nil && suits(r) {
			a.mu.Unlock()
			return r.is, r.err
		}
		r := a.open[q]
		if r == nil {
			break
		}
		a.mu.Unlock()
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for the same question of another run: %w", context.Cause(ctx))
		case <-r.done:
		}
		if !r.own && (suits(r) || !isAnswer(r.err)) {
			return r.is, r.err
		}
		a.mu.Lock()
	}
	r := a.begin(q)
	a.mu.Unlock()
	defer a.end(q, r)
	is, err := ask()
	if err == nil {
		r.is = is
	}
	// A panic sets nothing. A request that failed because its caller was cancelled says nothing to others.
	r.err, r.own = err, err != nil && ctx.Err() != nil
	return r.is, err
}

// begin notes a request. The caller holds mu.
func (a *Answers) begin(q question) *request {
	a.begun++
	r := &request{number: a.begun, at: a.Now(), done: make(chan struct{}), own: true}
	if a.open == nil {
		a.open = map[question]*request{}
	}
	a.open[q] = r
	return r
}

// end notes that a request has ended, and keeps its answer.
func (a *Answers) end(q question, r *request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.open, q)
	a.kept.forget(q)
	if !r.own && isAnswer(r.err) {
		a.kept.keep(q, r)
	}
	close(r.done)
}
