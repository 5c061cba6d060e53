// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// A loop costs memory: its goroutine and its two connections, and the texts of its conversation. These are there as steps, as messages, as the request
// that is sent, and as the journal's copies. A run that waits for its model took 187 to 228 KiB of all managers together.
const (
	loopBytes  = 256 << 10
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

// stepBytes is about how many bytes the texts of a step have: one call whose output fills half of its bound.
const stepBytes = 16 << 10

// sizeOf returns how many bytes the texts of a run's conversation have, as far as this process knows. It guesses by the number of steps before it has
// read them: after a restart all conversations would count as empty, and all loops begin at once. The caller holds mu.
func (e *Engine) sizeOf(run *v1alpha1.MotorRun) int {
	if l := e.loops[client.ObjectKeyFromObject(run)]; l != nil && l.held > 0 && l.task.run == run.UID {
		return l.held
	}
	return int(run.Status.Steps) * stepBytes
}

// bytesOf returns how many bytes a loop has in memory.
func bytesOf(held int) int64 { return loopBytes + textCopies*int64(held) }

// tally counts the loops and what waits for one. It is made once for each decision: a queue of hundreds is compared with hundreds of loops.
type tally struct {
	// has counts the loops of each namespace, last looks not counted, stays those of them that are not about to end, and giving the others.
	has, stays map[string]int
	giving     int
	// bytes are those of the loops that stay, by those of each namespace.
	bytes int64
	by    map[string]int64
	// waiting counts the queue by namespace.
	waiting map[string]int
}

func (e *Engine) tally() *tally {
	n := &tally{has: map[string]int{}, stays: map[string]int{}, by: map[string]int64{}, waiting: map[string]int{}}
	for key, l := range e.loops {
		if !l.running || l.looks {
			continue
		}
		n.has[key.Namespace]++
		if l.gives {
			n.giving++
			continue
		}
		n.stays[key.Namespace]++
		n.by[key.Namespace] += bytesOf(l.held)
		n.bytes += bytesOf(l.held)
	}
	for _, run := range e.queue {
		n.waiting[run.Namespace]++
	}
	return n
}

// lacksMemory reports whether a loop of the namespace whose texts have that size must wait until others have ended. One that takes more than a quarter
// of the whole counts as a quarter, or it would wait until there is no other.
func (e *Engine) lacksMemory(n *tally, namespace string, held int) bool {
	most := e.Config.LoopMemory
	if most <= 0 {
		return false
	}
	needs := min(bytesOf(held), most/4)
	if n.has[namespace] > 0 {
		most -= most / 4
	}
	return n.bytes > 0 && n.bytes+needs > most
}

// givesBack notes the size of a loop's texts, and reports whether it must end between two turns. Without it the runs of one namespace, or those that
// came first, would keep all slots for as long as they go on; and conversations that grow would take the memory of all.
func (e *Engine) givesBack(l *worker, namespace string, held int, began bool) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	l.held = held
	if began || len(e.queue) == 0 && e.Config.LoopMemory <= 0 {
		return false
	}
	n := e.tally()
	l.gives = e.overdrawn(n, namespace) || e.Now().Sub(l.since) >= quantum && e.awaited(n, namespace)
	return l.gives
}

// overdrawn reports whether the loops have more memory than they may, and no other namespace has more of it. Loops that are about to end do not count.
func (e *Engine) overdrawn(n *tally, namespace string) bool {
	if e.Config.LoopMemory <= 0 || n.bytes <= e.Config.LoopMemory || e.running < 2 {
		return false
	}
	for _, bytes := range n.by {
		if bytes > n.by[namespace] {
			return false
		}
	}
	return true
}

// awaited reports whether more runs wait that may have the slot of a loop of the namespace than loops are about to end: runs of the same namespace, or
// of one that has fewer loops.
func (e *Engine) awaited(n *tally, namespace string) bool {
	giving := n.giving
	for _, run := range e.queue {
		if run.Status.Ending == nil && (run.Namespace == namespace || n.stays[run.Namespace] < n.stays[namespace]) && e.waitsForASlot(n, run) {
			if giving--; giving < 0 {
				return true
			}
		}
	}
	return false
}

// waitsForASlot reports whether a run in the queue would not get a slot now. One that would is about to be looked at.
func (e *Engine) waitsForASlot(n *tally, run *v1alpha1.MotorRun) bool {
	return e.isFull(n, run.Namespace, false) || e.crowds(n, run.Namespace) || e.lacksMemory(n, run.Namespace, e.sizeOf(run))
}

// standsBack reports whether a run that would get a slot leaves it to one that waits. A run whose loop just gave its slot back leaves it to those that
// would get it, or it would have it again before they are looked at. Any but the first run of its namespace leaves memory to the first one in the queue
// that waits for it, or small conversations would take what large ones need.
func (e *Engine) standsBack(n *tally, run *v1alpha1.MotorRun) bool {
	own := e.loops[client.ObjectKeyFromObject(run)]
	for _, first := range e.queue {
		if first.Status.Ending != nil {
			continue
		}
		if sameName(first, client.ObjectKeyFromObject(run)) {
			return false
		}
		if e.lacksMemory(n, first.Namespace, e.sizeOf(first)) {
			return n.has[run.Namespace] > 0
		}
		if own != nil && own.gives && !e.waitsForASlot(n, first) {
			return true
		}
	}
	return false
}
