// SPDX-License-Identifier: Apache-2.0

package signal

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cortex"
	"motorcortex.dev/motorcortex/internal/secret"
	"motorcortex.dev/motorcortex/internal/signal/deliver"
)

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
		g.r.Secrets = countedSecrets{read: &read}
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
type countedSecrets struct {
	noSecrets
	read *int
}

func (c countedSecrets) SinkSecrets(context.Context, string, *v1alpha1.SignalSink) (a, k secret.Value, err error) {
	*c.read++
	return a, k, nil
}

// A change during a look keeps its subject pending: otherwise the settled instant could pass what is not told.
func TestAChangeDuringALookStaysPending(t *testing.T) {
	t.Parallel()
	epoch := time.Unix(1000, 0)
	l := newLane(laneKey{"ns", "a", false}, epoch)
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
