// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"io"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/engine/enginetest"
	"motorcortex.dev/motorcortex/internal/engine/runenv"
)

// leaseServer holds one Lease as the API server does. Its requests go through decide, if that is set.
type leaseServer struct {
	coordinationv1client.LeaseInterface
	mu      sync.Mutex
	lease   *coordinationv1.Lease
	version int
	writes  int
	// decide gets the function that carries the request out.
	decide func(ctx context.Context, carryOut func() error) error
}

func (s *leaseServer) Leases(string) coordinationv1client.LeaseInterface { return s }

func (s *leaseServer) request(ctx context.Context, carryOut func() error) error {
	locked := func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		return carryOut()
	}
	s.mu.Lock()
	decide := s.decide
	s.mu.Unlock()
	if decide == nil {
		return locked()
	}
	return decide(ctx, locked)
}

func (s *leaseServer) set(decide func(ctx context.Context, carryOut func() error) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.decide = decide
}

func (s *leaseServer) now() (lease *coordinationv1.Lease, writes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lease.DeepCopy(), s.writes
}

var leases = schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}

func (s *leaseServer) store(o *coordinationv1.Lease) *coordinationv1.Lease {
	s.version++
	s.writes++
	s.lease = o.DeepCopy()
	s.lease.ResourceVersion = strconv.Itoa(s.version)
	return s.lease.DeepCopy()
}

func (s *leaseServer) Get(ctx context.Context, name string, _ metav1.GetOptions) (got *coordinationv1.Lease, err error) {
	err = s.request(ctx, func() error {
		if s.lease == nil {
			return apierrors.NewNotFound(leases, name)
		}
		got = s.lease.DeepCopy()
		return nil
	})
	return got, err
}

func (s *leaseServer) Create(ctx context.Context, o *coordinationv1.Lease, _ metav1.CreateOptions) (got *coordinationv1.Lease, err error) {
	err = s.request(ctx, func() error {
		if s.lease != nil {
			return apierrors.NewAlreadyExists(leases, o.Name)
		}
		got = s.store(o)
		return nil
	})
	return got, err
}

func (s *leaseServer) Update(ctx context.Context, o *coordinationv1.Lease, _ metav1.UpdateOptions) (got *coordinationv1.Lease, err error) {
	err = s.request(ctx, func() error {
		switch {
		case s.lease == nil:
			return apierrors.NewNotFound(leases, o.Name)
		case s.lease.ResourceVersion != o.ResourceVersion:
			return apierrors.NewConflict(leases, o.Name, errors.New("modified"))
		}
		got = s.store(o)
		return nil
	})
	return got, err
}

func (s *leaseServer) Delete(ctx context.Context, name string, opts metav1.DeleteOptions) error {
	return s.request(ctx, func() error {
		switch {
		case s.lease == nil:
			return apierrors.NewNotFound(leases, name)
		case *opts.Preconditions.ResourceVersion != s.lease.ResourceVersion:
			return apierrors.NewConflict(leases, name, errors.New("modified"))
		}
		s.lease = nil
		return nil
	})
}

const renewEvery = DefaultLeaseDuration / renewals

// startedReplica is a manager with one run whose loop goes on until it is cancelled.
type startedReplica struct {
	*Engine
	t     *testing.T
	run   *v1alpha1.MotorRun
	end   context.CancelFunc
	ended chan error
}

// startReplica starts a manager in a synctest bubble.
func startReplica(t *testing.T, s *leaseServer, worker string) *startedReplica {
	e := testEngine(t, 0, io.Discard, hang)
	e.heldUntil = time.Time{}
	e.Leases = s
	e.Config.Worker, e.Config.PodName, e.Config.PodUID = worker, "manager-0", "pod-uid"
	ctx, end := context.WithCancel(t.Context())
	r := &startedReplica{Engine: e, t: t, run: testRun("ns", worker), end: end, ended: make(chan error, 1)}
	go func() { r.ended <- e.Start(ctx); close(r.ended) }()
	synctest.Wait()
	e.ensure(r.run)
	t.Cleanup(func() { end(); <-r.ended; <-r.ended })
	return r
}

// works reports whether the loop runs. It reconciles the engine's requests, as the controller would.
func (r *startedReplica) works() bool {
	for {
		synctest.Wait()
		select {
		case again := <-r.Engine.ended:
			r.ensure(again.Object)
			continue
		default:
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		l := r.loops[client.ObjectKeyFromObject(r.run)]
		return l != nil && l.running
	}
}

func (r *startedReplica) want(works bool, when string) {
	r.t.Helper()
	if r.works() != works {
		r.t.Fatalf("%s: the loop of %s runs: %t", when, r.Config.Worker, !works)
	}
}

func away(context.Context, func() error) error { return errors.New("the API server is away") }

func hanging(ctx context.Context, _ func() error) error { return hang(ctx) }

func TestTheLeaseIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &leaseServer{}
		r := startReplica(t, s, "manager-0-a")
		r.want(true, "with a Lease")
		begin, _ := s.now()
		owners := []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "manager-0", UID: "pod-uid"}}
		if begin.Name != "motorcortex-worker-manager-0" || holder(begin) != "manager-0-a" || *begin.Spec.LeaseDurationSeconds != 10 ||
			begin.Labels[v1alpha1.LabelComponent] != v1alpha1.ComponentWorker || len(begin.OwnerReferences) != 1 || begin.OwnerReferences[0] != owners[0] {
			t.Fatalf("the Lease is %+v", begin)
		}
		wait(time.Minute + time.Second)
		r.want(true, "after a minute")
		lease, writes := s.now()
		if writes != 31 || time.Since(lease.Spec.RenewTime.Time) != time.Second || !lease.Spec.AcquireTime.Equal(begin.Spec.AcquireTime) || lease.Spec.LeaseTransitions != nil {
			t.Errorf("%d writes in a minute, the last one %+v", writes, lease.Spec)
		}
		r.end()
		if err := <-r.ended; err != nil {
			t.Error(err)
		}
		if lease, _ := s.now(); lease != nil || r.works() {
			t.Errorf("after the end the Lease is %+v", lease)
		}
	})
}

func TestNoLoopWithoutALease(t *testing.T) {
	for name, fault := range map[string]func(context.Context, func() error) error{"refused": away, "hanging": hanging} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &leaseServer{decide: fault}
				r := startReplica(t, s, "manager-0-a")
				r.want(false, "before there is a Lease")
				s.set(nil)
				wait(2 * renewEvery)
				r.want(true, "when there is one")
				lease, _ := s.now()
				last := lease.Spec.RenewTime.Time
				s.set(fault)
				wait(time.Until(last.Add(DefaultLeaseDuration)) - time.Millisecond)
				r.want(true, "right before the Lease runs out")
				wait(time.Millisecond)
				r.want(false, "when it has run out")
				wait(2 * time.Minute)
				r.want(false, "as long as it is not renewed")
				s.set(nil)
				wait(2 * renewEvery)
				r.want(true, "when it is renewed")
			})
		})
	}
}

// wait passes time in a bubble.
func wait(d time.Duration) { <-time.After(d) }

// A renewal that was carried out without an answer does not make a replica mistake itself for another one.
func TestTheLeaseSurvivesLostAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		s := &leaseServer{}
		s.decide = func(_ context.Context, carryOut func() error) error {
			n++
			if err := carryOut(); err != nil || n%4 != 0 {
				return err
			}
			return errors.New("the answer was lost")
		}
		r := startReplica(t, s, "manager-0-a")
		for range 30 {
			wait(renewEvery)
			r.want(true, "with every fourth answer lost")
		}
		if lease, writes := s.now(); writes < 30 || lease.Spec.LeaseTransitions != nil {
			t.Errorf("%d writes, the last one %+v", writes, lease.Spec)
		}
	})
}

// A restarted container has the Pod's name and is another worker. Its predecessor may still exist.
func TestANewProcessTakesTheLeaseOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &leaseServer{}
		before := startReplica(t, s, "manager-0-a")
		before.want(true, "alone")
		wait(renewEvery / 2)
		after := startReplica(t, s, "manager-0-b")
		after.want(true, "with the Lease taken over")
		if lease, _ := s.now(); holder(lease) != "manager-0-b" || *lease.Spec.LeaseTransitions != 1 {
			t.Fatalf("the Lease is %+v", lease.Spec)
		}
		wait(renewEvery)
		before.want(false, "after its next renewal")
		wait(time.Minute)
		before.want(false, "while the other one renews")
		after.want(true, "while it renews")

		// Its end is no release: it finds that it has no Lease any more.
		before.end()
		<-before.ended
		if lease, _ := s.now(); holder(lease) != "manager-0-b" {
			t.Errorf("the one before has removed the Lease of the one after it: %+v", lease)
		}
	})
}

// A process that took the Lease and is gone does not hold it for ever.
func TestTheLeaseComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &leaseServer{}
		r := startReplica(t, s, "manager-0-a")
		lease, _ := s.now()
		lease.Spec.HolderIdentity = new("manager-0-b")
		s.mu.Lock()
		s.store(lease)
		s.mu.Unlock()
		wait(renewEvery + time.Millisecond)
		r.want(false, "without the Lease")
		wait(DefaultLeaseDuration - renewEvery)
		r.want(false, "before the other's has run out")
		wait(2 * renewEvery)
		r.want(true, "when it has")

		s.mu.Lock()
		lease.Spec.HolderIdentity, lease.ResourceVersion = new("manager-0-c"), s.lease.ResourceVersion
		s.store(lease)
		s.mu.Unlock()
		wait(2 * renewEvery)
		r.want(false, "without the Lease again")
		s.mu.Lock()
		s.lease = nil
		s.mu.Unlock()
		wait(2 * renewEvery)
		r.want(true, "when the other has let go")
	})
}

// The process is frozen, as by SIGSTOP, while its timers run on: none of them runs in it.
func TestAFrozenProcessHasLostItsRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &leaseServer{}
		r := startReplica(t, s, "manager-0-a")
		r.want(true, "with the Lease")
		r.mu.Lock()
		first := r.loops[client.ObjectKeyFromObject(r.run)]
		// The state after a freeze: the Lease ran out, and the loops were not ended.
		r.heldUntil = time.Now().Add(-time.Second)
		r.mu.Unlock()
		wait(renewEvery + time.Millisecond)
		r.want(true, "when it has the Lease again")
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.loops[client.ObjectKeyFromObject(r.run)] == first {
			t.Error("the loop from before went on")
		}
	})
}

// A loop that does not end retains the Lease, which then runs out, and not the process.
func TestTheEndWaitsForNobodyForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &leaseServer{}
		r := startReplica(t, s, "manager-0-a")
		release := make(chan struct{})
		synctest.Wait() // The loop of the replica's own run has read what is changed now.
		r.Live = stubReader{list: func(context.Context) error { <-release; return nil }}
		stuck := testRun("ns", "stuck")
		r.ensure(stuck)
		begin := time.Now()
		r.end()
		<-r.ended
		if took := time.Since(begin); took != stopTimeout {
			t.Errorf("the end took %s", took)
		}
		if lease, _ := s.now(); lease == nil {
			t.Error("the Lease was given up while a loop ran")
		}
		close(release)
	})
}

// The API server is down for minutes: the loop is retried with growing pauses, and resumes when the server is back.
func TestALoopBacksOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		starts, isAway := 0, true
		e := testEngine(t, 0, io.Discard, func(ctx context.Context) error {
			starts++
			if isAway {
				return errors.New("the API server is away")
			}
			return hang(ctx)
		})
		run := testRun("ns", "run")
		reconcile := func() {
			for res := e.ensure(run); res.RequeueAfter > 0; res = e.ensure(run) {
				wait(res.RequeueAfter)
			}
			synctest.Wait()
		}
		begin := time.Now()
		for time.Since(begin) < 5*time.Minute {
			reconcile()
			<-e.ended
			if e.running != 0 {
				t.Fatalf("%d loops run while nothing can be done", e.running)
			}
		}
		if starts < 12 || starts > 16 {
			t.Errorf("%d starts in five minutes", starts)
		}
		isAway = false
		reconcile()
		if time.Since(begin) > 6*time.Minute || e.running != 1 {
			t.Errorf("after %s, %d loops run", time.Since(begin), e.running)
		}
	})
}

func TestTheLeaseAsItIsRecorded(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		holder string
		lasts  time.Duration
		want   error
	}{
		"its own":            {"w", time.Hour, nil},
		"another process's":  {"worker-9", time.Hour, runenv.ErrNoLease},
		"deleted":            {"", time.Hour, runenv.ErrNoLease},
		"lapsed by its time": {"w", 0, runenv.ErrNoLease},
	} {
		s := &leaseServer{}
		if tt.holder != "" {
			s.store(&coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{HolderIdentity: &tt.holder}})
		}
		e := &Engine{
			Leases: s, Now: func() time.Time { return enginetest.Noon }, heldUntil: enginetest.Noon.Add(tt.lasts),
			Config: Config{Worker: "w", PodName: "manager-0", LeaseDuration: 50 * time.Millisecond},
		}
		if version, err := (ownLease{e}).Version(t.Context()); !errors.Is(err, tt.want) || (err == nil) != (version != "") {
			t.Errorf("%s: version %q, %v", name, version, err)
		}
		if every := (ownLease{e}).RenewedEvery(); every != 10*time.Millisecond {
			t.Errorf("it is renewed every %s", every)
		}
	}
}

// An attempt learns that its run went to another worker, or that its loop was cancelled.
func TestAnAttemptCarries(t *testing.T) {
	t.Parallel()
	run := ready()
	e := &Engine{Config: Config{Worker: "w"}, Now: time.Now}
	for name, tt := range map[string]struct {
		change  func(*v1alpha1.MotorRun)
		stopped bool
		want    bool
	}{
		"as it was":                {func(*v1alpha1.MotorRun) {}, false, true},
		"another worker":           {func(r *v1alpha1.MotorRun) { r.Status.Execution.Worker = "worker-2" }, false, false},
		"a later epoch":            {func(r *v1alpha1.MotorRun) { r.Status.Execution.Epoch++ }, false, false},
		"another sandbox":          {func(r *v1alpha1.MotorRun) { r.Status.Sandbox.PodUID = "another" }, false, false},
		"the loop was told to end": {func(*v1alpha1.MotorRun) {}, true, false},
	} {
		l := &worker{task: taskOf(run), stopped: tt.stopped}
		live := run.DeepCopy()
		tt.change(live)
		if got := e.newAttempt(l, run, nil, nil).Carries(live); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
