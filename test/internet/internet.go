// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package internet is a stand-in for the Internet, for tests on the development cluster: a network namespace of its own, joined
// to the cluster's by a cable, with a DNS server, hosts, and an ear on the cable that hears every packet which leaves the
// cluster. The namespace, the cable and all that listens there end with the process, whichever way it ends.
package internet

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// Addresses of the stand-in. They look like any address of the Internet, because those that are set apart for
// documentation are refused by the proxy like every other special one; outside of the two namespaces nobody sees them.
var (
	// Network is where hosts are: 45.45.45.8 to 45.45.45.127.
	Network = netip.MustParsePrefix("45.45.45.0/24")
	// DNS is the address of the DNS server.
	DNS = netip.MustParseAddr("45.45.45.53")
	// Metadata is where clouds have the credentials of a node. A host can be there too.
	Metadata = netip.MustParseAddr("169.254.169.254")

	clusterSide = netip.MustParseAddr("45.45.45.1")
	farSide     = netip.MustParseAddr("45.45.45.2")
)

const (
	nearLink = "inet0"
	farLink  = "inet1"
)

// Internet is a running stand-in.
type Internet struct {
	// Names is what the DNS server knows.
	Names *Names
	// Cable hears what leaves the cluster.
	Cable *Cable

	cluster string
	space   *namespace
	ca      *authority
	stop    context.CancelFunc
	wg      sync.WaitGroup

	mu      sync.Mutex
	closers []func() error
}

// Start joins a stand-in to the cluster that runs in the named network namespace, whose node has the given address. It
// needs root.
func Start(ctx context.Context, cluster string, node netip.Addr) (*Internet, error) {
	ca, err := newAuthority()
	if err != nil {
		return nil, err
	}
	space, err := newNamespace()
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	i := &Internet{Names: newNames(), cluster: filepath.Join("/run/netns", cluster), space: space, ca: ca, stop: stop}
	err = i.plug(ctx, node)
	if err == nil {
		i.Cable, err = i.tap(ctx)
	}
	if err == nil {
		err = i.serveDNS(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, i.Close())
	}
	return i, nil
}

// plug lays the cable and sends through it whatever the cluster has no other way for.
func (i *Internet) plug(ctx context.Context, node netip.Addr) error {
	near := strings.Join([]string{
		"link add " + nearLink + " type veth peer name " + farLink + " netns " + i.space.path(),
		"address add " + clusterSide.String() + "/24 dev " + nearLink,
		"link set " + nearLink + " addrgenmode none",
		"link set " + nearLink + " up",
	}, "\n")
	far := strings.Join([]string{
		"link set lo up",
		// Every address of the network from 8 on is here.
		"route add local 45.45.45.8/29 dev lo table local",
		"route add local 45.45.45.16/28 dev lo table local",
		"route add local 45.45.45.32/27 dev lo table local",
		"route add local 45.45.45.64/26 dev lo table local",
		"route add local " + Metadata.String() + "/32 dev lo table local",
		"address add " + farSide.String() + "/24 dev " + farLink,
		"link set " + farLink + " addrgenmode none",
		"link set " + farLink + " up",
		"route add default via " + clusterSide.String(),
		// Whatever is sent to an address of the outside arrives, so that it is heard, and is refused here.
		"route add local 0.0.0.0/0 dev lo table 100",
		"rule add iif " + farLink + " table 100",
	}, "\n")
	// Two halves, so that the cluster's own default route stays as it is.
	routes := fmt.Sprintf("route add 0.0.0.0/1 via %[1]s dev %[2]s src %[3]s\nroute add 128.0.0.0/1 via %[1]s dev %[2]s src %[3]s", farSide, nearLink, node)
	if err := inNamespace(i.cluster, func() error { return ip(ctx, near) }); err != nil {
		return err
	}
	if err := i.space.do(func() error { return ip(ctx, far) }); err != nil {
		return err
	}
	return inNamespace(i.cluster, func() error { return ip(ctx, routes) })
}

func ip(ctx context.Context, commands string) error {
	cmd := exec.CommandContext(ctx, "ip", "-batch", "-")
	cmd.Stdin = strings.NewReader(commands)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("ip: %w: %s", err, out)
	}
	return nil
}

// Close pulls the cable and ends all hosts.
func (i *Internet) Close() error {
	i.stop()
	i.mu.Lock()
	closers := i.closers
	i.closers = nil
	i.mu.Unlock()
	var errs []error
	for _, c := range closers {
		errs = append(errs, c())
	}
	i.wg.Wait()
	// The link goes with either namespace; it is taken away here so that the cluster has its routes back at once.
	_ = inNamespace(i.cluster, func() error { return ip(context.Background(), "link del "+nearLink) })
	i.space.close()
	return errors.Join(errs...)
}

func (i *Internet) onClose(f func() error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.closers = append(i.closers, f)
}

// Listen listens on an address of the stand-in, which need not be one of its own: all of the outside is here.
func (i *Internet) Listen(ctx context.Context, at netip.AddrPort) (net.Listener, error) {
	var ln net.Listener
	err := i.space.do(func() (err error) {
		ln, err = new(net.ListenConfig).Listen(ctx, "tcp", at.String())
		return err
	})
	if err != nil {
		return nil, err
	}
	i.onClose(func() error { return ignoreClosed(ln.Close()) })
	return ln, nil
}

func ignoreClosed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// namespace is a network namespace without a name, held by a thread that does nothing else.
type namespace struct {
	file *os.File
	tid  int
	end  chan struct{}
}

func newNamespace() (*namespace, error) {
	type made struct {
		n   *namespace
		err error
	}
	result := make(chan made)
	end := make(chan struct{})
	go func() {
		// Never unlocked: the thread ends with this goroutine, and no other code can come to run in the wrong place.
		runtime.LockOSThread()
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			result <- made{err: fmt.Errorf("make a network namespace: %w", err)}
			return
		}
		f, err := os.Open("/proc/thread-self/ns/net")
		if err != nil {
			result <- made{err: err}
			return
		}
		result <- made{n: &namespace{file: f, tid: unix.Gettid(), end: end}}
		<-end
	}()
	m := <-result
	return m.n, m.err
}

// path is what "ip" knows the namespace by.
func (n *namespace) path() string { return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), n.file.Fd()) }

func (n *namespace) do(work func() error) error { return enter(int(n.file.Fd()), work) }

func (n *namespace) close() {
	close(n.end)
	_ = n.file.Close()
}

func inNamespace(path string, work func() error) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("open the cluster's network namespace: %w", err)
	}
	defer f.Close()
	return enter(int(f.Fd()), work)
}

// enter runs work on a thread that is in a namespace. Sockets that it opens and programs that it starts are in it too.
func enter(fd int, work func() error) error {
	result := make(chan error)
	go func() {
		runtime.LockOSThread()
		if err := unix.Setns(fd, unix.CLONE_NEWNET); err != nil {
			result <- fmt.Errorf("enter a network namespace: %w", err)
			return
		}
		result <- work()
	}()
	return <-result
}
