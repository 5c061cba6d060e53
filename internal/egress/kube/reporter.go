// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	eventsv1client "k8s.io/client-go/kubernetes/typed/events/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/egress"
	"motorcortex.dev/motorcortex/internal/egress/grant"
)

const (
	// reasonDenied and reasonMisuse are the reasons of Events.
	reasonDenied = "EgressDenied"
	reasonMisuse = "CredentialMisuse"

	controllerName = "motorcortex.dev/egressproxy"
	action         = "Connect"

	// maxQueue is how many refusals wait for their Event, and how many that are misuse.
	maxQueue = 256
	// window is the time that the limits are for.
	window = time.Minute
	// maxPerRun is how many Events a run gets within the window, and how many more that are about misuse.
	maxPerRun = 10
	// maxNote and maxInstance are the limits of the API.
	maxNote     = 1024
	maxInstance = 128
	// maxNamePrefix reserves length for the suffix that the API server adds to the name of an Event.
	maxNamePrefix = 200
	createTimeout = 10 * time.Second
)

// Outcomes of a refusal's Event, as the values of the metric's label.
const (
	resultSent    = "sent"
	resultLimited = "limited"
	resultDropped = "dropped"
	resultFailed  = "failed"
)

// Reporter writes refusals as Events of the run that they are about. A sandbox can be refused as often as it likes; people see one Event a
// minute for each host and reason, and few for each run. Misuse has a bound and a queue of its own, so that people see it whatever else the
// sandbox is refused.
type Reporter struct {
	events   eventsv1client.EventsGetter
	instance string
	log      *slog.Logger
	now      func() time.Time
	results  *prometheus.CounterVec

	mu sync.Mutex
	// limits is asked before a refusal waits for its Event: repetitions of one run do not use up the slots of another.
	limits        limiter
	queue, misuse chan report
}

var _ egress.Reporter = (*Reporter)(nil)

type report struct {
	namespace, run, uid string
	denial              egress.Denial
	at                  time.Time
}

// NewReporter makes a Reporter. instance is the name of this Pod. It writes nothing before Run.
func NewReporter(events eventsv1client.EventsGetter, instance string, registerer prometheus.Registerer, log *slog.Logger, now func() time.Time) (*Reporter, error) {
	results := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "motorcortex_egress_events_total",
		Help: "Refusals by what became of their Event: sent, limited (there were enough alike), dropped (the queue was full), failed.",
	}, []string{"result"})
	if err := registerer.Register(results); err != nil {
		return nil, fmt.Errorf("register the metric of Events: %w", err)
	}
	return &Reporter{
		events: events, instance: cut(instance, maxInstance), log: log, now: now, results: results,
		limits: newLimiter(), queue: make(chan report, maxQueue), misuse: make(chan report, maxQueue),
	}, nil
}

// Denied implements egress.Reporter. It never waits.
func (r *Reporter) Denied(g *grant.Grant, d egress.Denial) {
	if g == nil || g.Namespace == "" || g.Run == "" {
		return
	}
	rep := report{g.Namespace, g.Run, g.RunUID, d, r.now()}
	queue := r.queue
	if d.Reason.Misuse() {
		queue = r.misuse
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.limits.allows(rep) {
		r.results.WithLabelValues(resultLimited).Inc()
		return
	}
	select {
	case queue <- rep:
		r.limits.note(rep)
	default:
		r.results.WithLabelValues(resultDropped).Inc()
	}
}

// Run writes Events until the context ends, those about misuse first.
func (r *Reporter) Run(ctx context.Context) {
	for ctx.Err() == nil {
		select {
		case rep := <-r.misuse:
			r.write(ctx, rep)
			continue
		default:
		}
		select {
		case <-ctx.Done():
		case rep := <-r.misuse:
			r.write(ctx, rep)
		case rep := <-r.queue:
			r.write(ctx, rep)
		}
	}
}

func (r *Reporter) write(ctx context.Context, rep report) {
	ctx, cancel := context.WithTimeout(ctx, createTimeout)
	defer cancel()
	result := resultSent
	if _, err := r.events.Events(rep.namespace).Create(ctx, r.event(rep), metav1.CreateOptions{}); err != nil {
		result = resultFailed
		r.log.Warn("an Event could not be written", "namespace", rep.namespace, "run", rep.run, "error", err)
	}
	r.results.WithLabelValues(result).Inc()
}

func (r *Reporter) event(rep report) *eventsv1.Event {
	return &eventsv1.Event{
		ObjectMeta:          metav1.ObjectMeta{Namespace: rep.namespace, GenerateName: cut(rep.run, maxNamePrefix) + "-"},
		EventTime:           metav1.NewMicroTime(rep.at),
		ReportingController: controllerName,
		ReportingInstance:   r.instance,
		Action:              action,
		Reason:              eventReason(rep.denial.Reason),
		Regarding: corev1.ObjectReference{
			APIVersion: v1alpha1.GroupVersion.String(), Kind: "MotorRun", Namespace: rep.namespace, Name: rep.run, UID: types.UID(rep.uid),
		},
		Note: note(rep.denial),
		Type: corev1.EventTypeWarning,
	}
}

func eventReason(reason egress.Reason) string {
	if reason == egress.ReasonCredentialMisuse || reason == egress.ReasonCredentialPlaintext {
		return reasonMisuse
	}
	return reasonDenied
}

// note is the whole text of an Event: no part of it is longer or stranger than a host name, whatever a client sent.
func note(d egress.Denial) string {
	host := strconv.QuoteToASCII(cut(d.Host, 256))
	host = host[1 : len(host)-1]
	text := host + ":" + strconv.Itoa(int(d.Port)) + ": " + string(d.Reason)
	if d.Credential != "" {
		text += " (credential " + d.Credential + ")"
	}
	return cut(text, maxNote)
}

// cut shortens a text to so many bytes, and leaves no half character.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return strings.ToValidUTF8(s[:most], "")
}

// likeness is what two Events of one kind have in common.
type likeness struct {
	uid, host, credential string
	reason                egress.Reason
}

// budget is the key of a bound.
type budget struct {
	uid    string
	misuse bool
}

func budgetOf(r report) budget { return budget{r.uid, r.denial.Reason.Misuse()} }

func likenessOf(r report) likeness {
	return likeness{r.uid, r.denial.Host, r.denial.Credential, r.denial.Reason}
}

// limiter decides which refusals get an Event. Its memory is bounded by the number of Events that it allowed within the window.
type limiter struct {
	alike  map[likeness]time.Time
	ofRun  map[budget][]time.Time
	pruned time.Time
}

func newLimiter() limiter {
	return limiter{alike: map[likeness]time.Time{}, ofRun: map[budget][]time.Time{}}
}

// allows reports whether a refusal may have an Event; note records that it has one.
func (l *limiter) allows(r report) bool {
	l.prune(r.at)
	_, alike := l.alike[likenessOf(r)]
	return !alike && len(l.ofRun[budgetOf(r)]) < maxPerRun
}

func (l *limiter) note(r report) {
	l.alike[likenessOf(r)] = r.at
	l.ofRun[budgetOf(r)] = append(l.ofRun[budgetOf(r)], r.at)
}

// prune removes entries that are older than the window. It scans everything, for which once a second is enough.
func (l *limiter) prune(now time.Time) {
	if now.Sub(l.pruned) < time.Second {
		return
	}
	l.pruned = now
	old := now.Add(-window)
	for key, at := range l.alike {
		if !at.After(old) {
			delete(l.alike, key)
		}
	}
	for whose, times := range l.ofRun {
		for len(times) > 0 && !times[0].After(old) {
			times = times[1:]
		}
		if len(times) == 0 {
			delete(l.ofRun, whose)
			continue
		}
		l.ofRun[whose] = times
	}
}
