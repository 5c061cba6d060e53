// SPDX-License-Identifier: Apache-2.0

package signal

import (
	"slices"
	"time"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// overlap is how long before the settled instant of a sink a new process begins. What happens is seen a little later.
const overlap = time.Minute

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
func (r *Reconciler) adjust(namespace string, sinks []channel, known *v1alpha1.MotorCortexStatus) []*lane {
	r.mu.Lock()
	defer r.mu.Unlock()
	var begun []*lane
	for i := range sinks {
		key := laneKey{namespace, sinks[i].Name, sinks[i].people()}
		l := r.lanes[key]
		if l == nil {
			l = newLane(key, r.Now().Truncate(time.Second))
			if k := statusOf(known, &sinks[i]); k != nil {
				l.health.dropped = k.Dropped
				if !k.SettledTime.IsZero() && k.SettledTime.Time.Before(l.from) {
					l.from = k.SettledTime.Time
				}
				l.from, l.once = l.from.Add(-overlap), sinks[i].people()
			}
			r.lanes[key] = l
			begun = append(begun, l)
		}
		l.configure(sinks[i], r.sender)
	}
	for key, l := range r.lanes {
		if key.namespace == namespace && !slices.ContainsFunc(sinks, func(s channel) bool { return s.Name == key.sink && s.people() == key.people }) {
			l.close()
			delete(r.lanes, key)
		}
	}
	if len(sinks) == 0 {
		delete(r.written, namespace)
	}
	return begun
}

// sender returns a Sender for a channel.
func (r *Reconciler) sender(c *channel) (Sender, error) {
	if c.mails() {
		return r.NewMailer(c.CABundle)
	}
	return r.NewSender(c.CABundle)
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

func statusOf(known *v1alpha1.MotorCortexStatus, c *channel) *v1alpha1.SinkStatus {
	list := known.Sinks
	if c.people() {
		list = known.Receivers
	}
	for i := range list {
		if list[i].Name == c.Name {
			return &list[i]
		}
	}
	return nil
}

// depart has the lanes of its namespace tell the end of an object that was deleted. last is nil if how it ended is not known. The lanes get it at
// once and not by a pass: what waited for a pass would need a bound of its own.
func (r *Reconciler) depart(s subject, last *v1alpha1.MotorRun) {
	for _, l := range r.lanesOf(s.namespace) {
		if l.depart(s, last, r.Now()) {
			r.count(l, Dropped)
		}
	}
}
