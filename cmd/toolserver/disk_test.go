// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolserver/disk"
)

// diskTestBytes is the size of the workspace of these tests. Nothing but the tool server bounds it.
const (
	diskTestSize  = 64 << 20
	diskTestBytes = "67108864"
)

func newBoundedPod(t testing.TB, env ...string) *pod {
	return newPod(t, append(env, "MOTOR_WORKSPACE_BYTES="+diskTestBytes, "MOTOR_TMP_BYTES="+diskTestBytes, "MOTOR_STATE_BYTES=268435456")...)
}

func TestNoFileGrowsPastTheWorkspace(t *testing.T) {
	for name, command := range map[string]string{
		"a program":        "head -c 20G /dev/zero > fill",
		"below a pipe":     "set -o pipefail; head -c 20G /dev/zero | cat > fill; exit $?",
		"sparse":           "truncate -s 20G fill",
		"in the temporary": "head -c 20G /dev/zero > $TMPDIR/fill",
	} {
		t.Run(name, func(t *testing.T) {
			p := newBoundedPod(t)
			r := p.bash(command)
			if r.ErrorCode != toolapi.CodeDiskFull || !strings.Contains(r.Output, diskTestBytes) || !strings.Contains(r.Output, "rm") {
				t.Errorf("%+v", r)
			}
		})
	}
}

// hostilePrograms fill a disk, each in its own way.
func hostilePrograms() map[string]string {
	return map[string]string{
		"one file":        "head -c 20G /dev/zero > fill",
		"a thousand":      "for i in {1..1000}; do head -c 1M /dev/zero > fill$i; done; echo done",
		"at once":         "for i in {1..8}; do (while :; do head -c 60M /dev/zero > fill$i-$RANDOM$RANDOM; done) & done; wait",
		"empty files":     "python3 -c '\nimport os\nfor d in range(1000):\n  os.mkdir(str(d))\n  for i in range(1000): os.close(os.open(f\"{d}/{i}\", os.O_CREAT))'",
		"holes filled":    "python3 -c '\nimport mmap,os\nfor n in range(20):\n  f=os.open(f\"s{n}\", os.O_CREAT|os.O_RDWR); os.ftruncate(f, 60<<20); m=mmap.mmap(f, 60<<20)\n  for i in range(0, 60<<20, 4096): m[i]=1'",
		"holes punched":   "python3 -c '\nimport ctypes,os\nlibc=ctypes.CDLL(None)\nz=bytes(1<<20)\nfor n in range(20):\n  f=os.open(f\"p{n}\", os.O_CREAT|os.O_RDWR)\n  for i in range(60): os.pwrite(f, z, i<<20)\n  assert libc.fallocate(f, 3, ctypes.c_long(0), ctypes.c_long(60<<20)) == 0\n  for i in range(60): os.pwrite(f, z, i<<20)'",
		"no name":         "python3 -c '\nimport os\nz=bytes(1<<20)\nfs=[]\nfor n in range(20):\n  f=os.open(\"x\", os.O_CREAT|os.O_RDWR); os.unlink(\"x\"); fs.append(f)\n  for i in range(60): os.write(f, z)'",
		"a closed folder": "mkdir -p a/b; python3 -c '\nimport os\nfs=[os.open(\"a/b/\"+str(n), os.O_CREAT|os.O_RDWR) for n in range(20)]\nos.chmod(\"a/b\", 0); os.chmod(\"a\", 0)\nz=bytes(1<<20)\nfor f in fs:\n  for i in range(60): os.write(f, z)'",
		"temporary":       "for i in {1..1000}; do head -c 1M /dev/zero > $TMPDIR/fill$i; done",
	}
}

func TestTheDiskIsBounded(t *testing.T) {
	for name, command := range hostilePrograms() {
		t.Run(name, func(t *testing.T) {
			// The smallest volume that a sandbox has without being asked; files without contents need a smaller bound to come to an end soon.
			most := int64(256 << 20)
			if name == "empty files" {
				most = 64 << 20
			}
			// Data that is written until the tool server has a processor comes on top, and other tests may delay it: one of three tries has to be within the
			// bound.
			for try := 1; ; try++ {
				p := newPod(t, fmt.Sprintf("MOTOR_WORKSPACE_BYTES=%d", most), fmt.Sprintf("MOTOR_TMP_BYTES=%d", most), "MOTOR_STATE_BYTES=268435456")
				peak := watchPeak(t, p.dir)
				r := p.bash(command)
				bytes, inodes := peak()
				t.Logf("at most %.2f of the bytes and %.2f of the inodes in %d ms: %s", float64(bytes)/float64(most), float64(inodes)/float64(disk.Inodes(most)), r.DurationMs, r.Output)
				if r.ErrorCode != toolapi.CodeDiskFull || !strings.Contains(r.Output, "rm") {
					t.Errorf("%+v", r)
				}
				if bytes <= most*5/4 && inodes <= disk.Inodes(most)*5/4 {
					return
				}
				if try == 3 {
					t.Fatalf("it had %d bytes and %d inodes", bytes, inodes)
				}
			}
		})
	}
}

// hiding writes files without a name, slowly, as a process that hides what it holds. A closed folder has everything counted with a stop.
const hiding = `mkdir closed; chmod 0 closed
cp /bin/bash hide; chmod 0111 hide
./hide -c '
z=$(printf %0250000d 0)
for n in {10..29}; do
  eval "exec $n<>f"; rm f
  for i in {1..60}; do printf %s "$z" >&$n; printf %s "$z" >&$n; read -t 0.001 <> <(:); done
done
touch unseen'`

// A process whose files the server cannot look at is ended, before it has more than a volume may hold. A call reports that, also one that the
// process outlives.
func TestAProcessThatHidesItsFilesIsEnded(t *testing.T) {
	p := newBoundedPod(t)
	peak := watchPeak(t, p.dir)
	r := p.bash(hiding)
	bytes, _ := peak()
	if r.OK || !strings.Contains(r.Output, `("hide")`) || !strings.Contains(r.Output, "chmod u+r") {
		t.Errorf("%+v", r)
	}
	if _, err := os.Stat(p.dir + "/workspace/unseen"); err == nil || bytes > diskTestSize*5/4 {
		t.Errorf("it held %d bytes: %v", bytes, err)
	}
	r = p.run(toolapi.ToolBash, toolapi.BashArgs{Command: "exec ./hide -c 'while read; do :; done < <(sleep 1000)'", Background: true})
	if !r.OK {
		t.Fatalf("%+v", r)
	}
	// The call that started it may have ended already.
	for deadline := time.Now().Add(time.Minute); !strings.Contains(r.Output, `("hide")`); r = p.bash("sleep 0.1") {
		if time.Now().After(deadline) {
			t.Fatal("a program in the background hides its files")
		}
	}
}

// Agents for keys ask for it, and go on.
func TestNoProgramHidesByAWish(t *testing.T) {
	p := newBoundedPod(t)
	r := p.bash(`python3 -c '
import ctypes, os, time
assert ctypes.CDLL(None).prctl(4, 0, 0, 0, 0) == 0
assert os.stat("/proc/self/fd").st_uid == os.getuid()'
if command -v ssh-agent >/dev/null; then eval $(ssh-agent) && ssh-add -l; test $? = 1 && ssh-agent -k; fi`)
	if !r.OK {
		t.Errorf("%+v", r)
	}
}

// watchPeak returns a function that returns the maximum size, until its call, of the workspace or of the folder for temporary files, whichever is
// larger. A file without a name counts too, if a process of the Pod's user holds it.
func watchPeak(t *testing.T, dir string) func() (bytes, inodes int64) {
	t.Helper()
	stop, done := make(chan struct{}), make(chan [2]int64)
	go func() {
		var peak [2]int64
		for {
			open := openBytes(dir)
			for _, sub := range []string{"/workspace", "/tmp"} {
				u, err := disk.Count(dir+sub, 1<<30)
				if err == nil {
					peak[0], peak[1] = max(peak[0], u.Bytes+open[sub]), max(peak[1], u.Inodes)
				}
			}
			select {
			case <-stop:
				done <- peak
				return
			default:
			}
		}
	}()
	return func() (int64, int64) {
		close(stop)
		peak := <-done
		return peak[0], peak[1]
	}
}

// openBytes returns the bytes of files without a name that some process of the machine holds.
func openBytes(dir string) map[string]int64 {
	all := map[string]int64{}
	seen := map[uint64]bool{}
	links, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	for _, link := range links {
		target, err := os.Readlink(link)
		if err != nil || !strings.HasPrefix(target, dir) || !strings.HasSuffix(target, " (deleted)") {
			continue
		}
		if info, err := os.Stat(link); err == nil {
			if stat := info.Sys().(*syscall.Stat_t); !seen[stat.Ino] {
				seen[stat.Ino] = true
				all["/"+strings.Split(strings.TrimPrefix(target, dir+"/"), "/")[0]] += stat.Blocks * 512
			}
		}
	}
	return all
}

// A caller that filled the disk can read and delete, and goes on when there is space.
func TestRoomIsMade(t *testing.T) {
	p := newBoundedPod(t)
	if r := p.run(toolapi.ToolBash, toolapi.BashArgs{Command: "touch begun; sleep 1000; touch survived", Background: true}); !r.OK {
		t.Fatalf("%+v", r)
	}
	p.await("workspace/begun")
	if r := p.bash("mkdir d; for i in {1..1000}; do head -c 1M /dev/zero > d/$i; done"); r.ErrorCode != toolapi.CodeDiskFull {
		t.Fatalf("%+v", r)
	}
	for name, r := range map[string]toolapi.Result{
		"write":      p.run(toolapi.ToolWrite, toolapi.WriteArgs{Path: "x", Content: "x"}),
		"code":       p.run(toolapi.ToolCode, toolapi.CodeArgs{Language: toolapi.LanguagePython, Source: "1"}),
		"background": p.run(toolapi.ToolBash, toolapi.BashArgs{Command: "true", Background: true}),
	} {
		if r.ErrorCode != toolapi.CodeDiskFull || !strings.Contains(r.Output, "rm") || !strings.Contains(r.Output, "67108864") {
			t.Errorf("%s: %+v", name, r)
		}
	}
	for _, command := range []string{"touch y", "mkdir y", "echo x > y", "echo x >> d/1", "truncate -s 100M d/1", "ln -s d/1 y", "head -c 1 /dev/zero > $TMPDIR/y"} {
		if r := p.bash(command); r.OK {
			t.Errorf("%q wrote on a full disk", command)
		}
	}
	if r := p.run(toolapi.ToolList, toolapi.ListArgs{Path: "d"}); !r.OK {
		t.Errorf("list: %+v", r)
	}
	r := p.bash("ps() { cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' '; }; ps | grep -c 'sleep 1000'; du -sm d >/dev/null && find d -type f -delete && ls d | wc -l")
	if !r.OK || !strings.HasSuffix(strings.TrimSpace(r.Output), "0") {
		t.Errorf("delete: %+v", r)
	}
	if r := p.run(toolapi.ToolWrite, toolapi.WriteArgs{Path: "x", Content: "x"}); !r.OK {
		t.Errorf("with room again: %+v", r)
	}
	if r := p.bash("echo x > z; ls survived"); r.OK || !strings.Contains(r.Output, "survived") || strings.Contains(r.Output, "z:") {
		t.Errorf("%+v", r)
	}
}

// While a program runs that writes nothing, the watch of a tree with many files costs a part of one processor that does not grow with
// the tree; while nothing runs, it costs nothing.
func TestTheWatchIsCheap(t *testing.T) {
	p := newBoundedPod(t)
	if r := p.bash("python3 -c '\nfor i in range(15000): open(str(i), \"w\")'"); !r.OK {
		t.Fatalf("%+v", r)
	}
	spent := func() time.Duration {
		content, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
		if err != nil {
			t.Fatal(err)
		}
		fields := strings.Fields(string(content[strings.LastIndexByte(string(content), ')')+1:]))
		var user, system int64
		if _, err := fmt.Sscan(fields[11]+" "+fields[12], &user, &system); err != nil {
			t.Fatal(err)
		}
		return time.Duration(user+system) * 10 * time.Millisecond
	}
	before, began := spent(), time.Now()
	if r := p.bash("sleep 5"); !r.OK {
		t.Fatalf("%+v", r)
	}
	cost, took := spent()-before, time.Since(began)
	t.Logf("the server took %s of %s", cost, took)
	if cost > took/4 {
		t.Errorf("the server took %s of %s", cost, took)
	}
}
