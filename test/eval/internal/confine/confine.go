// SPDX-License-Identifier: Apache-2.0

// Package confine runs commands of the host without a network, for a bounded time and with a bounded output. What it runs was
// written by a model: it is kept from the network and ended with all that it started, and from nothing else.
package confine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// MaxOutput bounds what is kept of a command's output.
const MaxOutput = 256 << 10

// ErrTimeout is returned for a command that was ended because its time was over.
var ErrTimeout = errors.New("the time is over")

// passed are the variables of the host that commands see. Keys of models are none of them.
var passed = []string{"PATH", "LANG", "GOFLAGS", "GOCACHE", "GOROOT", "GOMODCACHE", "CGO_ENABLED"}

// Run runs a command in a folder and returns its output. An exit status other than 0 is an *exec.ExitError.
func Run(ctx context.Context, dir string, within time.Duration, argv ...string) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, within, ErrTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = dir
	cmd.Env = environment(dir)
	out := &bounded{}
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = alone(os.Getuid(), os.Getgid())
	// What the command left behind may hold its output open after the end of the command itself.
	cmd.WaitDelay = 2 * time.Second
	err := cmd.Run()
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if errors.Is(err, syscall.EPERM) {
		err = fmt.Errorf("a command cannot be kept from the network here, because this user may make no namespaces: %w", err)
	}
	return out.String(), err
}

// alone returns a command namespaces for network and processes: when its first process ends, the kernel ends the others. Who is not
// root needs one for users too.
func alone(uid, gid int) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWPID}
	if uid != 0 {
		attr.Cloneflags |= syscall.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
	}
	return attr
}

func environment(dir string) []string {
	env := []string{"HOME=" + dir, "GOPROXY=off", "GOTOOLCHAIN=local", "PYTHONDONTWRITEBYTECODE=1", "PYTHONUTF8=1", "TZ=UTC"}
	for _, name := range passed {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	// Without HOME, Go would build its standard library anew in every folder.
	if _, ok := os.LookupEnv("GOCACHE"); !ok {
		if cache, err := os.UserCacheDir(); err == nil {
			env = append(env, "GOCACHE="+cache+"/go-build")
		}
	}
	return env
}

// bounded keeps the first half of MaxOutput and the last one.
type bounded struct {
	head, tail bytes.Buffer
	cut        int
}

func (b *bounded) Write(p []byte) (int, error) {
	n := len(p)
	if room := MaxOutput/2 - b.head.Len(); room > 0 {
		take := min(room, len(p))
		b.head.Write(p[:take])
		p = p[take:]
	}
	b.tail.Write(p)
	if over := b.tail.Len() - MaxOutput/2; over > 0 {
		b.tail.Next(over)
		b.cut += over
	}
	return n, nil
}

func (b *bounded) String() string {
	text := b.head.String()
	if b.cut > 0 {
		text += fmt.Sprintf("\n[%d bytes left out]\n", b.cut)
	}
	return strings.ToValidUTF8(text+b.tail.String(), "\uFFFD")
}
