// SPDX-License-Identifier: Apache-2.0

package scale

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Case is a line of the table of docs/scale.md.
type Case struct {
	Name    string
	Load    Load
	Cluster Cluster
}

// Seed is that of the days of the table.
const Seed = 1

// Cases are the lines of the table: a day of 100,000 runs, and one thing changed in each of the others.
func Cases() []Case {
	load := Load{
		Runs: 100_000, Peak: 2, Steps: 7, Spread: 2, Step: 6 * time.Second, Text: 4000,
		Asks: 0.05, Answer: 2 * time.Hour, Fails: 0.05,
	}
	cluster := Cluster{
		Slots: 2 * 533, Managers: 2, Succeeded: 24 * time.Hour, Failed: 7 * 24 * time.Hour, Archived: time.Hour, Compaction: 10 * time.Minute,
	}
	cases := []Case{{"100,000 runs, bucket", load, cluster}}
	add := func(name string, change func(*Load, *Cluster)) {
		c := Case{name, load, cluster}
		change(&c.Load, &c.Cluster)
		cases = append(cases, c)
	}
	add("without a bucket", func(_ *Load, c *Cluster) { c.Archived = 0 })
	add("10,000 runs, without a bucket", func(l *Load, c *Cluster) { l.Runs, c.Archived = 10_000, 0 })
	add("64 slots", func(_ *Load, c *Cluster) { c.Slots = 64 })
	add("steps of 30 s", func(l *Load, _ *Cluster) { l.Step = 30 * time.Second })
	add("half of the runs ask", func(l *Load, _ *Cluster) { l.Asks = 0.5 })
	add("5 managers", func(_ *Load, c *Cluster) { c.Managers, c.Slots = 5, 5*533 })
	return cases
}

// CostTable returns what a run costs in Markdown.
func CostTable(c Cost) string {
	var b strings.Builder
	b.WriteString("| | figure |\n|---|---:|\n")
	for _, line := range []struct{ what, figure string }{
		{"writes of a run, that of its creation included and those of its steps left out", number(c.Created + c.Ended)},
		{"writes of each step", number(c.StepWrites)},
		{"writes of the run's status for each step", number(c.StatusWrites) + ", and at most " + number(c.StatusWrites) + " a second"},
		{"writes for an answer, that of the person included", number(c.Answered)},
		{"writes of a deletion", number(c.Dropped) + ", and 1 for each step"},
		{"writes of the scheduler and the node to its Pod", number(c.Pod)},
		{"Events", number(c.Events)},
		{"bytes of a run", kB(c.RunBytes)},
		{"bytes of a step", kB(c.StepBytes) + ", and its texts"},
		{"writes of Leases of each manager", number(c.LeaseWrites) + " a second"},
	} {
		fmt.Fprintf(&b, "| %s | %s |\n", line.what, line.figure)
	}
	return b.String()
}

// Table returns the days of the cases in Markdown.
func Table(cases []Case) string {
	var b strings.Builder
	b.WriteString("| day | in hand | ask | queued | longest wait | writes/s | watched/s | kept | stored |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|\n")
	for _, c := range cases {
		d := Simulate(c.Load, c.Cluster, Measured, Seed)
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %s | %.0f | %.0f | %s | %s |\n",
			c.Name, d.InHand, d.Waiting, d.Queued, d.Longest.Round(time.Minute), d.Writes, d.Watched, mib(d.Kept), mib(d.Stored))
	}
	return b.String()
}

func number(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

func kB(bytes int64) string { return number(float64(bytes)/1000) + " kB" }

func mib(bytes int64) string { return fmt.Sprintf("%d MiB", bytes>>20) }
