// SPDX-License-Identifier: Apache-2.0

package recent

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
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
	// takes is how long a read takes, unless its caller gives up.
	takes   time.Duration
	down    atomic.Bool
	allowed atomic.Bool
	now     time.Time
	answers *Answers
}

func newServer(t *testing.T) *server {
	t.Helper()
	s := &server{t: t, now: time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)}
	s.c = fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			s.gets.Add(1)
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(s.takes):
			}
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

func TestAnErrorIsNotKept(t *testing.T) {
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

// read reads the Secret in the background, and returns where the error is sent.
func (s *server) read(ctx context.Context, age time.Duration) <-chan error {
	ended := make(chan error, 1)
	go func() {
		var secret corev1.Secret
		ended <- s.answers.Within(age).Get(ctx, types.NamespacedName{Namespace: "ns", Name: "keys"}, &secret)
	}()
	return ended
}

// Runs that accept no old answer wait for one request that is under way, and then for one that they make together.
func TestRunsThatAcceptNoOldAnswerAskTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		s.put("first")
		s.takes = 100 * time.Millisecond
		began := time.Now()
		first := s.read(t.Context(), 0)
		synctest.Wait()
		var others []<-chan error
		for range 20 {
			others = append(others, s.read(t.Context(), 0))
		}
		for _, ended := range append(others, first) {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
		// One answer may be older than the change that they know of.
		if took := time.Since(began); took > 2*s.takes || s.gets.Load() != 2 {
			t.Errorf("%d requests in %s", s.gets.Load(), took)
		}
	})
}

func TestTheErrorOfARequestIsThatOfAllWhoWaitForIt(t *testing.T) {
	t.Parallel()
	for _, age := range []time.Duration{0, time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			s := newServer(t)
			s.takes = time.Minute
			s.down.Store(true)
			began := time.Now()
			var all []<-chan error
			for range 20 {
				all = append(all, s.read(t.Context(), age))
			}
			for _, ended := range all {
				if err := <-ended; err == nil {
					t.Error("no error")
				}
			}
			if took := time.Since(began); took > s.takes || s.gets.Load() != 1 {
				t.Errorf("age %s: %d requests in %s", age, s.gets.Load(), took)
			}
		})
	}
}

// A run that ends meanwhile must not wait for the request of another, and its own must not fail those of others.
func TestACallerThatIsCancelledReturnsAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		s.put("first")
		s.takes = time.Minute
		asking, stopAsking := context.WithCancel(t.Context())
		waiting, stopWaiting := context.WithCancel(t.Context())
		asks := s.read(asking, time.Minute)
		synctest.Wait()
		waits, other := s.read(waiting, time.Minute), s.read(t.Context(), time.Minute)
		synctest.Wait()
		began := time.Now()
		stopWaiting()
		if err := <-waits; !errors.Is(err, context.Canceled) || time.Since(began) > 0 {
			t.Errorf("%v after %s", err, time.Since(began))
		}
		stopAsking()
		if err := <-asks; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		if err := <-other; err != nil || s.gets.Load() != 2 {
			t.Errorf("%v after %d requests", err, s.gets.Load())
		}
	})
}

// Those who wait for it would wait for ever.
func TestARequestThatPanicsHasEnded(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.put("first")
	q := question{"secret", "ns", "keys"}
	func() {
		defer func() { _ = recover() }()
		_, _ = s.answers.to(t.Context(), q, 0, func() (client.Object, error) { panic("a fault") })
	}()
	if got := s.value(time.Minute); got != "first" || len(s.answers.open) > 0 {
		t.Errorf("%q with %d requests under way", got, len(s.answers.open))
	}
}
