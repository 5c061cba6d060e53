// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"motorcortex.dev/motorcortex/internal/proof"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// memory is the memory of this process about the sandboxes of pools, and about the pools. All of it can be found out again, in a new leader for
// example: then each isolation is proved anew.
type memory struct {
	mu     sync.Mutex
	byPod  map[types.UID]*known
	byPool map[types.NamespacedName]*pause
}

// known is what this process knows of one sandbox.
type known struct {
	pool types.NamespacedName
	// prober is the connection with its tool server, nil before the first try.
	prober Prober
	try    toolapi.ProbeRequest
	// baseline is the identity of the closing policy that the tries belong to.
	baseline string
	tries    proof.Confirmation
	proved   bool
	// since is when the proof under the baseline was begun, or begun again after a try that failed.
	since time.Time
	// tried is when the last try began, failing whether it reached something or was not answered.
	tried   time.Time
	failing bool
	// once is true if it was proved at some time, used if a call was made in it, or a run's engine was there, before a run took it.
	once, used bool
	// taker is the UID of the run that takes the sandbox, "" for none. It stays until the sandbox is gone: the answer to the write may have been lost.
	taker types.UID
}

// pause is what this process knows of one pool. All instants here and in known are those of this process's own clock, which nothing sets.
type pause struct {
	// refusedUntil is when runs may take sandboxes of the pool again, after the API server refused that, and refused is what it said.
	refusedUntil time.Time
	refused      failure
	// closed is the identity of the closing policy that was as it must be past the cache, unclosed how often in a row it was not.
	closed   string
	unclosed int
	// until is when the pool makes sandboxes again, and why is the cause that it makes none.
	until time.Time
	why   failure
	// firstTaken and lastTaken are when runs took sandboxes, the first and the last one of those that came in close succession.
	firstTaken, lastTaken time.Time
	// made are the sandboxes that the cache does not show yet, by their UIDs, and until when they count.
	made map[types.UID]time.Time
	// unshown is since when the status does not show how far the pool is filled, zero if it does.
	unshown time.Time
	// replaced is the version that the last write of the status changed, and wrote when that was.
	replaced string
	wrote    time.Time
}

// of returns what is known of a sandbox. The caller holds mu.
func (m *memory) of(pool types.NamespacedName, pod types.UID) *known {
	k := m.byPod[pod]
	if k == nil {
		k = &known{pool: pool}
		if m.byPod == nil {
			m.byPod = map[types.UID]*known{}
		}
		m.byPod[pod] = k
	}
	return k
}

// pauseOf returns what is known of a pool. The caller holds mu.
func (m *memory) pauseOf(pool types.NamespacedName) *pause {
	p := m.byPool[pool]
	if p == nil {
		p = &pause{made: map[types.UID]time.Time{}}
		if m.byPool == nil {
			m.byPool = map[types.NamespacedName]*pause{}
		}
		m.byPool[pool] = p
	}
	return p
}

// standing is how far a sandbox has come.
type standing struct {
	// proved is true if its isolation is proved under the closing policy. Else trying is for how long that is tried, and failing whether the last try
	// failed.
	proved, failing bool
	trying          time.Duration
	// once is true if it was proved at some time, used if it is not new any more, taken if a run takes it.
	once, used, taken bool
}

// look returns how far a sandbox has come under a closing policy.
func (m *memory) look(pod types.UID, baseline string, now time.Time) standing {
	m.mu.Lock()
	defer m.mu.Unlock()
	k := m.byPod[pod]
	switch {
	case k == nil:
		return standing{}
	case baseline == "" || k.baseline != baseline:
		return standing{once: k.once, used: k.used, taken: k.taker != ""}
	}
	return standing{proved: k.proved, failing: k.failing, trying: now.Sub(k.since), once: k.once, used: k.used, taken: k.taker != ""}
}

// claim marks a sandbox as that of a run. It returns false if another run has it, or if its isolation is not proved under the closing policy, or was
// not tried for long.
func (m *memory) claim(pod, run types.UID, baseline string, now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	k := m.byPod[pod]
	if k == nil || !k.proved || k.used || baseline == "" || k.baseline != baseline || k.taker != "" && k.taker != run || now.Sub(k.tried) > 2*triedEvery {
		return false
	}
	k.taker = run
	p := m.pauseOf(k.pool)
	if now.Sub(p.lastTaken) > quietAfter {
		p.firstTaken = now
	}
	p.lastTaken = now
	return true
}

// quietFor returns how long a pool must not yet replace what runs have taken: until some time after the last one, and not so long after the first.
func (m *memory) quietFor(pool types.NamespacedName, now time.Time) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.pauseOf(pool)
	return max(0, min(p.lastTaken.Add(quietAfter).Sub(now), p.firstTaken.Add(quietAtMost).Sub(now)))
}

// release takes a claim back after a write that was surely not carried out.
func (m *memory) release(pod types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if k := m.byPod[pod]; k != nil {
		k.taker = ""
	}
}

// retain forgets the sandboxes of a pool that it does not have any more, and closes the connections with them.
func (m *memory) retain(pool types.NamespacedName, has func(pod types.UID) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for uid, k := range m.byPod {
		if k.pool != pool || has(uid) {
			continue
		}
		if k.prober != nil {
			k.prober.Close()
		}
		delete(m.byPod, uid)
	}
}

// forget forgets a pool that is gone.
func (m *memory) forget(pool types.NamespacedName) {
	m.retain(pool, func(types.UID) bool { return false })
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.byPool, pool)
}

// note records a sandbox that was made and that the cache may not show yet, until an instant.
func (m *memory) note(pool types.NamespacedName, pod types.UID, until time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.pauseOf(pool).made[pod] = until
}

// unseen returns how many sandboxes of a pool were made that the cache does not show, and for how long the first of them counts, 0 for none. It forgets
// those that the cache shows, or that it should.
func (m *memory) unseen(pool types.NamespacedName, has func(pod types.UID) bool, now time.Time) (count int, left time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	made := m.pauseOf(pool).made
	for uid, end := range made {
		if has(uid) || !now.Before(end) {
			delete(made, uid)
		} else if of := end.Sub(now); left == 0 || of < left {
			left = of
		}
	}
	return len(made), left
}

// halt stops a pool from making sandboxes until an instant.
func (m *memory) halt(pool types.NamespacedName, why failure, until time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.pauseOf(pool)
	p.until, p.why = until, why
}

// halted returns why a pool makes no sandboxes and for how long, nil if it makes some.
func (m *memory) halted(pool types.NamespacedName, now time.Time) (*failure, time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.pauseOf(pool)
	if !now.Before(p.until) {
		return nil, 0
	}
	why := p.why
	return &why, p.until.Sub(now)
}

// refuse notes that the API server did not let a run take a sandbox of a pool.
func (m *memory) refuse(pool types.NamespacedName, why failure, until time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.pauseOf(pool)
	p.refusedUntil, p.refused = until, why
}

// refused returns why no run may take a sandbox of a pool now, nil if one may.
func (m *memory) refused(pool types.NamespacedName, now time.Time) *failure {
	m.mu.Lock()
	defer m.mu.Unlock()
	if p := m.pauseOf(pool); now.Before(p.refusedUntil) {
		why := p.refused
		return &why
	}
	return nil
}

// closedBy notes the closing policy that was found past the cache, "" for none that is as it must be, and returns how often in a row there was none.
func (m *memory) closedBy(pool types.NamespacedName, identity string) (unclosed int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.pauseOf(pool)
	p.closed, p.unclosed = identity, p.unclosed+1
	if identity != "" {
		p.unclosed = 0
	}
	return p.unclosed
}

// closed reports whether the closing policy of that identity was as it must be.
func (m *memory) closed(pool types.NamespacedName, identity string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return identity != "" && m.pauseOf(pool).closed == identity
}
