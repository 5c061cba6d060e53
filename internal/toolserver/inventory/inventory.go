// SPDX-License-Identifier: Apache-2.0

// Package inventory finds out what a sandbox has, for the model that works in it: the system, languages, programs, Python packages,
// processors and memory. It reads files of the image and of the kernel and starts no program, because it runs before the isolation of the
// sandbox is proved.
package inventory

import (
	"bufio"
	"bytes"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"motorcortex.dev/motorcortex/internal/toolapi"
)

const (
	// maxFile is the most that is read of one file. The list of a Debian image with some hundred packages has a few hundred KiB.
	maxFile = 8 << 20
	// maxFolder is the most entries that are read of one folder.
	maxFolder = 4096
)

// languages are looked for by the name of their program. With a package its version is that of Debian's package.
var languages = []struct{ name, program, pkg string }{
	{"Python", "python3", "python3"}, {"Node.js", "node", "nodejs"}, {"Go", "go", "golang-go"}, {"Ruby", "ruby", "ruby"},
	{"Java", "java", "default-jre-headless"}, {"Rust", "rustc", "rustc"}, {"Perl", "perl", "perl-base"}, {"PHP", "php", "php-cli"},
}

// programs are those whose presence decides how a task is done.
var programs = []string{
	"git", "rg", "jq", "curl", "wget", "make", "gcc", "g++", "sqlite3", "pytest", "pip", "npm", "zip", "unzip", "xz", "file", "patch", "docker",
}

// Read returns the inventory of root, which is "/" in a sandbox. search is PATH. The result has no size of the workspace.
func Read(root, search string) *toolapi.Environment {
	r := reader{root: root, search: filepath.SplitList(search)}
	e := &toolapi.Environment{System: r.system(), Packages: r.pythonPackages(), MemoryBytes: r.memory(), CPUMillis: r.processors()}
	versions := r.debianVersions()
	for _, l := range languages {
		if file := r.program(l.program); file != "" {
			e.Languages = append(e.Languages, strings.TrimSpace(l.name+" "+r.version(file, l.program, versions[l.pkg])))
		}
	}
	for _, name := range programs {
		if r.program(name) != "" {
			e.Programs = append(e.Programs, name)
		} else {
			e.Missing = append(e.Missing, name)
		}
	}
	return e
}

type reader struct {
	root   string
	search []string
}

// file returns the content of a file, or as much of it as is read, nil if there is none.
func (r reader) file(name string) []byte {
	f, err := os.Open(filepath.Join(r.root, name))
	if err != nil {
		return nil
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, maxFile))
	if err != nil {
		return nil
	}
	return content
}

func (r reader) system() string {
	for line := range strings.Lines(string(r.file("etc/os-release"))) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), "PRETTY_NAME="); ok {
			return strings.Trim(value, `"'`) + ", " + runtime.GOARCH
		}
	}
	return runtime.GOOS + ", " + runtime.GOARCH
}

// program returns the path of a program, "" if it is in none of the folders of PATH.
func (r reader) program(name string) string {
	for _, dir := range r.search {
		file := filepath.Join(r.root, dir, name)
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return file
		}
	}
	return ""
}

// version returns the first two numbers of a version: that in the name of the file that the program is a link to (python3.13), or
// that of the package.
func (r reader) version(file, program, ofPackage string) string {
	if target, err := filepath.EvalSymlinks(file); err == nil {
		base := filepath.Base(target)
		if v, ok := strings.CutPrefix(base, strings.TrimRight(program, "0123456789")); ok && isVersion(v) && strings.Contains(v, ".") {
			return v
		}
	}
	parts := strings.SplitN(ofPackage, ".", 3)
	if len(parts) < 2 {
		return ""
	}
	minor := parts[1]
	if i := strings.IndexFunc(minor, func(c rune) bool { return c < '0' || c > '9' }); i >= 0 {
		minor = minor[:i]
	}
	if v := parts[0] + "." + minor; isVersion(v) && minor != "" {
		return v
	}
	return ""
}

func isVersion(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(c rune) bool { return c != '.' && (c < '0' || c > '9') })
}

// debianVersions are the versions of the packages that languages come from, without their epochs.
func (r reader) debianVersions() map[string]string {
	found := map[string]string{}
	lines := bufio.NewScanner(bytes.NewReader(r.file("var/lib/dpkg/status")))
	lines.Buffer(nil, 64<<10)
	name := ""
	for lines.Scan() {
		key, value, _ := strings.Cut(lines.Text(), ": ")
		switch key {
		case "Package":
			name = value
		case "Version":
			if _, rest, ok := strings.Cut(value, ":"); ok {
				value = rest
			}
			found[name] = value
		}
	}
	return found
}

// notPackages come with pip, and are no information.
var notPackages = []string{"pip", "setuptools", "wheel", "pkg_resources"}

// pythonPackages are the Python packages of the image with their versions, by name.
func (r reader) pythonPackages() []string {
	found := map[string]bool{}
	for _, pattern := range []string{
		"usr/lib/python3/dist-packages", "usr/local/lib/python3*/dist-packages", "usr/local/lib/python3*/site-packages", "usr/lib/python3*/site-packages",
	} {
		dirs, err := filepath.Glob(filepath.Join(r.root, pattern))
		if err != nil {
			continue
		}
		for _, dir := range dirs {
			for _, entry := range names(dir) {
				if p := pythonPackage(entry); p != "" {
					found[p] = true
				}
			}
		}
	}
	list := make([]string, 0, len(found))
	for p := range found {
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b string) int { return strings.Compare(strings.ToLower(a), strings.ToLower(b)) })
	return list[:min(len(list), toolapi.MaxEnvironmentItems)]
}

// names are the first entries of a folder.
func names(dir string) []string {
	f, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer f.Close()
	list, err := f.Readdirnames(maxFolder)
	if err != nil {
		return nil
	}
	return list
}

// pythonPackage reads "pytest-8.3.5.dist-info", "" for any other entry.
func pythonPackage(entry string) string {
	base, ok := strings.CutSuffix(entry, ".dist-info")
	if !ok {
		base, ok = strings.CutSuffix(entry, ".egg-info")
	}
	name, version, named := strings.Cut(base, "-")
	if !ok || !named || slices.Contains(notPackages, name) {
		return ""
	}
	version, _, _ = strings.Cut(version, "-py")
	return name + " " + version
}

// memory is the limit of the control group in bytes, of either version of control groups.
func (r reader) memory() int64 {
	for _, name := range []string{"sys/fs/cgroup/memory.max", "sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		if n, err := strconv.ParseInt(strings.TrimSpace(string(r.file(name))), 10, 64); err == nil && n > 0 && n < math.MaxInt64/2 {
			return n
		}
	}
	return 0
}

// processors is the limit of the control group in thousandths of a processor.
func (r reader) processors() int64 {
	quota, period, _ := strings.Cut(strings.TrimSpace(string(r.file("sys/fs/cgroup/cpu.max"))), " ")
	if quota == "" {
		quota = strings.TrimSpace(string(r.file("sys/fs/cgroup/cpu/cpu.cfs_quota_us")))
		period = strings.TrimSpace(string(r.file("sys/fs/cgroup/cpu/cpu.cfs_period_us")))
	}
	q, err1 := strconv.ParseInt(quota, 10, 64)
	p, err2 := strconv.ParseInt(period, 10, 64)
	if err1 != nil || err2 != nil || q <= 0 || p <= 0 || q > math.MaxInt64/1000 {
		return 0
	}
	return q * 1000 / p
}
