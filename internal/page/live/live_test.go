// SPDX-License-Identifier: Apache-2.0

package live_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/page/live"
	"motorcortex.dev/motorcortex/test/fakecluster"
)

func words(err error) string { return "because: " + err.Error() }

var limits = live.Limits{Pages: 32, PagesOf: 24, Feeds: 16, FeedsOf: 12}

// hub is a hub that ends with the test.
func hub(t *testing.T) *live.Hub {
	t.Helper()
	h := live.New(words, limits)
	t.Cleanup(h.Close)
	return h
}

func subscribe(t *testing.T, h *live.Hub, who string, c client.WithWatch, namespace string) *live.Subscription {
	t.Helper()
	s, err := h.Subscribe(who, c, namespace)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// await reads changes until one is as wanted.
func await(t *testing.T, s *live.Subscription, want live.Change) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		changes, err := s.Next(ctx)
		if err != nil {
			t.Fatalf("%+v did not come: %v", want, err)
		}
		if slices.Contains(changes, want) {
			return
		}
	}
}

// watching waits until the three watches of a feed have begun.
func watching(t *testing.T, began *atomic.Int32, n int32) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for began.Load() < n {
		if time.Now().After(deadline) {
			t.Fatalf("%d watches began, want %d", began.Load(), n)
		}
		<-time.After(time.Millisecond)
	}
}

// counted counts the watches that begin.
func counted(c client.WithWatch, began *atomic.Int32) client.WithWatch {
	return interceptor.NewClient(c, interceptor.Funcs{Watch: func(ctx context.Context, c client.WithWatch, l client.ObjectList, o ...client.ListOption) (watch.Interface, error) {
		w, err := c.Watch(ctx, l, o...)
		began.Add(1)
		return w, err
	}})
}

func TestAPageIsToldWhatChanged(t *testing.T) {
	t.Parallel()
	var began, names atomic.Int32
	c := counted(fakecluster.New(t), &began)
	h := hub(t)
	s, other := subscribe(t, h, "dana", c, ""), subscribe(t, h, "dana", c, "")
	await(t, s, live.Change{Kind: live.KindAll})
	watching(t, &began, 3)
	// A change that comes while anything may have changed is not told by itself, so it is made until it is.
	for _, s := range []*live.Subscription{s, other} {
		for _, change := range []func(name string) (client.Object, live.Change){
			func(name string) (client.Object, live.Change) {
				return fakecluster.Run("ns", name), live.Change{Kind: live.KindRun, Namespace: "ns", Name: name}
			},
			func(name string) (client.Object, live.Change) {
				return fakecluster.Step(fakecluster.Run("ns", name), 1, 1, "bash", "{}", nil), live.Change{Kind: live.KindRun, Namespace: "ns", Name: name}
			},
			func(name string) (client.Object, live.Change) {
				return &v1alpha1.Skill{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}, live.Change{Kind: live.KindSkill, Namespace: "ns", Name: name}
			},
		} {
			for told := false; !told; {
				o, want := change(fmt.Sprintf("n%d", names.Add(1)))
				if err := c.Create(t.Context(), o); err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				changes, err := s.Next(ctx)
				cancel()
				if err != nil {
					t.Fatalf("%+v was not told: %v", want, err)
				}
				told = slices.Contains(changes, want)
			}
		}
	}
	if n := began.Load(); n != 3 {
		t.Errorf("two windows of one person have %d watches, want 3", n)
	}
}

// Persons with different rights never share a watch.
func TestEachPersonHasTheirOwnWatches(t *testing.T) {
	t.Parallel()
	var began atomic.Int32
	c := counted(fakecluster.New(t), &began)
	h := hub(t)
	for i, who := range []string{"dana", "eve"} {
		s := subscribe(t, h, who, c, "ns")
		await(t, s, live.Change{Kind: live.KindAll})
		watching(t, &began, int32(3*(i+1)))
	}
}

// A watch that cannot begin is told in words, and begins when it can.
func TestAWatchBeginsAnew(t *testing.T) {
	t.Parallel()
	var refuse atomic.Bool
	refuse.Store(true)
	c := interceptor.NewClient(fakecluster.New(t), interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, l client.ObjectList, o ...client.ListOption) error {
		if refuse.Load() && l.GetObjectKind().GroupVersionKind().Kind == "MotorRunList" {
			return errors.New("no route to host")
		}
		return c.List(ctx, l, o...)
	}})
	h := hub(t)
	s := subscribe(t, h, "dana", c, "ns")
	await(t, s, live.Change{Kind: live.KindTrouble, Name: "MotorRun", Text: "because: no route to host"})
	// A window that comes later is told at once.
	await(t, subscribe(t, h, "dana", c, "ns"), live.Change{Kind: live.KindTrouble, Name: "MotorRun", Text: "because: no route to host"})
	refuse.Store(false)
	await(t, s, live.Change{Kind: live.KindTrouble, Name: "MotorRun"})
}

func TestSubscriptionsAreBounded(t *testing.T) {
	t.Parallel()
	c := fakecluster.New(t)
	h := hub(t)
	var all []*live.Subscription
	for {
		s, err := h.Subscribe("dana", c, "ns")
		if err != nil {
			if !errors.Is(err, live.ErrFull) || len(all) < 8 {
				t.Fatalf("after %d: %v", len(all), err)
			}
			break
		}
		all = append(all, s)
		if len(all) > 1000 {
			t.Fatal("there is no bound")
		}
	}
	all[0].Close()
	s, err := h.Subscribe("dana", c, "ns")
	if err != nil {
		t.Fatalf("one that ended makes no room: %v", err)
	}
	for _, s := range append(all[1:], s) {
		s.Close()
	}
	for i := 0; ; i++ {
		s, err := h.Subscribe("dana", c, fmt.Sprintf("ns-%d", i))
		if errors.Is(err, live.ErrFull) {
			break
		}
		if err != nil || i > 1000 {
			t.Fatalf("after %d namespaces: %v", i, err)
		}
		defer s.Close()
	}
}

// One person cannot take the windows and the watches of all.
func TestEachPersonHasTheirOwnLimits(t *testing.T) {
	t.Parallel()
	c := fakecluster.New(t)
	subscribed := func(h *live.Hub, who string, namespaces int) (n int) {
		for {
			s, err := h.Subscribe(who, c, fmt.Sprint("ns-", n%namespaces))
			if err != nil {
				return n
			}
			t.Cleanup(s.Close)
			n++
		}
	}
	h := hub(t)
	if got := []int{subscribed(h, "dana", 1), subscribed(h, "eve", 1), subscribed(h, "will", 1)}; !slices.Equal(got, []int{limits.PagesOf, limits.Pages - limits.PagesOf, 0}) {
		t.Errorf("windows: %v", got)
	}
	h = hub(t)
	if got := []int{subscribed(h, "dana", 100), subscribed(h, "eve", 100)}; !slices.Equal(got, []int{limits.FeedsOf, limits.Feeds - limits.FeedsOf}) {
		t.Errorf("namespaces: %v", got)
	}
}

func TestAClosedHubEndsSubscriptions(t *testing.T) {
	t.Parallel()
	h := live.New(words, limits)
	s := subscribe(t, h, "dana", fakecluster.New(t), "ns")
	ended := make(chan error, 1)
	go func() {
		for {
			if _, err := s.Next(context.Background()); err != nil {
				ended <- err
				return
			}
		}
	}()
	h.Close()
	h.Close()
	if err := <-ended; !errors.Is(err, live.ErrClosed) {
		t.Error(err)
	}
	if _, err := h.Subscribe("dana", fakecluster.New(t), "ns"); err == nil {
		t.Error("a closed hub has subscriptions")
	}
}
