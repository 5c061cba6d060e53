// SPDX-License-Identifier: Apache-2.0

package recent

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// server is an API server that counts.
type server struct {
	t             *testing.T
	c             client.WithWatch
	gets, reviews atomic.Int32
	down          atomic.Bool
	allowed       atomic.Bool
	now           time.Time
	answers       *Answers
}

func newServer(t *testing.T) *server {
	t.Helper()
	s := &server{t: t, now: time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)}
	s.c = fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			s.gets.Add(1)
			if s.down.Load() {
				return errors.New("connection refused")
			}
			return c.Get(ctx, key, o, opts...)
		},
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if review, ok := o.(*authorizationv1.LocalSubjectAccessReview); ok {
				s.reviews.Add(1)
				review.Status.Allowed = s.allowed.Load()
				return nil
			}
			return c.Create(ctx, o, opts...)
		},
	}).Build()
	s.answers = &Answers{Live: s.c, Reviews: s.c, Now: func() time.Time { return s.now }}
	return s
}

func (s *server) put(value string) {
	s.t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "keys"}, Data: map[string][]byte{"key": []byte(value)}}
	if err := client.IgnoreNotFound(s.c.Delete(s.t.Context(), secret.DeepCopy())); err != nil {
		s.t.Fatal(err)
	}
	if err := s.c.Create(s.t.Context(), secret); err != nil {
		s.t.Fatal(err)
	}
}

func (s *server) value(age time.Duration) string {
	s.t.Helper()
	var secret corev1.Secret
	err := s.answers.Within(age).Get(s.t.Context(), types.NamespacedName{Namespace: "ns", Name: "keys"}, &secret)
	if apierrors.IsNotFound(err) {
		return "none"
	}
	if err != nil {
		return err.Error()
	}
	value := string(secret.Data["key"])
	// What a caller does with its copy must not be seen by others.
	secret.Data["key"][0] = '!'
	return value
}

func TestAnswersAreSharedForAsLongAsTheirAgeIsAccepted(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	for _, step := range []struct {
		name       string
		later, age time.Duration
		put        string
		want       string
		gets       int32
	}{
		{"there is none", 0, 5 * time.Second, "", "none", 1},
		{"there is one that nobody has seen", time.Second, 5 * time.Second, "first", "none", 1},
		{"who accepts no old answer sees it", 0, 0, "", "first", 2},
		{"and all others then", 0, 5 * time.Second, "", "first", 2},
		{"another value", 4 * time.Second, 5 * time.Second, "second", "first", 2},
		{"when the answer is too old", time.Second, 5 * time.Second, "", "second", 3},
		{"who accepts older ones", 30 * time.Second, 31 * time.Second, "third", "second", 3},
		{"after it was forgotten", time.Hour, 2 * time.Hour, "", "third", 4},
	} {
		s.now = s.now.Add(step.later)
		if step.put != "" {
			s.put(step.put)
		}
		if got := s.value(step.age); got != step.want || s.gets.Load() != step.gets {
			t.Errorf("%s: %q after %d reads, want %q after %d", step.name, got, s.gets.Load(), step.want, step.gets)
		}
	}
}

func TestAnErrorIsNotShared(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.put("first")
	s.down.Store(true)
	if got := s.value(time.Minute); got != "connection refused" {
		t.Errorf("got %q", got)
	}
	s.down.Store(false)
	if got := s.value(time.Minute); got != "first" {
		t.Errorf("got %q", got)
	}
}

func TestReviewsAreSharedByUserAndRight(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	ask := func(namespace, user string, age time.Duration) bool {
		t.Helper()
		review := &authorizationv1.LocalSubjectAccessReview{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace}, Spec: authorizationv1.SubjectAccessReviewSpec{User: user},
		}
		if err := s.answers.Asking(age).Create(t.Context(), review); err != nil {
			t.Fatal(err)
		}
		return review.Status.Allowed
	}
	s.allowed.Store(true)
	for range 2 {
		if !ask("ns", "alice", time.Minute) || s.reviews.Load() != 1 {
			t.Errorf("alice was asked about %d times", s.reviews.Load())
		}
	}
	s.allowed.Store(false)
	if !ask("ns", "alice", time.Minute) || ask("ns", "bob", time.Minute) || ask("other", "alice", time.Minute) || ask("ns", "alice", 0) {
		t.Error("the right of one user in one namespace is that of another, or does not end")
	}
}

// Runs that ask at the same time wait for one answer.
func TestOneQuestionIsAskedOnce(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.put("first")
	before := s.gets.Load()
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			var secret corev1.Secret
			if err := s.answers.Within(time.Second).Get(t.Context(), types.NamespacedName{Namespace: "ns", Name: "keys"}, &secret); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got := s.gets.Load() - before; got != 1 {
		t.Errorf("%d reads", got)
	}
}

func TestTheMemoryIsBounded(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	get := func(i int) {
		t.Helper()
		var service corev1.Service
		err := s.answers.Within(time.Minute).Get(t.Context(), types.NamespacedName{Namespace: "ns", Name: fmt.Sprint(i)}, &service)
		if !apierrors.IsNotFound(err) {
			t.Fatalf("got %v", err)
		}
	}
	for i := range maxAnswers + 10 {
		get(i)
	}
	if got := len(s.answers.byKey); got != maxAnswers {
		t.Errorf("%d answers are kept", got)
	}
	s.now = s.now.Add(keptFor)
	get(0)
	if got := len(s.answers.byKey); got != 1 {
		t.Errorf("%d answers are kept after a minute", got)
	}
}
