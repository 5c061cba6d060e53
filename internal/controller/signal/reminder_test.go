// SPDX-License-Identifier: Apache-2.0

package signal

import (
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

func remind(r *v1alpha1.NotificationReceiver) { r.RemindBeforeSeconds = 600 }

const theAsk = "u-run/run.awaitinginput/a1"

func TestPeopleAreRemindedOnceBeforeTheDeadline(t *testing.T) {
	inBubble(t, []string{"a"}, func(g *rig) {
		g.receive("a", remind)
		run := g.accept("run")
		g.ask(run, "a1", time.Hour)
		later(49 * time.Minute)
		g.want("a", theAsk)
		later(2 * time.Minute)
		g.want("a", theAsk, theAsk+"/reminder")
		later(2 * time.Hour)
		g.want("a", theAsk, theAsk+"/reminder")
	})
}

func TestAnAnsweredAskGetsNoReminder(t *testing.T) {
	inBubble(t, []string{"a"}, func(g *rig) {
		g.receive("a", remind)
		run := g.accept("run")
		g.ask(run, "a1", time.Hour)
		later(40 * time.Minute)
		g.finish(run)
		later(time.Hour)
		g.want("a", theAsk, "u-run/run.completed")
		if n := len(g.r.lanesOf("ns")[0].reminders); n != 0 {
			t.Errorf("%d reminders are kept", n)
		}
	})
}

func TestARunThatIsGoneLeavesNoReminder(t *testing.T) {
	inBubble(t, []string{"a"}, func(g *rig) {
		g.receive("a", remind)
		run := g.accept("run")
		g.ask(run, "a1", time.Hour)
		synctest.Wait()
		l := g.r.lanesOf("ns")[0]
		before := len(l.reminders)
		g.must(g.c.Delete(g.ctx, run))
		g.r.depart(subjectOf(kindRun, run), nil)
		if before != 1 || len(l.reminders) != 0 {
			t.Errorf("there were %d reminders, and there are %d", before, len(l.reminders))
		}
	})
}

// A process that takes over reminds people of what is due, and of nothing that it was before.
func TestARestartBringsNoSecondReminderAndLosesNone(t *testing.T) {
	inBubble(t, []string{"a"}, func(g *rig) {
		g.receive("a", remind)
		run := g.accept("run")
		g.ask(run, "a1", time.Hour)
		later(40 * time.Minute)
		g.cortex()
		g.restart()
		later(11 * time.Minute)
		g.want("a", theAsk, theAsk+"/reminder")
		later(2 * time.Minute)
		g.cortex()
		later(2 * time.Minute)
		g.restart()
		later(time.Minute)
		g.want("a", theAsk, theAsk+"/reminder")
	})
}

// A reminder that was due while the receiver was away is not lost by a restart.
func TestAReminderThatIsNotTakenIsNotSettled(t *testing.T) {
	inBubble(t, []string{"a"}, func(g *rig) {
		g.receive("a", remind)
		run := g.accept("run")
		g.ask(run, "a1", time.Hour)
		synctest.Wait()
		g.sinks["a"].answer(away)
		later(53 * time.Minute)
		g.cortex()
		g.restart()
		g.sinks["a"].answer(nil)
		later(6 * time.Minute)
		g.want("a", theAsk, theAsk+"/reminder")
	})
}

func TestAReceiverThatBeginsToWantRemindersGetsThem(t *testing.T) {
	inBubble(t, []string{"a"}, func(g *rig) {
		g.receive("a")
		run := g.accept("run")
		g.ask(run, "a1", time.Hour)
		later(55 * time.Minute)
		g.want("a", theAsk)
		g.receive("a", remind)
		g.want("a", theAsk, theAsk+"/reminder")
	})
}

// A skill waits for weeks. Each new leader would tell it again.
func TestASkillThatWaitsIsToldOnceAcrossProcesses(t *testing.T) {
	inBubble(t, []string{"a"}, func(g *rig) {
		g.receive("a", func(r *v1alpha1.NotificationReceiver) { r.Events = []v1alpha1.NotificationEvent{v1alpha1.NotifySkills} })
		sk := &v1alpha1.Skill{}
		sk.Name, sk.Namespace, sk.UID = "counting", "ns", "u-counting"
		sk.Status.State, sk.Status.RevisionName, sk.Status.StateTime = v1alpha1.SkillAwaitingApproval, "r1", new(metav1.Now())
		sk.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionApproved, Status: metav1.ConditionFalse, Reason: "AwaitingApproval", LastTransitionTime: metav1.Now()}}
		g.must(g.c.Create(g.ctx, sk))
		look := func() {
			_, err := g.r.Reconcile(g.ctx, request{subject: subjectOf(kindSkill, sk)})
			g.must(err)
			synctest.Wait()
		}
		look()
		if got := g.sinks["a"].taken(); len(got) != 1 {
			t.Fatalf("got %q", got)
		}
		for range 3 {
			later(5 * time.Minute)
			g.cortex()
			g.restart()
			look()
		}
		if got := g.sinks["a"].taken(); len(got) != 1 {
			t.Errorf("after restarts: %q", got)
		}
		sk.Status.State, sk.Status.StateTime = v1alpha1.SkillNeedsReapproval, new(metav1.Now())
		g.must(g.c.Update(g.ctx, sk))
		g.restart()
		look()
		if got := g.sinks["a"].taken(); len(got) != 2 {
			t.Errorf("after a change: %q", got)
		}
	})
}
