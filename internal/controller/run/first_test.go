// SPDX-License-Identifier: Apache-2.0

package run

import (
	"fmt"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func TestANewLeaderLooksAtTheRunsFirstThatHaveNotEnded(t *testing.T) {
	t.Parallel()
	q := priorityqueue.New[reconcile.Request]("runs")
	defer q.ShutDown()
	listed := func(name string, finished bool) event.CreateEvent {
		return event.CreateEvent{Object: pinRun(name, finished), IsInInitialList: true}
	}
	// Each object of the first list comes to both handlers, as the controller has them.
	events := []event.CreateEvent{listed("waits", false)}
	for i := range 20 {
		events = append(events, listed(fmt.Sprintf("ended-%d", i), true))
	}
	events = append(events, listed("under-way", false))
	usual := &handler.EnqueueRequestForObject{}
	for _, e := range events {
		handler.WithLowPriorityWhenUnchanged(usual).Create(t.Context(), e, q)
		unfinishedFirst().Create(t.Context(), e, q)
	}
	first := map[string]bool{}
	for range 2 {
		request, priority, _ := q.GetWithPriority()
		first[request.Name] = true
		if priority != 0 {
			t.Errorf("%s has the priority %d", request.Name, priority)
		}
	}
	if !first["waits"] || !first["under-way"] || q.Len() != 20 {
		t.Errorf("the first are %v, and %d are left", first, q.Len())
	}
}
