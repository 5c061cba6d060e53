// SPDX-License-Identifier: Apache-2.0

package signal

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/signal"
)

// few lets two asks of ten minutes have messages of their own.
func few(r *v1alpha1.NotificationReceiver) {
	r.Digest = &v1alpha1.NotificationDigest{Asks: 2, WindowSeconds: 600}
}

// asking makes runs that ask, and returns the ids of the asks' signals.
func (g *rig) asking(from, to int, within ...time.Duration) (ids []string, runs []*v1alpha1.MotorRun) {
	for i := from; i <= to; i++ {
		run := g.accept(fmt.Sprintf("run-%d", i))
		g.ask(run, "a1", within...)
		synctest.Wait()
		ids, runs = append(ids, "u-"+run.Name+"/run.awaitinginput/a1"), append(runs, run)
	}
	return ids, runs
}

func TestManyAsksComeInOneMessage(t *testing.T) {
	inBubble(t, []string{"a"}, func(g *rig) {
		g.receive("a", few)
		ids, runs := g.asking(1, 5)
		g.want("a", ids[0], ids[1])
		// One is answered before the digest, and another run ends.
		runs[3].Status.PendingInputs = nil
		g.must(g.c.Status().Update(g.ctx, runs[3]))
		g.pass(runs[3])
		later(9 * time.Minute)
		g.want("a", ids[0], ids[1])
		later(2 * time.Minute)
		g.want("a", ids[0], ids[1], "digest of "+ids[2]+" "+ids[4])
		if l := g.r.lanesOf("ns")[0]; len(l.flood.held) != 0 || !l.flood.due.IsZero() {
			t.Errorf("%d asks are held, until %s", len(l.flood.held), l.flood.due)
		}
		g.finish(runs[2])
		g.want("a", ids[0], ids[1], "digest of "+ids[2]+" "+ids[4], "u-run-3/run.completed")
		// The flood is over.
		later(20 * time.Minute)
		more, _ := g.asking(6, 6)
		g.want("a", ids[0], ids[1], "digest of "+ids[2]+" "+ids[4], "u-run-3/run.completed", more[0])
	})
}

func TestAFloodThatGoesOnComesInDigestsAlone(t *testing.T) {
	inBubble(t, []string{"a"}, func(g *rig) {
		g.receive("a", few)
		for i := range 60 {
			g.asking(i, i)
			later(time.Minute)
		}
		later(time.Hour)
		synctest.Wait()
		if got := g.sinks["a"].taken(); len(got) > 2+7 {
			t.Errorf("60 asks within an hour are %d messages: %q", len(got), got)
		}
	})
}

// A message has the content of few asks. All of them are told by it.
func TestAVeryLargeDigestTellsAllOfItsAsks(t *testing.T) {
	inBubble(t, []string{"a"}, func(g *rig) {
		g.receive("a", few)
		ids, _ := g.asking(101, 102+2*signal.MaxListed)
		later(11 * time.Minute)
		g.want("a", ids[0], ids[1], "digest of "+strings.Join(ids[2:2+signal.MaxListed], " ")+" and 20")
		if held := g.r.lanesOf("ns")[0].flood.held; len(held) != 0 {
			t.Errorf("%d asks are still held", len(held))
		}
		later(time.Hour)
		g.want("a", ids[0], ids[1], "digest of "+strings.Join(ids[2:2+signal.MaxListed], " ")+" and 20")
	})
}

// A message that comes after the deadline helps no one.
func TestADigestComesBeforeHalfOfTheTimeIsOver(t *testing.T) {
	inBubble(t, []string{"a"}, func(g *rig) {
		g.receive("a", few)
		ids, _ := g.asking(1, 4, 4*time.Minute)
		later(119 * time.Second)
		g.want("a", ids[0], ids[1])
		later(2 * time.Second)
		g.want("a", ids[0], ids[1], "digest of "+ids[2]+" "+ids[3])
	})
}

// What is held is told by the next process, and what was told is not.
func TestAHeldAskIsToldByTheNextProcess(t *testing.T) {
	inBubble(t, []string{"a"}, func(g *rig) {
		g.receive("a", few)
		ids, _ := g.asking(1, 2)
		later(3 * time.Minute)
		g.cortex()
		later(2 * time.Minute)
		more, _ := g.asking(3, 4)
		g.want("a", ids...)
		g.restart()
		g.want("a", ids[0], ids[1], more[0], more[1])
	})
}

func TestADigestThatIsNotTakenIsTriedAgain(t *testing.T) {
	inBubble(t, []string{"a"}, func(g *rig) {
		g.receive("a", few)
		ids, _ := g.asking(1, 4)
		g.sinks["a"].answer(away)
		later(11 * time.Minute)
		g.want("a", ids[0], ids[1])
		if st := g.cortex().Status.Receivers[0]; st.SettledTime.After(time.Now().Add(-10 * time.Minute)) {
			t.Errorf("asks that are not told count as told at %s", st.SettledTime)
		}
		g.sinks["a"].answer(nil)
		later(10 * time.Minute)
		g.want("a", ids[0], ids[1], "digest of "+ids[2]+" "+ids[3])
		if g.r.lanesOf("ns")[0].told[theDigest] != nil {
			t.Error("the failures of a digest count for the next one")
		}
	})
}

func TestADigestThatIsRefusedForGoodIsDropped(t *testing.T) {
	inBubble(t, []string{"a"}, func(g *rig) {
		g.receive("a", few)
		ids, _ := g.asking(1, 4)
		g.sinks["a"].answer(func(string, int) error { return errRefused })
		later(11 * time.Minute)
		g.sinks["a"].answer(nil)
		more, _ := g.asking(5, 5)
		g.want("a", ids[0], ids[1], more[0])
		if st := g.cortex().Status.Receivers[0]; st.Dropped != 2 {
			t.Errorf("dropped are %d", st.Dropped)
		}
	})
}

// A sink is told each ask, however many there are.
func TestASinkGetsNoDigest(t *testing.T) {
	inBubble(t, []string{"a"}, func(g *rig) {
		for i := range 30 {
			g.asking(i, i)
		}
		if got := g.sinks["a"].taken(); len(got) != 60 {
			t.Errorf("the sink has %d signals", len(got))
		}
	})
}
