// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"time"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// A loop costs memory: its goroutine and its two connections, and the texts of its conversation. These are there as steps, as messages, as the request
// that is sent, and as the journal's copies.
const (
	loopBytes  = 512 << 10
	textCopies = 4
)

// quantum is how long a loop may go on while another run waits for a slot. Each start of a loop reads its whole journal.
const quantum = 15 * time.Second

// SlotsFor returns how many loops a replica has memory and processors for, and how many bytes they may have together. memory is the bound of the process
// in bytes; most of it is for the caches and for files of skills.
func SlotsFor(memory int64, processors int) (loops int, bytes int64) {
	const perProcessor, least = 512, 8
	bytes = max(memory/3, least*loopBytes)
	return int(min(bytes/loopBytes, int64(perProcessor*processors))), bytes
}

// bytesOf returns how many bytes a loop has in memory.
func bytesOf(held int) int64 { return loopBytes + textCopies*int64(held) }

// lacksMemory reports whether a loop of the namespace whose texts have that size must wait until others have ended. One that takes more than a quarter
// of the whole counts as a quarter, or it would wait until there is no other.
func (e *Engine) lacksMemory(namespace string, held int) bool {
	most := e.Config.LoopMemory
	if most <= 0 {
		return false
	}
	needs := min(bytesOf(held), most/4)
	if e.loopsOf(namespace) > 0 {
		most -= most / 4
	}
	all, _ := e.inMemory()
	return all > 0 && all+needs > most
}

// inMemory returns how many bytes the loops have together, and by namespace. Last looks do not count: they have no conversation.
func (e *Engine) inMemory() (all int64, by map[string]int64) {
	by = map[string]int64{}
	for key, l := range e.loops {
		if l.running && !l.looks {
			by[key.Namespace] += bytesOf(l.held)
			all += bytesOf(l.held)
		}
	}
	return all, by
}

// givesBack reports whether a loop must end between two turns, and notes the size of its texts. Without it the runs of one namespace, or those
// that came first, would keep all slots for as long as they go on; and conversations that grow would take the memory of all.
func (e *Engine) givesBack(l *worker, namespace string, held int) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	l.held = held
	if e.Now().Sub(l.since) < quantum {
		return false
	}
	return e.overdrawn(namespace) || e.awaited(namespace)
}

// overdrawn reports whether the loops have more memory than they may, and no other namespace has more of it.
func (e *Engine) overdrawn(namespace string) bool {
	if e.Config.LoopMemory <= 0 {
		return false
	}
	all, by := e.inMemory()
	if all <= e.Config.LoopMemory || e.running < 2 {
		return false
	}
	for _, bytes := range by {
		if bytes > by[namespace] {
			return false
		}
	}
	return true
}

// awaited reports whether a run that waits may have the slot of a loop of the namespace: one of the same namespace, or of one that has fewer loops.
func (e *Engine) awaited(namespace string) bool {
	has := e.loopsOf(namespace)
	for _, run := range e.queue {
		if run.Status.Ending == nil && (run.Namespace == namespace || e.loopsOf(run.Namespace) < has) && e.waitsForASlot(run) {
			return true
		}
	}
	return false
}

// waitsForASlot reports whether a run in the queue would not get a slot now. One that would is about to be looked at.
func (e *Engine) waitsForASlot(run *v1alpha1.MotorRun) bool {
	return e.isFull(run.Namespace, false) || e.crowds(run.Namespace) || e.lacksMemory(run.Namespace, 0)
}
