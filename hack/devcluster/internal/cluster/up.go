// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"motorcortex.dev/motorcortex/hack/devcluster/internal/debian"
)

// startDeadline is how long one component may take to answer. It is generous, because the machine
// may be busy with something else; a component that has ended is not waited for at all.
const startDeadline = 90 * time.Second

// Options choose what kind of cluster "up" makes.
type Options struct {
	// Uplink adds a proxy on the node through which Pods can reach the outside.
	Uplink bool
}

// Up brings the cluster to the state "running and verified", from whatever state it is in:
//
//	nothing there         → start
//	whole and answering   → say so
//	a component is dead   → restart that component, verify; if that fails, as below
//	anything else         → remove everything, start
func (c *Cluster) Up(ctx context.Context, options Options) error {
	if err := c.prepare(ctx); err != nil {
		return err
	}
	switch found := c.inspect(ctx); found.state {
	case absent:
	case healthy:
		return c.already(ctx, options)
	case damaged:
		c.out.Printf("not working: %s; restarting what is dead", strings.Join(found.dead, ", "))
		err := c.repair(ctx, options)
		if err == nil || ctx.Err() != nil {
			return err
		}
		c.out.Printf("that did not help (%v); removing the cluster and starting a fresh one", firstLine(err))
		if err := c.remove(ctx, false); err != nil {
			return err
		}
	case unclean:
		c.out.Printf("found the remains of a cluster (%s); removing them", found.reason)
		if err := c.remove(ctx, false); err != nil {
			return err
		}
	}
	return c.start(ctx, options)
}

// prepare makes sure that packages and programs are there.
func (c *Cluster) prepare(ctx context.Context) error {
	if err := needRoot(); err != nil {
		return err
	}
	missing, err := c.programs.Missing()
	if err != nil {
		return err
	}
	packages := debian.Runtime()
	if len(missing) > 0 {
		packages = append(packages, debian.Build()...)
	}
	if err := debian.Install(ctx, c.out, packages); err != nil {
		return err
	}
	return c.programs.Build(ctx, c.out)
}

// already deals with a cluster that is whole; an uplink that is newly asked for is added to it.
func (c *Cluster) already(ctx context.Context, options Options) error {
	if options.Uplink && !c.record.Uplink {
		c.record.Uplink = true
		if err := c.saveState(); err != nil {
			return err
		}
		if err := c.startMissing(ctx); err != nil {
			return err
		}
	}
	c.out.Printf("already running")
	c.announce()
	return nil
}

// start makes a fresh cluster where there is nothing.
func (c *Cluster) start(ctx context.Context, options Options) error {
	pause, err := c.pauseImage()
	if err != nil {
		return err
	}
	port, err := freePort(preferredPort)
	if err != nil {
		return err
	}
	c.record = record{Bin: c.bin, HostPort: port, Uplink: options.Uplink, PauseImage: pause.Reference}
	if err := c.lay(); err != nil {
		return err
	}
	if err := c.namespace().Create(ctx, nodeAddress); err != nil {
		return err
	}
	if err := c.group.Create(); err != nil {
		return err
	}
	c.out.Printf("starting Kubernetes in the network namespace %s", c.name)
	if err := c.startAll(ctx, pause); err != nil {
		return err
	}
	return c.finish(ctx)
}

// lay writes everything that the components read.
func (c *Cluster) lay() error {
	// A container with a user namespace of its own passes these folders as somebody else: without
	// the x bit for others its mounts fail with "permission denied".
	for _, dir := range []string{c.state, c.run} {
		if err := os.MkdirAll(dir, 0o711); err != nil {
			return err
		}
		if err := os.Chmod(dir, 0o711); err != nil {
			return err
		}
	}
	if err := c.saveState(); err != nil {
		return err
	}
	configs, err := c.configFiles(c.record.PauseImage)
	if err != nil {
		return err
	}
	credentials, err := c.credentialFiles(c.record.HostPort, time.Now())
	if err != nil {
		return err
	}
	if err := writeFiles(configs, credentials); err != nil {
		return err
	}
	return c.installHelper()
}

// installHelper copies this program to where it can stay while it forwards connections.
func (c *Cluster) installHelper() error {
	from, err := os.Open("/proc/self/exe")
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }()
	if err := os.MkdirAll(filepath.Dir(c.helper()), 0o711); err != nil {
		return err
	}
	temporary := c.helper() + ".new"
	to, err := os.OpenFile(temporary, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o700)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	if closed := to.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	return os.Rename(temporary, c.helper())
}

// stage is one step of a start: what begins, what has to answer before the next step, and what is done
// then.
type stage struct {
	begin, await []string
	then         func(context.Context) error
}

// stages says what waits for what. What needs only its predecessor's existence begins without
// waiting, since most of a start is waiting.
func (c *Cluster) stages(pause image) []stage {
	network := []string{"kube-proxy", "kube-router", "coredns"}
	if c.record.Uplink {
		network = append(network, uplinkName)
	}
	return []stage{
		{begin: []string{holderName}, await: []string{holderName}},
		{
			begin: []string{"etcd", apiServerName, containerdName, forwardName}, await: []string{"etcd", containerdName},
			then: func(ctx context.Context) error { return c.load(ctx, pause) },
		},
		{await: []string{apiServerName}, then: func(ctx context.Context) error {
			c.out.Printf("API server answers")
			return c.applyManifests(ctx)
		}},
		{begin: []string{"kubelet", "kube-controller-manager", "kube-scheduler"}, await: []string{"kubelet"}},
		{begin: network, await: append([]string{"kube-controller-manager", "kube-scheduler", forwardName}, network...)},
	}
}

// startAll starts every component.
func (c *Cluster) startAll(ctx context.Context, pause image) error {
	byName := map[string]daemon{}
	for _, d := range c.daemons() {
		byName[d.name] = d
	}
	for _, s := range c.stages(pause) {
		for _, component := range s.begin {
			if err := c.spawn(byName[component]); err != nil {
				return err
			}
		}
		for _, component := range s.await {
			if err := c.await(ctx, byName[component], startDeadline); err != nil {
				return err
			}
		}
		if s.then == nil {
			continue
		}
		if err := s.then(ctx); err != nil {
			return err
		}
	}
	return nil
}

// repair restarts what is dead and verifies the whole.
func (c *Cluster) repair(ctx context.Context, options Options) error {
	c.record.Uplink = c.record.Uplink || options.Uplink
	if err := c.saveState(); err != nil {
		return err
	}
	if err := c.startMissing(ctx); err != nil {
		return err
	}
	return c.finish(ctx)
}

// startMissing starts, in order, what does not run.
func (c *Cluster) startMissing(ctx context.Context) error {
	for _, d := range c.daemons() {
		if _, alive := c.running(d.name); alive {
			continue
		}
		if err := c.spawn(d); err != nil {
			return err
		}
		if err := c.await(ctx, d, startDeadline); err != nil {
			return err
		}
	}
	return nil
}

// finish proves that the cluster works before it says so.
func (c *Cluster) finish(ctx context.Context) error {
	if err := c.verify(ctx); err != nil {
		return err
	}
	c.record.Complete = true
	if err := c.saveState(); err != nil {
		return err
	}
	c.out.Printf("node ready, NetworkPolicy enforced, DNS answers")
	c.announce()
	return nil
}

func (c *Cluster) announce() {
	c.out.Printf("export KUBECONFIG=%s", c.hostKubeconfig())
	c.out.Printf("kubectl is %s", c.program("kubectl"))
	if c.record.Uplink {
		c.out.Printf("Pods reach the outside by HTTPS_PROXY=http://%s:%s", nodeIP, uplinkPort)
	}
}

// KubeconfigPath is the file that gives programs on the machine access to the cluster.
func (c *Cluster) KubeconfigPath() (string, error) {
	if _, err := os.Stat(c.hostKubeconfig()); err != nil {
		return "", fmt.Errorf("there is no cluster; start one with \"up\": %w", err)
	}
	return c.hostKubeconfig(), nil
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}
