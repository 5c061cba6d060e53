// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package program runs programs for calls: to their end, under a time limit and with their output in bounds, or in the background. It
// decides on a program's environment, and ends everything that a call started, whatever that does against it.
package program

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
	// MaxTimeout is the longest time limit of a process tool.
	MaxTimeout = 300 * time.Second
	// drainTimeout bounds the wait for the end of the output after every process is dead.
	drainTimeout = 2 * time.Second
)

// Runner starts the programs of the process tools. One runs at a time, and nothing that it started outlives it.
type Runner struct {
	// Workspace is where programs work, and Egress their way out.
	Workspace *workspace.Workspace
	Egress    *wayout.Egress
	// Outputs keeps the outputs of calls as a whole.
	Outputs *output.Store
	// Sizes are those of the volumes; the zero value bounds nothing.
	Sizes disk.Sizes
	// Disk watches the volumes.
	Disk *DiskGuard
	// Lane is held by the one call at a time that may start processes or change files.
	Lane        chan struct{}
	log         *slog.Logger
	env         []string
	path        []string // folders of the search path
	reaper      *proc.Reaper
	supervisors supervisors
	background  background
	// self is this program, which a supervisor is, too.
	self string
	git  *gitSetup
	// python is what Python finds packages by.
	python *pythonSetup
}

// Config configures the environment and the confinement of programs.
type Config struct {
	// Log gets the errors.
	Log *slog.Logger
	// State and Temp are folders. No program may open a file in State.
	State, Temp string
	// SearchPath is PATH.
	SearchPath string
	// Packages is the folder with the packages of the run's skill, "" if it has none.
	Packages string
	// Address is the Pod's own. Programs get sockets of its family.
	Address netip.Addr
	// Disk has the sizes of the volumes; the zero value bounds nothing.
	Disk disk.Sizes
	// Ledger gets the beginnings and the ends of programs that outlive their calls.
	Ledger *ledger.Ledger
}

// New starts what starts programs in a workspace, and begins to watch the disk. Close ends both. An error means that nothing runs.
func New(cfg Config, ws *workspace.Workspace, way *wayout.Egress) (*Runner, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	r, err := proc.NewReaper(cfg.Log, self, proc.Confinement{State: cfg.State, Address: cfg.Address, FileSize: cfg.Disk.File()})
	if err != nil {
		return nil, err
	}
	p := &Runner{
		Workspace:   ws,
		Egress:      way,
		log:         cfg.Log,
		path:        filepath.SplitList(cfg.SearchPath),
		reaper:      r,
		Sizes:       cfg.Disk,
		self:        self,
		git:         &gitSetup{temp: way.Temp, self: self},
		python:      &pythonSetup{temp: way.Temp, packages: pythonPackages(cfg.Packages), workspace: ws.Dir},
		Lane:        make(chan struct{}, 1),
		supervisors: supervisors{all: make(map[*Supervised]bool)},
		background:  background{look: backgroundLook, ledger: cfg.Ledger},
		// No variables of the server's own environment: those of the Pod are not for the programs in it.
		env: withPackages([]string{
			"PATH=" + cfg.SearchPath,
			"HOME=" + ws.Dir,
			"TMPDIR=" + cfg.Temp,
			"LANG=C.UTF-8",
			"TERM=dumb",
			// Output must not be lost in a buffer when a program is killed.
			"PYTHONUNBUFFERED=1",
			"PYTHONDONTWRITEBYTECODE=1",
			// Programs of the code tool import the modules that lie in the workspace.
			"PYTHONPATH=" + ws.Dir,
		}, cfg.Packages, cfg.SearchPath),
	}
	p.Disk = newDiskGuard(cfg, p)
	p.Outputs = output.NewStore(ws, way, p.Disk.Full)
	return p, nil
}

// Close ends all programs that were started and not waited for. No call runs any more.
func (p *Runner) Close() {
	p.supervisors.close()
	p.background.pumps.Wait()
	p.Disk.watch.Close()
	p.reaper.Close()
}

// Freeze ends everything that was started, and lets nothing start until Thaw. The model sees the reason for programs in the background. It
// returns an error if some processes could not be ended.
func (p *Runner) Freeze(reason string) error {
	p.supervisors.freeze()
	p.background.hold(reason)
	p.supervisors.stop()
	left := p.reaper.KillAll() + p.reaper.CountSupervised()
	// The last output of a program may still be on its way into a file.
	p.background.pumps.Wait()
	if left > 0 {
		return fmt.Errorf("%d processes of the sandbox cannot be ended", left)
	}
	return nil
}

// Tools are the tools that run programs, by their names.
func (p *Runner) Tools() map[string]tool.Tool {
	return map[string]tool.Tool{
		toolapi.ToolBash:           {Alone: true, Limit: toolapi.MaxBashOutputBytes, Run: p.bash},
		toolapi.ToolCode:           {Alone: true, Limit: toolapi.MaxOutputBytes, Run: p.code},
		toolapi.ToolGrep:           {Alone: true, Limit: toolapi.MaxOutputBytes, Run: p.grep},
		toolapi.ToolOneshot:        {Alone: true, Limit: toolapi.MaxOutputBytes, Run: p.oneshot},
		toolapi.ToolOneshotNetwork: {Alone: true, Limit: toolapi.MaxOutputBytes, Run: p.oneshotNetwork},
	}
}

// StopSupervised ends the programs that outlive their calls, and returns when they are over. One that is started meanwhile runs on.
func (p *Runner) StopSupervised() { p.supervisors.stop() }

// WhileHeld calls do while no child of this process is collected: one that do starts by other means can be waited for.
func (p *Runner) WhileHeld(do func()) { p.reaper.WhileHeld(do) }

// WatchBackground sets how long a command is watched before its call leaves it in the background. No call runs.
func (p *Runner) WatchBackground(look time.Duration) { p.background.look = look }

// FreezeStarts lets nothing start until Thaw. Running programs go on.
func (p *Runner) FreezeStarts() { p.supervisors.freeze() }

// Thaw lets programs start, and calls leave programs behind.
func (p *Runner) Thaw() {
	p.supervisors.thaw()
	p.background.thaw()
}

// IsFrozen reports whether nothing may start.
func (p *Runner) IsFrozen() bool { return p.supervisors.isFrozen() }

// Ready returns the reason for which no program can be started, nil if one can.
func (p *Runner) Ready() error { return p.reaper.Ready() }

// SearchPath is the PATH of programs.
func (p *Runner) SearchPath() string { return strings.Join(p.path, string(filepath.ListSeparator)) }

// GitHooks returns the folder of the hooks that git runs in every repository of the sandbox. They are written anew if a program changed
// them; it returns an error if they cannot be.
func (p *Runner) GitHooks() (string, error) {
	_, err := p.git.variables()
	return p.git.hooksPath(), err
}

// ServerVariables are those of an MCP server's program, except for those of the way out. The program lives on, so the files that they name
// are looked after before each of its calls.
func (p *Runner) ServerVariables(server string) []string {
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

// killStrays kills the processes below the server that belong to no call, between two calls.
func (p *Runner) killStrays() {
	p.Lane <- struct{}{}
	defer func() { <-p.Lane }()
	if left := p.reaper.KillAll(); left > 0 {
		p.log.Error("processes that lost their supervisor could not be killed", "count", left)
	}
}

// Environment returns the variables of a call's program. The note tells the model about a problem with them; it is "" if there is none.
func (p *Runner) Environment(j tool.Job) (env []string, note string) {
	more, err := p.Egress.Variables()
	if err != nil {
		p.log.Error("the certificates for the programs cannot be written", "id", j.ID, "error", err)
		note = fmt.Sprintf("[https cannot work: the certificates could not be written to %s; make room in the folder for temporary files]\n",
			filepath.Join(p.Egress.Temp.Dir, wayout.BundleFile))
	}
	forGit, err := p.git.variables()
	if err != nil {
		p.log.Error("git is not set up: its commits are not looked through for secrets", "id", j.ID, "error", err)
	}
	forPython, err := p.python.variables()
	if err != nil {
		p.log.Error("Python finds no packages", "id", j.ID, "error", err)
		note += fmt.Sprintf("[python finds no packages: files could not be written to %s; make room in the folder for temporary files]\n",
			filepath.Join(p.Egress.Temp.Dir, pythonSetupDir))
	}
	env = slices.Concat(p.env, forGit, forPython, more)
	if j.Key != "" {
		env = append(env, "IDEMPOTENCY_KEY="+j.Key)
	}
	return env, note
}

// callEnvironment is Environment with the variables for package managers. The installation of a skill's packages configures them otherwise.
func (p *Runner) callEnvironment(j tool.Job) (env []string, note string) {
	env, note = p.Environment(j)
	return append(packageManagers(p.Egress.Current().Proxy != ""), env...), note
}

// run runs a program to its end and makes the result of its call.
func (p *Runner) run(ctx context.Context, j tool.Job, prog Program) toolapi.Result {
	exe, err := p.Find(prog.Name)
	if err != nil {
		return missing(prog.Name)
	}
	var note string
	prog.Env, note = p.callEnvironment(j)
	file := toolapi.OutputPath(j.ID)
	out := output.NewCollector(j.Limit, p.Outputs.Spill(file, false))
	end, err := p.Execute(ctx, exe, prog, out)
	if err != nil {
		return StartFailure(prog.Name, err)
	}
	result, notes := verdict(end, prog.Timeout)
	notes = p.fileLimit(&result, end.Status) + notes + note
	if end.Left > 0 {
		p.log.Error("processes of a call could not be killed", "id", j.ID, "count", end.Left)
		notes += fmt.Sprintf("[%d processes of this call could not be killed and may go on]\n", end.Left)
	}
	if prog.notes != nil {
		notes += prog.notes()
	}
	last, _ := end.told.last()
	value := valueBlock(last, max(j.Limit/2, j.Limit-int(min(out.Total, int64(j.Limit)))-len(notes)-1))
	output.Finish(p.Workspace, &result, out, &end.seen, file, value, notes)
	return result
}

func missing(name string) toolapi.Result {
	return tool.Failure(toolapi.CodeNotFound, "The program %s is not in this sandbox's image. Use another tool or language.", name)
}

// errNoProgram means that there is no such program to start.
var errNoProgram = exec.ErrNotFound

// Find looks a program up on the search path.
func (p *Runner) Find(name string) (string, error) {
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
func verdict(end Ending, timeout time.Duration) (toolapi.Result, string) {
	result := toolapi.Result{Provenance: toolapi.ProvenanceInternal}
	switch status, cause := end.Status, end.cause; {
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
			int(timeout.Seconds()), int(MaxTimeout.Seconds()))
	default:
		result.ErrorCode = toolapi.CodeKilled
		return result, fmt.Sprintf("[killed by signal %d (%v); if nothing in the program did that, it used more memory than the sandbox has]\n",
			status.Signal(), status.Signal())
	}
}

// StartFailure is the envelope for a program that could not be started.
func StartFailure(name string, err error) toolapi.Result {
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
	case d < 0 || d > MaxTimeout:
		r := tool.Failure(toolapi.CodeInvalidArguments, "timeoutSeconds is %d and may be 1 to %d.", seconds, int(MaxTimeout.Seconds()))
		return 0, &r
	}
	return d, nil
}
