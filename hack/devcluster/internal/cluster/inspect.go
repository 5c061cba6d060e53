// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// condition is what "up" and "status" find.
type condition int

const (
	// absent: nothing of a cluster is there, except perhaps images.
	absent condition = iota
	// healthy: every component runs and answers.
	healthy
	// damaged: the frame is whole, and components are missing in it.
	damaged
	// unclean: there is something, and it is no cluster.
	unclean
)

// finding is a condition with what it was concluded from.
type finding struct {
	state  condition
	dead   []string
	reason string
}

// answerDeadline is how long a component that runs may take to answer before it counts as dead.
const answerDeadline = 3 * time.Second

// inspect looks at the cluster without changing anything.
func (c *Cluster) inspect(ctx context.Context) finding {
	switch {
	case !c.traces():
		return finding{state: absent}
	case c.record.Bin == "":
		return finding{state: unclean, reason: "without a record of its start"}
	case !c.record.Complete:
		return finding{state: unclean, reason: "its start was cut short"}
	case c.record.Bin != c.bin:
		return finding{state: unclean, reason: "it is of other versions"}
	case !c.namespace().Exists():
		return finding{state: unclean, reason: "its network namespace is gone"}
	case !c.group.Complete():
		return finding{state: unclean, reason: "its control group is gone"}
	}
	if _, alive := c.running(holderName); !alive {
		return finding{state: unclean, reason: "its namespaces' holder is gone"}
	}
	if dead := c.silent(ctx); len(dead) > 0 {
		return finding{state: damaged, dead: dead}
	}
	return finding{state: healthy}
}

// silent returns the components that do not run or do not answer. One that runs and does not answer
// is a case for patience first: components wait for each other after one was restarted.
func (c *Cluster) silent(ctx context.Context) []string {
	var mu sync.Mutex
	var dead []string
	var checks sync.WaitGroup
	for _, d := range c.daemons() {
		checks.Go(func() {
			if err := c.await(ctx, d, answerDeadline); err != nil {
				mu.Lock()
				defer mu.Unlock()
				dead = append(dead, d.name)
			}
		})
	}
	checks.Wait()
	slices.Sort(dead)
	return dead
}

// traces reports whether anything of a cluster is on the machine.
func (c *Cluster) traces() bool {
	if c.namespace().Exists() || c.group.Exists() {
		return true
	}
	for _, dir := range []string{c.run, c.state} {
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return true
		}
		if slices.ContainsFunc(entries, func(entry fs.DirEntry) bool {
			return filepath.Join(dir, entry.Name()) != c.images()
		}) {
			return true
		}
	}
	return false
}

// mounts lists what is mounted below our folders in the machine's own view, deepest first.
func (c *Cluster) mounts() ([]string, error) {
	table, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	found := mountsBelow(string(table), c.state, c.run)
	slices.SortFunc(found, func(a, b string) int { return len(b) - len(a) })
	return found, nil
}

// mountsBelow picks the mount points at or below the folders from a mountinfo table.
func mountsBelow(table string, folders ...string) []string {
	var found []string
	for line := range strings.Lines(table) {
		fields := strings.Fields(line)
		if len(fields) < 5 {
			continue
		}
		where := unescape(fields[4])
		for _, folder := range folders {
			if where == folder || strings.HasPrefix(where, folder+"/") {
				found = append(found, where)
			}
		}
	}
	return found
}

// unescape undoes the octal escapes of a mountinfo table.
func unescape(path string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(path)
}
