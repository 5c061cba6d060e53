// SPDX-License-Identifier: Apache-2.0

//go:build linux

package toolserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"
	"unsafe"

	"motorcortex.dev/motorcortex/internal/toolapi"
)

const (
	// maxTimeout is the longest that a process tool may be given.
	maxTimeout = 300 * time.Second
	// drainTimeout bounds the wait for the end of the output after every process is dead.
	drainTimeout = 2 * time.Second
)

// processes starts the programs of the process tools. One runs at a time, and nothing that it started outlives it.
type processes struct {
	workspace *workspace
	log       *slog.Logger
	state     string
	egress    *egress
	env       []string
	path      []string // folders of the search path
	reaper    *reaper
	// self is this program, which every tool process goes through; see confine.go.
	self string
}

func newProcesses(cfg Config, ws *workspace, way *egress) (*processes, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	if landlockABI() < minLandlock {
		cfg.Logger.Warn("this kernel has no Landlock that is new enough: tools can reach the tool server's state")
	}
	r, err := newReaper(cfg.Logger)
	if err != nil {
		return nil, err
	}
	return &processes{
		workspace: ws,
		egress:    way,
		log:       cfg.Logger,
		state:     cfg.State,
		path:      filepath.SplitList(cfg.SearchPath),
		reaper:    r,
		self:      self,
		// Nothing of the server's own environment: what the Pod is told is not for the programs in it.
		env: []string{
			"PATH=" + cfg.SearchPath,
			"HOME=" + ws.dir,
			"TMPDIR=" + cfg.TempDir,
			"LANG=C.UTF-8",
			"TERM=dumb",
			// What a program printed before it was killed must not be lost in its buffer.
			"PYTHONUNBUFFERED=1",
			"PYTHONDONTWRITEBYTECODE=1",
			// Programs of the code tool import the modules that lie in the workspace.
			"PYTHONPATH=" + ws.dir,
		},
	}, nil
}

func (p *processes) close() { p.reaper.close() }

// program is a program to run for a call.
type program struct {
	name    string
	args    []string
	stdin   *os.File // nil means no input
	timeout time.Duration
	env     []string // set by run
}

// run runs a program to its end and makes the result of its call.
func (p *processes) run(ctx context.Context, j job, prog program) toolapi.Result {
	exe, err := p.find(prog.name)
	if err != nil {
		return failure(toolapi.CodeNotFound, "The program %s is not in this sandbox's image. Use another tool or language.", prog.name)
	}
	more, untrusting := p.egress.variables()
	prog.env = slices.Concat(p.env, more)
	ctx, cancel := context.WithTimeout(ctx, prog.timeout)
	defer cancel()

	file := toolapi.OutputDir + "/" + j.id + ".txt"
	out := newCollector(j.limit, func() (io.WriteCloser, error) { return p.workspace.createOutput(file) })
	status, left, err := p.supervise(ctx, exe, prog, out)
	if err != nil {
		return startFailure(prog.name, err)
	}
	result, trailer := verdict(ctx, status, prog.timeout)
	if untrusting != nil {
		p.log.Error("the certificates for the programs cannot be written", "id", j.id, "error", untrusting)
		trailer += fmt.Sprintf("[https cannot work: the certificates could not be written to %s; make room in the folder for temporary files]\n",
			filepath.Join(p.egress.temp.dir, bundleFile))
	}
	if left > 0 {
		p.log.Error("processes of a call could not be killed", "id", j.id, "count", left)
		trailer += fmt.Sprintf("[%d processes of this call could not be killed and may go on]\n", left)
	}
	var kept bool
	if result.Output, kept = out.finish(file, trailer); kept {
		result.OutputFile = file
	} else if out.spill != nil {
		_ = p.workspace.root.Remove(file) // A part of the output only takes the space that is missing.
	}
	return result
}

// find looks a program up on the search path.
func (p *processes) find(name string) (string, error) {
	for _, dir := range p.path {
		exe := filepath.Join(dir, name)
		if info, err := os.Stat(exe); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 && filepath.IsAbs(exe) {
			return exe, nil
		}
	}
	return "", exec.ErrNotFound
}

// supervise starts the program, passes its output to out, and returns when it and everything that it started is
// dead. left is the number of processes that would not die. An error means that nothing was started.
func (p *processes) supervise(ctx context.Context, exe string, prog program, out io.Writer) (status syscall.WaitStatus, left int, err error) {
	// One pipe for both streams, so that the kernel keeps their order. It is ours and not made by exec.Cmd, whose Wait
	// would stay until every process that inherited the pipe has closed it.
	read, write, err := os.Pipe()
	if err != nil {
		return 0, 0, err
	}
	defer read.Close()
	cmd := &exec.Cmd{
		Path:        p.self,
		Args:        append([]string{childName, p.state, exe}, prog.args...),
		Env:         prog.env,
		Dir:         p.workspace.dir,
		Stdout:      write,
		Stderr:      write,
		SysProcAttr: &syscall.SysProcAttr{Setsid: true}, // A group of its own, without a terminal.
	}
	if prog.stdin != nil {
		cmd.Stdin = prog.stdin
	}
	err = p.reaper.start(cmd)
	_ = write.Close()
	if err != nil {
		return 0, 0, err
	}
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		text := &cleaner{to: out}
		_, _ = io.Copy(text, read) // Ends at the last close of the pipe, or when it is closed below.
		_ = text.Close()
	}()

	awaitExit(ctx, cmd.Process.Pid)
	left = p.reaper.killAll()
	_ = p.reaper.wait(cmd) // The status says more than the error.
	select {
	case <-drained:
	case <-time.After(drainTimeout):
		_ = read.Close()
		<-drained
	}
	return cmd.ProcessState.Sys().(syscall.WaitStatus), left, nil
}

// awaitExit returns when the process has ended, and kills its group when ctx ends. The process stays a zombie: as long
// as it is one, its number cannot become that of another process or group, so kills by number meet only what is meant.
func awaitExit(ctx context.Context, pid int) {
	ended := make(chan struct{})
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-ctx.Done():
			_ = syscall.Kill(-pid, syscall.SIGKILL) // It fails only if the group is gone already.
		case <-ended:
		}
	}()
	waitZombie(pid)
	close(ended)
	<-watched
	_ = syscall.Kill(-pid, syscall.SIGKILL)
}

// waitZombie waits until the child has ended, without taking its status.
func waitZombie(pid int) {
	const byPid = 1     // P_PID
	var info [16]uint64 // siginfo_t has 128 bytes; its content is not used.
	const sysWait = syscall.WEXITED | syscall.WNOWAIT
	for {
		_, _, errno := syscall.Syscall6(syscall.SYS_WAITID, byPid, uintptr(pid), uintptr(unsafe.Pointer(&info)), sysWait, 0, 0)
		if errno != syscall.EINTR {
			return
		}
	}
}

// verdict makes the result of how a program ended, without its output, and the line that follows the output.
func verdict(ctx context.Context, status syscall.WaitStatus, timeout time.Duration) (toolapi.Result, string) {
	result := toolapi.Result{Provenance: toolapi.ProvenanceInternal}
	switch cause := context.Cause(ctx); {
	case status.Exited() && status.ExitStatus() == 0:
		result.OK = true
		return result, ""
	case status.Exited():
		result.ErrorCode = fmt.Sprintf("exit_%d", status.ExitStatus())
		return result, fmt.Sprintf("[exit status %d]\n", status.ExitStatus())
	case errors.Is(cause, errCancelled):
		result.ErrorCode = toolapi.CodeCancelled
		return result, "[the call was cancelled: the program and everything it started was killed]\n"
	case errors.Is(cause, errStopped):
		result.ErrorCode = toolapi.CodeKilled
		return result, "[the tool server was stopped: the program and everything it started was killed]\n"
	case cause != nil && status.Signal() == syscall.SIGKILL:
		result.ErrorCode = toolapi.CodeTimeout
		result.Retryable = true
		return result, fmt.Sprintf("[timeout: after %d seconds the program and everything it started was killed; what it printed "+
			"until then is above; give it more time with timeoutSeconds (at most %d), or do less at once]\n",
			int(timeout.Seconds()), int(maxTimeout.Seconds()))
	default:
		result.ErrorCode = toolapi.CodeKilled
		return result, fmt.Sprintf("[killed by signal %d (%v); if nothing in the program did that, it used more memory than the sandbox has]\n",
			status.Signal(), status.Signal())
	}
}

// startFailure is the envelope for a program that could not be started.
func startFailure(name string, err error) toolapi.Result {
	for _, scarce := range []error{syscall.EAGAIN, syscall.ENOMEM, syscall.EMFILE, syscall.ENFILE} {
		if errors.Is(err, scarce) {
			r := failure(toolapi.CodeInternal, "%s could not be started: the sandbox has no process or memory to spare. Try again.", name)
			r.Retryable = true
			return r
		}
	}
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return failure(toolapi.CodeInternal, "%s could not be started: %v.", name, errno)
	}
	return failure(toolapi.CodeInternal, "%s could not be started.", name)
}

// timeoutOf reads the argument timeoutSeconds.
func timeoutOf(seconds int32, preset time.Duration) (time.Duration, *toolapi.Result) {
	d := time.Duration(seconds) * time.Second
	switch {
	case seconds == 0:
		return preset, nil
	case d < 0 || d > maxTimeout:
		r := failure(toolapi.CodeInvalidArguments, "timeoutSeconds is %d and may be 1 to %d.", seconds, int(maxTimeout.Seconds()))
		return 0, &r
	}
	return d, nil
}
