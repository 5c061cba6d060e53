// SPDX-License-Identifier: Apache-2.0

package signal

import (
	"slices"
	"time"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

const (
	// overlap is how long before the settled instant of a sink a new process begins. What happens is seen a little later.
	overlap = time.Minute
	// maxDeparted bounds the deleted runs that wait for a pass.
	maxDeparted = 1024
)

// lanesOf returns the lanes of a namespace.
func (r *Reconciler) lanesOf(namespace string) []*lane {
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []*lane
	for key, l := range r.lanes {
		if key.namespace == namespace {
			list = append(list, l)
		}
	}
	return list
}

// adjust ends the lanes of a namespace that have no sink any more, configures the others, and returns those that it made. A sink that the status
// does not have is told what happens from now on.
func (r *Reconciler) adjust(namespace string, sinks []v1alpha1.SignalSink, known []v1alpha1.SinkStatus) []*lane {
	r.mu.Lock()
	defer r.mu.Unlock()
	var begun []*lane
	for i := range sinks {
		key := laneKey{namespace, sinks[i].Name}
		l := r.lanes[key]
		if l == nil {
			l = newLane(key, r.Now().Truncate(time.Second))
			if k := statusOf(known, sinks[i].Name); k != nil {
				l.health.dropped = k.Dropped
				if !k.SettledTime.IsZero() && k.SettledTime.Time.Before(l.from) {
					l.from = k.SettledTime.Time
				}
				l.from = l.from.Add(-overlap)
			}
			r.lanes[key] = l
			begun = append(begun, l)
		}
		l.configure(sinks[i], r.NewSender)
	}
	for key, l := range r.lanes {
		if key.namespace == namespace && !slices.ContainsFunc(sinks, func(s v1alpha1.SignalSink) bool { return s.Name == key.sink }) {
			l.close()
			delete(r.lanes, key)
		}
	}
	if len(sinks) == 0 {
		delete(r.written, namespace)
	}
	return begun
}

// forget ends lanes that did not begin.
func (r *Reconciler) forget(lanes []*lane) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, l := range lanes {
		if r.lanes[l.laneKey] == l {
			l.close()
			delete(r.lanes, l.laneKey)
		}
	}
}

func statusOf(known []v1alpha1.SinkStatus, name string) *v1alpha1.SinkStatus {
	for i := range known {
		if known[i].Name == name {
			return &known[i]
		}
	}
	return nil
}

// keepDeparted keeps a run that was deleted until the next pass, if its namespace has a lane.
func (r *Reconciler) keepDeparted(s subject, run *v1alpha1.MotorRun) {
	if len(r.lanesOf(s.namespace)) == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.departed) < maxDeparted {
		r.departed[s] = run
	}
}

func (r *Reconciler) takeDeparted(s subject) *v1alpha1.MotorRun {
	r.mu.Lock()
	defer r.mu.Unlock()
	run := r.departed[s]
	delete(r.departed, s)
	return run
}
