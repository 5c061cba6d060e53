// SPDX-License-Identifier: Apache-2.0

// Package cgroup keeps everything the cluster runs below one control group of its own, on machines
// with cgroup v1, v2, or both. The group bounds nothing by itself; it marks processes as ours, and
// it keeps the kubelet's groups out of the way of a kubelet that belongs to the machine.
package cgroup

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"motorcortex.dev/motorcortex/hack/devcluster/internal/wait"
)

const (
	mountPoint = "/sys/fs/cgroup"
	// daemons is the leaf that processes of our own are in. In v2 a group that hands controllers to
	// its children may not hold processes itself.
	daemons = "daemons"
)

// Group is a top-level control group in every hierarchy of the machine.
type Group struct {
	Name string
	// roots are the mounted hierarchies: one in v2, one for each controller in v1.
	roots []string
	v2    bool
}

// Find looks up how control groups are mounted here.
func Find(name string) (*Group, error) {
	var stat unix.Statfs_t
	if err := unix.Statfs(mountPoint, &stat); err != nil {
		return nil, fmt.Errorf("no control groups at %s: %w", mountPoint, err)
	}
	if stat.Type == unix.CGROUP2_SUPER_MAGIC {
		return &Group{Name: name, roots: []string{mountPoint}, v2: true}, nil
	}
	mounts, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	defer func() { _ = mounts.Close() }()
	roots, err := hierarchies(bufio.NewScanner(mounts))
	if err != nil {
		return nil, err
	}
	if len(roots) == 0 {
		return nil, fmt.Errorf("no cgroup hierarchy is mounted below %s", mountPoint)
	}
	return &Group{Name: name, roots: roots}, nil
}

// hierarchies returns the mount points of a mountinfo table, without symbolic-link aliases. Next to
// the v1 ones there is often a v2 one without controllers, in which runc makes groups too.
func hierarchies(table *bufio.Scanner) ([]string, error) {
	var roots []string
	for table.Scan() {
		before, after, found := strings.Cut(table.Text(), " - ")
		fields := strings.Fields(before)
		if !found || len(fields) < 5 || !strings.HasPrefix(after, "cgroup") {
			continue
		}
		if where := fields[4]; strings.HasPrefix(where, mountPoint+"/") && !slices.Contains(roots, where) {
			roots = append(roots, where)
		}
	}
	return roots, table.Err()
}

// Create makes the group and its leaf in every hierarchy.
func (g *Group) Create() error {
	for _, root := range g.roots {
		own := filepath.Join(root, g.Name)
		if err := os.MkdirAll(filepath.Join(own, daemons), 0o755); err != nil {
			return fmt.Errorf("create control group: %w", err)
		}
		if !g.v2 {
			// A v1 cpuset without CPUs and memory nodes accepts no process.
			for _, group := range []string{own, filepath.Join(own, daemons)} {
				if err := inherit(group, "cpuset.cpus", "cpuset.mems"); err != nil {
					return err
				}
			}
			continue
		}
		for _, group := range []string{root, own} {
			if err := delegate(group); err != nil {
				return err
			}
		}
	}
	return nil
}

// inherit copies settings of the parent group, where the hierarchy has them.
func inherit(group string, files ...string) error {
	for _, file := range files {
		value, err := os.ReadFile(filepath.Join(filepath.Dir(group), file))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(group, file), value, 0o644)
		}
		if err != nil {
			return fmt.Errorf("set up control group: %w", err)
		}
	}
	return nil
}

// delegate enables every controller of a v2 group for its children; the kubelet refuses to start
// without cpu, memory and pids.
func delegate(group string) error {
	controllers, err := os.ReadFile(filepath.Join(group, "cgroup.controllers"))
	if err != nil {
		return fmt.Errorf("set up control group: %w", err)
	}
	enabled, err := os.ReadFile(filepath.Join(group, "cgroup.subtree_control"))
	if err != nil {
		return fmt.Errorf("set up control group: %w", err)
	}
	for _, controller := range strings.Fields(string(controllers)) {
		if slices.Contains(strings.Fields(string(enabled)), controller) {
			continue
		}
		err := os.WriteFile(filepath.Join(group, "cgroup.subtree_control"), []byte("+"+controller), 0o644)
		if err != nil && slices.Contains([]string{"cpu", "cpuset", "memory", "pids"}, controller) {
			return fmt.Errorf("enable the %s controller for %s: %w", controller, group, err)
		}
	}
	return nil
}

// Join moves the calling process into the group's leaf; its children follow.
func (g *Group) Join() error {
	self := []byte(strconv.Itoa(os.Getpid()))
	for _, root := range g.roots {
		if err := os.WriteFile(filepath.Join(root, g.Name, daemons, "cgroup.procs"), self, 0o644); err != nil {
			return fmt.Errorf("join control group: %w", err)
		}
	}
	return nil
}

// Holds reports whether a process is in the group, in any hierarchy, at any depth. A leading path
// is allowed: where the machine is itself a container, its groups do not begin at the root.
func (g *Group) Holds(pid int) bool {
	table, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cgroup"))
	return err == nil && holds(string(table), g.Name)
}

func holds(table, name string) bool {
	for line := range strings.Lines(table) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) == 3 && slices.Contains(strings.Split(parts[2], "/"), name) {
			return true
		}
	}
	return false
}

// Exists reports whether anything of the group is there.
func (g *Group) Exists() bool {
	return slices.ContainsFunc(g.roots, func(root string) bool {
		_, err := os.Stat(filepath.Join(root, g.Name))
		return err == nil
	})
}

// Complete reports whether the group is there in every hierarchy.
func (g *Group) Complete() bool {
	return !slices.ContainsFunc(g.roots, func(root string) bool {
		_, err := os.Stat(filepath.Join(root, g.Name, daemons))
		return err != nil
	})
}

// Thaw lets frozen processes run again. In v1 a frozen process does not even die.
func (g *Group) Thaw() {
	for _, root := range g.roots {
		_ = filepath.WalkDir(filepath.Join(root, g.Name), func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.Name() == "freezer.state" {
				_ = os.WriteFile(path, []byte("THAWED"), 0o644) // what cannot be thawed shows in the sweep
			}
			return nil
		})
	}
}

// Remove deletes the group with everything below it. The kernel frees a group some time after its
// last process has ended, so this waits.
func (g *Group) Remove(ctx context.Context) error {
	return wait.Until(ctx, 10*time.Second, 20*time.Millisecond, func(context.Context) error {
		for _, root := range g.roots {
			if err := removeTree(filepath.Join(root, g.Name)); err != nil {
				return fmt.Errorf("remove control group: %w", err)
			}
		}
		return nil
	})
}

// removeTree removes a directory of groups from the leaves up; their files go with them.
func removeTree(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if entry.IsDir() {
			if err := removeTree(filepath.Join(dir, entry.Name())); err != nil {
				return err
			}
		}
	}
	if err := unix.Rmdir(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return &fs.PathError{Op: "rmdir", Path: dir, Err: err}
	}
	return nil
}
