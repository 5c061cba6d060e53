// SPDX-License-Identifier: Apache-2.0

package skills

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/engine/enginetest"
	"motorcortex.dev/motorcortex/internal/engine/fairsemaphore"
	"motorcortex.dev/motorcortex/internal/engine/runenv"
)

// deadlines records the deadlines of the calls of the API server: last is the latest.
type deadlines struct {
	mu   sync.Mutex
	last time.Time
}

func (d *deadlines) note(ctx context.Context) {
	d.mu.Lock()
	defer d.mu.Unlock()
	until, ok := ctx.Deadline()
	if !ok {
		until = time.Now().Add(24 * time.Hour)
	}
	if until.After(d.last) {
		d.last = until
	}
}

// watch returns a client whose calls are recorded.
func (d *deadlines) watch(c client.WithWatch) client.WithWatch {
	return interceptor.NewClient(c, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			d.note(ctx)
			return c.Get(ctx, key, o, opts...)
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			d.note(ctx)
			return c.List(ctx, list, opts...)
		},
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			d.note(ctx)
			return c.Create(ctx, o, opts...)
		},
	})
}

// A loop that has to wait for a permit does nothing without it, nothing if the Lease was lost meanwhile, and has a bounded time for its
// work then.
func TestLoopsWaitForTheirTurnWithSkills(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		semaphore func(*runenv.Limits) *fairsemaphore.Semaphore
		permits   int
		// start returns the waiting function, done reports whether it did anything.
		start func(*skillRig) func(context.Context) error
		done  func(*skillRig) bool
	}{
		"seeding": {
			func(l *runenv.Limits) *fairsemaphore.Semaphore { return &l.Seeding }, runenv.MaxSeeding,
			(*skillRig).seed,
			func(r *skillRig) bool { return len(r.sandbox.put) > 0 },
		},
		"collecting": {
			func(l *runenv.Limits) *fairsemaphore.Semaphore { return &l.Collecting }, runenv.MaxCollecting,
			func(r *skillRig) func(context.Context) error {
				c := r.collector()
				return func(ctx context.Context) error { return c.folder(ctx, &r.sandbox.list.Folders[0], c.found(time.Hour)) }
			},
			func(r *skillRig) bool { return len(r.revisions()) > 1 },
		},
		"making a Skill": {
			func(l *runenv.Limits) *fairsemaphore.Semaphore { return &l.NewSkills }, 1,
			func(r *skillRig) func(context.Context) error {
				c := r.collector()
				return func(ctx context.Context) error {
					_, _, err := c.newSkill(ctx, "new")
					return err
				}
			},
			func(r *skillRig) bool {
				return r.client.Get(r.t.Context(), client.ObjectKey{Namespace: "ns", Name: "new"}, &v1alpha1.Skill{}) == nil
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, calls := newSkillRig(t), &deadlines{}
			r.pin("mail", threeParts()...)
			r.sandbox.has(".", "SKILL.md", manifestOf("mail", "y"))
			watched := calls.watch(r.client)
			r.env.Client, r.env.Live = watched, watched
			do, g := tt.start(r), tt.semaphore(r.env.Limits)
			leave := enginetest.Fill(t, g, tt.permits)

			why := errors.New("the run is over")
			ctx, cancel := context.WithCancelCause(t.Context())
			cancel(why)
			if err := do(ctx); !errors.Is(err, why) || tt.done(r) {
				t.Errorf("without a permit: %v", err)
			}
			wait := func(then func()) error {
				return enginetest.WhileWaiting(g, tt.permits, func() error { return do(t.Context()) }, then)
			}
			if err := wait(func() { r.lease.Lose(true); leave() }); !errors.Is(err, runenv.ErrNoLease) || tt.done(r) {
				t.Errorf("without the Lease: %v", err)
			}
			r.lease.Lose(false)
			leave, err := g.Acquire(t.Context(), "last", tt.permits)
			r.must(err)
			calls.last = time.Time{}
			if err := wait(leave); err != nil || !tt.done(r) {
				t.Errorf("with a permit: %v", err)
			}
			if left := time.Until(calls.last); left > time.Minute {
				t.Errorf("it may keep its permit for %v", left)
			}
			if n := g.Len(); n != tt.permits-1 {
				t.Errorf("of %d others %d are left", tt.permits-1, n)
			}
		})
	}
}

// found returns the state of a collection before the first folder.
func (c *Collector) found(left time.Duration) *found {
	return &found{collector: c, names: map[string]bool{}, folders: map[string]bool{}, left: left}
}

// Slow others do not use up the time that a run has for its skills.
func TestWaitingTakesNoTimeToCollect(t *testing.T) {
	t.Parallel()
	r := newSkillRig(t)
	r.sandbox.has(".", "SKILL.md", manifestOf("mail", "x"))
	c := r.collector()
	found := c.found(time.Hour)
	leave := enginetest.Fill(r.t, &r.env.Limits.Collecting, runenv.MaxCollecting)
	var left time.Time
	err := enginetest.WhileWaiting(&r.env.Limits.Collecting, runenv.MaxCollecting, func() error { return c.folder(t.Context(), &r.sandbox.list.Folders[0], found) }, func() {
		<-time.After(20 * time.Millisecond)
		left = time.Now()
		leave()
	})
	if counted, since := time.Hour-found.left, time.Since(left); err != nil || len(found.Created) != 1 || counted <= 0 || counted > since {
		t.Errorf("%v, and %v count of the %v since there was a permit: %+v", err, counted, since, found.SkillsResult)
	}
}

// A loop that loses the Lease in the middle of proposing proposes nothing.
func TestSkillIsNotProposedWithoutTheLease(t *testing.T) {
	t.Parallel()
	r := newSkillRig(t)
	r.sandbox.has(".", "SKILL.md", manifestOf("mail", "x"))
	r.before = func(o client.Object) error {
		if _, ok := o.(*v1alpha1.Skill); ok {
			r.lease.Lose(true)
		}
		return nil
	}
	got, err := r.collector().Collect(t.Context(), time.Minute)
	if names := r.revisions(); !errors.Is(err, runenv.ErrNoLease) || len(names) > 0 {
		t.Errorf("%+v %v: there are %v", got, err, names)
	}
}
