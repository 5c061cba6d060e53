// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"motorcortex.dev/motorcortex/hack/devcluster/internal/proc"
)

const (
	// politeness is how long components may take to end by themselves. Only containerd has something
	// to write then that is kept.
	politeness    = 2 * time.Second
	sweepDeadline = 15 * time.Second
)

// Down removes the cluster, in whatever state it is. The image store stays unless purge is set.
func (c *Cluster) Down(ctx context.Context, purge bool) error {
	if err := needRoot(); err != nil {
		return err
	}
	if !c.traces() && !purge {
		c.out.Printf("no cluster is there")
		return nil
	}
	if err := c.remove(ctx, purge); err != nil {
		return err
	}
	c.out.Printf("the cluster is gone")
	return nil
}

// remove ends the processes, and takes away what the kernel holds for them, then the files. Every
// step works from what is really there, and is harmless where there is nothing.
func (c *Cluster) remove(ctx context.Context, purge bool) error {
	if err := c.endProcesses(ctx); err != nil {
		return err
	}
	mounts, err := c.mounts()
	if err != nil {
		return err
	}
	for _, mount := range mounts {
		if err := unix.Unmount(mount, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW); err != nil && !errors.Is(err, unix.EINVAL) {
			return fmt.Errorf("unmount %s: %w", mount, err)
		}
	}
	if err := c.namespace().Remove(); err != nil {
		return err
	}
	if err := c.group.Remove(ctx); err != nil {
		return err
	}
	if err := c.removeFiles(purge); err != nil {
		return err
	}
	c.record = record{}
	return nil
}

// endProcesses asks the components to end and then kills everything that is in the cluster's control
// group or network namespace: components, shims, containers, and what none of them knows of.
func (c *Cluster) endProcesses(ctx context.Context) error {
	// The kubelet first: it would restart what we end.
	if err := c.halt(ctx, "kubelet", politeness); err != nil {
		return err
	}
	var asked sync.WaitGroup
	var mu sync.Mutex
	var failed []error
	for _, component := range c.recorded() {
		if component == holderName {
			continue
		}
		asked.Go(func() {
			if err := c.halt(ctx, component, politeness); err != nil {
				mu.Lock()
				defer mu.Unlock()
				failed = append(failed, err)
			}
		})
	}
	asked.Wait()
	if err := errors.Join(failed...); err != nil {
		return err
	}
	c.group.Thaw()
	if err := c.sweep(ctx); err != nil {
		return err
	}
	return c.halt(ctx, holderName, 0)
}

func (c *Cluster) sweep(ctx context.Context) error {
	_, err := proc.Sweep(ctx, sweepDeadline, c.group.Holds, proc.InNamespace(c.namespace().Path()))
	return err
}

// recorded lists the components that a process was ever recorded for.
func (c *Cluster) recorded() []string {
	entries, err := os.ReadDir(filepath.Join(c.run, "pids"))
	if err != nil {
		return nil
	}
	var names []string
	for _, entry := range entries {
		if base := entry.Name(); filepath.Ext(base) == ".json" {
			names = append(names, base[:len(base)-len(".json")])
		}
	}
	slices.Sort(names)
	return names
}

// removeFiles deletes our folders, but for the images, which are cleaned of the cluster's containers.
func (c *Cluster) removeFiles(purge bool) error {
	if !purge {
		if err := forgetContainers(c.images()); err != nil {
			// Images can be loaded again; a store that cannot be trusted is worth nothing.
			c.out.Printf("the image store is damaged and will be made anew: %v", err)
			purge = true
		}
	}
	if purge {
		return errors.Join(os.RemoveAll(c.state), os.RemoveAll(c.run))
	}
	entries, err := os.ReadDir(c.state)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, entry := range entries {
		if path := filepath.Join(c.state, entry.Name()); path != c.images() {
			if err := os.RemoveAll(path); err != nil {
				return err
			}
		}
	}
	return os.RemoveAll(c.run)
}
