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
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// keptFor is how long an answer is kept, and so the greatest age that makes sense.
	keptFor = time.Minute
	// maxAnswers bounds the memory. More answers are not kept, and each run asks for itself.
	maxAnswers = 4096
)

// Creator creates an object.
type Creator interface {
	Create(ctx context.Context, o client.Object, opts ...client.CreateOption) error
}

// Answers has the recent answers about Secrets, Services and rights.
type Answers struct {
	// Live reads past the cache.
	Live client.Reader
	// Reviews asks the API server what a user may do.
	Reviews Creator
	// Now is the process's clock.
	Now func() time.Time

	mu    sync.Mutex
	byKey map[string]*answer
	swept time.Time
}

// answer is what the API server said last to one question. mu is held while the question is asked: all others wait for the same answer.
type answer struct {
	mu  sync.Mutex
	at  time.Time
	is  client.Object
	err error
}

// Within returns a reader whose Secrets and Services are as old as that at most. Everything else is read past it.
func (a *Answers) Within(age time.Duration) client.Reader { return reader{a.Live, a, age} }

// Asking returns a Creator whose reviews are as old as that at most. Everything else is created.
func (a *Answers) Asking(age time.Duration) Creator { return reviewer{a, age} }

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
		is, err := r.answers.to("secret/"+key.String(), r.age, func() (client.Object, error) {
			fresh := &corev1.Secret{}
			return fresh, get(fresh)
		})
		if s, ok := is.(*corev1.Secret); ok && err == nil {
			s.DeepCopyInto(into)
		}
		return err
	case *corev1.Service:
		is, err := r.answers.to("service/"+key.String(), r.age, func() (client.Object, error) {
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
	question, err := json.Marshal(into.Spec)
	if err != nil {
		return fmt.Errorf("encode a review of rights: %w", err)
	}
	is, err := r.answers.to("review/"+into.Namespace+"/"+string(question), r.age, func() (client.Object, error) {
		fresh := into.DeepCopy()
		return fresh, r.answers.Reviews.Create(ctx, fresh, opts...)
	})
	if review, ok := is.(*authorizationv1.LocalSubjectAccessReview); ok && err == nil {
		review.DeepCopyInto(into)
	}
	return err
}

// to returns the answer to a question, and asks unless it is young enough. Errors are not shared, but that there is no such object.
func (a *Answers) to(question string, age time.Duration, ask func() (client.Object, error)) (client.Object, error) {
	k := a.of(question)
	if k == nil {
		return ask()
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if now := a.Now(); !k.at.IsZero() && now.Sub(k.at) < age {
		return k.is, k.err
	}
	// The age counts from before the question: what changed since then may not be in the answer.
	asked := a.Now()
	is, err := ask()
	if err != nil && !apierrors.IsNotFound(err) {
		k.at, k.is, k.err = time.Time{}, nil, nil
		return nil, err
	}
	k.at, k.is, k.err = asked, is, err
	return is, err
}

// of returns the place of an answer, nil if there is none left.
func (a *Answers) of(question string) *answer {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.Now()
	if now.Sub(a.swept) >= keptFor {
		a.sweep(now)
	}
	if k := a.byKey[question]; k != nil {
		return k
	}
	if len(a.byKey) >= maxAnswers {
		return nil
	}
	if a.byKey == nil {
		a.byKey = map[string]*answer{}
	}
	k := &answer{}
	a.byKey[question] = k
	return k
}

// sweep forgets old answers: values of Secrets must not stay in memory for longer than they are of use. The caller holds mu.
func (a *Answers) sweep(now time.Time) {
	a.swept = now
	for question, k := range a.byKey {
		// One that is being asked stays.
		if !k.mu.TryLock() {
			continue
		}
		if now.Sub(k.at) >= keptFor {
			delete(a.byKey, question)
		}
		k.mu.Unlock()
	}
}
