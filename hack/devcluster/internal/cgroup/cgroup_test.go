// SPDX-License-Identifier: Apache-2.0

package cgroup

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestHierarchies(t *testing.T) {
	table := `1 0 0:1 / / rw - ext4 /dev/root rw
2 1 0:2 / /sys/fs/cgroup rw - tmpfs tmpfs rw
3 2 0:3 / /sys/fs/cgroup/cpu,cpuacct rw shared:4 - cgroup cgroup rw,cpu,cpuacct
4 2 0:4 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
5 2 0:5 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
6 2 0:4 / /elsewhere/memory rw - cgroup cgroup rw,memory
`
	got, err := hierarchies(bufio.NewScanner(strings.NewReader(table)))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"/sys/fs/cgroup/cpu,cpuacct", "/sys/fs/cgroup/memory", "/sys/fs/cgroup/unified"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("hierarchies() (-want +got):\n%s", diff)
	}
}

func TestHolds(t *testing.T) {
	cases := map[string]struct {
		table string
		want  bool
	}{
		"v2 daemon":                     {table: "0::/devcluster/daemons\n", want: true},
		"v1 container":                  {table: "4:memory:/devcluster/kubepods/pod1/abc\n0::/\n", want: true},
		"below another container":       {table: "0::/outer/devcluster/daemons\n", want: true},
		"in one hierarchy only":         {table: "4:memory:/\n8:pids:/devcluster/daemons\n", want: true},
		"somebody else's":               {table: "4:memory:/system.slice/ssh.service\n"},
		"a name that only begins alike": {table: "0::/devcluster-other/daemons\n"},
		"none":                          {table: ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := holds(tc.table, "devcluster"); got != tc.want {
				t.Errorf("holds() = %t", got)
			}
		})
	}
}

// TestLifeInPlainFolders runs on folders instead of hierarchies: creating and removing are the same.
func TestLifeInPlainFolders(t *testing.T) {
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "cpuset.cpus"), []byte("0-1"), 0o600); err != nil {
		t.Fatal(err)
	}
	g := &Group{Name: "test", roots: []string{root}}
	if g.Exists() || g.Complete() {
		t.Error("it exists before it was created")
	}
	if err := g.Create(); err != nil {
		t.Fatal(err)
	}
	if !g.Exists() || !g.Complete() {
		t.Error("it does not exist after it was created")
	}
	for _, group := range []string{"test", "test/daemons"} {
		file := filepath.Join(root, group, "cpuset.cpus")
		if content, err := os.ReadFile(file); err != nil || string(content) != "0-1" {
			t.Errorf("%s holds %q, %v", file, content, err)
		}
		if err := os.Remove(file); err != nil { // in a real hierarchy files go with their group
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(root, "test", "kubepods", "pod1"), 0o700); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := g.Remove(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if g.Exists() {
		t.Error("it exists after it was removed")
	}
}
