// SPDX-License-Identifier: Apache-2.0

//go:build linux

package disk

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// mapper is a program that maps files, step by step.
type mapper struct {
	t   *testing.T
	dir string
	cmd *exec.Cmd
	say func(string)
}

const mapperProgram = `
import ctypes, os, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
MB = 1 << 20
def create(name):
    return os.open(name, os.O_CREAT | os.O_RDWR, 0o600)
def map(fd, flags=1, size=MB):
    p = libc.mmap(None, ctypes.c_size_t(size), 3, flags, fd, ctypes.c_long(0))
    assert p not in (None, ctypes.c_void_p(-1).value)
    return p
def fill(p, size=MB):
    ctypes.memset(p, 1, size)
for line in sys.stdin:
    exec(line)
    print("done", flush=True)
`

func newMapper(t *testing.T) *mapper {
	m := &mapper{t: t, dir: t.TempDir()}
	m.cmd = exec.Command("python3", "-c", mapperProgram)
	m.cmd.Dir = m.dir
	in, err := m.cmd.StdinPipe()
	must(t, err)
	out, err := m.cmd.StdoutPipe()
	must(t, err)
	m.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	must(t, m.cmd.Start())
	t.Cleanup(func() {
		_ = syscall.Kill(-m.cmd.Process.Pid, syscall.SIGKILL) // Its forks too.
		_ = in.Close()
		_ = m.cmd.Wait()
	})
	lines := bufio.NewReader(out)
	m.say = func(step string) {
		t.Helper()
		_, err := fmt.Fprintln(in, step)
		must(t, err)
		if _, err := lines.ReadString('\n'); err != nil {
			t.Fatalf("%s: %v", step, err)
		}
	}
	return m
}

func (m *mapper) look(k *kept) open {
	pid := m.cmd.Process.Pid
	return deleted([]string{m.dir}, func(other int) bool { return other != pid && parentOf(other) != pid }, nil, k)
}

// A mapped file is counted by the descriptor that was kept open; a file that could not be kept has a holder.
func TestMapped(t *testing.T) {
	const look = "LOOK"
	for name, test := range map[string]struct {
		steps  []string
		bytes  int64
		unseen bool // It has a holder.
		kept   int
	}{
		"unlinked and closed before a look": {[]string{"f = create('a'); os.truncate(f, MB); os.unlink('a'); p = map(f); os.close(f); fill(p)"}, 0, true, 0},
		"grown after a look with a name":    {[]string{"f = create('a'); os.truncate(f, MB); p = map(f); os.close(f)", look, "os.unlink('a'); fill(p)"}, megabyte, false, 1},
		"grown after a look with a descriptor": {
			[]string{"f = create('a'); os.truncate(f, MB); p = map(f); os.unlink('a')", look, "os.close(f); fill(p)"}, megabyte, false, 1},
		"open and mapped":        {[]string{"f = create('a'); os.truncate(f, MB); os.unlink('a'); p = map(f); fill(p)"}, megabyte, false, 1},
		"a part, private":        {[]string{"f = create('a'); os.write(f, bytes(MB)); os.unlink('a'); p = map(f, 2, 4096); os.close(f)"}, 0, true, 0},
		"a library, replaced":    {[]string{"f = create('a'); os.write(f, bytes(MB)); p = map(f, 2); os.close(f)", look, "f = create('b'); os.close(f); os.rename('b', 'a')"}, megabyte, false, 1},
		"with a name":            {[]string{"f = create('a'); os.write(f, bytes(MB)); p = map(f); os.close(f)"}, 0, false, 1},
		"with another name":      {[]string{"f = create('a'); os.write(f, bytes(MB)); os.link('a', 'b'); p = map(f); os.close(f)", look, "os.unlink('a')"}, 0, false, 1},
		"not mapped any more":    {[]string{"f = create('a'); os.write(f, bytes(MB)); p = map(f); os.close(f)", look, "os.unlink('a'); libc.munmap(p, MB)"}, 0, false, 0},
		"by two processes":       {[]string{"f = create('a'); os.write(f, bytes(MB)); p = map(f); os.close(f); r, w = os.pipe()", look, "os.unlink('a'); pid = os.fork() or os.read(r, 1)"}, megabyte, false, 1},
		"a name like a lost one": {[]string{"f = create('a (deleted)'); os.write(f, bytes(MB)); p = map(f); os.close(f)"}, 0, false, 1},
		"memory":                 {[]string{"f = os.memfd_create('a'); os.truncate(f, MB); p = map(f); os.close(f); fill(p)"}, 0, false, 0},
		"in a socket":            {[]string{"f = create('a'); os.unlink('a'); os.write(f, bytes(MB)); a, b = socket.socketpair(); socket.send_fds(a, [b'x'], [f]); os.close(f)"}, 0, true, 0},
		"received": {[]string{"f = create('a'); os.unlink('a'); os.write(f, bytes(MB)); a, b = socket.socketpair(); socket.send_fds(a, [b'x'], [f]); os.close(f)", look,
			"got = socket.recv_fds(b, 10, 10)"}, megabyte, false, 0},
		"before it is accepted": {[]string{"l = socket.socket(socket.AF_UNIX); l.bind('s'); l.listen(); c = socket.socket(socket.AF_UNIX); c.connect('s'); socket.send_fds(c, [b'x'], [0]); c.close()"}, 0, true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			m, k := newMapper(t), newKept()
			defer k.close()
			for _, step := range test.steps {
				if step == look {
					m.look(k)
					continue
				}
				m.say(step)
			}
			found := m.look(k)
			if got := found.nameless[m.dir].Bytes; got != test.bytes || len(found.holders) > 0 != test.unseen || len(found.hiders) > 0 || len(k.files) != test.kept {
				t.Errorf("%d bytes, %d files kept, %+v", got, len(k.files), found)
			}
		})
	}
}

// A program that was deleted while it runs takes its room.
func TestDeletedProgram(t *testing.T) {
	m := newMapper(t)
	m.say("import shutil, subprocess; shutil.copy('/bin/sleep', 's'); c = subprocess.Popen(['./s', '1000']); os.unlink('s')")
	defer m.say("c.kill(); c.wait()")
	info, err := os.Stat("/bin/sleep")
	must(t, err)
	found := m.look(newKept())
	if got := found.nameless[m.dir]; got.Bytes < info.Size() || got.Inodes != 1 || len(found.holders) > 0 {
		t.Errorf("%+v", found)
	}
}

// A file that was kept open is released when it is not mapped any more, and the account of the volume shows that.
func TestKeptIsReleased(t *testing.T) {
	m, k := newMapper(t), newKept()
	m.say("f = create('a'); os.write(f, bytes(MB)); p = map(f); os.close(f)")
	m.look(k)
	m.say("os.unlink('a'); libc.munmap(p, MB)")
	if found := m.look(k); found.released[m.dir] != (Usage{megabyte, 1}) || len(k.files) != 0 {
		t.Errorf("%+v", found)
	}
}

func TestKeptIsBounded(t *testing.T) {
	m, k := newMapper(t), newKept()
	k.most = 2
	defer k.close()
	m.say("for i in range(4): f = create(str(i)); os.write(f, bytes(MB)); map(f); os.close(f)")
	if m.look(k); len(k.files) != 2 {
		t.Errorf("%d files", len(k.files))
	}
	m.say("[os.unlink(str(i)) for i in range(4)]")
	if found := m.look(k); found.nameless[m.dir].Bytes != 2*megabyte || len(found.holders) == 0 {
		t.Errorf("%+v", found)
	}
}

func TestParseMapping(t *testing.T) {
	for line, want := range map[string]string{
		"7f0e6c000000-7f0e6c021000 rw-p 00000000 00:00 0 ":                                  "",
		"7ffd3b9d6000-7ffd3b9f7000 rw-p 00000000 00:00 0                          [stack]":  "",
		"55d0c0a00000-55d0c0a2a000 r--p 00000000 fe:00 131                        /bin/a b": "131 /bin/a b",
		"55d0c0a00000-55d0c0a2a000 r--s 00000000 fe:00 7 /a (deleted)":                      "7 /a (deleted)",
		"short line": "", "a b c d e f": "", "": "",
	} {
		inode, path, ok := parseMapping([]byte(line))
		if got := fmt.Sprint(inode, " ", path); ok != (want != "") || ok && got != want {
			t.Errorf("%q: %q", line, got)
		}
	}
}

// A path that is longer than a page still has its folder and its end.
func TestMappedInADeepFolder(t *testing.T) {
	m := newMapper(t)
	m.say("for i in range(120): os.mkdir('n' * 200); os.chdir('n' * 200)")
	m.say("f = create('a'); os.truncate(f, MB); os.unlink('a'); p = map(f); os.close(f); fill(p)")
	if found := m.look(newKept()); len(found.holders) != 1 {
		t.Errorf("%+v", found)
	}
}

// A holder of files that cannot be counted is ended when a volume may be full because of it, and not before.
func TestHoldersAreEnded(t *testing.T) {
	w := newWatched(t)
	var ended bytes.Buffer
	w.hooks.End = func(pid int, why Reason) { fmt.Fprintln(&ended, pid, why) }
	defer w.Enter()()
	w.mu.Lock()
	defer w.mu.Unlock()
	v := w.volumes[0]
	v.used, v.then = Usage{}, roomOf(v.Dir, room{})
	v.then.free += 4 * megabyte
	for range 3 {
		w.endHolders([]int{7, 8, 7})
	}
	if ended.Len() > 0 {
		t.Errorf("with room: %s", &ended)
	}
	v.then.free += 1 << 40
	w.endHolders([]int{7})
	w.endHolders(nil) // The descriptor has arrived.
	w.endHolders([]int{7})
	if ended.Len() > 0 {
		t.Errorf("at the first stop: %s", &ended)
	}
	w.endHolders([]int{7, 8, 7})
	if ended.String() != "7 1\n8 1\n" {
		t.Errorf("at the second stop: %s", &ended)
	}
}
