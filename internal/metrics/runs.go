// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// Runs shows the runs of the cluster. It is a handler of the events of the informer of runs. Of a run that has ended it keeps no more than a count,
// because a cluster can have a hundred thousand of them: a list of them at each read would cost more than everything else that the manager does.
type Runs struct {
	now      func() time.Time
	archives bool
	reasons  *labels

	mu sync.Mutex
	// going are the runs that have not ended.
	going map[types.UID]course
	// ended counts those that have.
	ended map[standing]int
	// unarchived is when runs ended that are not in the archive. It is empty if there is none.
	unarchived map[types.UID]time.Time

	runs, conditions           *prometheus.Desc
	queued, queueAge           *prometheus.Desc
	asks, askAge, expiry       *prometheus.Desc
	unarchivedRuns, archiveLag *prometheus.Desc
}

// RegisterRuns registers the metrics of runs, and returns the handler that must get the events of their informer. archives is true if the steps of
// finished runs are archived. now is the clock of the API.
func RegisterRuns(to prometheus.Registerer, archives bool, now func() time.Time) (*Runs, error) {
	r := &Runs{
		now: now, archives: archives, reasons: newLabels(maxReasons),
		going: map[types.UID]course{}, ended: map[standing]int{}, unarchived: map[types.UID]time.Time{},

		runs:       gauge("runs", "Runs by state and reason, both from the conditions.", "state", "reason"),
		conditions: gauge("run_conditions", "Runs that have not ended, by the type, status and reason of each of their conditions.", "type", "status", "reason"),
		queued:     gauge("queue_runs", "Runs that wait for a slot of their namespace."),
		queueAge:   gauge("queue_oldest_age_seconds", "For how long the run waits that waits longest for a slot of its namespace; 0 if none waits."),
		asks:       gauge("asks_open", "Asks that wait for a person, by kind.", "kind"),
		askAge:     gauge("asks_oldest_age_seconds", "How long ago the oldest open ask was asked, by kind.", "kind"),
		expiry:     gauge("asks_next_expiry_seconds", "In what time the next open ask expires, by kind; below 0, it is about to be dealt with.", "kind"),
		unarchivedRuns: gauge("archive_pending_runs",
			"Runs that have ended and are not in the archive. It is there only where the manager has a bucket."),
		archiveLag: gauge("archive_oldest_pending_seconds", "How long ago the run ended that waits longest for the archive; 0 if none waits."),
	}
	return r, to.Register(r)
}

// OnAdd notes a run.
func (r *Runs) OnAdd(o any, _ bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if run, ok := o.(*v1alpha1.MotorRun); ok {
		r.note(run)
	}
}

// OnUpdate notes how a run stands now.
func (r *Runs) OnUpdate(before, after any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if run, ok := before.(*v1alpha1.MotorRun); ok {
		r.drop(run)
	}
	if run, ok := after.(*v1alpha1.MotorRun); ok {
		r.note(run)
	}
}

// OnDelete forgets a run. Of one whose deletion was not seen there is the last state that was.
func (r *Runs) OnDelete(o any) {
	if unseen, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
		o = unseen.Obj
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if run, ok := o.(*v1alpha1.MotorRun); ok {
		r.drop(run)
	}
}

func (r *Runs) note(run *v1alpha1.MotorRun) {
	at := standingOf(run)
	if !at.ended() {
		r.going[run.UID] = courseOf(run, at)
		return
	}
	r.ended[at]++
	if r.archives && run.Status.Archive == nil && run.Status.CompletionTime != nil && run.DeletionTimestamp.IsZero() {
		r.unarchived[run.UID] = run.Status.CompletionTime.Time
	}
}

func (r *Runs) drop(run *v1alpha1.MotorRun) {
	delete(r.going, run.UID)
	delete(r.unarchived, run.UID)
	at := standingOf(run)
	if !at.ended() {
		return
	}
	if r.ended[at]--; r.ended[at] <= 0 {
		delete(r.ended, at)
	}
}

// Describe sends the descriptions. Some of the gauges have no value at times, so they are listed.
func (r *Runs) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		r.runs, r.conditions, r.queued, r.queueAge, r.asks, r.askAge, r.expiry, r.unarchivedRuns, r.archiveLag,
	} {
		to <- d
	}
}

// Collect sends the runs as they are now.
func (r *Runs) Collect(to chan<- prometheus.Metric) {
	now := r.now()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.collectStates(to)
	r.collectQueue(to, now)
	r.collectAsks(to, now)
	if !r.archives {
		return
	}
	var oldest time.Duration
	for _, since := range r.unarchived {
		oldest = max(oldest, now.Sub(since))
	}
	send(to, r.unarchivedRuns, float64(len(r.unarchived)))
	send(to, r.archiveLag, oldest.Seconds())
}

func (r *Runs) collectStates(to chan<- prometheus.Metric) {
	// Values that share the label other are added up: the registry refuses the same labels twice.
	byState, byCondition := map[standing]int{}, map[condition]int{}
	for at, n := range r.ended {
		byState[standing{at.state, r.reasons.of(at.reason)}] += n
	}
	for _, c := range r.going {
		byState[standing{c.at.state, r.reasons.of(c.at.reason)}]++
		for _, k := range c.conditions {
			k.reason = r.reasons.of(k.reason)
			byCondition[k]++
		}
	}
	for at, n := range byState {
		send(to, r.runs, float64(n), string(at.state), at.reason)
	}
	for k, n := range byCondition {
		send(to, r.conditions, float64(n), k.kind, k.status, k.reason)
	}
}

func (r *Runs) collectQueue(to chan<- prometheus.Metric, now time.Time) {
	queued, oldest := 0, time.Duration(0)
	for _, c := range r.going {
		if !c.queuedSince.IsZero() {
			queued++
			oldest = max(oldest, now.Sub(c.queuedSince))
		}
	}
	send(to, r.queued, float64(queued))
	send(to, r.queueAge, oldest.Seconds())
}

// kinds are the kinds of asks. Each always has a count, so that an alert about a change of it sees the first one.
var kinds = []v1alpha1.InputKind{
	v1alpha1.InputQuestion, v1alpha1.InputOutcomeUnknown, v1alpha1.InputRetry, v1alpha1.InputDomainRequest, v1alpha1.InputApproval, v1alpha1.InputBudgetExhausted,
}

func (r *Runs) collectAsks(to chan<- prometheus.Metric, now time.Time) {
	for _, kind := range kinds {
		open, oldest := 0, time.Duration(0)
		var next time.Time
		for _, c := range r.going {
			for _, a := range c.asks {
				if a.kind != kind {
					continue
				}
				open++
				if !a.asked.IsZero() {
					oldest = max(oldest, now.Sub(a.asked))
				}
				if !a.expires.IsZero() && (next.IsZero() || a.expires.Before(next)) {
					next = a.expires
				}
			}
		}
		send(to, r.asks, float64(open), string(kind))
		send(to, r.askAge, oldest.Seconds(), string(kind))
		if !next.IsZero() {
			send(to, r.expiry, next.Sub(now).Seconds(), string(kind))
		}
	}
}
