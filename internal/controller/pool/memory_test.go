// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"context"
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"motorcortex.dev/motorcortex/internal/toolapi"
)

var aPool, otherPool = types.NamespacedName{Namespace: "ns", Name: "pool"}, types.NamespacedName{Namespace: "ns", Name: "other"}

// knows lets the memory know a sandbox of the pool whose isolation is proved under a baseline.
func (m *memory) knows(pod types.UID, baseline string) *known {
	m.mu.Lock()
	defer m.mu.Unlock()
	k := m.of(aPool, pod)
	k.baseline, k.proved, k.since, k.tried = baseline, true, noon, noon
	return k
}

// closing is a connection that counts how often it is closed.
type closing struct{ closed int }

func (*closing) Hello(context.Context) (toolapi.Hello, error) { return toolapi.Hello{}, nil }

func (*closing) Probe(context.Context, toolapi.ProbeRequest) (toolapi.ProbeResponse, error) {
	return toolapi.ProbeResponse{}, nil
}

func (c *closing) Close() { c.closed++ }

// One run has a sandbox, and only under the closing policy for which it is proved.
func TestAClaimIsThatOfOneRun(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change   func(*memory)
		baseline string
		want     bool
	}{
		"a free one":                    {nil, "b/1", true},
		"the same run again":            {func(m *memory) { m.claim("pod", "run", "b/1", noon) }, "b/1", true},
		"another run has it":            {func(m *memory) { m.claim("pod", "another", "b/1", noon) }, "b/1", false},
		"another run has returned it":   {func(m *memory) { m.claim("pod", "another", "b/1", noon); m.release("pod") }, "b/1", true},
		"under another closing policy":  {nil, "b/2", false},
		"without a closing policy":      {func(m *memory) { m.knows("pod", "") }, "", false},
		"it is not proved":              {func(m *memory) { m.knows("pod", "b/1").proved = false }, "b/1", false},
		"it was tried of late":          {func(m *memory) { m.knows("pod", "b/1").tried = noon.Add(-2 * triedEvery) }, "b/1", true},
		"it was not tried for long":     {func(m *memory) { m.knows("pod", "b/1").tried = noon.Add(-2*triedEvery - 1) }, "b/1", false},
		"it is not known":               {func(m *memory) { m.forget(aPool) }, "b/1", false},
		"its pool does not have it":     {func(m *memory) { m.retain(aPool, func(types.UID) bool { return false }) }, "b/1", false},
		"another pool does not have it": {func(m *memory) { m.retain(otherPool, func(types.UID) bool { return false }) }, "b/1", true},
		"another one was returned":      {func(m *memory) { m.claim("pod", "another", "b/1", noon); m.release("x") }, "b/1", false},
	} {
		m := &memory{}
		m.knows("pod", "b/1")
		if tt.change != nil {
			tt.change(m)
		}
		if got := m.claim("pod", "run", tt.baseline, noon); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// A pool makes nothing while runs take what it has, and not for long if one comes after the other.
func TestQuiet(t *testing.T) {
	t.Parallel()
	m := &memory{}
	if left := m.quietFor(aPool, noon); left != 0 {
		t.Errorf("a pool that no run takes from waits for %s", left)
	}
	at := noon
	for i := range 8 {
		pod := types.UID(fmt.Sprint(i))
		m.knows(pod, "b/1")
		if !m.claim(pod, "run", "b/1", at) {
			t.Fatalf("%s cannot be claimed", pod)
		}
		want := max(0, min(quietAfter, noon.Add(quietAtMost).Sub(at)))
		if got := m.quietFor(aPool, at); got != want {
			t.Errorf("after %d it waits for %s, want %s", i, got, want)
		}
		at = at.Add(quietAfter)
	}
	at = at.Add(time.Minute)
	m.knows("later", "b/1").tried = at
	m.claim("later", "run", "b/1", at)
	if got := m.quietFor(aPool, at.Add(quietAfter/2)); got != quietAfter/2 {
		t.Errorf("later it waits for %s", got)
	}
}

func TestLook(t *testing.T) {
	t.Parallel()
	m := &memory{}
	if got := m.look("pod", "b/1", noon); got != (standing{}) {
		t.Errorf("one that is not known: %+v", got)
	}
	m.knows("pod", "b/1")
	for baseline, want := range map[string]standing{
		"b/1": {proved: true, trying: time.Second}, "b/2": {}, "": {},
	} {
		if got := m.look("pod", baseline, noon.Add(time.Second)); got != want {
			t.Errorf("under %q: %+v", baseline, got)
		}
	}
	// A run that takes one has it under each closing policy: the pool must not remove it then.
	m.claim("pod", "run", "b/1", noon)
	for baseline, want := range map[string]standing{
		"b/1": {proved: true, taken: true, trying: time.Second}, "b/2": {taken: true}, "": {taken: true},
	} {
		if got := m.look("pod", baseline, noon.Add(time.Second)); got != want {
			t.Errorf("taken, under %q: %+v", baseline, got)
		}
	}
}

// The connection with a sandbox is closed once, when its pool does not have the sandbox any more.
func TestRetainClosesConnections(t *testing.T) {
	t.Parallel()
	m := &memory{}
	conns := map[types.UID]*closing{"kept": {}, "gone": {}}
	for uid, c := range conns {
		m.knows(uid, "b/1").prober = c
	}
	m.knows("untried", "b/1")
	elsewhere := &closing{}
	m.of(otherPool, "elsewhere").prober = elsewhere
	for range 2 {
		m.retain(aPool, func(uid types.UID) bool { return uid == "kept" })
	}
	if conns["kept"].closed != 0 || conns["gone"].closed != 1 || elsewhere.closed != 0 || len(m.byPod) != 2 {
		t.Errorf("closed %d, %d and %d times; %d are known", conns["kept"].closed, conns["gone"].closed, elsewhere.closed, len(m.byPod))
	}
	m.forget(aPool)
	if conns["kept"].closed != 1 || conns["gone"].closed != 1 || elsewhere.closed != 0 || len(m.byPod) != 1 {
		t.Errorf("of a pool that is gone %d are known", len(m.byPod))
	}
}

func TestUnseen(t *testing.T) {
	t.Parallel()
	const half = unseen / 2
	m := &memory{}
	none := func(types.UID) bool { return false }
	m.note(aPool, "a", noon.Add(unseen))
	m.note(aPool, "b", noon.Add(half+unseen))
	m.note(otherPool, "c", noon.Add(unseen))
	for _, tt := range []struct {
		name string
		pool types.NamespacedName
		has  func(types.UID) bool
		at   time.Duration
		want int
		left time.Duration
	}{
		{"before any of them is due", aPool, none, unseen - 1, 2, 1},
		{"when one should be seen", aPool, none, unseen, 1, half},
		{"when the other is seen", aPool, func(uid types.UID) bool { return uid == "b" }, 0, 0, 0},
		{"when one that was seen is gone", aPool, none, 0, 0, 0},
		{"of another pool", otherPool, none, 0, 1, unseen},
	} {
		if got, left := m.unseen(tt.pool, tt.has, noon.Add(tt.at)); got != tt.want || left != tt.left {
			t.Errorf("%s: %d for %s", tt.name, got, left)
		}
	}
}

func TestHalt(t *testing.T) {
	t.Parallel()
	m := &memory{}
	if f, left := m.halted(aPool, noon); f != nil || left != 0 {
		t.Errorf("at first: %v for %s", f, left)
	}
	end := noon.Add(refusedPause)
	m.halt(aPool, failure{"Why", "because"}, end)
	for name, tt := range map[string]struct {
		pool types.NamespacedName
		at   time.Time
		want bool
	}{
		"at once":            {aPool, noon, true},
		"just before":        {aPool, end.Add(-1), true},
		"when it is over":    {aPool, end, false},
		"of another pool":    {otherPool, noon, false},
		"at once, again":     {aPool, noon, true},
		"some time after it": {aPool, end.Add(time.Hour), false},
	} {
		f, left := m.halted(tt.pool, tt.at)
		if (f != nil) != tt.want || tt.want && (*f != failure{"Why", "because"} || left != end.Sub(tt.at)) || !tt.want && left != 0 {
			t.Errorf("%s: %v for %s", name, f, left)
		}
	}
	m.forget(aPool)
	if f, _ := m.halted(aPool, noon); f != nil {
		t.Errorf("a new pool of the name has the pause of the former one: %v", f)
	}
}

// Runs may take nothing for a while from a pool whose sandboxes the API server does not let them have.
func TestRefused(t *testing.T) {
	t.Parallel()
	m := &memory{}
	m.refuse(aPool, failure{"Why", "because"}, noon.Add(refusedPause))
	for name, tt := range map[string]struct {
		pool types.NamespacedName
		at   time.Time
		want bool
	}{
		"at once": {aPool, noon, true}, "when it is over": {aPool, noon.Add(refusedPause), false}, "of another pool": {otherPool, noon, false},
	} {
		if f := m.refused(tt.pool, tt.at); (f != nil) != tt.want {
			t.Errorf("%s: %v", name, f)
		}
	}
}

// A closing policy is believed as long as it is the one that was seen past the cache.
func TestClosed(t *testing.T) {
	t.Parallel()
	m := &memory{}
	for i, tt := range []struct {
		found    string
		unclosed int
		believed string
	}{{"", 1, ""}, {"", 2, ""}, {"b/1", 0, "b/1"}, {"", 1, ""}, {"b/2", 0, "b/2"}} {
		if got := m.closedBy(aPool, tt.found); got != tt.unclosed {
			t.Errorf("%d: not closed %d times", i, got)
		}
		for _, identity := range []string{"", "b/1", "b/2"} {
			if got := m.closed(aPool, identity); got != (identity != "" && identity == tt.believed) {
				t.Errorf("%d: %q is believed: %t", i, identity, got)
			}
		}
	}
}
