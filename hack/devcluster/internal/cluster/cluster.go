// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"motorcortex.dev/motorcortex/hack/devcluster/internal/cgroup"
	"motorcortex.dev/motorcortex/hack/devcluster/internal/component"
	"motorcortex.dev/motorcortex/hack/devcluster/internal/progress"
	"motorcortex.dev/motorcortex/hack/devcluster/internal/wait"
)

// Cluster is the one development cluster of this machine.
type Cluster struct {
	layout
	programs *component.Store
	out      *progress.Printer
	group    *cgroup.Group
	record   record
}

// record is what "up" writes down about a cluster, first that it began and last that it is whole.
type record struct {
	// Complete says that "up" came to its end. A cluster whose start was cut short is not repaired
	// but removed: nobody knows what is missing in it.
	Complete bool `json:"complete"`
	// Bin is where its programs are; other versions make another cluster.
	Bin string `json:"bin"`
	// HostPort is the API server's port on the machine's loopback.
	HostPort int `json:"hostPort"`
	// Uplink says that Pods can reach the outside through a proxy on the node.
	Uplink     bool   `json:"uplink"`
	PauseImage string `json:"pauseImage"`
}

// Open returns the machine's cluster as it is recorded, running or not.
func Open(programs *component.Store, out *progress.Printer) (*Cluster, error) {
	l, err := newLayout(programs.Bin)
	if err != nil {
		return nil, err
	}
	group, err := cgroup.Find(l.name)
	if err != nil {
		return nil, err
	}
	c := &Cluster{layout: l, programs: programs, out: out, group: group}
	content, err := os.ReadFile(c.stateFile())
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(content, &c.record); err != nil {
		// Cut short while it was written, which makes it an incomplete cluster like any other.
		c.record = record{}
	}
	return c, nil
}

func (c *Cluster) saveState() error {
	content, err := json.Marshal(c.record)
	if err != nil {
		return err
	}
	return writeAtomically(c.stateFile(), content)
}

// Lock makes sure that nobody else starts or stops the cluster. It lasts as long as the process.
//
// A command that is at work ends by itself: one that was left behind when somebody killed the script above it, for
// example. It is waited for, at most lockTimeout, which is more than a first build takes.
func Lock(ctx context.Context, out *progress.Printer) (release func(), err error) {
	l, err := newLayout("")
	if err != nil {
		return nil, err
	}
	file, err := os.OpenFile(l.lockFile(), os.O_CREATE|os.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the cluster: %w", err)
	}
	take := func(context.Context) error { return unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB) }
	if take(ctx) != nil {
		owner := make([]byte, 32)
		n, _ := file.ReadAt(owner, 0) // only decorates the message
		other := fmt.Sprintf("another devcluster command that is at work (process %s)", strings.TrimSpace(string(owner[:n])))
		err := out.During("waiting for "+other, func() error { return wait.Until(ctx, lockTimeout, lockInterval, take) })
		if err != nil {
			_ = file.Close()
			return nil, fmt.Errorf("wait for %s: %w", other, err)
		}
	}
	if err := file.Truncate(0); err == nil {
		_, _ = file.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	return func() { _ = file.Close() }, nil
}

const (
	lockTimeout  = 40 * time.Minute
	lockInterval = 200 * time.Millisecond
)

// freePort finds a port on the machine's loopback, the preferred one if nobody has it.
func freePort(preferred int) (int, error) {
	for _, port := range []int{preferred, 0} {
		listener, err := net.Listen("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			continue
		}
		found := listener.Addr().(*net.TCPAddr).Port
		return found, listener.Close()
	}
	return 0, errors.New("no free port on 127.0.0.1")
}

// needRoot explains why this program wants to be root.
func needRoot() error {
	if os.Geteuid() != 0 {
		return errors.New("the cluster makes namespaces, mounts and control groups: run this as root (for example with sudo)")
	}
	return nil
}
