// SPDX-License-Identifier: Apache-2.0

// Package scale works out what many runs cost a cluster: it plays the runs of a day, moment by moment, with the costs of one run.
package scale

import (
	"container/heap"
	"math"
	"math/rand/v2"
	"time"
)

// Load is what people and agents ask of a cluster in a day.
type Load struct {
	// Runs is how many runs are created in the day.
	Runs int
	// Peak is how many times the mean the rate of the busiest moment is, at least 1 and at most 2. The rate follows a sine over the day.
	Peak float64
	// Steps is the median of the steps of a run, and Spread the factor between the median and the run that has more than five of six.
	Steps, Spread float64
	// Step is the mean time of a step: the model's answer and the call.
	Step time.Duration
	// Text is the mean bytes of texts that a step keeps: what the model said, the arguments and the result.
	Text int64
	// Asks is the share of runs that wait for a person, and Answer the mean time until the answer.
	Asks   float64
	Answer time.Duration
	// Fails is the share of runs that fail.
	Fails float64
}

// Cluster is what the runs share.
type Cluster struct {
	// Slots is how many runs may be in hand at once.
	Slots int
	// Managers is how many replicas watch the runs.
	Managers int
	// Succeeded and Failed are how long runs are kept after their end.
	Succeeded, Failed time.Duration
	// Archived is how long a run of which a bucket has everything is kept, 0 without a bucket.
	Archived time.Duration
	// Compaction is how long etcd keeps former versions.
	Compaction time.Duration
}

// Day is what a simulated day came to.
type Day struct {
	// Steps is how many steps were recorded.
	Steps int
	// InHand, Waiting and Queued are the most runs at once that had a slot, waited for a person, and waited for a slot.
	InHand, Waiting, Queued int
	// Longest is the longest time that a run waited for a slot.
	Longest time.Duration
	// Writes is the most writes in a second, as the mean of a minute, with those of Leases.
	Writes float64
	// Watched is the most objects in a second that the API server sends to the watches of the managers.
	Watched float64
	// Kept is the most bytes of runs and steps, and Stored the same with the former versions that etcd has yet to drop.
	Kept, Stored int64
}

// what happens at a moment.
type kind int

const (
	created  kind = iota // A run is created.
	answered             // A person has answered.
	worked               // The run gives its slot back: it asks a person, or is over.
	dropped              // The run is deleted.
)

type moment struct {
	at   time.Duration
	kind kind
	run  *run
}

// run is one run of the day.
type run struct {
	steps       int
	asks, fails bool
	// asked reports whether the question was asked.
	asked bool
	// since is when it began to wait for a slot.
	since time.Duration
	bytes int64
}

type moments []moment

func (m moments) Len() int           { return len(m) }
func (m moments) Less(i, j int) bool { return m[i].at < m[j].at }
func (m moments) Swap(i, j int)      { m[i], m[j] = m[j], m[i] }
func (m *moments) Push(x any)        { *m = append(*m, x.(moment)) }
func (m *moments) Pop() any {
	last := (*m)[len(*m)-1]
	*m = (*m)[:len(*m)-1]
	return last
}

const day = 24 * time.Hour

// clock plays the moments in their order.
type clock struct {
	load    Load
	cluster Cluster
	cost    Cost
	random  *rand.Rand

	// counts is the moment from which on the day counts.
	counts time.Duration

	coming moments
	queue  []*run
	inHand int
	asking int
	kept   int64
	// writes and volume are the writes of each minute, and their bytes.
	writes, volume []float64
	day            Day
}

// Simulate plays days of the load until the retention of failed runs has passed once, and returns the last of them. The same seed plays the same days.
func Simulate(load Load, cluster Cluster, cost Cost, seed uint64) Day {
	c := &clock{load: load, cluster: cluster, cost: cost, random: rand.New(rand.NewPCG(seed, 0))}
	before := int(math.Ceil(max(cluster.Succeeded, cluster.Failed).Hours() / 24))
	if cluster.Archived > 0 {
		before = 1
	}
	minutes := (before + 1) * int(day/time.Minute)
	c.writes, c.volume = make([]float64, minutes), make([]float64, minutes)
	for n := range before + 1 {
		for range load.Runs {
			heap.Push(&c.coming, moment{time.Duration(n)*day + c.moment(), created, c.newRun()})
		}
	}
	c.counts = time.Duration(before) * day
	for c.coming.Len() > 0 {
		next := heap.Pop(&c.coming).(moment)
		if next.at >= c.counts+day {
			break
		}
		c.play(next)
		if next.at >= c.counts {
			c.look(next.at)
		}
	}
	for m := before * int(day/time.Minute); m < minutes; m++ {
		c.day.Writes = max(c.day.Writes, c.writes[m]/60)
	}
	leases := cost.LeaseWrites * float64(cluster.Managers)
	c.day.Watched = c.day.Writes * float64(cluster.Managers)
	c.day.Writes += leases
	return c.day
}

// moment returns a moment of the day. The rate is 1 - (Peak-1)·cos(2π·t) of the mean.
func (c *clock) moment() time.Duration {
	for {
		t := c.random.Float64()
		if rate := 1 - (c.load.Peak-1)*math.Cos(2*math.Pi*t); c.random.Float64()*c.load.Peak <= rate {
			return time.Duration(t * float64(day))
		}
	}
}

func (c *clock) newRun() *run {
	steps := math.Exp(math.Log(c.load.Steps) + c.random.NormFloat64()*math.Log(c.load.Spread))
	return &run{
		steps: max(1, int(math.Round(steps))),
		asks:  c.random.Float64() < c.load.Asks,
		fails: c.random.Float64() < c.load.Fails,
	}
}

func (c *clock) play(m moment) {
	switch m.kind {
	case created:
		m.run.bytes += c.cost.RunBytes
		c.kept += c.cost.RunBytes
		c.write(m.at, c.cost.Created+(c.cost.Pod+c.cost.Events)/2, c.cost.RunBytes)
		c.wait(m.at, m.run)
	case answered:
		c.asking--
		c.write(m.at, c.cost.Answered, c.cost.RunBytes)
		c.wait(m.at, m.run)
	case worked:
		c.inHand--
		if m.run.asks && !m.run.asked {
			m.run.asked = true
			c.asking++
			heap.Push(&c.coming, moment{m.at + c.spread(c.load.Answer), answered, m.run})
		} else {
			c.end(m.at, m.run)
		}
		if len(c.queue) > 0 {
			next := c.queue[0]
			c.queue = c.queue[1:]
			c.begin(m.at, next)
		}
	case dropped:
		c.kept -= m.run.bytes
		c.write(m.at, c.cost.Dropped+float64(m.run.steps), c.cost.RunBytes)
	}
}

// wait gives the run a slot, or puts it at the end of the queue.
func (c *clock) wait(at time.Duration, r *run) {
	r.since = at
	if c.inHand < c.cluster.Slots {
		c.begin(at, r)
		return
	}
	c.queue = append(c.queue, r)
}

// begin lets the run make its steps: half of them before a question, the rest after it. What they keep counts from now on, a little early.
func (c *clock) begin(at time.Duration, r *run) {
	c.inHand++
	if at >= c.counts {
		c.day.Longest = max(c.day.Longest, at-r.since)
	}
	steps := r.steps
	if r.asks {
		steps = (r.steps + 1) / 2
		if r.asked {
			steps = r.steps / 2
		}
	}
	for range steps {
		took := c.spread(c.load.Step)
		at += took
		bytes := c.cost.StepBytes + c.load.Text
		r.bytes += bytes
		c.kept += bytes
		if at >= c.counts && at < c.counts+day {
			c.day.Steps++
		}
		// The step is written as the question and with its result; and the status of the run once, and at most once a second.
		c.write(at, c.cost.StepWrites, bytes)
		c.write(at, c.cost.StatusWrites*min(took.Seconds(), 1), c.cost.RunBytes)
	}
	heap.Push(&c.coming, moment{at, worked, r})
}

func (c *clock) end(at time.Duration, r *run) {
	c.write(at, c.cost.Ended+(c.cost.Pod+c.cost.Events)/2, c.cost.RunBytes)
	kept := c.cluster.Succeeded
	if r.fails {
		kept = c.cluster.Failed
	}
	if c.cluster.Archived > 0 {
		kept = min(kept, c.cluster.Archived)
	}
	heap.Push(&c.coming, moment{at + kept, dropped, r})
}

// spread returns a time of an exponential distribution with this mean.
func (c *clock) spread(mean time.Duration) time.Duration {
	return time.Duration(c.random.ExpFloat64() * float64(mean))
}

// write notes writes of objects of this size.
func (c *clock) write(at time.Duration, writes float64, bytes int64) {
	if m := int(at / time.Minute); m < len(c.writes) {
		c.writes[m] += writes
		c.volume[m] += writes * float64(bytes)
	}
}

// look takes the most of everything.
func (c *clock) look(at time.Duration) {
	d := &c.day
	d.InHand, d.Waiting, d.Queued = max(d.InHand, c.inHand), max(d.Waiting, c.asking), max(d.Queued, len(c.queue))
	d.Kept = max(d.Kept, c.kept)
	former := 0.0
	first := max(0, int((at-c.cluster.Compaction)/time.Minute))
	for m := first; m <= int(at/time.Minute); m++ {
		former += c.volume[m]
	}
	d.Stored = max(d.Stored, c.kept+int64(former))
}
