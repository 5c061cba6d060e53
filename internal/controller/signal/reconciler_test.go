// SPDX-License-Identifier: Apache-2.0

package signal

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// Wherever the process ends, the next one tells the end of each run that was not told, and nothing else of a run that ended long ago.
func TestWhatARestartTells(t *testing.T) {
	inBubble(t, []string{"a"}, func(g *rig) {
		old, open := g.accept("old"), g.accept("open")
		g.finish(old)
		g.step(open, 1, 1, "I count.")
		g.ask(open, "a1-s1-c0")
		synctest.Wait()
		later(5 * time.Minute)
		g.cortex()
		g.sinks["a"].answer(away)
		untold := g.accept("untold")
		g.finish(untold)
		later(time.Hour)
		g.cortex()
		before := g.sinks["a"].taken()
		g.restart()
		g.sinks["a"].answer(nil)
		later(10 * time.Minute)
		synctest.Wait()
		got := g.sinks["a"].taken()[len(before):]
		slices.Sort(got)
		if want := []string{"u-open/run.awaitinginput/a1-s1-c0", "u-untold/run.completed", "u-untold/run.started"}; !slices.Equal(got, want) {
			t.Errorf("got %q", got)
		}
		later(5 * time.Minute)
		g.cortex()
		g.restart()
		synctest.Wait()
		if got := g.sinks["a"].taken(); got[len(got)-1] != "u-open/run.awaitinginput/a1-s1-c0" || len(got) != len(before)+4 {
			t.Errorf("after another one, %q", got)
		}
	})
}

// Whichever delivery a process ends after, whether or not the sink had taken that signal: each run is told whole and in order.
func TestAProcessThatEndsAnywhere(t *testing.T) {
	for stop := range 9 {
		t.Run(fmt.Sprint(stop), func(t *testing.T) {
			inBubble(t, []string{"a"}, func(g *rig) {
				g.sinks["a"].answer(func(_ string, tries int) error {
					if tries > stop {
						return errAway
					}
					return nil
				})
				var runs []*v1alpha1.MotorRun
				for i := range 4 {
					runs = append(runs, g.accept(fmt.Sprint("run-", i)))
				}
				synctest.Wait()
				g.cortex()
				for _, run := range runs {
					g.finish(run)
				}
				synctest.Wait()
				g.cortex()
				g.restart()
				g.sinks["a"].answer(nil)
				later(10 * time.Minute)
				synctest.Wait()
				got := g.sinks["a"].taken()
				for _, run := range runs {
					a, b := slices.Index(got, "u-"+run.Name+"/run.started"), slices.Index(got, "u-"+run.Name+"/run.completed")
					if a < 0 || b < a {
						t.Errorf("%s: %d, %d in %q", run.Name, a, b, got)
					}
				}
			})
		})
	}
}

// What happened in the second in which the status was written may not have been seen yet.
func TestARestartWithinTheSecondOfTheStatus(t *testing.T) {
	inBubble(t, []string{"a"}, func(g *rig) {
		run := g.accept("run")
		synctest.Wait()
		later(10 * time.Second)
		g.stop()
		set(run, v1alpha1.ConditionSucceeded, v1alpha1.ReasonCompleted)
		set(run, v1alpha1.ConditionFinished, v1alpha1.ReasonCompleted)
		g.must(g.c.Status().Update(g.ctx, run))
		c := &v1alpha1.MotorCortex{}
		g.must(g.c.Get(g.ctx, client.ObjectKey{Namespace: "ns", Name: v1alpha1.CortexName}, c))
		later(30 * time.Second)
		c.Status.Sinks[0].SettledTime = metav1.NewTime(time.Now().Truncate(time.Second))
		g.must(g.c.Status().Update(g.ctx, c))
		g.begin()
		synctest.Wait()
		if got := g.sinks["a"].taken(); got[len(got)-1] != "u-run/run.completed" {
			t.Errorf("got %q", got)
		}
	})
}

// A process that has not tried a sink does not say that it takes signals.
func TestASinkThatIsAwayStaysSoAfterARestart(t *testing.T) {
	inBubble(t, []string{"a"}, func(g *rig) {
		g.sinks["a"].answer(away)
		g.accept("run")
		synctest.Wait()
		ready := func() metav1.Condition {
			return *apimeta.FindStatusCondition(g.cortex().Status.Sinks[0].Conditions, v1alpha1.CortexSinkReady)
		}
		was := ready()
		g.sinks["a"].hold = 5 * time.Second
		g.restart()
		if is := ready(); was.Status != metav1.ConditionFalse || is != was {
			t.Errorf("the condition was %+v and is %+v", was, is)
		}
		g.sinks["a"].answer(nil)
		later(time.Minute)
		synctest.Wait()
		if is := ready(); is.Status != metav1.ConditionTrue {
			t.Errorf("the condition is %+v", is)
		}
	})
}

// A sink that is new hears nothing of runs that began or ended before, but what people are asked now.
func TestANewSinkIsNotToldThePast(t *testing.T) {
	inBubble(t, nil, func(g *rig) {
		old, open := g.accept("old"), g.accept("open")
		g.finish(old)
		g.ask(open, "a1-s1-c0")
		later(time.Hour)
		g.sinks["a"] = &sink{}
		c := g.cortex()
		c.Spec.Signals.Sinks = []v1alpha1.SignalSink{{Name: "a", URL: "http://a", CABundle: "a"}}
		g.must(g.c.Update(g.ctx, c))
		if c = g.cortex(); len(c.Status.Sinks) != 1 || c.Status.Sinks[0].SettledTime.IsZero() {
			t.Errorf("the status is %+v", c.Status.Sinks)
		}
		g.want("a", "u-open/run.awaitinginput/a1-s1-c0")
		c.Spec.Signals = nil
		g.must(g.c.Update(g.ctx, c))
		if c = g.cortex(); len(c.Status.Sinks) != 0 || len(g.r.lanesOf("ns")) != 0 {
			t.Errorf("the status is %+v", c.Status.Sinks)
		}
		g.finish(open)
		g.want("a", "u-open/run.awaitinginput/a1-s1-c0")
	})
}

func TestASinkIsToldOnlyTheEventsItNames(t *testing.T) {
	inBubble(t, []string{"a"}, func(g *rig) {
		c := g.cortex()
		c.Spec.Signals.Sinks[0].Events = []v1alpha1.SignalEvent{v1alpha1.SignalRunCompleted, v1alpha1.SignalSkillApproved}
		g.must(g.c.Update(g.ctx, c))
		g.cortex()
		run := g.accept("run")
		g.step(run, 1, 1, "I count.")
		g.finish(run)
		s := &v1alpha1.Skill{}
		s.Name, s.Namespace, s.UID = "counting", "ns", "u-skill"
		s.Status.State, s.Status.RevisionName = v1alpha1.SkillApproved, "r1"
		apimeta.SetStatusCondition(&s.Status.Conditions, metav1.Condition{
			Type: v1alpha1.ConditionApproved, Status: metav1.ConditionTrue, Reason: "Approved", LastTransitionTime: metav1.NewTime(time.Unix(7, 0)),
		})
		g.must(g.c.Create(g.ctx, s))
		_, err := g.r.Reconcile(g.ctx, request{subject: subjectOf(kindSkill, s)})
		g.must(err)
		g.want("a", "u-run/run.completed", "u-skill/skill.approved/r1/7")
	})
}

// A status is written when a sink begins to fail or to take signals, and else once a minute at most, and once an hour while nothing happens.
func TestTheStatusIsWrittenRarely(t *testing.T) {
	inBubble(t, []string{"a"}, func(g *rig) {
		version := g.cortex().ResourceVersion
		writes := func(during time.Duration) (n int) {
			for end := time.Now().Add(during); time.Now().Before(end); later(statusPause) {
				synctest.Wait()
				if v := g.cortex().ResourceVersion; v != version {
					version = v
					n++
				}
			}
			return n
		}
		if n := writes(10 * time.Hour); n > 10 {
			t.Errorf("%d writes in 10 hours in which nothing happens", n)
		}
		run := g.accept("run")
		go func() {
			for i := range int32(60) {
				later(9 * time.Second)
				g.step(run, 1, i+1, "I go on.")
			}
		}()
		if n := writes(9 * time.Minute); n < 5 || n > 10 {
			t.Errorf("%d writes in 9 minutes with 60 signals", n)
		}
		writes(5 * time.Minute)
		g.sinks["a"].answer(away)
		g.finish(run)
		if n := writes(3 * time.Hour); n != 1 {
			t.Errorf("%d writes while the sink is away", n)
		}
		ready := apimeta.FindStatusCondition(g.cortex().Status.Sinks[0].Conditions, v1alpha1.CortexSinkReady)
		if ready.Status != metav1.ConditionFalse || ready.Reason != v1alpha1.ReasonSinkUnavailable {
			t.Errorf("the condition is %+v", ready)
		}
		g.sinks["a"].answer(nil)
		if n := writes(20 * time.Minute); n < 1 || n > 2 {
			t.Errorf("%d writes when it is back", n)
		}
		st := g.cortex().Status.Sinks[0]
		if !apimeta.IsStatusConditionTrue(st.Conditions, v1alpha1.CortexSinkReady) || st.LastDeliveryTime == nil || st.LastFailure != errAway.Message {
			t.Errorf("the status is %+v", st)
		}
	})
}

// A run of the name of a deleted one is another run, and the end of the first one is told as its own.
func TestARunOfTheSameNameIsAnotherRun(t *testing.T) {
	inBubble(t, []string{"a"}, func(g *rig) {
		first := g.accept("run")
		synctest.Wait()
		g.remove(first)
		second := &v1alpha1.MotorRun{}
		second.Name, second.Namespace, second.UID = "run", "ns", "u-2"
		set(second, v1alpha1.ConditionAccepted, v1alpha1.ConditionAccepted)
		g.must(g.c.Create(g.ctx, second))
		g.must(g.c.Status().Update(g.ctx, second))
		g.pass(second)
		g.pass(first)
		synctest.Wait()
		g.finish(second)
		g.want("a", "u-run/run.started", "u-run/run.cancelled", "u-2/run.started", "u-2/run.completed")
	})
}

// A sink with a caBundle that is none does not end the manager, and its status says so.
func TestASinkThatCannotBeUsed(t *testing.T) {
	inBubble(t, []string{"a"}, func(g *rig) {
		delete(g.sinks, "a")
		g.restart()
		g.accept("run")
		later(time.Minute)
		var c v1alpha1.MotorCortex
		g.cortex()
		g.must(g.c.Get(g.ctx, client.ObjectKey{Namespace: "ns", Name: v1alpha1.CortexName}, &c))
		ready := apimeta.FindStatusCondition(c.Status.Sinks[0].Conditions, v1alpha1.CortexSinkReady)
		if ready.Reason != v1alpha1.ReasonSinkRefuses || ready.Message != "The sink cannot be used: no such sink." {
			t.Errorf("the condition is %+v", ready)
		}
	})
}

// The settled instant moves also while there is nothing that the sink wants. A process that begins would else tell it all of that time.
func TestASinkWithoutADeliveryIsSettled(t *testing.T) {
	inBubble(t, []string{"a"}, func(g *rig) {
		edit := func(events ...v1alpha1.SignalEvent) {
			c := g.cortex()
			c.Spec.Signals.Sinks[0].Events = events
			g.must(g.c.Update(g.ctx, c))
			g.cortex()
		}
		edit(v1alpha1.SignalRunFailed)
		for i := range 20 {
			g.finish(g.accept(fmt.Sprint("run-", i)))
			later(8 * time.Hour)
			g.cortex()
		}
		edit()
		g.restart()
		later(time.Minute)
		g.want("a")
	})
}

// A process that begins has a pass over each run of its first list, also over those that ended long ago. None of them moves the settled instant back.
func TestTheSettledInstantDoesNotGoBack(t *testing.T) {
	inBubble(t, []string{"a"}, func(g *rig) {
		var old []*v1alpha1.MotorRun
		for i := range 10 {
			run := g.accept(fmt.Sprint("old-", i))
			g.finish(run)
			old = append(old, run)
			later(8 * time.Hour)
			g.cortex()
		}
		for i := range 30 {
			g.ask(g.accept(fmt.Sprint("open-", i)), "a1-s1-c0")
		}
		later(5 * time.Minute)
		settled := g.cortex().Status.Sinks[0].SettledTime
		g.sinks["a"].mu.Lock()
		g.sinks["a"].hold = time.Second
		g.sinks["a"].mu.Unlock()
		g.restart()
		for _, run := range old {
			g.pass(run)
		}
		if _, is := g.r.lanesOf("ns")[0].state(time.Now()); is.Before(settled.Add(-overlap)) {
			t.Errorf("runs that ended long ago took the lane from %s back to %s", settled, is)
		}
		// The asks that are open are told again, one a second. Meanwhile the status is due by its first delivery.
		later(7 * time.Second)
		if now := g.cortex().Status.Sinks[0].SettledTime; now.Before(&settled) {
			t.Errorf("the settled instant went from %s back to %s", settled, now)
		}
		before := len(g.sinks["a"].taken())
		g.restart()
		later(10 * time.Minute)
		for _, id := range g.sinks["a"].taken()[before:] {
			if strings.HasPrefix(id, "u-old-") {
				t.Errorf("%s is told again", id)
			}
		}
	})
}
