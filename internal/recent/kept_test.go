// SPDX-License-Identifier: Apache-2.0

package recent

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// secretOf returns an answer with a Secret of that many bytes.
func secretOf(bytes int, at time.Time) *request {
	return &request{at: at, is: &corev1.Secret{Data: map[string][]byte{"key": make([]byte, bytes)}}}
}

func TestTheMemoryIsBounded(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		namespaces, secrets, bytes int
		// most is the greatest number of answers that are kept, and least the smallest.
		least, most int
	}{
		"large Secrets":         {1, 300, 1 << 20, 0, 0},
		"one namespace":         {1, 3000, 32 << 10, 50, 64},
		"small ones":            {1, 5000, 16, 1000, 2048},
		"many namespaces":       {100, 10, 32 << 10, 200, 256},
		"Secrets of all others": {4, 500, 100, 2000, 2000},
	} {
		var k kept
		for n := range tt.namespaces {
			for i := range tt.secrets {
				k.keep(question{"secret", fmt.Sprint("ns-", n), fmt.Sprint(i)}, secretOf(tt.bytes, time.Time{}))
			}
		}
		if got := len(k.answers); got < tt.least || got > tt.most || k.bytes > maxBytes || k.ofNamespace["ns-0"] > maxOfNamespace {
			t.Errorf("%s: %d answers of %d bytes", name, got, k.bytes)
		}
		for q := range k.answers {
			k.forget(q)
		}
		if k.bytes != 0 || len(k.ofNamespace) > 0 {
			t.Errorf("%s: %d bytes of nothing, and %v", name, k.bytes, k.ofNamespace)
		}
	}
}

// A namespace that fills its part leaves room for others.
func TestANamespaceDoesNotTakeAllRoom(t *testing.T) {
	t.Parallel()
	var k kept
	for i := range 10000 {
		k.keep(question{"secret", "greedy", fmt.Sprint(i)}, secretOf(1000, time.Time{}))
	}
	k.keep(question{"secret", "other", "keys"}, secretOf(1000, time.Time{}))
	if k.answers[question{"secret", "other", "keys"}] == nil {
		t.Error("there is no room for the Secret of another namespace")
	}
}

// Values of Secrets go from memory although no run asks again.
func TestAnswersAreForgottenWithoutAnotherQuestion(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		s.answers.Now = time.Now
		s.put("first")
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- s.answers.Start(ctx) }()
		count := func() int {
			s.answers.mu.Lock()
			defer s.answers.mu.Unlock()
			return len(s.answers.kept.answers)
		}
		<-time.After(time.Second)
		s.value(time.Minute)
		if count() != 1 {
			t.Error("the answer is not kept")
		}
		<-time.After(keptFor * 3 / 2)
		if count() != 0 {
			t.Error("the answer is still there")
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
