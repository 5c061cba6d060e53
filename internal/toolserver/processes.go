// SPDX-License-Identifier: Apache-2.0

//go:build linux

package toolserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolserver/disk"
	"motorcortex.dev/motorcortex/internal/toolserver/ledger"
	"motorcortex.dev/motorcortex/internal/toolserver/output"
	"motorcortex.dev/motorcortex/internal/toolserver/proc"
	"motorcortex.dev/motorcortex/internal/toolserver/tool"
	"motorcortex.dev/motorcortex/internal/toolserver/wayout"
	"motorcortex.dev/motorcortex/internal/toolserver/workspace"
)

const (
	// maxTimeout is the longest that a process tool may be given.
	maxTimeout = 300 * time.Second
	// drainTimeout bounds the wait for the end of the output after every process is dead.
	drainTimeout = 2 * time.Second
)

// processes starts the programs of the process tools. One runs at a time, and nothing that it started outlives it.
type processes struct {
	workspace *workspace.Workspace
	log       *slog.Logger
	egress    *wayout.Egress
	outputs   *output.Store
	env       []string
	path      []string // folders of the search path
	reaper    *proc.Reaper
	sizes     disk.Sizes
	disk      *diskGuard
	// lane is held by the one call at a time that may start processes or change files.
	lane        chan struct{}
	supervisors supervisors
	background  background
	// self is this program, which a supervisor is, too.
	self string
	git  *gitSetup
	// python is what Python finds packages by.
	python *pythonSetup
}

// programConfig says what programs are given, and what holds them.
type programConfig struct {
	// log gets what goes wrong.
	log *slog.Logger
	// state and temp are folders; no program may open a file in the first one.
	state, temp string
	// searchPath is PATH.
	searchPath string
	// packages is the folder with the packages of the run's skill, "" if it has none.
	packages string
	// address is the Pod's own. Programs get sockets of its family.
	address netip.Addr
	// disk has the sizes of the volumes; the zero value bounds nothing.
	disk disk.Sizes
	// ledger gets the beginnings and the ends of programs that outlive their calls.
	ledger *ledger.Ledger
}

// newProcesses makes the folders and files that programs need, and begins to watch the disk. close ends it.
func newProcesses(cfg programConfig, ws *workspace.Workspace, way *wayout.Egress) (*processes, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	r, err := proc.NewReaper(cfg.log, self, proc.Confinement{State: cfg.state, Address: cfg.address, FileSize: cfg.disk.File()})
	if err != nil {
		return nil, err
	}
	p := &processes{
		workspace:   ws,
		egress:      way,
		log:         cfg.log,
		path:        filepath.SplitList(cfg.searchPath),
		reaper:      r,
		sizes:       cfg.disk,
		self:        self,
		git:         &gitSetup{temp: way.Temp, self: self},
		python:      &pythonSetup{temp: way.Temp, packages: pythonPackages(cfg.packages), workspace: ws.Dir},
		lane:        make(chan struct{}, 1),
		supervisors: supervisors{all: make(map[*supervised]bool)},
		background:  background{look: backgroundLook, ledger: cfg.ledger},
		// Nothing of the server's own environment: what the Pod is told is not for the programs in it.
		env: withPackages([]string{
			"PATH=" + cfg.searchPath,
			"HOME=" + ws.Dir,
			"TMPDIR=" + cfg.temp,
			"LANG=C.UTF-8",
			"TERM=dumb",
			// What a program printed before it was killed must not be lost in its buffer.
			"PYTHONUNBUFFERED=1",
			"PYTHONDONTWRITEBYTECODE=1",
			// Programs of the code tool import the modules that lie in the workspace.
			"PYTHONPATH=" + ws.Dir,
		}, cfg.packages, cfg.searchPath),
	}
	p.disk = newDiskGuard(cfg, p)
	p.outputs = output.NewStore(ws, way, p.disk.full)
	return p, nil
}

// close ends what was started and not waited for. No call runs any more.
func (p *processes) close() {
	p.supervisors.close()
	p.background.pumps.Wait()
	p.disk.watch.Close()
	p.reaper.Close()
}

// freeze ends everything that was started, and lets nothing start until the next call.
func (p *processes) freeze(reason string) error {
	p.supervisors.freeze()
	p.background.hold(reason)
	p.supervisors.stop()
	left := p.reaper.KillAll() + p.reaper.CountSupervised()
	// What a program printed at last may still be on its way into a file.
	p.background.pumps.Wait()
	if left > 0 {
		return fmt.Errorf("%d processes of the sandbox cannot be ended", left)
	}
	return nil
}

// freezeStarts lets nothing start until thaw. What runs goes on.
func (p *processes) freezeStarts() { p.supervisors.freeze() }

// thaw lets programs start, and calls leave programs behind.
func (p *processes) thaw() {
	p.supervisors.thaw()
	p.background.thaw()
}

// isFrozen reports whether nothing may start.
func (p *processes) isFrozen() bool { return p.supervisors.isFrozen() }

// ready gives the reason for which no program can be started, nil if one can.
func (p *processes) ready() error { return p.reaper.Ready() }

// searchPath is PATH.
func (p *processes) searchPath() string { return strings.Join(p.path, string(filepath.ListSeparator)) }

// gitHooks is the folder of the hooks that git runs in every repository of the sandbox. They are written anew if a program changed them.
func (p *processes) gitHooks() (string, error) {
	_, err := p.git.variables()
	return p.git.hooksPath(), err
}

// serverVariables are those of an MCP server's program, but for those of the way out. The program lives on, so the files that they name are
// looked after before each of its calls.
func (p *processes) serverVariables(server string) []string {
	env, err := p.git.variables()
	if err != nil {
		p.log.Error("git is not set up: its commits are not looked through for secrets", "server", server, "error", err)
	}
	python, err := p.python.variables()
	if err != nil {
		p.log.Error("Python finds no packages", "server", server, "error", err)
	}
	return slices.Concat(p.env, env, python)
}

// killStrays kills what is below the server and belongs to nothing, between two calls.
func (p *processes) killStrays() {
	p.lane <- struct{}{}
	defer func() { <-p.lane }()
	if left := p.reaper.KillAll(); left > 0 {
		p.log.Error("processes that lost their supervisor could not be killed", "count", left)
	}
}

// environment is that of a call's program. The note says what of it is not as it should be.
func (p *processes) environment(j tool.Job) (env []string, note string) {
	more, err := p.egress.Variables()
	if err != nil {
		p.log.Error("the certificates for the programs cannot be written", "id", j.ID, "error", err)
		note = fmt.Sprintf("[https cannot work: the certificates could not be written to %s; make room in the folder for temporary files]\n",
			filepath.Join(p.egress.Temp.Dir, wayout.BundleFile))
	}
	forGit, err := p.git.variables()
	if err != nil {
		p.log.Error("git is not set up: its commits are not looked through for secrets", "id", j.ID, "error", err)
	}
	forPython, err := p.python.variables()
	if err != nil {
		p.log.Error("Python finds no packages", "id", j.ID, "error", err)
		note += fmt.Sprintf("[python finds no packages: files could not be written to %s; make room in the folder for temporary files]\n",
			filepath.Join(p.egress.Temp.Dir, pythonSetupDir))
	}
	env = slices.Concat(p.env, forGit, forPython, more)
	if j.Key != "" {
		env = append(env, "IDEMPOTENCY_KEY="+j.Key)
	}
	return env, note
}

// callEnvironment is environment with what package managers are told. What installs a skill's packages is told otherwise.
func (p *processes) callEnvironment(j tool.Job) (env []string, note string) {
	env, note = p.environment(j)
	return append(packageManagers(p.egress.Current().Proxy != ""), env...), note
}

// run runs a program to its end and makes the result of its call.
func (p *processes) run(ctx context.Context, j tool.Job, prog program) toolapi.Result {
	exe, err := p.find(prog.name)
	if err != nil {
		return missing(prog.name)
	}
	var note string
	prog.env, note = p.callEnvironment(j)
	file := toolapi.OutputPath(j.ID)
	out := output.NewCollector(j.Limit, p.outputs.Spill(file, false))
	end, err := p.execute(ctx, exe, prog, out)
	if err != nil {
		return startFailure(prog.name, err)
	}
	result, notes := verdict(end, prog.timeout)
	notes = p.fileLimit(&result, end.status) + notes + note
	if end.left > 0 {
		p.log.Error("processes of a call could not be killed", "id", j.ID, "count", end.left)
		notes += fmt.Sprintf("[%d processes of this call could not be killed and may go on]\n", end.left)
	}
	if prog.notes != nil {
		notes += prog.notes()
	}
	last, _ := end.told.last()
	value := valueBlock(last, max(j.Limit/2, j.Limit-int(min(out.Total, int64(j.Limit)))-len(notes)-1))
	output.Finish(p.workspace, &result, out, &end.seen, file, value, notes)
	return result
}

func missing(name string) toolapi.Result {
	return tool.Failure(toolapi.CodeNotFound, "The program %s is not in this sandbox's image. Use another tool or language.", name)
}

// errNoProgram says that there is no such program to start.
var errNoProgram = exec.ErrNotFound

// find looks a program up on the search path.
func (p *processes) find(name string) (string, error) {
	for _, dir := range p.path {
		exe := filepath.Join(dir, name)
		if info, err := os.Stat(exe); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 && filepath.IsAbs(exe) {
			return exe, nil
		}
	}
	return "", errNoProgram
}

// timeoutNote begins the note about a program that was ended at its time limit.
const timeoutNote = "[after "

// verdict makes the result of how a program ended, without its output, and a note about it.
func verdict(end ending, timeout time.Duration) (toolapi.Result, string) {
	result := toolapi.Result{Provenance: toolapi.ProvenanceInternal}
	switch status, cause := end.status, end.cause; {
	case status.Exited() && status.ExitStatus() == 0:
		result.OK = true
		return result, ""
	case status.Exited():
		result.ErrorCode = fmt.Sprintf("%s%d", toolapi.ExitPrefix, status.ExitStatus())
		return result, ""
	case errors.Is(cause, tool.ErrHalted):
		result.ErrorCode = toolapi.CodeCancelled
		return result, "[" + tool.HaltedText + "]\n"
	case errors.As(cause, new(*tool.DiskFullError)):
		result.ErrorCode = toolapi.CodeDiskFull
		return result, "[" + tool.DiskFullEnded + cause.Error() + "]\n"
	case errors.Is(cause, tool.ErrCancelled):
		result.ErrorCode = toolapi.CodeCancelled
		return result, "[the program and everything it started was killed]\n"
	case errors.Is(cause, tool.ErrStopped):
		result.ErrorCode = toolapi.CodeKilled
		return result, "[the tool server was stopped: the program and everything it started was killed]\n"
	case cause != nil && status.Signal() == syscall.SIGKILL:
		result.ErrorCode = toolapi.CodeTimeout
		result.Retryable = true
		return result, fmt.Sprintf(timeoutNote+"%d seconds the program and everything it started was killed; what it printed until then, if anything, is above; "+
			"give it more time with timeoutSeconds (at most %d), or do less at once]\n",
			int(timeout.Seconds()), int(maxTimeout.Seconds()))
	default:
		result.ErrorCode = toolapi.CodeKilled
		return result, fmt.Sprintf("[killed by signal %d (%v); if nothing in the program did that, it used more memory than the sandbox has]\n",
			status.Signal(), status.Signal())
	}
}

// startFailure is the envelope for a program that could not be started.
func startFailure(name string, err error) toolapi.Result {
	if errors.Is(err, proc.ErrLauncher) {
		return tool.Failure(toolapi.CodeKilled, "What starts programs was killed while it started %s. The program may have run for a moment. "+
			"Look at the workspace before you try again.", name)
	}
	for _, scarce := range []error{syscall.EAGAIN, syscall.ENOMEM, syscall.EMFILE, syscall.ENFILE} {
		if errors.Is(err, scarce) {
			r := tool.Failure(toolapi.CodeInternal, "%s could not be started: the sandbox has no process or memory to spare. Try again.", name)
			r.Retryable = true
			return r
		}
	}
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return tool.Failure(toolapi.CodeInternal, "%s could not be started: %v.", name, errno)
	}
	return tool.Failure(toolapi.CodeInternal, "%s could not be started.", name)
}

// timeoutOf reads the argument timeoutSeconds.
func timeoutOf(seconds int32, preset time.Duration) (time.Duration, *toolapi.Result) {
	d := time.Duration(seconds) * time.Second
	switch {
	case seconds == 0:
		return preset, nil
	case d < 0 || d > maxTimeout:
		r := tool.Failure(toolapi.CodeInvalidArguments, "timeoutSeconds is %d and may be 1 to %d.", seconds, int(maxTimeout.Seconds()))
		return 0, &r
	}
	return d, nil
}
