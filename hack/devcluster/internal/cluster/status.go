// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"motorcortex.dev/motorcortex/hack/devcluster/internal/wait"
)

// ErrNotRunning is what "status" ends with when there is no working cluster.
var ErrNotRunning = errors.New("the cluster is not running")

// Status writes a table of the components.
func (c *Cluster) Status(ctx context.Context, out io.Writer) error {
	if err := needRoot(); err != nil {
		return err
	}
	found := c.inspect(ctx)
	if found.state == absent {
		return ErrNotRunning
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	write := func(cells ...string) { _, _ = fmt.Fprintln(table, strings.Join(cells, "\t")) } // Flush reports
	write("COMPONENT", "PID", "STATE")
	for _, d := range c.daemons() {
		id, alive := c.running(d.name)
		switch {
		case !alive:
			write(d.name, "-", "dead")
		case slices.Contains(found.dead, d.name):
			write(d.name, fmt.Sprint(id.PID), "not answering")
		default:
			write(d.name, fmt.Sprint(id.PID), "running")
		}
	}
	node := "ready"
	api, err := c.api()
	if err == nil {
		err = api.nodeReady(ctx)
	}
	if err != nil {
		node = firstLine(err)
	}
	write("node", "", node)
	if err := table.Flush(); err != nil {
		return err
	}
	if found.state == unclean {
		return fmt.Errorf("%w: %s", ErrNotRunning, found.reason)
	}
	if found.state == damaged || err != nil {
		return fmt.Errorf("%w as it should; \"up\" repairs it", ErrNotRunning)
	}
	return nil
}

// Stop ends one component, for tests of what happens without it.
func (c *Cluster) Stop(ctx context.Context, component string) error {
	d, err := c.find(component)
	if err != nil {
		return err
	}
	if d.name == holderName {
		return errors.New("everything else lives in its namespaces; use \"down\"")
	}
	if err := c.halt(ctx, d.name, 10*time.Second); err != nil {
		return err
	}
	c.out.Printf("%s has ended", d.name)
	return nil
}

// Start starts one component again and waits until it answers.
func (c *Cluster) Start(ctx context.Context, component string) error {
	d, err := c.find(component)
	if err != nil {
		return err
	}
	if _, alive := c.running(d.name); !alive {
		if err := c.spawn(d); err != nil {
			return err
		}
	}
	if err := c.await(ctx, d, startDeadline); err != nil {
		return err
	}
	c.out.Printf("%s answers", d.name)
	return nil
}

func (c *Cluster) find(component string) (daemon, error) {
	if err := needRoot(); err != nil {
		return daemon{}, err
	}
	if !c.traces() {
		return daemon{}, ErrNotRunning
	}
	var names []string
	for _, d := range c.daemons() {
		if d.name == component {
			return d, nil
		}
		names = append(names, d.name)
	}
	return daemon{}, fmt.Errorf("no component %q; there are %s", component, strings.Join(names, ", "))
}

// Logs writes a component's log, and goes on with what is added to it if follow is set.
func (c *Cluster) Logs(ctx context.Context, component string, follow bool, out io.Writer) error {
	d, err := c.find(component)
	if err != nil {
		return err
	}
	log, err := os.Open(c.log(d.name))
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	for {
		if _, err := io.Copy(out, log); err != nil || !follow {
			return err
		}
		if wait.Pause(ctx, 300*time.Millisecond) != nil {
			return nil // interrupted, which is how following ends
		}
	}
}
