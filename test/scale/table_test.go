// SPDX-License-Identifier: Apache-2.0

package scale

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
)

func page(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/scale.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestSimulatedDays(t *testing.T) {
	if table := Table(Cases()); !strings.Contains(page(t), "\n"+table+"\n") {
		t.Errorf("docs/scale.md must have this table:\n%s", table)
	}
}

// A figure of the page that the days are not played with would mislead whoever works out a cluster by it.
func TestThePageSaysWhatTheDaysArePlayedWith(t *testing.T) {
	text := page(t)
	if table := CostTable(Measured); !strings.Contains(text, "\n"+table+"\n") {
		t.Errorf("docs/scale.md must have this table:\n%s", table)
	}
	words := strings.Join(strings.Fields(text), " ")
	first, without := Cases()[0], Cases()[1]
	load, cluster := first.Load, first.Cluster
	d := Simulate(load, cluster, Measured, Seed)
	ofNodes := (Measured.Pod + Measured.Events) * float64(load.Runs) * load.Peak / day.Seconds() / d.Writes
	if math.Round(ofNodes*4) != 1 {
		t.Errorf("%.2f of the writes are the node's and Events, and not a quarter", ofNodes)
	}
	for _, want := range []string{
		fmt.Sprintf("A run has %s steps in the median, and twice as many or more in one of six runs.", number(load.Steps)),
		fmt.Sprintf("A step takes %.0f s and has %s of texts.", load.Step.Seconds(), kB(load.Text)),
		fmt.Sprintf("One run of %.0f asks a person, who answers after two hours.", 1/load.Asks),
		fmt.Sprintf("One of %.0f fails.", 1/load.Fails),
		fmt.Sprintf("There are two managers with %d slots each, as installed.", cluster.Slots/cluster.Managers),
		fmt.Sprintf("A day of 100,000 runs makes %.0f at its peak.", 10*math.Round(d.Writes/10)),
		fmt.Sprintf("each manager writes %s a second", number(Measured.LeaseWrites)),
	} {
		if !strings.Contains(words, want) {
			t.Errorf("docs/scale.md must say: %s", want)
		}
	}
	if load.Spread != 2 || load.Peak != 2 || load.Answer.Hours() != 2 || cluster.Managers != 2 || cluster.Archived.Hours() != 1 ||
		cluster.Compaction.Minutes() != 10 || without.Cluster.Succeeded.Hours() != 24 || without.Cluster.Failed.Hours() != 7*24 {
		t.Errorf("docs/scale.md says in words what the first days are: change it with them, now %+v and %+v", load, without.Cluster)
	}
}
