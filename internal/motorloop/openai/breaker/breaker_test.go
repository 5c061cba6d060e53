// SPDX-License-Identifier: Apache-2.0

package breaker

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"
)

// clock is set by the test.
type clock struct{ now time.Time }

func (c *clock) Now() time.Time { return c.now }

func endpoint() (*clock, *Endpoint) {
	c := &clock{time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	return c, (&Registry{Now: c.Now}).Of("x")
}

var errAway = errors.New("away")

func mustEnter(t *testing.T, e *Endpoint) func(Verdict) {
	t.Helper()
	report, err := e.Enter(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func mustWait(t *testing.T, e *Endpoint, least, most time.Duration) {
	t.Helper()
	_, err := e.Enter(t.Context())
	if away, ok := errors.AsType[*Away](err); !ok || away.Wait < least || away.Wait > most || !errors.Is(err, errAway) {
		t.Fatalf("got %v, want to be sent away for %s to %s", err, least, most)
	}
}

// mustQueue requires that all slots are in use.
func mustQueue(t *testing.T, e *Endpoint) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if report, err := e.Enter(ctx); report != nil || !errors.Is(err, context.Canceled) || len(e.waiting) > 0 {
		t.Fatalf("leave %t, %v, %d wait", report != nil, err, len(e.waiting))
	}
}

// A few failures in a row block all callers. Then one probes, and when it has its answer the others resume a few at a time.
func TestFailuresOpenAndAnAnswerCloses(t *testing.T) {
	t.Parallel()
	c, e := endpoint()
	for range opensAfter - 1 {
		mustEnter(t, e)(Verdict{Err: errAway})
	}
	mustEnter(t, e)(Verdict{Err: errAway})
	mustWait(t, e, 4*time.Second, 6*time.Second)
	c.now = c.now.Add(4 * time.Second)
	probe := mustEnter(t, e)
	mustWait(t, e, probePause, probePause*3/2)
	probe(Verdict{Err: errAway})
	mustWait(t, e, 8*time.Second, 12*time.Second)
	c.now = c.now.Add(8 * time.Second)
	mustEnter(t, e)(Verdict{})
	// Two at the same time, then four.
	first, second := mustEnter(t, e), mustEnter(t, e)
	mustQueue(t, e)
	first(Verdict{})
	second(Verdict{})
	for range 8 {
		mustEnter(t, e)
	}
	mustQueue(t, e)
}

func TestWhatOpensAtOnce(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		verdict     Verdict
		least, most time.Duration
	}{
		"somebody must act":     {Verdict{Err: errAway, MustAct: true}, time.Second, 3 * time.Second / 2},
		"the endpoint says how": {Verdict{Err: errAway, RetryAfter: 20 * time.Second}, 20 * time.Second, 30 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, e := endpoint()
			mustEnter(t, e)(tt.verdict)
			mustWait(t, e, tt.least, tt.most)
		})
	}
}

// An overloaded endpoint gets half as many requests, and more again as it answers.
func TestBusyEndpointIsAskedByFewer(t *testing.T) {
	t.Parallel()
	_, e := endpoint()
	asking := make([]func(Verdict), 9)
	for i := range asking {
		asking[i] = mustEnter(t, e)
	}
	asking[0](Verdict{Err: errAway, Busy: true})
	mustQueue(t, e)
	for _, report := range asking[1:6] {
		report(Verdict{Unknown: true})
	}
	mustEnter(t, e) // The fourth at the same time.
	mustQueue(t, e)
	asking[6](Verdict{})
	for range 5 {
		mustEnter(t, e)
	}
}

// A caller that gives up in the middle of a probe leaves the probe to the next.
func TestProbeThatIsGivenUp(t *testing.T) {
	t.Parallel()
	c, e := endpoint()
	mustEnter(t, e)(Verdict{Err: errAway, MustAct: true})
	c.now = c.now.Add(time.Minute)
	mustEnter(t, e)(Verdict{Unknown: true})
	mustEnter(t, e)(Verdict{})
}

func TestPauses(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]time.Duration{0: time.Second, 1: time.Second, 4: 8 * time.Second, 100: maxPause} {
		if got := Pause(n, false); got != want {
			t.Errorf("after %d failures: %s", n, got)
		}
	}
	if got := Pause(100, true); got != maxActPause {
		t.Errorf("where somebody must act: %s", got)
	}
}

func TestRegistryIsBounded(t *testing.T) {
	t.Parallel()
	r := &Registry{}
	first := r.Of("0")
	for i := range maxEndpoints * 2 {
		r.Of(fmt.Sprint(i))
		if r.Of("0") != first {
			t.Fatal("what is asked all the time was forgotten")
		}
	}
	if len(r.byKey) > maxEndpoints {
		t.Errorf("%d endpoints", len(r.byKey))
	}
}

// For any number of hanging requests, the time for a first byte stays within bounds, and an answer restores it.
func TestSilenceIsBounded(t *testing.T) {
	t.Parallel()
	_, e := endpoint()
	for wave, want := range []int{1, 2, 3, 3, 3} {
		sent := e.Facts()
		for range 20 {
			e.Learn(func(f *Facts) { f.WasSilent(sent) })
		}
		if got := e.Facts().SilentFor; got != want {
			t.Errorf("wave %d: doubled %d times, want %d", wave, got, want)
		}
	}
	for _, tt := range []struct {
		doublings int
		stream    bool
		want      int
	}{{0, true, 0}, {2, false, 2}, {0, false, 2}, {0, true, 0}} {
		e.Learn(func(f *Facts) { f.Began(tt.doublings, tt.stream) })
		if got := e.Facts().SilentFor; got != tt.want {
			t.Errorf("%+v: doubled %d times", tt, got)
		}
	}
}

// While an endpoint seems to be down it may be silent no longer than it has proven to be.
func TestProbesBearLessSilence(t *testing.T) {
	t.Parallel()
	_, e := endpoint()
	e.Learn(func(f *Facts) { f.SilentFor, f.ProvenFor = 3, 1 })
	mustEnter(t, e)(Verdict{Err: errAway, MustAct: true})
	if got := e.Facts().SilentFor; got != 1 {
		t.Errorf("doubled %d times", got)
	}
}

// Requests that fail together are one failure: a second of an outage must not block all loops for a minute.
func TestRequestsThatFailTogetherCountOnce(t *testing.T) {
	t.Parallel()
	c, e := endpoint()
	wave := func(v Verdict) {
		reports := make([]func(Verdict), 20)
		for i := range reports {
			reports[i] = mustEnter(t, e)
		}
		for _, report := range reports {
			report(v)
		}
	}
	for range opensAfter - 1 {
		wave(Verdict{Err: errAway})
	}
	wave(Verdict{Err: errAway})
	mustWait(t, e, 4*time.Second, 6*time.Second)
	c.now = c.now.Add(time.Minute)
	mustEnter(t, e)(Verdict{})

	// An overloaded endpoint gets half as many requests, however many callers see the refusal.
	_, e = endpoint()
	wave(Verdict{Err: errAway, Busy: true})
	for range 9 {
		mustEnter(t, e)
	}
	mustQueue(t, e)
}

// A late failure that applies to all callers takes effect, also if it is not counted.
func TestLateFailureThatIsForAll(t *testing.T) {
	t.Parallel()
	_, e := endpoint()
	first, late := mustEnter(t, e), mustEnter(t, e)
	first(Verdict{Err: errAway})
	late(Verdict{Err: errAway, MustAct: true})
	mustWait(t, e, time.Second, 3*time.Second/2)
}

// A late failure with a shorter pause does not shorten that of the others.
func TestLateFailureDoesNotShortenThePause(t *testing.T) {
	t.Parallel()
	_, e := endpoint()
	first, late := mustEnter(t, e), mustEnter(t, e)
	first(Verdict{Err: errAway, RetryAfter: time.Minute})
	late(Verdict{Err: errAway, RetryAfter: time.Second})
	mustWait(t, e, time.Minute, 3*time.Minute/2)
}

// Callers wait as long as an endpoint asks, also if the pause after so many failures would be shorter.
func TestRetryAfterIsKeptAfterManyFailures(t *testing.T) {
	t.Parallel()
	c, e := endpoint()
	for range opensAfter {
		mustEnter(t, e)(Verdict{Err: errAway})
	}
	c.now = c.now.Add(time.Minute)
	mustEnter(t, e)(Verdict{Err: errAway, RetryAfter: 5 * time.Minute})
	mustWait(t, e, 5*time.Minute, 15*time.Minute/2)
}

// Closed returns how long to wait and why, and nothing for an endpoint that may be called.
func TestClosed(t *testing.T) {
	t.Parallel()
	c, e := endpoint()
	if wait, last := e.Closed(); wait != 0 || last != nil {
		t.Errorf("of a new one: %s, %v", wait, last)
	}
	mustEnter(t, e)(Verdict{Err: errAway, RetryAfter: time.Minute})
	if wait, last := e.Closed(); wait < time.Minute || wait > 3*time.Minute/2 || !errors.Is(last, errAway) {
		t.Errorf("of one that is away: %s, %v", wait, last)
	}
	c.now = c.now.Add(time.Minute)
	if wait, last := e.Closed(); wait != 0 || last != nil {
		t.Errorf("when the pause is over: %s, %v", wait, last)
	}
}
