// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"motorcortex.dev/motorcortex/internal/toolapi"
)

// image makes the files of an image. A content that begins with -> is a link, one of +x a program.
func image(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, content := range files {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		target, isLink := strings.CutPrefix(content, "->")
		switch {
		case isLink:
			err = os.Symlink(target, file)
		case content == "+x":
			err = os.WriteFile(file, nil, 0o755)
		default:
			err = os.WriteFile(file, []byte(content), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestRead(t *testing.T) {
	t.Parallel()
	arch := ", " + runtime.GOARCH
	for name, tt := range map[string]struct {
		files map[string]string
		want  toolapi.Environment
		// without are programs that must be missing.
		without []string
	}{
		"Debian": {
			files: map[string]string{
				"etc/os-release":     "NAME=\"Debian\"\nPRETTY_NAME=\"Debian GNU/Linux 13 (trixie)\"\n",
				"usr/bin/python3":    "->python3.13",
				"usr/bin/python3.13": "+x", "usr/bin/node": "+x", "usr/bin/git": "+x", "usr/local/bin/rg": "+x", "usr/bin/jq": "no program",
				"var/lib/dpkg/status": "Package: nodejs\nStatus: install ok installed\nVersion: 1:20.19.2+dfsg-1\n\nPackage: git\nVersion: 1:2.47.3-0\n",
				"usr/lib/python3/dist-packages/pytest-8.3.5.dist-info/METADATA": "x",
				"usr/lib/python3/dist-packages/PyYAML-6.0.2.egg-info/PKG-INFO":  "x",
				"usr/lib/python3/dist-packages/old-1.0-py3.13.egg-info":         "x",
				"usr/lib/python3/dist-packages/pip-25.1.dist-info/METADATA":     "x",
				"usr/lib/python3/dist-packages/pytest/__init__.py":              "x",
				"sys/fs/cgroup/memory.max":                                      "1073741824\n", "sys/fs/cgroup/cpu.max": "50000 100000\n",
			},
			want: toolapi.Environment{
				System: "Debian GNU/Linux 13 (trixie)" + arch, Languages: []string{"Python 3.13", "Node.js 20.19"}, Programs: []string{"git", "rg"},
				Packages: []string{"old 1.0", "pytest 8.3.5", "PyYAML 6.0.2"}, MemoryBytes: 1 << 30, CPUMillis: 500,
			},
			without: []string{"jq", "gcc"},
		},
		"first version of control groups": {
			files: map[string]string{
				"sys/fs/cgroup/memory/memory.limit_in_bytes": "536870912\n", "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "200000\n",
				"sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
			},
			want: toolapi.Environment{System: "linux" + arch, MemoryBytes: 512 << 20, CPUMillis: 2000},
		},
		"no limits": {
			files: map[string]string{"sys/fs/cgroup/memory.max": "max\n", "sys/fs/cgroup/cpu.max": "max 100000\n"},
			want:  toolapi.Environment{System: "linux" + arch},
		},
		"no limits, first version": {
			files: map[string]string{"sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n", "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n"},
			want:  toolapi.Environment{System: "linux" + arch},
		},
		"nothing of Debian": {
			files: map[string]string{"usr/bin/node": "+x", "usr/local/bin/python3": "+x"},
			want:  toolapi.Environment{System: "linux" + arch, Languages: []string{"Python", "Node.js"}},
		},
		"empty": {want: toolapi.Environment{System: "linux" + arch}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := Read(image(t, tt.files), "/usr/local/bin:/usr/bin:/bin")
			for _, program := range tt.without {
				if !slices.Contains(got.Missing, program) {
					t.Errorf("%s is not missing", program)
				}
			}
			got.Missing = nil
			got.Packages = slices.Clip(got.Packages)
			if len(got.Packages) == 0 {
				got.Packages = nil
			}
			if d := cmp.Diff(&tt.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// For every content of an image, the result fits into a prompt.
func TestReadIsPlain(t *testing.T) {
	t.Parallel()
	got := Read(image(t, map[string]string{
		"etc/os-release": "PRETTY_NAME=\"Debian GNU/Linux 13 (trixie)\"\n", "usr/bin/python3": "+x",
		"usr/lib/python3/dist-packages/pytest-8.3.5.dist-info/METADATA": "x",
	}), "/usr/bin")
	if d := cmp.Diff(got, got.Plain()); d != "" {
		t.Error(d)
	}
}
