// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/motorloop"
)

func TestSlotsFollowMemoryAndProcessors(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		memory     int64
		processors int
		loops      int
		bytes      int64
	}{
		"as it is installed": {400 << 20, 2, 533, 400 << 20 / 3},
		"more memory":        {2 << 30, 4, 2048, 2 << 30 / 3},
		"one processor":      {8 << 30, 1, 512, 8 << 30 / 3},
		"hardly any memory":  {1, 2, 8, 2 << 20},
		"no bound":           {math.MaxInt64, 2, 1024, math.MaxInt64 / 3},
	} {
		if loops, bytes := SlotsFor(tt.memory, tt.processors); loops != tt.loops || bytes != tt.bytes {
			t.Errorf("%s: %d loops in %d bytes", name, loops, bytes)
		}
	}
}

// sharing is an engine with loops that began at 1000 s, by "namespace/name", whose texts have those sizes, and runs that wait.
func sharing(c Config, now int64, held map[string]int, waiting ...string) *Engine {
	e := &Engine{Config: c, Now: func() time.Time { return time.Unix(now, 0) }, loops: map[types.NamespacedName]*worker{}}
	for name, bytes := range held {
		e.loops[types.NamespacedName{Namespace: name[:1], Name: name[2:]}] = &worker{running: true, since: time.Unix(1000, 0), held: bytes}
		e.running++
	}
	for _, name := range waiting {
		e.queue = append(e.queue, testRun(name[:1], name[2:]))
	}
	return e
}

// A loop ends between two turns for a run that waits, if it had its time and its namespace has no fewer loops.
func TestALoopGivesItsSlotBack(t *testing.T) {
	t.Parallel()
	full := map[string]int{"a/1": 0, "a/2": 0, "a/3": 0, "b/1": 0}
	for name, tt := range map[string]struct {
		after   int64
		held    map[string]int
		waiting []string
		a, b    bool
	}{
		"nothing waits":                     {after: 15, held: full},
		"it only began":                     {after: 14, held: full, waiting: []string{"c/1"}},
		"a run of a third namespace":        {after: 15, held: full, waiting: []string{"c/1"}, a: true, b: true},
		"one of the namespace with fewer":   {after: 15, held: full, waiting: []string{"b/2"}, a: true, b: true},
		"one of the namespace with most":    {after: 15, held: full, waiting: []string{"a/4"}, a: true},
		"a slot is free for the run":        {after: 15, held: map[string]int{"a/1": 0, "a/2": 0}, waiting: []string{"b/1"}},
		"no slot is free for a second loop": {after: 15, held: map[string]int{"a/1": 0, "a/2": 0, "b/1": 0}, waiting: []string{"b/2"}, a: true, b: true},
	} {
		for namespace, want := range map[string]bool{"a": tt.a, "b": tt.b} {
			e := sharing(Config{MaxLoops: 4}, 1000+tt.after, tt.held, tt.waiting...)
			l := e.loops[types.NamespacedName{Namespace: namespace, Name: "1"}]
			if l == nil {
				continue
			}
			if got := e.givesBack(l, namespace, 0, false); got != want {
				t.Errorf("%s: a loop of %s gives its slot back: %t", name, namespace, got)
			}
		}
	}
	// A last look needs no slot of a loop.
	e := sharing(Config{MaxLoops: 4}, 1015, full, "c/1")
	e.queue[0].Status.Ending = &v1alpha1.RunEnding{}
	if e.givesBack(e.loops[types.NamespacedName{Namespace: "a", Name: "1"}], "a", 0, false) {
		t.Error("a loop gives its slot back for a last look")
	}
}

// Conversations that grow take the memory of their own namespace.
func TestTheHeaviestNamespaceGivesBack(t *testing.T) {
	t.Parallel()
	c := Config{MaxLoops: 100, LoopMemory: 16 * loopBytes}
	for name, tt := range map[string]struct {
		held map[string]int
		a, b bool
	}{
		"small ones":    {map[string]int{"a/1": 0, "a/2": 0, "b/1": 0}, false, false},
		"a large one":   {map[string]int{"a/1": 2 * loopBytes, "b/1": 0}, false, false},
		"two large":     {map[string]int{"a/1": 2 * loopBytes, "a/2": 2 * loopBytes, "b/1": 0}, true, false},
		"one beside it": {map[string]int{"a/1": loopBytes, "b/1": 4 * loopBytes}, false, true},
		// There is nothing that could have its memory.
		"one alone": {map[string]int{"a/1": 16 * loopBytes}, false, false},
	} {
		for namespace, want := range map[string]bool{"a": tt.a, "b": tt.b} {
			e := sharing(c, 1015, tt.held)
			if l := e.loops[types.NamespacedName{Namespace: namespace, Name: "1"}]; l != nil && e.givesBack(l, namespace, l.held, false) != want {
				t.Errorf("%s: a loop of %s gives its slot back: %t", name, namespace, !want)
			}
		}
	}
}

func TestALoopWaitsForMemory(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		running   map[string]int
		namespace string
		held      int
		bound     int64
		waits     bool
	}{
		"no bound":                        {map[string]int{"a/1": 99 * loopBytes}, "a", 0, 0, false},
		"it fits":                         {map[string]int{"a/1": 0}, "a", 0, 4 * loopBytes, false},
		"the rest is for others":          {map[string]int{"a/1": 0, "a/2": 0, "a/3": 0}, "a", 0, 4 * loopBytes, true},
		"and they get it":                 {map[string]int{"a/1": 0, "a/2": 0, "a/3": 0}, "b", 0, 4 * loopBytes, false},
		"none is left":                    {map[string]int{"a/1": loopBytes}, "b", 0, 5 * loopBytes, true},
		"a conversation that was large":   {map[string]int{"a/1": 0}, "b", loopBytes, 20 * loopBytes, false},
		"and does not fit":                {map[string]int{"a/1": 4 * loopBytes}, "b", loopBytes, 20 * loopBytes, true},
		"one larger than the whole bound": {map[string]int{"a/1": 0}, "b", 99 * loopBytes, 20 * loopBytes, false},
		"nothing else runs":               {nil, "b", 99 * loopBytes, loopBytes, false},
	} {
		e := sharing(Config{LoopMemory: tt.bound}, 1000, tt.running)
		if got := e.lacksMemory(e.tally(), tt.namespace, tt.held); got != tt.waits {
			t.Errorf("%s: it waits: %t", name, got)
		}
	}
}

// A run whose loop gave its slot back is at the end of the queue, goes on without a pause, and its size is known.
func TestARunThatGaveItsSlotBackTakesTurns(t *testing.T) {
	t.Parallel()
	give := make(chan struct{})
	e := testEngine(t, 2, io.Discard, func(ctx context.Context) error {
		select {
		case <-give:
			return fmt.Errorf("after a turn: %w", motorloop.ErrGivenBack)
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	runs := []*v1alpha1.MotorRun{testRun("a", "0"), testRun("a", "1"), testRun("a", "2")}
	for _, run := range runs {
		e.ensure(run)
	}
	loop := func(run *v1alpha1.MotorRun) (running bool, held int) {
		e.mu.Lock()
		defer e.mu.Unlock()
		if l := e.loops[client.ObjectKeyFromObject(run)]; l != nil {
			return l.running, l.held
		}
		return false, 0
	}
	hasLoop := func(run *v1alpha1.MotorRun) bool { running, _ := loop(run); return running }
	e.mu.Lock()
	e.loops[types.NamespacedName{Namespace: "a", Name: "0"}].held = 1000
	e.loops[types.NamespacedName{Namespace: "a", Name: "1"}].held = 1000
	e.mu.Unlock()
	give <- struct{}{}
	first := (<-e.ended).Object
	if first.Name != "2" {
		t.Fatalf("%s is looked at first", first.Name)
	}
	if e.ensure(first); !hasLoop(first) {
		t.Fatal("the run that waited has no loop")
	}
	back := (<-e.ended).Object
	if res := e.ensure(back); res.RequeueAfter != 0 || hasLoop(back) {
		t.Errorf("%s has a loop, or waits for %v", back.Name, res)
	}
	give <- struct{}{}
	if next := (<-e.ended).Object; next.Name != back.Name {
		t.Fatalf("%s is looked at, want %s", next.Name, back.Name)
	}
	e.ensure(back)
	if running, held := loop(back); !running || held != 1000 {
		t.Errorf("%s has a loop: %t, of %d bytes", back.Name, running, held)
	}
}

// One run that waits ends one loop.
func TestOneLoopGivesBackForARun(t *testing.T) {
	t.Parallel()
	held := map[string]int{}
	for i := range 8 {
		held[fmt.Sprintf("a/%d", i)] = 0
	}
	for waiting, want := range map[string]int{"b/1": 1, "b/1 b/2 b/3": 3} {
		e := sharing(Config{MaxLoops: 8}, 1015, held, strings.Fields(waiting)...)
		n := 0
		for key, l := range e.loops {
			if e.givesBack(l, key.Namespace, 0, false) {
				n++
			}
		}
		if n != want {
			t.Errorf("%d loops end for %s", n, waiting)
		}
	}
	// Memory is given back by as many as are needed.
	for name := range held {
		held[name] = 2 * loopBytes
	}
	e := sharing(Config{MaxLoops: 100, LoopMemory: 64 * loopBytes}, 1000, held)
	n := 0
	for key, l := range e.loops {
		if e.givesBack(l, key.Namespace, 2*loopBytes, false) {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d loops of 72 parts of memory end, where 64 are allowed and each has 9", n)
	}
}

// A loop that only began is measured and goes on.
func TestALoopThatBeganGoesOn(t *testing.T) {
	t.Parallel()
	e := sharing(Config{MaxLoops: 1, LoopMemory: loopBytes}, 2000, map[string]int{"a/1": 0}, "b/1")
	l := e.loops[types.NamespacedName{Namespace: "a", Name: "1"}]
	if e.givesBack(l, "a", 5*loopBytes, true) || l.held != 5*loopBytes {
		t.Errorf("it ends, or has %d bytes", l.held)
	}
}

// A large conversation that waits for memory gets it: loops give theirs back, and small ones that come leave it.
func TestALargeConversationGetsItsMemory(t *testing.T) {
	t.Parallel()
	held := map[string]int{"c/1": 0}
	for i := range 12 {
		held[fmt.Sprintf("a/%d", i)] = 0
	}
	e := sharing(Config{MaxLoops: 100, LoopMemory: 16 * loopBytes}, 2000, held, "b/1")
	large := e.queue[0]
	e.loops[client.ObjectKeyFromObject(large)] = &worker{task: task{run: large.UID}, held: 2 * loopBytes}
	if !e.lacksMemory(e.tally(), "b", e.sizeOf(large)) {
		t.Fatal("it does not wait")
	}
	for _, small := range []string{"a", "c"} {
		if run := testRun(small, "new"); !e.standsBack(e.tally(), run) {
			t.Errorf("a second run of %s takes the memory", small)
		}
	}
	if run := testRun("d", "new"); e.standsBack(e.tally(), run) {
		t.Error("the first run of a namespace waits for it")
	}
	if !e.givesBack(e.loops[types.NamespacedName{Namespace: "a", Name: "0"}], "a", 0, false) {
		t.Error("no loop gives its memory back")
	}
}

// A run that gave its slot back does not take it again before the runs that wait were looked at.
func TestARunThatGaveItsSlotBackIsNotFirst(t *testing.T) {
	t.Parallel()
	e := sharing(Config{MaxLoops: 4}, 1015, map[string]int{"a/1": 0, "a/2": 0, "c/1": 0}, "b/1")
	gave := testRun("a", "3")
	e.loops[client.ObjectKeyFromObject(gave)] = &worker{task: task{run: gave.UID}, gives: true}
	if !e.standsBack(e.tally(), gave) {
		t.Error("it takes the slot that the first run in the queue would get")
	}
	e.queue = []*v1alpha1.MotorRun{gave, testRun("b", "1")}
	if e.standsBack(e.tally(), gave) {
		t.Error("it waits although it is the first one in the queue")
	}
}

// Before a conversation was read, its size is guessed: after a restart not all loops begin at once.
func TestConversationsThatWereNotReadHaveASize(t *testing.T) {
	t.Parallel()
	e := testEngine(t, 100, io.Discard, hang)
	e.Config.LoopMemory = 64 << 20
	for i := range 60 {
		run := testRun(fmt.Sprint(i%3), fmt.Sprint(i))
		run.Status.Steps = 100
		e.ensure(run)
	}
	if n := e.tally(); n.bytes > 64<<20 || e.running == 0 || e.running+len(e.queue) != 60 {
		t.Errorf("%d loops run with %d MiB, %d wait", e.running, n.bytes>>20, len(e.queue))
	}
}
