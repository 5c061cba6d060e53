// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/internal/toolapi"
)

// namelessPrograms fill a disk with files that have neither a name nor a descriptor.
func namelessPrograms() map[string]string {
	const begin = `import ctypes, os, socket
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
z = bytes(1 << 20)
`
	return map[string]string{
		"a mapping that grows": begin + `for n in range(20):
  f = os.open("x", os.O_CREAT | os.O_RDWR); os.unlink("x"); os.ftruncate(f, 60 << 20)
  p = libc.mmap(None, ctypes.c_size_t(60 << 20), 3, 1, f, ctypes.c_long(0)); os.close(f)
  for i in range(60): ctypes.memset(p + (i << 20), 1, 1 << 20)`,
		"a page of what was written": begin + `for n in range(20):
  f = os.open("x", os.O_CREAT | os.O_RDWR); os.unlink("x")
  for i in range(60): os.write(f, z)
  p = libc.mmap(None, ctypes.c_size_t(4096), 1, 2, f, ctypes.c_long(0)); os.close(f)`,
		"a socket": begin + `all = []
for n in range(20):
  f = os.open("x", os.O_CREAT | os.O_RDWR); os.unlink("x")
  for i in range(60): os.write(f, z)
  all.append(socket.socketpair()); socket.send_fds(all[-1][0], [b"x"], [f]); os.close(f)`,
		"a program": begin + `import subprocess
for n in range(20):
  content = open("/bin/sleep", "rb").read()
  f = os.open("x", os.O_CREAT | os.O_RDWR, 0o700); os.write(f, content)
  for i in range(60): os.write(f, z)
  os.close(f); subprocess.Popen(["./x", "1000"]); os.unlink("x")`,
	}
}

// The space that the workspace's own filesystem has lost is the space that programs hold, whatever the tool server sees of it.
func TestFilesWithoutNameAndDescriptorAreBounded(t *testing.T) {
	const most = 256 << 20
	for name, program := range namelessPrograms() {
		t.Run(name, func(t *testing.T) {
			// As in TestTheDiskIsBounded, one of three tries has to be within the bound.
			for try := 1; ; try++ {
				p := newPod(t, "TEST_WORKSPACE_SIZE=2g", fmt.Sprintf("MOTOR_WORKSPACE_BYTES=%d", most), fmt.Sprintf("MOTOR_TMP_BYTES=%d", most), "MOTOR_STATE_BYTES=268435456")
				if r := p.run(toolapi.ToolWrite, toolapi.WriteArgs{Path: "fill.py", Content: program}); !r.OK {
					t.Fatalf("%+v", r)
				}
				peak := watchFilesystem(t, fmt.Sprintf("/proc/%d/root%s/workspace", p.cmd.Process.Pid, p.dir))
				r := p.bash("python3 fill.py")
				bytes := peak()
				t.Logf("at most %.2f in %d ms: %s", float64(bytes)/most, r.DurationMs, r.Output)
				if r.OK || !strings.Contains(r.Output, "python3") && r.ErrorCode != toolapi.CodeDiskFull {
					t.Errorf("%+v", r)
				}
				if bytes <= most*5/4 {
					return
				}
				if try == 3 {
					t.Fatalf("it had %d bytes", bytes)
				}
			}
		})
	}
}

// watchFilesystem returns what a filesystem had at most until it is called.
func watchFilesystem(t *testing.T, dir string) func() int64 {
	t.Helper()
	var peak atomic.Int64
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			var stat syscall.Statfs_t
			if syscall.Statfs(dir, &stat) == nil {
				peak.Store(max(peak.Load(), int64(stat.Blocks-stat.Bfree)*stat.Bsize))
			}
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
			}
		}
	}()
	return func() int64 { close(stop); <-done; return peak.Load() }
}

// Programs whose libraries are replaced while they run, and that have deleted files open, go on while other Pods fill the node's disk.
func TestHonestFilesWithoutANameOutliveTheNeighbours(t *testing.T) {
	p := newBoundedPod(t)
	const program = `import ctypes, os, sqlite3, tempfile, time
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
f = os.open("library", os.O_CREAT | os.O_RDWR); os.write(f, bytes(4 << 20))
libc.mmap(None, ctypes.c_size_t(4 << 20), 5, 2, f, ctypes.c_long(0)); os.close(f)
temporary = tempfile.TemporaryFile(); temporary.write(bytes(1 << 20)); temporary.flush()
db = sqlite3.connect("db"); db.execute("pragma temp_store = file"); db.execute("create temp table a as select randomblob(1000000)")
open("mapped", "w")
while not os.path.exists("replace"): time.sleep(0.01)
os.unlink("library"); open("library", "w").write("new")
open("replaced", "w")
while not os.path.exists("end"): time.sleep(0.01)
print("well")`
	if r := p.run(toolapi.ToolWrite, toolapi.WriteArgs{Path: "honest.py", Content: program}); !r.OK {
		t.Fatalf("%+v", r)
	}
	result := make(chan toolapi.Result, 1)
	go func() { result <- p.bash("python3 honest.py") }()
	p.await("workspace/mapped")
	for deadline := time.Now().Add(time.Minute); !p.keeps("/workspace/library"); <-time.After(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the file is not kept")
		}
	}
	p.touch("workspace/replace")
	p.await("workspace/replaced")
	other := p.dir + "/neighbour"
	for range 4 { // Slower than what stops the sandbox for its own sake, and more than its volumes may hold.
		if err := os.WriteFile(other, make([]byte, diskTestSize), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(other, fmt.Sprintf("%s-%d", other, time.Now().UnixNano())); err != nil {
			t.Fatal(err)
		}
	}
	p.touch("workspace/end")
	if r := <-result; !r.OK || r.Output != "well\n" {
		t.Errorf("%+v", r)
	}
}

func (p *pod) touch(file string) {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.dir, file), nil, 0o644); err != nil {
		p.t.Fatal(err)
	}
}

// keeps reports whether the server has a file open.
func (p *pod) keeps(file string) bool {
	links, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", p.cmd.Process.Pid))
	for _, link := range links {
		if to, err := os.Readlink(link); err == nil && strings.HasPrefix(to, p.dir+file) {
			return true
		}
	}
	return false
}
