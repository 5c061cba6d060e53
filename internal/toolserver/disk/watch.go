// SPDX-License-Identifier: Apache-2.0

//go:build linux

package disk

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// Tick lies between two looks at the free room of the filesystem while something runs. At 4 GB/s, which is more than memory
	// takes from one processor, 20 MB are written in it.
	Tick = 5 * time.Millisecond
	// minPause and duty bound what counting costs while nothing happens: a twentieth of one processor.
	minPause = 250 * time.Millisecond
	duty     = 20
	// execTimeout bounds the wait for processes that hide their files and do not stand.
	execTimeout = 100 * time.Millisecond
)

// Volume is a folder with bounds.
type Volume struct {
	// Name is for people.
	Name, Dir string
	// Bytes and Inodes are the most that it may hold.
	Bytes, Inodes int64
}

// Full says which volume is full.
type Full struct {
	Volume Volume
	Used   Usage
}

// Hooks are what a Watch does to the sandbox.
type Hooks struct {
	// Pause stops every program, calls look, and then kills every program if look reports so, or lets all go on. still says that each
	// was seen to stand: one that was told to stop goes on until its system call ends.
	Pause func(look func(still bool) (kill bool))
	// Full is called once when a volume is found full, while everything is stopped. It must not wait.
	Full func(Full)
	// Spare reports whether a process runs the server's own code, and none of the sandbox's.
	Spare func(pid int) bool
	// End ends a process of which cannot be told what it holds. Everything is stopped. It must not wait.
	End func(pid int, why Reason)
}

// Reason is why a process is ended.
type Reason int

const (
	// Hides: the process lets nobody see its files.
	Hides Reason = iota
	// Holds: while a volume was filled, the process held files in a way in which they cannot be counted, by a mapping of a file that had
	// neither a name nor a descriptor whenever it was looked for, or by a descriptor on its way through a socket.
	Holds
)

// Watch keeps volumes within their bounds. It costs nothing while nothing runs.
//
// What a tree takes is known for sure only by a walk, and a walk of a large tree takes longer than a program needs to fill a disk.
// What a filesystem has left is told in a microsecond, but of all its Pods together. So the fall of free room since the last walk
// says when to look: the programs are stopped first, so that nothing grows while it is counted, and go on if others wrote.
// Whatever hides from that, because others give room back at the same time, takes no room of the node, and is found by the next
// regular walk. A walk while programs go on is believed only when it finds a volume too large: they can move what it has not seen
// to where it was.
type Watch struct {
	log   *slog.Logger
	hooks Hooks
	wake  chan struct{}
	stop  chan struct{}
	ended chan struct{}

	mu sync.Mutex
	// kept are the files that programs map.
	kept *kept
	// held counts the stops in a row at which a volume could be over its bounds by what cannot be counted.
	held    int
	volumes []*state
	// active counts what may write.
	active int
	due    time.Time
	full   *Full
	// counted says that everything was stopped for a count at least once. The last time was last, and ended at resumed.
	counted bool
	last    stop
	resumed time.Time
}

// state is what is known of a volume.
type state struct {
	Volume
	// used is what it held when everything was stopped for a count.
	used Usage
	// then is what the filesystem had at that time, corrected by what others did while nothing ran here.
	then, left room
	// ceiling is the least that a full volume must hold to be found full again.
	ceiling Usage
}

// room is what a filesystem has left, and its inodes in use. Filesystems that do not tell inodes have 0.
type room struct{ free, inodes int64 }

// New starts a watch; volumes without a bound are left out, and those on a filesystem with less room have its bounds. Close ends it.
func New(log *slog.Logger, hooks Hooks, volumes ...Volume) *Watch {
	w := &Watch{log: log, hooks: hooks, wake: make(chan struct{}, 1), stop: make(chan struct{}), ended: make(chan struct{}), kept: newKept()}
	for _, v := range volumes {
		if v.Bytes > 0 {
			now := roomOf(v.Dir, room{})
			w.volumes = append(w.volumes, &state{Volume: v.within(capacityOf(v.Dir)), then: now, left: now})
		}
	}
	go w.run()
	return w
}

// Close ends the watch, and returns when it has ended.
func (w *Watch) Close() {
	close(w.stop)
	<-w.ended
	w.mu.Lock()
	defer w.mu.Unlock()
	w.kept.close()
}

// Enter says that something begins that may write, and leave that it has ended. What is full is counted again before, for somebody
// may have made room.
func (w *Watch) Enter() (leave func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.active == 0 {
		w.forgetOthers()
		select {
		case w.wake <- struct{}{}:
		default:
		}
	}
	if w.full != nil {
		w.review()
	} else {
		w.look(time.Now())
	}
	w.active++
	return sync.OnceFunc(w.leave)
}

func (w *Watch) leave() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.look(time.Time{})
	if w.active--; w.active == 0 {
		w.kept.close() // Nothing maps them any more.
	}
	for _, v := range w.volumes {
		v.left = roomOf(v.Dir, v.left)
	}
}

// Full returns the volume that is full, nil if none is.
func (w *Watch) Full() *Full {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.full
}

// forgetOthers takes out of the account what the filesystem gained and lost while nothing ran here.
func (w *Watch) forgetOthers() {
	for _, v := range w.volumes {
		now := roomOf(v.Dir, v.left)
		v.then.free += now.free - v.left.free
		v.then.inodes += now.inodes - v.left.inodes
	}
}

func (w *Watch) run() {
	defer close(w.ended)
	tick := time.NewTicker(Tick)
	defer tick.Stop()
	for {
		w.mu.Lock()
		idle := w.active == 0
		w.mu.Unlock()
		if idle {
			tick.Stop()
			select {
			case <-w.stop:
				return
			case <-w.wake:
			}
			tick.Reset(Tick)
		}
		select {
		case <-w.stop:
			return
		case <-tick.C:
		}
		w.mu.Lock()
		if w.active > 0 {
			w.look(time.Now())
		}
		w.mu.Unlock()
	}
}

// look counts if there is a reason to. The zero time is no time for a regular count.
func (w *Watch) look(now time.Time) {
	urgent := !w.counted || w.falls()
	if !urgent && !now.IsZero() && now.After(w.due) {
		// What cannot be counted while programs run is counted with everything stopped. That is no more often than regular counts are.
		_, over, err := w.count(w.falls, false)
		urgent = over != nil || err != nil
		w.due = w.next(now)
	}
	if !urgent {
		return
	}
	w.hooks.Pause(func(still bool) (kill bool) {
		over, err := w.countStopped(still)
		if err != nil {
			w.log.Error("what the sandbox takes of the disk cannot be counted", "error", err)
		}
		if over == nil {
			return false
		}
		w.full = over
		w.log.Warn("a volume of the sandbox is full: everything that ran was ended", "volume", over.Volume.Name,
			"bytes", over.Used.Bytes, "most", over.Volume.Bytes, "inodes", over.Used.Inodes, "mostInodes", over.Volume.Inodes)
		w.hooks.Full(*over)
		return true
	})
}

// falls reports whether a volume may be over its bounds.
func (w *Watch) falls() bool {
	last := w.last
	last.ago = time.Since(w.resumed)
	for _, v := range w.volumes {
		if mustStop(v.account(roomOf(v.Dir, v.then)), last) {
			return true
		}
	}
	return false
}

// account is what is known of the volume when its filesystem has that.
func (v *state) account(now room) account {
	return account{
		most: v.most(), used: v.used, bound: Usage{v.Bytes, v.Inodes},
		fell: Usage{v.then.free - now.free, now.inodes - v.then.inodes},
	}
}

// most is what the volume may hold now: one that is full already may be looked at, and may not grow.
func (v *state) most() Usage {
	return Usage{max(v.Bytes, v.ceiling.Bytes), max(v.Inodes, v.ceiling.Inodes)}
}

// countStopped counts while everything is stopped, and keeps what it finds. Where a process holds what cannot be counted, what is known
// from before stays, and with it what the filesystem has lost since, until a count without such a process.
func (w *Watch) countStopped(still bool) (over *Full, err error) {
	began := time.Now()
	rooms := make([]room, len(w.volumes))
	for i, v := range w.volumes {
		rooms[i] = roomOf(v.Dir, v.then)
	}
	found, over, err := w.count(nil, true)
	w.endHiders(found.hiders)
	believed := len(found.hiders)+len(found.holders) == 0
	w.endHolders(found.holders)
	w.last.grew = !w.counted || len(found.hiders) > 0 || w.held > 0
	for i, v := range w.volumes {
		used, counted := found.used[v.Dir]
		if counted && believed {
			w.last.grew = w.last.grew || grew(v.used, used, Usage{v.Bytes, v.Inodes})
			v.used, v.then = used, rooms[i].and(found.released[v.Dir])
			if still { // What was lost meanwhile was taken by others.
				v.then = roomOf(v.Dir, v.then)
			}
		}
		v.ceiling = Usage{}
		if over != nil || w.full != nil {
			v.ceiling = Usage{v.used.Bytes + v.Bytes/share, v.used.Inodes + v.Inodes/share}
		}
	}
	w.counted, w.resumed, w.last.took = true, time.Now(), time.Since(began)
	w.due = w.next(began)
	return over, err
}

// endHolders ends the processes that hold what cannot be counted, when the filesystem has lost more than a volume has left: what they
// hold can only be told from what others wrote by their end. A descriptor may just be on its way through a socket, so they are ended at the
// second such stop in a row; as long as a volume may be over, the next one comes at once.
func (w *Watch) endHolders(pids []int) {
	lost := slices.ContainsFunc(w.volumes, func(v *state) bool { return v.account(roomOf(v.Dir, v.then)).lost(0) })
	if len(pids) == 0 || !lost {
		w.held = 0
		return
	}
	if w.held++; w.held == 1 {
		return
	}
	slices.Sort(pids)
	for _, pid := range slices.Compact(pids) {
		w.hooks.End(pid, Holds)
	}
}

// endHiders ends the processes that hide their files. One whose memory was closed before it ran its program hides them for the last
// moment of the system call in which that changes, and does not stop before that has ended: it is looked at until it stands.
func (w *Watch) endHiders(pids []int) {
	deadline := time.Now().Add(execTimeout)
	for _, pid := range pids {
		for !stands(pid) && hides(pid) && time.Now().Before(deadline) {
			<-time.After(time.Millisecond)
		}
		if hides(pid) && !w.hooks.Spare(pid) {
			w.hooks.End(pid, Hides)
		}
	}
}

// next is the time of the next regular count after one that began then and ends now.
func (w *Watch) next(began time.Time) time.Time {
	return time.Now().Add(max(minPause, duty*time.Since(began)))
}

// errHidden says that a process hides its files. It is ended while everything is stopped.
var errHidden = errors.New("a process hides its files")

// found is what a count found.
type found struct {
	// used is what the volumes hold that could be counted, by their folders.
	used            map[string]Usage
	hiders, holders []int
	// released is what was kept open by the watch alone when the count began, by the folders.
	released map[string]Usage
}

// count counts every volume, and gives one that is over its bounds. It ends with an error when hurry reports that there is no time.
func (w *Watch) count(hurry func() bool, stopped bool) (all found, over *Full, err error) {
	dirs := make([]string, 0, len(w.volumes))
	for _, v := range w.volumes {
		dirs = append(dirs, v.Dir)
	}
	open := deleted(dirs, w.hooks.Spare, hurry, w.kept)
	all = found{used: make(map[string]Usage, len(dirs)), hiders: open.hiders, holders: open.holders, released: open.released}
	if len(open.hiders) > 0 && !stopped {
		return all, nil, errHidden
	}
	for _, v := range w.volumes {
		account, most := v.account(roomOf(v.Dir, v.then)), v.most()
		used, failed := count(v.Dir, most.Inodes, hurry, stopped)
		if failed != nil {
			err = errors.Join(err, fmt.Errorf("count %s: %w", v.Dir, failed))
			continue
		}
		used.Bytes += open.nameless[v.Dir].Bytes
		used.Inodes += open.nameless[v.Dir].Inodes
		// What is not looked at can only be told from what others wrote by believing the worst of it.
		if open.tooMany && account.lost(0) {
			used.Bytes = max(used.Bytes, v.used.Bytes+account.fell.Bytes)
		}
		all.used[v.Dir] = used
		if over == nil && (used.Bytes > most.Bytes || used.Inodes > most.Inodes) {
			over = &Full{v.Volume, used}
		}
	}
	return all, over, err
}

// review finds out whether there is room again: a sixteenth of each bound.
func (w *Watch) review() {
	for _, v := range w.volumes {
		v.ceiling = Usage{}
	}
	w.hooks.Pause(func(still bool) (kill bool) {
		if _, err := w.countStopped(still); err != nil {
			return false
		}
		for _, v := range w.volumes {
			if v.used.Bytes > v.Bytes-v.Bytes/share || v.used.Inodes > v.Inodes-v.Inodes/share {
				w.full = &Full{v.Volume, v.used}
				return false
			}
		}
		w.full = nil
		for _, v := range w.volumes {
			v.ceiling = Usage{}
		}
		return false
	})
}

// Free is how many bytes and inodes must go before the volume counts as having room again.
func (f Full) Free() Usage {
	return Usage{
		max(0, f.Used.Bytes-f.Volume.Bytes+f.Volume.Bytes/share), max(0, f.Used.Inodes-f.Volume.Inodes+f.Volume.Inodes/share),
	}
}

// and is what there is with what was given back since.
func (r room) and(back Usage) room { return room{r.free + back.Bytes, r.inodes - back.Inodes} }

// roomOf is what the filesystem of a folder has left, or otherwise if it does not tell: then the regular counts remain.
func roomOf(dir string, otherwise room) room {
	var stat unix.Statfs_t
	if unix.Statfs(dir, &stat) != nil {
		return otherwise
	}
	return room{int64(stat.Bfree) * stat.Bsize, int64(stat.Files) - int64(stat.Ffree)}
}
