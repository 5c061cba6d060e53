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
	// Tick is the time between two looks at the free space of the filesystem while something runs. At 4 GB/s, which is more than memory takes
	// from one processor, 20 MB are written in it.
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

// Full is a volume that is full.
type Full struct {
	Volume Volume
	Used   Usage
}

// Hooks are the actions of a Watch on the sandbox.
type Hooks struct {
	// Pause stops every program and calls look. Then it kills every program if look returns true, or else resumes all. still is true if every
	// program was seen to stand still: a program that was sent the stop goes on until its system call ends.
	Pause func(look func(still bool) (kill bool))
	// Full is called once when a volume is found full, while everything is stopped. It must not wait.
	Full func(Full)
	// Spare reports whether a process runs the server's own code, and none of the sandbox's.
	Spare func(pid int) bool
	// End ends a process whose disk use cannot be determined. Everything is stopped. It must not wait.
	End func(pid int, why Reason)
}

// Reason is why a process is ended.
type Reason int

const (
	// Hides: the files of the process cannot be read.
	Hides Reason = iota
	// Holds: while a volume was filled, the process held files that cannot be counted. It held them by a mapping of a file that had neither a
	// name nor a descriptor at any look, or by a descriptor on its way through a socket.
	Holds
)

// Watch keeps volumes within their bounds. It costs nothing while nothing runs.
//
// The exact size of a tree is known only from a walk, and a walk of a large tree takes longer than a program needs to fill a disk. The free
// space of a filesystem is known in a microsecond, but is that of all its Pods together. So the fall of free space since the last walk
// triggers the next one: the programs are stopped first, so that nothing grows while it is counted, and go on if others wrote. A file may
// hide from that, because others free space at the same time. It takes no space of the node, and is found by the next regular walk. The
// result of a walk while programs run is trusted only when it finds a volume too large: they can move files that it has not seen yet to
// folders that it has passed.
type Watch struct {
	log   *slog.Logger
	hooks Hooks
	wake  chan struct{}
	stop  chan struct{}
	ended chan struct{}

	mu sync.Mutex
	// kept are the files that programs map.
	kept *kept
	// held counts the stops in a row at which a volume could be over its bounds by files that cannot be counted.
	held    int
	volumes []*state
	// active counts what may write.
	active int
	due    time.Time
	full   *Full
	// counted is true if everything was stopped for a count at least once. The last time was last, and ended at resumed.
	counted bool
	last    stop
	resumed time.Time
}

// state is the known state of a volume.
type state struct {
	Volume
	// used is its usage when everything was stopped for a count.
	used Usage
	// then is the free space of the filesystem at that time, corrected by the changes of others while nothing ran here.
	then, left room
	// ceiling is the least that a full volume must hold to be found full again.
	ceiling Usage
}

// room is the free space of a filesystem, and its inodes in use. Filesystems that do not report inodes have 0.
type room struct{ free, inodes int64 }

// New starts a watch; volumes without a bound are omitted, and those on a filesystem with less space have its bounds. Close ends it.
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

// Enter records the begin of an activity that may write, and leave its end. A full volume is counted again before, because space may have
// been freed.
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

// forgetOthers removes from the account the space that the filesystem gained and lost while nothing ran here.
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
		// Files that cannot be counted while programs run are counted with everything stopped. That is no more often than regular counts are.
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

// account is the known state of the volume for the given free space of its filesystem.
func (v *state) account(now room) account {
	return account{
		most: v.most(), used: v.used, bound: Usage{v.Bytes, v.Inodes},
		fell: Usage{v.then.free - now.free, now.inodes - v.then.inodes},
	}
}

// most is the current limit of the volume: one that is full already may be examined, and may not grow.
func (v *state) most() Usage {
	return Usage{max(v.Bytes, v.ceiling.Bytes), max(v.Inodes, v.ceiling.Inodes)}
}

// countStopped counts while everything is stopped, and stores the result. While a process holds files that cannot be counted, the former
// result stays, together with the space that the filesystem has lost since. That ends with a count without such a process.
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
			if still { // Space that was lost meanwhile was taken by others.
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

// endHolders ends the processes that hold files that cannot be counted, when the filesystem has lost more than a volume has left. Only
// their end distinguishes their files from the writes of others. A descriptor may just be on its way through a socket, so they are ended at
// the second such stop in a row. As long as a volume may be over, the next stop comes at once.
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

// endHiders ends the processes that hide their files. A process whose memory was closed before it ran its program hides them for the last
// moment of that system call. It does not stop before the call has ended, so endHiders polls it until it stands still.
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

// errHidden means that a process hides its files. It is ended while everything is stopped.
var errHidden = errors.New("a process hides its files")

// found is the result of a count.
type found struct {
	// used is the countable usage of the volumes, by their folders.
	used            map[string]Usage
	hiders, holders []int
	// released are the files that only the watch held open when the count began, by the folders.
	released map[string]Usage
}

// count counts every volume, and returns one that is over its bounds. It ends with an error when hurry reports that there is no time.
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
		// Without a look at all files, only the worst assumption distinguishes them from the writes of others.
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

// review finds out whether there is free space again: a sixteenth of each bound.
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

// Free is how many bytes and inodes must be freed before the volume counts as having free space again.
func (f Full) Free() Usage {
	return Usage{
		max(0, f.Used.Bytes-f.Volume.Bytes+f.Volume.Bytes/share), max(0, f.Used.Inodes-f.Volume.Inodes+f.Volume.Inodes/share),
	}
}

// and is the room with the usage that was freed since.
func (r room) and(back Usage) room { return room{r.free + back.Bytes, r.inodes - back.Inodes} }

// roomOf is the free space of a folder's filesystem, or otherwise if it does not report it: then the regular counts remain.
func roomOf(dir string, otherwise room) room {
	var stat unix.Statfs_t
	if unix.Statfs(dir, &stat) != nil {
		return otherwise
	}
	return room{int64(stat.Bfree) * stat.Bsize, int64(stat.Files) - int64(stat.Ffree)}
}
