// SPDX-License-Identifier: Apache-2.0

// Package export sends the spans of runs to a collector while they run.
//
//	run or step changed ──► backlog of runs ──► what is left to tell? ──► one request for several runs ──► how much of each was told
//
// No spans wait in memory: what is left to tell follows from the run, its steps and a cursor. The cursor is lost with the process, and the next one tells
// the runs that have not ended, and those that ended of late or that the one before has not told, from the beginning. Ids follow from the run, so a span
// that is told twice is the same one.
package export

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/journal"
	"motorcortex.dev/motorcortex/internal/telemetry/collector"
	"motorcortex.dev/motorcortex/internal/telemetry/span"
)

const (
	// maxSpans is how many spans a request has, give or take those of one run, and maxRuns of how many runs.
	maxSpans, maxRuns = 512, 64
	// maxSteps is how many steps of a run are told at once, and maxWholeSteps how many with their content.
	maxSteps, maxWholeSteps = 16, 4
	// firstPause is the pause after a first failure. Each further one doubles it, up to maxPause.
	firstPause, maxPause = time.Second, time.Minute
	// maxTries is how often a part of a run is tried that the collector does not take while it takes others, or that it refuses while it takes none.
	maxTries = 10
)

// Cache has runs and steps.
type Cache interface {
	client.Reader
	GetInformer(ctx context.Context, of client.Object, options ...cache.InformerGetOption) (cache.Informer, error)
}

// Sender sends spans. Its error is a *collector.Failure, or one of the spans themselves.
type Sender interface {
	Send(ctx context.Context, spans []*tracev1.ResourceSpans) (rejected int, err error)
}

// Observer is told what became of spans.
type Observer interface {
	SpansSent(n int)
	// SpansRefused are those that the collector did not take, and never will.
	SpansRefused(n int)
	// RunLost is a run whose spans were not sent: a deleted one of too many, or one that ended too long before the process began.
	RunLost()
	// ExportFailed is a request that is tried again.
	ExportFailed()
}

// Exporter sends the spans of the runs in a cache. It runs in the leader only: two would tell everything twice.
type Exporter struct {
	Cache  Cache
	Sender Sender
	// Live reads whole steps, for their content. Unused without.
	Live     client.Reader
	Resource span.Resource
	Observer Observer
	Now      func() time.Time
	// Linger is how long the exporter gathers what has changed before it sends that.
	Linger time.Duration
	// Leases has the note of what was told, which the next process reads.
	Leases Leases
	Logger *slog.Logger

	backlog *backlog
	// alone is how many of the next requests have one run each, because the collector did not take several together.
	alone int
	// runs is the most runs of the next request. A request that is too large halves it, and one that is taken doubles it.
	runs int
	// sends counts requests that were taken, and failures those in a row that were not.
	sends, failures int
}

// Init must be called before anything else.
func (e *Exporter) Init() { e.backlog, e.runs = newBacklog(), maxRuns }

// Waiting is how many runs may have spans that were not sent.
func (e *Exporter) Waiting() int { return e.backlog.waiting() }

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (e *Exporter) NeedLeaderElection() bool { return true }

// Start sends spans until the context ends.
func (e *Exporter) Start(ctx context.Context) error {
	// Another process led before.
	e.backlog.begin(e.resume(ctx))
	var synced []func() bool
	for _, watch := range []struct {
		of      client.Object
		handler toolscache.ResourceEventHandler
	}{{&v1alpha1.MotorRun{}, e.changes()}, {&v1alpha1.MotorStep{}, e.steps()}} {
		informer, err := e.Cache.GetInformer(ctx, watch.of)
		if err != nil {
			return fmt.Errorf("watch for spans: %w", err)
		}
		handle, err := informer.AddEventHandler(watch.handler)
		if err != nil {
			return fmt.Errorf("watch for spans: %w", err)
		}
		synced = append(synced, handle.HasSynced)
		defer func() { _ = informer.RemoveEventHandler(handle) }() // The process ends.
	}
	var notes sync.WaitGroup
	defer notes.Wait()
	notes.Go(func() { e.keepNote(ctx, synced) })
	for ctx.Err() == nil {
		next := e.pass(ctx)
		e.await(ctx, next)
	}
	return nil
}

func (e *Exporter) changes() toolscache.ResourceEventHandler {
	deleted := func(o any) {
		if last, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
			o = last.Obj
		}
		if run, ok := o.(*v1alpha1.MotorRun); ok && !e.backlog.depart(run, e.Now()) {
			e.Observer.RunLost()
		}
	}
	return toolscache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(o any, first bool) {
			// Each run that is there is counted at most once, and not again when it changes.
			if run, ok := o.(*v1alpha1.MotorRun); ok && e.backlog.touch(run) && first {
				e.Observer.RunLost()
			}
		},
		UpdateFunc: func(was, is any) {
			former, _ := was.(*v1alpha1.MotorRun)
			run, ok := is.(*v1alpha1.MotorRun)
			if !ok {
				return
			}
			if former != nil && former.UID != run.UID {
				// A watch that was interrupted shows no deletion of a run whose name another one has got.
				deleted(former)
			}
			e.backlog.touch(run)
		},
		DeleteFunc: deleted,
	}
}

func (e *Exporter) steps() toolscache.ResourceEventHandler {
	changed := func(o any) {
		s, ok := o.(*v1alpha1.MotorStep)
		if !ok {
			return
		}
		if owner := metav1.GetControllerOfNoCopy(s); owner != nil {
			e.backlog.touchStep(key{s.Namespace, owner.Name, owner.UID})
		}
	}
	return toolscache.ResourceEventHandlerFuncs{AddFunc: changed, UpdateFunc: func(_, o any) { changed(o) }}
}

// await waits until the next pass: at an instant, or when something changes, if that is zero.
func (e *Exporter) await(ctx context.Context, next time.Time) {
	if next.IsZero() {
		select {
		case <-ctx.Done():
			return
		case <-e.backlog.wake:
		}
		sleep(ctx, nil, e.Linger)
		return
	}
	// After a failure, what changes meanwhile is no reason to try sooner.
	wake := e.backlog.wake
	if e.failures > 0 {
		wake = nil
	}
	if sleep(ctx, wake, next.Sub(e.Now())) {
		sleep(ctx, nil, e.Linger)
	}
}

// sleep waits for a time, and reports whether it was woken before.
func sleep(ctx context.Context, wake <-chan struct{}, d time.Duration) bool {
	if d <= 0 {
		return false
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	case <-wake:
		return true
	}
	return false
}

// part is what a request has of one run.
type part struct {
	taken
	*portion
}

// pass sends one request, if there is something to tell. It returns when the next one is due, zero for when something changes.
func (e *Exporter) pass(ctx context.Context) time.Time {
	parts, next := e.gather(ctx)
	var request []*tracev1.ResourceSpans
	var sent []part
	spans := 0
	for _, p := range parts {
		if len(p.spans) == 0 {
			e.backlog.told(p.key, p.next, p.more, p.at)
			continue
		}
		of, err := e.Resource.OTLP(p.of, p.spans)
		if err != nil {
			e.Logger.ErrorContext(ctx, "spans of a run cannot be sent", "namespace", p.namespace, "run", p.name, "error", err)
			e.Observer.SpansRefused(len(p.spans))
			e.backlog.told(p.key, p.next, p.more, p.at)
			continue
		}
		request, sent, spans = append(request, of), append(sent, p), spans+len(p.spans)
	}
	if len(sent) == 0 {
		return next
	}
	rejected, err := e.Sender.Send(ctx, request)
	if ctx.Err() != nil {
		return time.Time{}
	}
	if err != nil {
		return e.Now().Add(e.failed(ctx, sent, spans, err))
	}
	if e.failures > 0 {
		e.Logger.InfoContext(ctx, "the collector takes spans again")
	}
	e.sends, e.failures, e.alone, e.runs = e.sends+1, 0, max(e.alone-1, 0), min(2*e.runs, maxRuns)
	rejected = min(rejected, spans)
	e.Observer.SpansSent(spans - rejected)
	if rejected > 0 {
		e.Observer.SpansRefused(rejected)
	}
	for _, p := range sent {
		e.backlog.told(p.key, p.next, p.more, p.at)
	}
	return e.Now()
}

// gather takes runs from the backlog until there are enough spans for a request.
func (e *Exporter) gather(ctx context.Context) (parts []part, next time.Time) {
	most := e.runs
	if e.alone > 0 {
		most = 1
	}
	for spans := 0; spans < maxSpans && len(parts) < most; {
		list, due := e.backlog.take(e.Now(), 1)
		if next = due; len(list) == 0 {
			break
		}
		t := list[0]
		p, err := e.left(ctx, &t)
		switch {
		case apierrors.IsNotFound(err):
			// It was deleted. When the watch says so, a moment later, the run is queued as it was last.
			continue
		case err != nil:
			e.Logger.ErrorContext(ctx, "the spans of a run cannot be read", "namespace", t.namespace, "run", t.name, "error", err)
			e.backlog.told(t.key, t.cursor, false, e.Now().Add(firstPause))
			continue
		}
		parts, spans = append(parts, part{t, p}), spans+len(p.spans)
	}
	return parts, next
}

// left returns what is left to tell of a run. Its error is NotFound if there is no such run.
func (e *Exporter) left(ctx context.Context, t *taken) (*portion, error) {
	k := known{run: t.gone, deleted: t.gone != nil}
	if k.run == nil {
		k.run = &v1alpha1.MotorRun{}
		if err := e.Cache.Get(ctx, types.NamespacedName{Namespace: t.namespace, Name: t.name}, k.run, client.UnsafeDisableDeepCopy); err != nil {
			return nil, err
		}
		if k.run.UID != t.uid {
			return nil, apierrors.NewNotFound(v1alpha1.GroupVersion.WithResource("motorruns").GroupResource(), t.name)
		}
	}
	most, from, options := maxSteps, client.Reader(e.Cache), []client.GetOption{client.UnsafeDisableDeepCopy}
	if e.Resource.Content {
		most, from, options = maxWholeSteps, e.Live, nil
	}
	read := func(from client.Reader, name string, options ...client.GetOption) (*v1alpha1.MotorStep, error) {
		s := &v1alpha1.MotorStep{}
		err := from.Get(ctx, types.NamespacedName{Namespace: t.namespace, Name: name}, s, options...)
		if apierrors.IsNotFound(err) || err == nil && !metav1.IsControlledBy(s, k.run) {
			return nil, nil //nolint:nilnil // There is no such step yet.
		}
		return s, err
	}
	k.step = func(attempt, index int32) (*v1alpha1.MotorStep, error) {
		return read(from, journal.StepName(t.name, attempt, index), options...)
	}
	k.outage = func(attempt, index int32) (*v1alpha1.MotorStep, error) {
		return read(e.Cache, journal.OutageName(t.name, attempt, index), client.UnsafeDisableDeepCopy)
	}
	if t.steps > 0 {
		most = min(most, t.steps)
	}
	p, err := k.left(t.cursor, e.Now(), most)
	if err != nil {
		return nil, fmt.Errorf("get a step: %w", err)
	}
	return p, nil
}

// failed notes that a request was not taken, and returns for how long to wait.
func (e *Exporter) failed(ctx context.Context, parts []part, spans int, err error) time.Duration {
	f := &collector.Failure{}
	if !errors.As(err, &f) {
		f = &collector.Failure{Err: err}
	}
	if e.failures == 0 {
		e.Logger.WarnContext(ctx, "the collector does not take spans; they are sent later", "runs", e.backlog.waiting()+len(parts), "spans", spans, "error", err)
	}
	if len(parts) == 1 {
		return e.failedAlone(ctx, &parts[0], f)
	}
	e.Observer.ExportFailed()
	for i := range parts {
		e.backlog.again(parts[i].key, false, e.sends)
	}
	if f.TooLarge {
		e.runs = max(len(parts)/2, 1)
		return 0
	}
	// One of them may be the reason.
	e.alone = len(parts)
	if !f.Again {
		return 0
	}
	return e.pause(f)
}

// failedAlone notes that a request with one run was not taken. What is refused while others are taken is the fault of the spans. While none are taken, a
// proxy in front of the collector may refuse everything, which says nothing of them: they are tried again and again, more and more slowly.
func (e *Exporter) failedAlone(ctx context.Context, p *part, f *collector.Failure) time.Duration {
	failures, others := e.backlog.again(p.key, true, e.sends)
	smaller := f.TooLarge && e.backlog.shrink(p.key, len(p.steps))
	if !smaller && (failures >= maxTries && (others > 0 || !f.Again) || others > 0 && !f.Again) {
		e.Logger.WarnContext(ctx, "the collector refuses the spans of a run", "namespace", p.namespace, "run", p.name, "error", f)
		e.drop(p)
		if others > 0 {
			return 0
		}
		return e.pause(f)
	}
	e.Observer.ExportFailed()
	return e.pause(f)
}

// pause notes a failure that is no fault of one run alone, and returns for how long to wait.
func (e *Exporter) pause(f *collector.Failure) time.Duration {
	e.failures++
	return max(backoff(e.failures), f.After)
}

// drop counts the spans of a part as refused, and goes on behind them.
func (e *Exporter) drop(p *part) {
	e.Observer.SpansRefused(len(p.spans))
	e.alone = max(e.alone-1, 0)
	e.backlog.told(p.key, p.next, p.more, p.at)
}

// backoff is the pause after that many failures in a row.
func backoff(failures int) time.Duration {
	if failures > 6 {
		return maxPause
	}
	return min(firstPause<<(failures-1), maxPause)
}
