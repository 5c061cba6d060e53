// SPDX-License-Identifier: Apache-2.0

package export

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/telemetry/collector"
	"motorcortex.dev/motorcortex/internal/telemetry/span"
)

// objects are a cache without a watch.
type objects struct{ client.Client }

func (objects) GetInformer(context.Context, client.Object, ...cache.InformerGetOption) (cache.Informer, error) {
	return nil, errors.New("there is no watch")
}

// receiver is a collector. answer says what becomes of a request, and is nil for one that takes all.
type receiver struct {
	answer func(runs []string) (int, error)
	spans  map[string][]string
}

func (r *receiver) Send(_ context.Context, request []*tracev1.ResourceSpans) (int, error) {
	var runs []string
	for _, of := range request {
		runs = append(runs, nameIn(of))
	}
	if r.answer != nil {
		if rejected, err := r.answer(runs); err != nil || rejected > 0 {
			return rejected, err
		}
	}
	for i, of := range request {
		for _, s := range of.GetScopeSpans()[0].GetSpans() {
			r.spans[runs[i]] = append(r.spans[runs[i]], s.GetName())
		}
	}
	return 0, nil
}

// nameIn is the name of the run that spans are of.
func nameIn(of *tracev1.ResourceSpans) string {
	for _, a := range of.GetResource().GetAttributes() {
		if a.GetKey() == "motorcortex.run.name" {
			return a.GetValue().GetStringValue()
		}
	}
	return ""
}

// counts are an observer.
type counts struct {
	mu                          sync.Mutex
	sent, refused, lost, failed int
}

func (c *counts) SpansSent(n int)    { c.mu.Lock(); c.sent += n; c.mu.Unlock() }
func (c *counts) SpansRefused(n int) { c.mu.Lock(); c.refused += n; c.mu.Unlock() }
func (c *counts) RunLost()           { c.mu.Lock(); c.lost++; c.mu.Unlock() }
func (c *counts) ExportFailed()      { c.mu.Lock(); c.failed++; c.mu.Unlock() }

// rig is an exporter of runs that have ended, with one step each.
func rig(t *testing.T, runs int) (*Exporter, *receiver, *counts) {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	to, seen := &receiver{spans: map[string][]string{}}, &counts{}
	builder := fake.NewClientBuilder().WithScheme(scheme)
	e := &Exporter{Sender: to, Observer: seen, Now: func() time.Time { return at(100).Time }, Logger: slog.New(slog.DiscardHandler)}
	e.Init()
	for i := range runs {
		run, s := numbered(i), newStep(1, 1, 10, true)
		run.Status.CompletionTime = new(at(50))
		s.Name, s.OwnerReferences[0].Name, s.OwnerReferences[0].UID = strings.Replace(s.Name, runName, run.Name, 1), run.Name, run.UID
		builder.WithObjects(run, s)
		e.backlog.touch(run)
	}
	e.Cache = objects{builder.Build()}
	e.Live = e.Cache
	return e, to, seen
}

// all passes until nothing waits, and fails after too many passes.
func all(t *testing.T, e *Exporter) {
	t.Helper()
	for range 500 {
		if e.pass(t.Context()); e.Waiting() == 0 {
			return
		}
	}
	t.Fatalf("%d runs wait after 500 requests", e.Waiting())
}

func TestRunsAreSentTogether(t *testing.T) {
	t.Parallel()
	e, to, seen := rig(t, 3)
	requests := 0
	to.answer = func([]string) (int, error) { requests++; return 0, nil }
	all(t, e)
	if requests != 1 || len(to.spans) != 3 || seen.sent != 15 {
		t.Errorf("%d requests with %v", requests, to.spans)
	}
}

// A collector that is away loses nothing: what it missed is told when it is back.
func TestDeadCollectorHoldsNothingBackForGood(t *testing.T) {
	t.Parallel()
	e, to, seen := rig(t, 5)
	to.answer = func([]string) (int, error) { return 0, &collector.Failure{Again: true, Err: errors.New("away")} }
	var last time.Duration
	for range 100 {
		last = e.pass(t.Context()).Sub(e.Now())
	}
	if seen.failed != 100 || seen.refused != 0 || last != maxPause || e.Waiting() != 5 {
		t.Errorf("%+v, then a pause of %s, %d wait", seen, last, e.Waiting())
	}
	to.answer = nil
	all(t, e)
	if seen.sent != 25 {
		t.Errorf("%+v", seen)
	}
}

// One run whose spans are not taken, for good or each time anew, keeps those of no other run back, and is given up.
func TestRunThatIsNotTakenIsGivenUp(t *testing.T) {
	t.Parallel()
	for _, again := range []bool{false, true} {
		e, to, seen := rig(t, 5)
		to.answer = func(runs []string) (int, error) {
			if slices.Contains(runs, "run-2") {
				return 0, &collector.Failure{Again: again, Err: errors.New("no")}
			}
			return 0, nil
		}
		all(t, e)
		if seen.sent != 20 || seen.refused != 5 || len(to.spans) != 4 {
			t.Errorf("tried again %t: %+v, %v", again, seen, to.spans)
		}
	}
}

func TestSpansThatWereRejectedAreCountedAndNotSentAgain(t *testing.T) {
	t.Parallel()
	e, to, seen := rig(t, 1)
	to.answer = func([]string) (int, error) { return 2, nil }
	all(t, e)
	if seen.sent != 3 || seen.refused != 2 {
		t.Errorf("%+v", seen)
	}
}

// The next process tells the same spans, under the same ids.
func TestSpansOfTheNextProcessAreTheSame(t *testing.T) {
	t.Parallel()
	ids := func() map[string]bool {
		e, _, _ := rig(t, 2)
		found := map[string]bool{}
		e.Sender = senderFunc(func(request []*tracev1.ResourceSpans) {
			for _, of := range request {
				for _, s := range of.GetScopeSpans()[0].GetSpans() {
					found[string(s.GetTraceId())+string(s.GetSpanId())] = true
				}
			}
		})
		all(t, e)
		return found
	}
	first, second := ids(), ids()
	for id := range second {
		if !first[id] {
			t.Errorf("another id: %x", id)
		}
	}
	if len(first) != 10 || len(second) != 10 {
		t.Errorf("%d spans, then %d", len(first), len(second))
	}
}

type senderFunc func([]*tracev1.ResourceSpans)

func (f senderFunc) Send(_ context.Context, request []*tracev1.ResourceSpans) (int, error) {
	f(request)
	return 0, nil
}

func TestContentIsReadWhereItWasAskedFor(t *testing.T) {
	t.Parallel()
	for _, content := range []bool{false, true} {
		e, _, _ := rig(t, 1)
		e.Resource = span.Resource{Content: content}
		said := ""
		e.Sender = senderFunc(func(request []*tracev1.ResourceSpans) { said += request[0].String() })
		all(t, e)
		if strings.Contains(said, "built") != content {
			t.Errorf("asked for content is %t, and the spans are %s", content, said)
		}
	}
}

// The name of a run that was deleted can be that of another one. A watch that was interrupted shows only the change from one to the other.
func TestRunOfTheSameNameIsAnotherOne(t *testing.T) {
	t.Parallel()
	e, to, seen := rig(t, 1)
	former := numbered(0)
	former.UID = "1f8fad5b-d9cb-469f-a165-70867728950e"
	e.backlog.touch(former)
	all(t, e)
	if len(to.spans["run-0"]) != 5 {
		t.Errorf("told is %v", to.spans)
	}
	e.changes().OnUpdate(former, numbered(0))
	all(t, e)
	// It had no step. Its attempt and it are over.
	if len(to.spans["run-0"]) != 7 || len(e.backlog.of) != 1 || seen.lost != 0 {
		t.Errorf("told is %v, %d are known, %d are lost", to.spans, len(e.backlog.of), seen.lost)
	}
}

// The cache can lack a run before the watch says that it was deleted.
func TestRunThatIsDeletedWhileItIsLookedAtIsTold(t *testing.T) {
	t.Parallel()
	e, to, seen := rig(t, 2)
	last := numbered(1)
	last.Status.CompletionTime = new(at(50))
	e.Cache = without{e.Cache.(objects), "run-1"}
	all(t, e)
	if len(to.spans) != 1 {
		t.Errorf("told is %v", to.spans)
	}
	e.changes().OnDelete(last)
	all(t, e)
	if len(to.spans["run-1"]) != 5 || len(e.backlog.of) != 1 || seen.lost != 0 {
		t.Errorf("told is %v, %d are known, %d are lost", to.spans, len(e.backlog.of), seen.lost)
	}
}

// without is a cache that a run is not in any more.
type without struct {
	objects
	run string
}

func (w without) Get(ctx context.Context, k client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if _, ok := o.(*v1alpha1.MotorRun); ok && k.Name == w.run {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "motorruns"}, k.Name)
	}
	return w.objects.Get(ctx, k, o, opts...)
}

// A process counts what nobody tells once: as it begins, and not each time that such a run changes.
func TestRunsThatNobodyTellsAreCountedOnce(t *testing.T) {
	t.Parallel()
	e, _, seen := rig(t, 0)
	e.backlog.begin(at(90).Time, at(10).Time)
	run := numbered(1)
	run.Status.CompletionTime = new(at(50))
	h := e.changes()
	h.OnAdd(run, true)
	h.OnUpdate(run, run)
	h.OnAdd(run, false)
	if seen.lost != 1 || e.Waiting() != 0 {
		t.Errorf("%d are lost, %d wait", seen.lost, e.Waiting())
	}
}

// A proxy in front of the collector that refuses everything for a while has nothing dropped, and is not asked without a pause.
func TestRefusalOfEverythingIsNoFaultOfTheSpans(t *testing.T) {
	t.Parallel()
	for _, tooLarge := range []bool{false, true} {
		e, to, seen := rig(t, 100)
		to.answer = func([]string) (int, error) { return 0, &collector.Failure{TooLarge: tooLarge, Err: errors.New("no")} }
		atOnce := 0
		for range 50 {
			if !e.pass(t.Context()).After(e.Now()) {
				atOnce++
			}
		}
		if seen.refused != 0 || atOnce > 7 || e.Waiting() != 100 {
			t.Errorf("too large %t: %+v, %d requests without a pause, %d wait", tooLarge, seen, atOnce, e.Waiting())
		}
		to.answer = nil
		all(t, e)
		if seen.sent != 500 || seen.refused != 0 {
			t.Errorf("too large %t: %+v", tooLarge, seen)
		}
	}
}

// What is refused while nothing else is there to send is not tried for ever.
func TestRefusalOfTheOnlyRunHasAnEnd(t *testing.T) {
	t.Parallel()
	e, to, seen := rig(t, 1)
	requests := 0
	to.answer = func([]string) (int, error) { requests++; return 0, &collector.Failure{Err: errors.New("no")} }
	all(t, e)
	if seen.refused != 5 || requests != maxTries {
		t.Errorf("%+v after %d requests", seen, requests)
	}
}

// A proxy that takes small requests alone gets small ones.
func TestRequestThatIsTooLargeIsHalved(t *testing.T) {
	t.Parallel()
	e, to, seen := rig(t, 64)
	largest := 0
	to.answer = func(runs []string) (int, error) {
		if len(runs) > 5 {
			return 0, &collector.Failure{TooLarge: true, Err: errors.New("too large")}
		}
		largest = max(largest, len(runs))
		return 0, nil
	}
	all(t, e)
	if seen.sent != 320 || seen.refused != 0 || largest != 4 {
		t.Errorf("%+v, the largest request had %d runs", seen, largest)
	}
}

// Of one run that is too large by itself, fewer steps are sent at once.
func TestRunThatIsTooLargeIsDivided(t *testing.T) {
	t.Parallel()
	e, _, seen := rig(t, 1)
	run := numbered(0)
	for i := range int32(12) {
		if i == 0 {
			continue
		}
		s := newStep(1, i+1, 10, true)
		s.Name, s.OwnerReferences[0].Name, s.OwnerReferences[0].UID = strings.Replace(s.Name, runName, run.Name, 1), run.Name, run.UID
		if err := e.Cache.(objects).Create(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	to := &bounded{most: 8}
	e.Sender = to
	all(t, e)
	// Three spans of each step, one of the attempt and one of the run.
	if seen.sent != 12*3+2 || seen.refused != 0 || to.largest > 8 {
		t.Errorf("%+v, the largest request had %d spans", seen, to.largest)
	}
	e, _, seen = rig(t, 1)
	e.Sender = &bounded{most: 0}
	all(t, e)
	if seen.sent != 0 || seen.refused == 0 {
		t.Errorf("what is always too large: %+v", seen)
	}
}

// bounded takes requests with few spans.
type bounded struct{ most, largest int }

func (b *bounded) Send(_ context.Context, request []*tracev1.ResourceSpans) (int, error) {
	n := 0
	for _, of := range request {
		n += len(of.GetScopeSpans()[0].GetSpans())
	}
	if n > b.most {
		return 0, &collector.Failure{TooLarge: true, Err: errors.New("too large")}
	}
	b.largest = max(b.largest, n)
	return 0, nil
}
