// SPDX-License-Identifier: Apache-2.0

//go:build linux

package nearby

import (
	"context"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestLook puts this test into a network of its own with a neighbour that answers on its link-local address, and to broadcasts.
func TestLook(t *testing.T) {
	if os.Getenv("TEST_LOOK") == "" {
		cmd := exec.Command("/proc/self/exe", "-test.run=^TestLook$", "-test.v")
		cmd.Env = append(os.Environ(), "TEST_LOOK=1")
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v (this test needs root)\n%s", err, out)
		}
		return
	}
	setUp := `set -e
ip link set lo up
ip link add eth0 address 02:00:00:00:00:01 type veth peer name peer address 02:00:00:00:00:02
unshare -n sleep 300 >/dev/null 2>&1 & pid=$!
until [ "$(readlink /proc/$pid/ns/net)" != "$(readlink /proc/self/ns/net)" ]; do sleep 0.05; done
ip link set peer netns $pid
n() { nsenter -n -t $pid "$@"; }
n ip link set lo up
n sysctl -qw net.ipv6.conf.all.accept_dad=0 net.ipv6.conf.default.accept_dad=0 net.ipv6.conf.peer.accept_dad=0 || true
sysctl -qw net.ipv6.conf.eth0.accept_dad=0 || true
n ip addr add 10.9.0.2/24 dev peer; n ip link set peer up
ip addr add 10.9.0.1/24 dev eth0; ip link set eth0 up
ip route add default via 10.9.0.2
n python3 -c '
import socket, threading
s = socket.create_server(("::", 6443), family=socket.AF_INET6, dualstack_ipv6=True)
u = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM); u.bind(("::", 53))
def group(address, port):
    m = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); m.bind(("", port))
    m.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton(address) + socket.inet_aton("10.9.0.2"))
    return m
def serve(u):
    while True:
        d, a = u.recvfrom(512); u.sendto(d, a)
for u in u, group("224.0.0.251", 5353), group("239.255.255.250", 1900):
    threading.Thread(target=serve, args=[u], daemon=True).start()
print("up", flush=True)
while True: s.accept()[0].close()
' > up 2>/dev/null &
until [ -s up ]; do sleep 0.05; done
echo $pid > pid`
	t.Chdir(t.TempDir())
	cmd := exec.Command("bash", "-c", setUp)
	cmd.WaitDelay = time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	err := cmd.Run()
	t.Cleanup(func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := net.DialTimeout("tcp", "10.9.0.2:1", 5*time.Second); err == nil { // It makes the neighbour known.
		t.Fatal("something listens at port 1")
	}
	want := []string{
		"an answer to 10.9.0.255:53 from 10.9.0.2:53", "an answer to 224.0.0.251:5353 from 10.9.0.2:5353", "an answer to 239.255.255.250:1900 from 10.9.0.2:1900",
		"an answer to 255.255.255.255:53 from 10.9.0.2:53", "an answer to [ff02::1%eth0]:53 from [fe80::ff:fe00:2%eth0]:53",
		"the gateway at 10.9.0.2:6443", "the gateway at [fe80::ff:fe00:2%eth0]:6443",
	}
	var got []string
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); { // Addresses of IPv6 come up after the link.
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		got = nil
		for _, try := range Look(ctx, []byte("question")) {
			if try.Reached && !strings.Contains(try.Name, "224.0.0.1") { // Kernels differ in whether a socket of IPv6 hears it.
				got = append(got, try.Name)
			}
			if try.IPv6 != strings.Contains(try.Name, "[") || !try.Reached && try.Detail == "" {
				t.Errorf("%+v", try)
			}
		}
		cancel()
		if slices.Equal(got, want) {
			break
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("reached\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if !HasIPv6() {
		t.Error("there is an address of IPv6")
	}
}
