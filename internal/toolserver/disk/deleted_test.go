// SPDX-License-Identifier: Apache-2.0

//go:build linux

package disk

import (
	"bufio"
	"os"
	"os/exec"
	"testing"
)

func TestDeleted(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command("/bin/bash", "-c", `exec 3<>a 4<&3 5<>b; head -c 1M /dev/zero >&3; rm a; echo up; read`)
	cmd.Dir = dir
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	defer func() { _ = in.Close(); _ = cmd.Wait() }()
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	used := deleted([]string{dir, os.TempDir() + "/another"}, func(int) bool { return false }, nil, newKept()).nameless
	if got := used[dir]; got != (Usage{megabyte, 1}) {
		t.Errorf("%+v", used)
	}
	used = deleted([]string{dir}, func(pid int) bool { return pid == cmd.Process.Pid }, nil, newKept()).nameless
	if len(used) > 0 {
		t.Errorf("a process of the server's own counts: %+v", used)
	}
}

// The kernel does not report a name that is longer than a page.
func TestDeletedInADeepFolder(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command("python3", "-c", `
import os
for i in range(25): os.mkdir("n" * 200); os.chdir("n" * 200)
f = os.open("f", os.O_RDWR | os.O_CREAT); os.unlink("f"); os.write(f, b"\0" * (1 << 20))
print("up", flush=True); input()`)
	cmd.Dir = dir
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	defer func() { _ = in.Close(); _ = cmd.Wait() }()
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	used := deleted([]string{dir}, func(pid int) bool { return pid != cmd.Process.Pid }, nil, newKept()).nameless
	if got := used[dir]; got != (Usage{megabyte, 1}) {
		t.Errorf("%+v", used)
	}
}
