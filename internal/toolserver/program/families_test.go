// SPDX-License-Identifier: Apache-2.0

//go:build linux

package program

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolserver/proc"
	"motorcortex.dev/motorcortex/internal/toolserver/seccomp"
)

func TestProgramFamilies(t *testing.T) {
	for address, want := range map[string]seccomp.Families{
		"10.0.0.1": {IPv4: true}, "::ffff:10.0.0.1": {IPv4: true}, "fd00::1": {IPv6: true}, "": {},
	} {
		ip, _ := netip.ParseAddr(address)
		got := proc.ProgramFamilies(ip)
		if got != want {
			t.Errorf("%q: %+v, want %+v", address, got, want)
		}
		if again := proc.FamiliesOf([]string{proc.NameOf(got)}); again != want {
			t.Errorf("%q: the launcher understands %+v, want %+v", address, again, want)
		}
	}
}

func TestFirstGlobal(t *testing.T) {
	for _, test := range []struct{ have, want string }{
		{"127.0.0.1/8 ::1/128 10.244.0.9/24 fe80::1/64", "10.244.0.9"},
		{"127.0.0.1/8 fe80::1/64 fd00::9/64 10.244.0.9/24", "10.244.0.9"},
		{"127.0.0.1/8 fe80::1/64 fd00::9/64 fd00::10/64", "fd00::9"},
		{"127.0.0.1/8 169.254.3.4/16 fe80::1/64", "invalid IP"},
		{"", "invalid IP"},
	} {
		var addresses []net.Addr
		for a := range strings.FieldsSeq(test.have) {
			ip, network, err := net.ParseCIDR(a)
			if err != nil {
				t.Fatal(err)
			}
			addresses = append(addresses, &net.IPNet{IP: ip, Mask: network.Mask})
		}
		if got := proc.FirstGlobal(addresses); got.String() != test.want {
			t.Errorf("%s: %s, want %s", test.have, got, test.want)
		}
	}
}

// The filter is on the processes that a tool starts, on their children, and on processes that outlive a call.
func TestProgramsGetNoOtherSockets(t *testing.T) {
	s := newSandbox(t)
	s.write("try.py", `
import socket, os, resource, sys
def what(name, f):
    try: f(); print(name, "ok")
    except OSError as e: print(name, e.strerror)
what("tcp4", lambda: socket.socket(socket.AF_INET))
what("tcp6", lambda: socket.socket(socket.AF_INET6))
what("raw", lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1))
what("packet", lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW))
what("netlink", lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW))
what("sctp", lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM, 132))
def broadcast():
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
    s.sendto(b"x", ("127.255.255.255", 9))
what("broadcast", broadcast)
what("limit", lambda: resource.prlimit(int(sys.argv[1]), resource.RLIMIT_FSIZE, (16, 16)))
what("priority", lambda: os.setpriority(os.PRIO_PROCESS, int(sys.argv[1]), 19))
what("scheduler", lambda: os.sched_setscheduler(int(sys.argv[1]), os.SCHED_IDLE, os.sched_param(0)))
what("processors", lambda: os.sched_setaffinity(int(sys.argv[1]), {0}))
`)
	const want = "tcp4 ok\ntcp6 Address family not supported by protocol\nraw Operation not permitted\n" +
		"packet Address family not supported by protocol\nnetlink Address family not supported by protocol\nsctp Operation not permitted\n" +
		"broadcast Permission denied\nlimit Operation not permitted\npriority Operation not permitted\n" +
		"scheduler Operation not permitted\nprocessors Operation not permitted\n"
	pid := os.Getpid()
	if r := s.bash(fmt.Sprintf("python3 try.py %d", pid)); r.Output != want {
		t.Errorf("a program of a call got\n%s", r.Output)
	}
	v, err := s.programs.StartSupervised([]string{"bash", "-c", fmt.Sprintf("python3 try.py %d > out.new; mv out.new out", pid)},
		s.programs.env, nil, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-v.done():
	case <-time.After(time.Minute):
		t.Fatal("the program does not end")
	}
	if r := s.run(toolapi.ToolBash, toolapi.BashArgs{Command: "cat out"}); r.Output != want {
		t.Errorf("a program that outlives its call got\n%s", r.Output)
	}
}

// Ordinary network use of programs works without the sockets that the filter refuses.
func TestOrdinaryProgramsUnderTheFilter(t *testing.T) {
	s := newSandbox(t)
	for name, command := range map[string]string{
		"names":         `python3 -c 'import socket; print(socket.getaddrinfo("localhost", 80)[0][4][0] != "")'`,
		"python server": `python3 -c 'import http.server,threading,urllib.request as u; s=http.server.HTTPServer(("127.0.0.1",0),http.server.SimpleHTTPRequestHandler); threading.Thread(target=s.serve_forever,daemon=True).start(); print(u.urlopen("http://127.0.0.1:%d/"%s.server_port).status==200)' 2>/dev/null`,
		"node server":   `node -e 'const h=require("http");const s=h.createServer((q,r)=>r.end("x")).listen(0,()=>h.get({port:s.address().port,host:"localhost"},r=>{console.log(r.statusCode==200?"True":"False");s.close()}))'`,
		"asyncio":       `python3 -c 'import asyncio; asyncio.run(asyncio.sleep(0)); print(True)'`,
		"processes":     `python3 -c 'import multiprocessing as m; p=m.Pool(2); print(p.map(abs,[-1])==[1])'`,
		"threads":       `node -e 'new (require("worker_threads").Worker)("console.log(\"True\")",{eval:true})'`,
		"git":           `git init -q g && cd g && git -c user.name=a -c user.email=a@a.test commit -q --allow-empty -m x && git clone -q . ../h && echo True`,
		"nice":          `nice -n 5 true && (ulimit -n 100) && echo True`,
		"bash":          `exec 3<>/dev/tcp/127.0.0.1/1 || echo True`,
	} {
		t.Run(name, func(t *testing.T) {
			if r := s.bash(command + " 2>&1 | tail -1"); strings.TrimSpace(r.Output) != "True" && (name != "bash" || !strings.Contains(r.Output, "True")) {
				t.Errorf("%+v", r)
			}
		})
	}
}
