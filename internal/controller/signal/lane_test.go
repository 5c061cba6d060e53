// SPDX-License-Identifier: Apache-2.0

package signal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cortex"
	"motorcortex.dev/motorcortex/internal/journal"
	"motorcortex.dev/motorcortex/internal/secret"
	"motorcortex.dev/motorcortex/internal/signal"
	"motorcortex.dev/motorcortex/internal/signal/deliver"
)

// sink is one that a test plays. It takes everything but what refuse has an answer to.
type sink struct {
	mu     sync.Mutex
	got    []string
	tries  int
	refuse func(id string, tries int) error
	// hold delays each answer.
	hold time.Duration
}

func (s *sink) Send(ctx context.Context, _ deliver.Target, what *signal.Signal) error {
	s.mu.Lock()
	s.tries++
	tries, refuse, hold := s.tries, s.refuse, s.hold
	s.mu.Unlock()
	if hold > 0 {
		select {
		case <-time.After(hold):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if refuse != nil {
		if err := refuse(what.ID, tries); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.got = append(s.got, what.ID)
	return nil
}

func (s *sink) Close() {}

// taken returns what the sink has taken.
func (s *sink) taken() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.got)
}

func (s *sink) answer(refuse func(id string, tries int) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse = refuse
}

var errAway = &deliver.Failure{Reason: v1alpha1.ReasonSinkUnavailable, Message: "The sink cannot be reached."}

func away(string, int) error { return errAway }

// noSecrets is of sinks without Secrets.
type noSecrets struct{ err error }

func (n noSecrets) SinkSecrets(context.Context, string, *v1alpha1.SignalSink) (a, k secret.Value, err error) {
	return a, k, n.err
}

// rig is a reconciler in a bubble, with sinks that are named by their caBundle.
type rig struct {
	t     *testing.T
	ctx   context.Context
	c     client.WithWatch
	r     *Reconciler
	sinks map[string]*sink
	stop  func()
}

// later lets the time of a bubble pass.
func later(d time.Duration) { <-time.After(d) }

// inBubble runs a test whose time passes by itself.
func inBubble(t *testing.T, names []string, test func(*rig)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		scheme := runtime.NewScheme()
		if err := v1alpha1.AddToScheme(scheme); err != nil {
			t.Fatal(err)
		}
		g := &rig{t: t, ctx: t.Context(), sinks: map[string]*sink{}}
		g.c = fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&v1alpha1.MotorCortex{}, &v1alpha1.MotorRun{}).Build()
		c := &v1alpha1.MotorCortex{}
		c.Name, c.Namespace, c.Spec.Signals = v1alpha1.CortexName, "ns", &v1alpha1.Signals{}
		for _, name := range names {
			g.sinks[name] = &sink{}
			c.Spec.Signals.Sinks = append(c.Spec.Signals.Sinks, v1alpha1.SignalSink{Name: name, URL: "http://" + name, CABundle: name})
		}
		g.must(g.c.Create(g.ctx, c))
		g.begin()
		test(g)
		g.stop()
	})
}

func (g *rig) must(err error) {
	g.t.Helper()
	if err != nil {
		g.t.Fatal(err)
	}
}

// begin starts a process. stop ends it.
func (g *rig) begin() {
	g.r = &Reconciler{Client: g.c, Secrets: noSecrets{}, Now: time.Now, NewSender: func(name string) (Sender, error) {
		if s := g.sinks[name]; s != nil {
			return s, nil
		}
		return nil, errors.New("no such sink")
	}}
	g.r.init()
	ctx, cancel := context.WithCancel(g.ctx)
	ended := make(chan struct{})
	go func() {
		_ = g.r.Start(ctx)
		close(ended)
	}()
	g.stop = func() { cancel(); <-ended }
	g.cortex()
}

// restart ends the process and starts another one.
func (g *rig) restart() { g.stop(); g.begin() }

// cortex has a pass look at the MotorCortex, as it does every 10 s.
func (g *rig) cortex() *v1alpha1.MotorCortex {
	g.t.Helper()
	_, err := g.r.Reconcile(g.ctx, request{subject: subject{kind: kindCortex, namespace: "ns", name: v1alpha1.CortexName}})
	g.must(err)
	c := &v1alpha1.MotorCortex{}
	g.must(g.c.Get(g.ctx, client.ObjectKey{Namespace: "ns", Name: v1alpha1.CortexName}, c))
	return c
}

// pass has the lanes look at a run.
func (g *rig) pass(run *v1alpha1.MotorRun) {
	g.t.Helper()
	_, err := g.r.Reconcile(g.ctx, request{subject: subjectOf(kindRun, run)})
	g.must(err)
}

// accept makes a run that begins now.
func (g *rig) accept(name string) *v1alpha1.MotorRun {
	g.t.Helper()
	run := &v1alpha1.MotorRun{}
	run.Name, run.Namespace, run.UID = name, "ns", types.UID("u-"+name)
	set(run, v1alpha1.ConditionAccepted, v1alpha1.ConditionAccepted)
	g.must(g.c.Create(g.ctx, run))
	g.must(g.c.Status().Update(g.ctx, run))
	g.pass(run)
	return run
}

func set(run *v1alpha1.MotorRun, condition, reason string) {
	apimeta.SetStatusCondition(&run.Status.Conditions, metav1.Condition{
		Type: condition, Status: metav1.ConditionTrue, Reason: reason, LastTransitionTime: metav1.NewTime(time.Now().Truncate(time.Second)),
	})
}

// finish ends a run with success.
func (g *rig) finish(run *v1alpha1.MotorRun) {
	g.t.Helper()
	set(run, v1alpha1.ConditionSucceeded, v1alpha1.ReasonCompleted)
	set(run, v1alpha1.ConditionFinished, v1alpha1.ReasonCompleted)
	run.Status.CompletionTime = new(metav1.NewTime(time.Now().Truncate(time.Second)))
	run.Status.PendingInputs = nil
	g.must(g.c.Status().Update(g.ctx, run))
	g.pass(run)
}

func (g *rig) ask(run *v1alpha1.MotorRun, id string) {
	g.t.Helper()
	run.Status.PendingInputs = []v1alpha1.PendingInput{{ID: id, Kind: v1alpha1.InputQuestion, Question: "Which?", AskTime: metav1.Now()}}
	g.must(g.c.Status().Update(g.ctx, run))
	g.pass(run)
}

func (g *rig) step(run *v1alpha1.MotorRun, attempt, index int32, content string) {
	g.t.Helper()
	s := &v1alpha1.MotorStep{Spec: v1alpha1.MotorStepSpec{Type: v1alpha1.StepTurn, Attempt: attempt, Index: index, Content: content}}
	s.Name, s.Namespace, s.CreationTimestamp = journal.StepName(run.Name, attempt, index), "ns", metav1.Now()
	s.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(run, v1alpha1.GroupVersion.WithKind("MotorRun"))}
	g.must(g.c.Create(g.ctx, s))
	g.pass(run)
}

// remove deletes a run, as its watch tells of it.
func (g *rig) remove(run *v1alpha1.MotorRun) {
	g.t.Helper()
	g.must(g.c.Delete(g.ctx, run))
	g.r.depart(subjectOf(kindRun, run), run)
}

func (g *rig) want(name string, ids ...string) {
	g.t.Helper()
	synctest.Wait()
	if got := g.sinks[name].taken(); !slices.Equal(got, ids) {
		g.t.Errorf("%s has %q, want %q", name, got, ids)
	}
}

func TestASinkIsToldWhatHappens(t *testing.T) {
	inBubble(t, []string{"a"}, func(g *rig) {
		run := g.accept("run")
		g.step(run, 1, 1, "I count.")
		synctest.Wait()
		g.ask(run, "a1-s1-c0")
		synctest.Wait()
		g.step(run, 1, 2, "I go on.")
		synctest.Wait()
		g.step(run, 2, 1, "I begin anew.")
		synctest.Wait()
		g.finish(run)
		g.pass(run)
		g.want("a", "u-run/run.started", "u-run/run.progress/a1-s1", "u-run/run.awaitinginput/a1-s1-c0", "u-run/run.progress/a1-s2",
			"u-run/run.progress/a2-s1", "u-run/run.completed")
	})
}

// A sink that is away, or slow, holds up no other, and is told in order when it is back.
func TestADeadSinkHoldsUpNoOther(t *testing.T) {
	inBubble(t, []string{"a", "dead", "slow"}, func(g *rig) {
		g.sinks["dead"].answer(away)
		g.sinks["slow"].hold = 9 * time.Second
		var want []string
		for i := range 50 {
			run := g.accept(fmt.Sprintf("run-%02d", i))
			synctest.Wait()
			g.finish(run)
			want = append(want, "u-"+run.Name+"/run.started", "u-"+run.Name+"/run.completed")
			g.want("a", want...)
		}
		later(time.Hour)
		if got := g.sinks["dead"].tries; got > 25 {
			t.Errorf("a sink that is away was tried %d times within an hour", got)
		}
		g.want("a", want...)
		g.want("dead")
		g.sinks["dead"].answer(nil)
		later(10 * time.Minute)
		synctest.Wait()
		for name, s := range g.sinks {
			got := s.taken()
			for i := 0; i < len(want); i += 2 {
				if a, b := slices.Index(got, want[i]), slices.Index(got, want[i+1]); a < 0 || b < a || len(got) != len(want) {
					t.Errorf("%s: %s is at %d, %s at %d of %d", name, want[i], a, want[i+1], b, len(got))
				}
			}
		}
	})
}

var errRefused = &deliver.Failure{Reason: v1alpha1.ReasonSinkRefuses, Message: "It refuses the signal.", Final: true}

// A signal that a sink does not take for good, twice, does not hold up the others.
func TestASignalThatIsRefusedIsDropped(t *testing.T) {
	inBubble(t, []string{"a"}, func(g *rig) {
		g.sinks["a"].answer(func(id string, _ int) error {
			if id == "u-bad/run.started" {
				return errRefused
			}
			return nil
		})
		g.accept("first")
		synctest.Wait()
		bad := g.accept("bad")
		synctest.Wait()
		g.accept("good")
		synctest.Wait()
		g.finish(bad)
		g.want("a", "u-first/run.started", "u-good/run.started", "u-bad/run.completed")
		if tries := g.sinks["a"].tries; tries != 5 {
			t.Errorf("the sink was tried %d times", tries)
		}
		later(2 * time.Minute)
		if st := g.cortex().Status.Sinks[0]; st.Dropped != 1 || st.LastFailure != "It refuses the signal." || st.LastFailureTime == nil {
			t.Errorf("the status is %+v", st)
		}
		g.restart()
		g.accept("later")
		synctest.Wait()
		later(2 * time.Minute)
		if st := g.cortex().Status.Sinks[0]; st.Dropped != 1 {
			t.Errorf("after a restart the status is %+v", st)
		}
	})
}

// A receiver that has another signing key than the manager refuses every signal. None of them is lost.
func TestASinkThatRefusesAllLosesNothing(t *testing.T) {
	for name, before := range map[string]int{"from the beginning": 0, "after others": 1} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, []string{"a"}, func(g *rig) {
				for range before {
					g.accept("before")
					synctest.Wait()
				}
				g.sinks["a"].answer(func(string, int) error { return errRefused })
				for i := range 20 {
					g.finish(g.accept(fmt.Sprint("run-", i)))
				}
				later(time.Hour)
				st := g.cortex().Status.Sinks[0]
				ready := apimeta.FindStatusCondition(st.Conditions, v1alpha1.CortexSinkReady)
				if ready.Status != metav1.ConditionFalse || ready.Reason != v1alpha1.ReasonSinkRefuses || st.Dropped > int64(before) {
					t.Errorf("the condition is %+v, dropped %d", ready, st.Dropped)
				}
				g.sinks["a"].answer(nil)
				later(10 * time.Minute)
				synctest.Wait()
				if got := len(g.sinks["a"].taken()); got+int(st.Dropped) != 40+before {
					t.Errorf("%d signals are taken, %d dropped", got, st.Dropped)
				}
			})
		})
	}
}

// Before a signal is dropped the Secrets are read again: they may have been replaced.
func TestAReplacedSigningKeyLosesNothing(t *testing.T) {
	inBubble(t, []string{"a"}, func(g *rig) {
		g.accept("before")
		synctest.Wait()
		read := 0
		g.r.Secrets = countedSecrets{&read}
		g.sinks["a"].answer(func(string, int) error {
			if read == 0 {
				return errRefused
			}
			return nil
		})
		g.accept("run")
		g.want("a", "u-before/run.started", "u-run/run.started")
	})
}

// countedSecrets counts how often they are read.
type countedSecrets struct{ read *int }

func (c countedSecrets) SinkSecrets(context.Context, string, *v1alpha1.SignalSink) (a, k secret.Value, err error) {
	*c.read++
	return a, k, nil
}

// A change during a look keeps its subject pending: otherwise the settled instant could pass what is not told.
func TestAChangeDuringALookStaysPending(t *testing.T) {
	t.Parallel()
	epoch := time.Unix(1000, 0)
	l := newLane(laneKey{"ns", "a"}, epoch)
	defer l.close()
	s := subject{kind: kindRun, namespace: "ns", name: "run", uid: "u-1"}
	l.touch(s, epoch.Add(time.Minute))
	c, _, mark := l.begin(s)
	l.touch(s, epoch.Add(2*time.Minute))
	l.settle(s, c, false, mark)
	if _, settled := l.state(epoch.Add(time.Hour)); !settled.Equal(epoch.Add(time.Minute)) {
		t.Errorf("settled is %s", settled)
	}
	c, _, mark = l.begin(s)
	l.settle(s, c, false, mark)
	if _, settled := l.state(epoch.Add(time.Hour)); !settled.Equal(epoch.Add(time.Hour)) {
		t.Errorf("settled is %s", settled)
	}
}

func TestASignalThatAlwaysFailsIsDropped(t *testing.T) {
	inBubble(t, []string{"a"}, func(g *rig) {
		g.sinks["a"].answer(func(id string, _ int) error {
			if id == "u-bad/run.started" {
				return errAway
			}
			return nil
		})
		bad := g.accept("bad")
		for i := range 120 {
			g.accept(fmt.Sprintf("good-%d", i))
			later(time.Minute)
		}
		g.finish(bad)
		synctest.Wait()
		if got := g.sinks["a"].taken(); len(got) != 121 || got[120] != "u-bad/run.completed" {
			t.Errorf("got %d signals, the last one %q", len(got), got[len(got)-1])
		}
		if st := g.cortex().Status.Sinks[0]; st.Dropped != 1 {
			t.Errorf("the status is %+v", st)
		}
	})
}

// Failures of a time in which a sink takes nothing do not count: after an outage, it can ask for a pause.
func TestASinkThatComesBackSlowly(t *testing.T) {
	inBubble(t, []string{"a"}, func(g *rig) {
		g.accept("before")
		synctest.Wait()
		g.sinks["a"].answer(away)
		for i := range 3 {
			g.accept(fmt.Sprint("run-", i))
		}
		later(4 * time.Hour)
		n := 0
		g.sinks["a"].answer(func(string, int) error {
			if n++; n%2 == 0 {
				return errAway
			}
			return nil
		})
		later(2 * time.Hour)
		synctest.Wait()
		if got, dropped := g.sinks["a"].taken(), g.cortex().Status.Sinks[0].Dropped; len(got) != 4 || dropped != 0 {
			t.Errorf("taken %q, dropped %d", got, dropped)
		}
	})
}

// The spec is compared every 10 s. One with a caBundle that is none does not end the pauses of its lane each time.
func TestABrokenSinkIsNotTriedMoreOften(t *testing.T) {
	inBubble(t, []string{"a"}, func(g *rig) {
		delete(g.sinks, "a")
		g.restart()
		g.accept("run")
		for range 100 {
			later(statusPause)
			g.cortex()
		}
		l := g.r.lanesOf("ns")[0]
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.failures < 5 || l.failures > 15 || l.health.dropped != 0 {
			t.Errorf("tried %d times, dropped %d", l.failures, l.health.dropped)
		}
	})
}

// The end of a run is told although the run was deleted, and so is that it was deleted before its end. How many of them wait has a bound.
func TestADeletedRunIsTold(t *testing.T) {
	inBubble(t, []string{"a"}, func(g *rig) {
		g.sinks["a"].answer(away)
		done, going := g.accept("done"), g.accept("going")
		g.finish(done)
		g.remove(done)
		g.remove(going)
		later(time.Hour)
		g.sinks["a"].answer(nil)
		later(10 * time.Minute)
		synctest.Wait()
		got := g.sinks["a"].taken()
		slices.Sort(got)
		if want := []string{"u-done/run.completed", "u-done/run.started", "u-going/run.cancelled", "u-going/run.started"}; !slices.Equal(got, want) {
			t.Errorf("got %q", got)
		}
		g.sinks["a"].answer(away)
		for i := range maxGone + 5 {
			run := g.accept(fmt.Sprintf("run-%d", i))
			end(run)
			run.Status.Result = &v1alpha1.RunResult{OK: true, Summary: "I counted."}
			g.remove(run)
		}
		l := g.r.lanesOf("ns")[0]
		l.mu.Lock()
		defer l.mu.Unlock()
		whole := 0
		for _, run := range l.gone {
			if run.Status.Result.Summary != "" {
				whole++
			}
		}
		if whole != maxWhole || len(l.gone) != maxGone || l.health.dropped != 5 || len(l.told) > maxGone || len(l.pending) > maxGone {
			t.Errorf("%d wait, %d of them whole, %d dropped, %d remembered, %d pending", len(l.gone), whole, l.health.dropped, len(l.told), len(l.pending))
		}
	})
}

// Runs that are deleted together, as by kubectl delete --all, are told while the sink takes signals.
func TestManyRunsDeletedAtOnceAreTold(t *testing.T) {
	inBubble(t, []string{"a"}, func(g *rig) {
		g.sinks["a"].hold = 20 * time.Millisecond
		var runs []*v1alpha1.MotorRun
		for i := range 200 {
			runs = append(runs, g.accept(fmt.Sprint("run-", i)))
		}
		later(time.Minute)
		for _, run := range runs {
			g.remove(run)
		}
		later(time.Minute)
		if got, dropped := len(g.sinks["a"].taken()), g.cortex().Status.Sinks[0].Dropped; got != 400 || dropped != 0 {
			t.Errorf("%d signals are taken, %d dropped", got, dropped)
		}
	})
}

func TestALaneForgetsDeletedRuns(t *testing.T) {
	inBubble(t, []string{"a"}, func(g *rig) {
		for i := range 20 {
			run := g.accept(fmt.Sprintf("run-%d", i))
			synctest.Wait()
			g.finish(run)
			synctest.Wait()
			g.remove(run)
			g.pass(run)
		}
		synctest.Wait()
		l := g.r.lanesOf("ns")[0]
		l.mu.Lock()
		defer l.mu.Unlock()
		if len(l.told)+len(l.pending)+len(l.gone) > 0 {
			t.Errorf("the lane has %d, %d and %d entries", len(l.told), len(l.pending), len(l.gone))
		}
	})
}

// A correction of the spec ends the pause.
func TestACorrectedSinkIsTriedAtOnce(t *testing.T) {
	inBubble(t, []string{"a"}, func(g *rig) {
		g.r.Secrets = noSecrets{&cortex.Problem{Reason: v1alpha1.ReasonModelSecretNotFound, Message: "There is no Secret."}}
		g.accept("run")
		later(time.Hour)
		c := g.cortex()
		ready := apimeta.FindStatusCondition(c.Status.Sinks[0].Conditions, v1alpha1.CortexSinkReady)
		if ready.Status != metav1.ConditionFalse || ready.Reason != v1alpha1.ReasonModelSecretNotFound || ready.Message != "There is no Secret." {
			t.Errorf("the condition is %+v", ready)
		}
		g.r.Secrets = noSecrets{}
		c.Spec.Signals.Sinks[0].URL = "http://b"
		g.must(g.c.Update(g.ctx, c))
		g.cortex()
		g.want("a", "u-run/run.started")
	})
}
