// SPDX-License-Identifier: Apache-2.0

//go:build linux

package program

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"syscall"

	"motorcortex.dev/motorcortex/internal/text"
	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolserver/disk"
	"motorcortex.dev/motorcortex/internal/toolserver/plaintext"
	"motorcortex.dev/motorcortex/internal/toolserver/tool"
)

// DiskGuard ends running programs when a volume is full, and determines which calls are allowed until there is free space again.
type DiskGuard struct {
	log   *slog.Logger
	watch *disk.Watch
	// end ends what outlives its call. It may wait.
	end func()

	mu     sync.Mutex
	cancel context.CancelCauseFunc
	// ended are the names of the first processes that were ended because their disk use could not be determined, for the next result.
	ended map[disk.Reason][]string
}

// maxEnded is how many of them a result names for each reason.
const maxEnded = 4

const (
	workspaceVolume = "workspace"
	tempVolume      = "tmp"
)

// newDiskGuard begins to watch. Without sizes there is nothing to watch.
func newDiskGuard(cfg Config, p *Runner) *DiskGuard {
	g := &DiskGuard{log: cfg.Log, end: p.supervisors.stop, ended: make(map[disk.Reason][]string)}
	volume := func(name, dir string, size int64) disk.Volume {
		return disk.Volume{Name: name, Dir: dir, Bytes: size, Inodes: disk.Inodes(size)}
	}
	g.watch = disk.New(cfg.Log, disk.Hooks{Pause: p.reaper.Pause, Full: g.filled, Spare: p.reaper.Spares, End: g.endProcess},
		volume(workspaceVolume, p.Workspace.Dir, cfg.Disk.Workspace),
		volume(tempVolume, cfg.Temp, cfg.Disk.Temp),
		volume(tool.StateVolume, cfg.State, cfg.Disk.State))
	return g
}

// filled ends what runs. Every program is stopped meanwhile, and killed after it.
func (g *DiskGuard) filled(f disk.Full) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.cancel != nil {
		g.cancel(&tool.DiskFullError{Full: f})
	}
	go g.end() // A supervisor that was just starting its program when it was stopped would do so now.
}

// endProcess ends a process whose disk use cannot be determined. Everything is stopped.
func (g *DiskGuard) endProcess(pid int, why disk.Reason) {
	name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	_ = syscall.Kill(pid, syscall.SIGKILL) // It fails only if it has just ended.
	g.mu.Lock()
	defer g.mu.Unlock()
	g.log.Warn("a process was ended because it cannot be told what it takes of the disk", "pid", pid, "name", string(name), "hides", why == disk.Hides)
	if len(g.ended[why]) < maxEnded {
		g.ended[why] = append(g.ended[why], fmt.Sprintf("%d (%q)", pid, strings.TrimSpace(text.Printable(string(name)))))
	}
}

// endedTexts have the reason why processes were ended, and the fix.
var endedTexts = map[disk.Reason]string{
	disk.Hides: "[these processes were ended, because the tool server cannot look at their open files, and what these take of the disk: %s" +
		"; run programs from files that may be read (chmod u+r)]\n",
	disk.Holds: "[these processes were ended, because the disk was filled while they held files that the tool server cannot count: " +
		"deleted files that are mapped and not open, or descriptors in a socket: %s; keep a file open, or its name, for as long as it is mapped]\n",
}

// endedText describes the processes that were ended since the last result; it is "" if none was.
func (g *DiskGuard) endedText() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	var all strings.Builder
	for _, why := range []disk.Reason{disk.Hides, disk.Holds} {
		if names := g.ended[why]; len(names) > 0 {
			fmt.Fprintf(&all, endedTexts[why], strings.Join(names, ", "))
		}
	}
	clear(g.ended)
	return all.String()
}

// Enter watches over a call that may write, until leave is called. The context that it returns ends when a volume is full. The lane is held.
func (g *DiskGuard) Enter(ctx context.Context) (watched context.Context, leave func()) {
	watched, cancel := context.WithCancelCause(ctx)
	g.set(cancel)
	end := g.watch.Enter()
	return watched, func() {
		end()
		g.set(nil)
		cancel(nil)
	}
}

// Writes watches while the server itself writes, until done is called. The lane is held, or no call was made yet.
func (g *DiskGuard) Writes() (done func()) { return g.watch.Enter() }

func (g *DiskGuard) set(cancel context.CancelCauseFunc) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.cancel = cancel
}

// Full returns an error if nothing may be written.
func (g *DiskGuard) Full() error {
	if f := g.watch.Full(); f != nil {
		return &tool.DiskFullError{Full: *f}
	}
	return nil
}

// Refuse returns the result of a call that is not made because it may write, nil if it may be made. Calls that only read and delete may.
func (g *DiskGuard) Refuse(name string) *toolapi.Result {
	full := g.Full()
	if full == nil || (name == toolapi.ToolBash || name == toolapi.ToolGrep) && g.watch.Full().Volume.Name != tool.StateVolume {
		return nil
	}
	r := tool.Failure(toolapi.CodeDiskFull, "Nothing was done, because the disk of the sandbox is full: %s.", full)
	return &r
}

// Judge adds a note to a result of at most limit bytes. It reports that a full disk ended the call, or that the call filled it. It also
// names the processes that were ended because their disk use could not be determined.
func (g *DiskGuard) Judge(ctx context.Context, result *toolapi.Result, limit int) {
	if ended := g.endedText(); ended != "" {
		addNote(result, ended, limit)
	}
	full, ended := errors.AsType[*tool.DiskFullError](context.Cause(ctx))
	if !ended || result.ErrorCode == toolapi.CodeDiskFull {
		return
	}
	if !result.OK {
		result.ErrorCode, result.Retryable = toolapi.CodeDiskFull, false
	}
	addNote(result, "["+tool.DiskFullEnded+full.Error()+"]\n", limit)
}

// addNote adds a note to a result of at most limit bytes, by shortening the output.
func addNote(result *toolapi.Result, note string, limit int) {
	data, notes := result.Parts()
	result.SetParts(plaintext.Bound(data, limit-len(notes)-len(note)-2), notes)
	result.Note(note)
}

// fileLimit turns the result of a program that reached the file size limit into disk_full, and reports that to the model.
func (p *Runner) fileLimit(result *toolapi.Result, status syscall.WaitStatus) string {
	if p.Sizes.File() <= 0 || result.ErrorCode == toolapi.CodeDiskFull || !disk.EndedByLimit(status) {
		return ""
	}
	result.ErrorCode = toolapi.CodeDiskFull
	if full := p.Disk.Full(); full != nil {
		return "[" + full.Error() + "]\n"
	}
	return fmt.Sprintf("[a file would have grown past %d bytes, the size of the workspace %s, so the program that wrote it was ended; "+
		"write less, and remove with rm what is no longer needed]\n", p.Sizes.File(), p.Workspace.Dir)
}
