// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"motorcortex.dev/motorcortex/hack/devcluster/internal/proc"
	"motorcortex.dev/motorcortex/hack/devcluster/internal/wait"
)

// The program's verbs that only it calls itself by.
const (
	verbEnter   = "internal-enter"
	verbForward = "internal-forward"
	verbUplink  = "internal-uplink"
)

// logLines is how much of a log explains an error.
const logLines = 15

// spawn starts a daemon and records which process it is.
func (c *Cluster) spawn(d daemon) error {
	if err := os.MkdirAll(filepath.Dir(c.log(d.name)), 0o711); err != nil {
		return err
	}
	log, err := os.OpenFile(c.log(d.name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }() // the child has its own
	holder := 0
	if d.where == inCluster || d.where == shielded {
		id, alive := c.running(holderName)
		if !alive {
			return fmt.Errorf("start %s: the process that holds the cluster's namespaces is gone", d.name)
		}
		holder = id.PID
	}
	args := append([]string{verbEnter, strconv.Itoa(int(d.where)), strconv.Itoa(holder)}, d.args...)
	cmd := exec.Command(c.helper(), args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Dir = "/"
	// Nothing of the caller's environment: a proxy setting in it would send the components outside.
	cmd.Env = []string{"PATH=" + c.bin + ":/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/", "LANG=C.UTF-8", nameVariable + "=" + c.name}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", d.name, err)
	}
	go func() { _ = cmd.Wait() }() // so that one that ends at once is no zombie that looks alive
	id, err := proc.Identify(cmd.Process.Pid)
	if err != nil {
		return c.failure(d.name, err)
	}
	return c.saveRecord(d.name, id)
}

func (c *Cluster) saveRecord(component string, id proc.Identity) error {
	content, err := json.Marshal(id)
	if err != nil {
		return err
	}
	return writeAtomically(c.layout.record(component), content)
}

// running returns the recorded process of a component, and whether it still runs.
func (c *Cluster) running(component string) (proc.Identity, bool) {
	var id proc.Identity
	content, err := os.ReadFile(c.layout.record(component))
	if err != nil || json.Unmarshal(content, &id) != nil {
		return id, false
	}
	return id, id.Alive()
}

// await waits until a daemon answers. One that has ended is not waited for.
func (c *Cluster) await(ctx context.Context, d daemon, deadline time.Duration) error {
	err := wait.Until(ctx, deadline, 50*time.Millisecond, func(ctx context.Context) error {
		if _, alive := c.running(d.name); !alive {
			return wait.Final(errEnded)
		}
		return d.ready(ctx)
	})
	if err != nil {
		return c.failure(d.name, err)
	}
	return nil
}

var errEnded = errors.New("it has ended")

// failure names the component and shows the end of its log.
func (c *Cluster) failure(component string, err error) error {
	path := c.log(component)
	tail := proc.Tail(path, logLines)
	if tail == "" {
		return fmt.Errorf("%s: %w (its log %s is empty)", component, err, path)
	}
	return fmt.Errorf("%s: %w; the end of its log (%s):\n%s", component, err, path, tail)
}

// halt ends one component by its record: it is asked first and killed when it does not listen.
func (c *Cluster) halt(ctx context.Context, component string, patience time.Duration) error {
	id, alive := c.running(component)
	if alive {
		if err := id.Signal(unix.SIGTERM); err != nil && !errors.Is(err, proc.ErrGone) {
			return err
		}
		gone := func(context.Context) error {
			if id.Alive() {
				return fmt.Errorf("%s does not end", component)
			}
			return nil
		}
		if wait.Until(ctx, patience, 20*time.Millisecond, gone) != nil {
			if err := id.Signal(unix.SIGKILL); err != nil && !errors.Is(err, proc.ErrGone) {
				return err
			}
			if err := wait.Until(ctx, 5*time.Second, 20*time.Millisecond, gone); err != nil {
				return err
			}
		}
	}
	if err := os.Remove(c.layout.record(component)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// writeAtomically replaces a file in one step; a reader or a crash never sees half of it.
func writeAtomically(path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o711); err != nil {
		return err
	}
	temporary := path + ".new"
	if err := os.WriteFile(temporary, content, 0o600); err != nil {
		return err
	}
	return os.Rename(temporary, path)
}
