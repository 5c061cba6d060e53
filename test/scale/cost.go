// SPDX-License-Identifier: Apache-2.0

package scale

// Cost is what one run costs a cluster. All of its writes count with the bytes of a run, which is as large as its Pod, and larger than an Event.
type Cost struct {
	// Created is the writes until a run has its first step, that of its creation included, and Ended those from the last one on, without those of its Pod
	// by the node.
	Created, Ended float64
	// Pod is the writes of the scheduler and the node to the Pod of a run, and Events the Events of a run.
	Pod, Events float64
	// Answered is the writes for an answer: that of the person, and what follows.
	Answered float64
	// Dropped is the writes of a deletion beside those of the steps, one each.
	Dropped float64
	// StepWrites is the writes of the object of a step. StatusWrites is the writes of the status of its run, and the most of them in a second.
	StepWrites, StatusWrites float64
	// RunBytes is the size of a run, and StepBytes that of a step without its texts.
	RunBytes, StepBytes int64
	// LeaseWrites is the writes of Leases of one manager in a second.
	LeaseWrites float64
}

// Measured is the cost of a run of this version. TestARunCostsWhatTheSimulatedDaysSay of test/api compares it with real runs, but for the
// writes of nodes: of 186 Pods in the end-to-end tests each was bound once, written 5 times and deleted twice, with 10 Events.
var Measured = Cost{
	Created: 8, Ended: 4, Pod: 7, Events: 10, Answered: 3, Dropped: 3, StepWrites: 2, StatusWrites: 1,
	RunBytes: 7500, StepBytes: 2300, LeaseWrites: 1.5,
}
