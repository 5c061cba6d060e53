// SPDX-License-Identifier: Apache-2.0

package metrics

import "github.com/prometheus/client_golang/prometheus"

// Slots are the slots of a replica for loops.
type Slots struct {
	// Running loops, Looks that are last looks at a sandbox, and Waiting runs that wait for a slot or for the Lease of the replica.
	Running, Looks, Waiting int
	// Limit is the most loops that run at the same time, 0 for no bound.
	Limit int
}

// slots shows the slots of this replica.
type slots struct {
	read                             func() Slots
	running, looks, waiting, maximum *prometheus.Desc
}

// RegisterSlots registers the metrics of the slots, which read returns.
func RegisterSlots(to prometheus.Registerer, read func() Slots) error {
	return to.Register(&slots{
		read:    read,
		running: gauge("loops", "Loops that run on this replica."),
		looks:   gauge("loops_looking", "Last looks at the sandboxes of ended runs on this replica. They have slots of their own."),
		waiting: gauge("loops_waiting", "Runs of this replica that wait for a slot, or for its Lease."),
		maximum: gauge("loops_limit", "Loops that this replica runs at the same time at most; 0 is no bound."),
	})
}

// Describe sends the descriptions.
func (s *slots) Describe(to chan<- *prometheus.Desc) { prometheus.DescribeByCollect(s, to) }

// Collect sends the slots as they are now.
func (s *slots) Collect(to chan<- prometheus.Metric) {
	now := s.read()
	send(to, s.running, float64(now.Running))
	send(to, s.looks, float64(now.Looks))
	send(to, s.waiting, float64(now.Waiting))
	send(to, s.maximum, float64(now.Limit))
}
