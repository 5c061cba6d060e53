// SPDX-License-Identifier: Apache-2.0

package component

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// moduleRoot is this module's root, seen from this package.
const moduleRoot = "../.."

func TestVersionsAreThoseThatTheModulesPin(t *testing.T) {
	cases := map[string]string{
		"kubernetes": "k8s.io/kubernetes " + KubernetesVersion,
		"containerd": "github.com/containerd/containerd/v2 " + containerdVersion,
	}
	for dir, want := range cases {
		content, err := os.ReadFile(filepath.Join(moduleRoot, "components", dir, "go.mod"))
		if err != nil {
			t.Fatal(err)
		}
		// Go marks what only a tool directive uses as indirect.
		if !strings.Contains(string(content), want+"\n") && !strings.Contains(string(content), want+" // indirect\n") {
			t.Errorf("components/%s/go.mod does not require %s", dir, want)
		}
	}
}

func TestProgramsAreTheModulesTools(t *testing.T) {
	seen := map[string]bool{}
	for _, program := range Programs() {
		if seen[program.Name] {
			t.Errorf("%s is listed twice", program.Name)
		}
		seen[program.Name] = true
		if strings.HasPrefix(program.Package, ".") {
			continue
		}
		content, err := os.ReadFile(filepath.Join(moduleRoot, program.Dir, "go.mod"))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(strings.Fields(string(content)), program.Package) {
			t.Errorf("%s/go.mod has no tool %s", program.Dir, program.Package)
		}
	}
	for _, name := range TestServer() {
		if !seen[name] {
			t.Errorf("%s is needed for tests and never built", name)
		}
	}
}

func TestVersionsKey(t *testing.T) {
	write := func(root, file, content string) {
		t.Helper()
		path := filepath.Join(root, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	key := func(change func(root string), programs ...Program) string {
		t.Helper()
		root := t.TempDir()
		write(root, "components/a/go.mod", "module a")
		write(root, "pause/main.go", "package main")
		change(root)
		key, err := versionsKey(root, programs)
		if err != nil {
			t.Fatal(err)
		}
		return key
	}
	base := key(func(string) {}, Program{Name: "a"})
	cases := map[string]struct {
		got  string
		same bool
	}{
		"the same sources elsewhere": {got: key(func(string) {}, Program{Name: "a"}), same: true},
		"a test was added":           {got: key(func(r string) { write(r, "pause/main_test.go", "x") }, Program{Name: "a"}), same: true},
		"a version changed":          {got: key(func(r string) { write(r, "components/a/go.mod", "module a // v2") }, Program{Name: "a"})},
		"our source changed":         {got: key(func(r string) { write(r, "pause/main.go", "package main //") }, Program{Name: "a"})},
		"a flag changed":             {got: key(func(string) {}, Program{Name: "a", Tags: "x"})},
		"a program was added":        {got: key(func(string) {}, Program{Name: "a"}, Program{Name: "b"})},
	}
	for name, tc := range cases {
		if (tc.got == base) != tc.same {
			t.Errorf("%s: key %s, before %s", name, tc.got, base)
		}
	}
}

func TestBuildEnv(t *testing.T) {
	got := BuildEnv([]string{
		"HOME=/root", "GOOS=windows", "GOARCH=arm64", "GOWORK=/w", "CGO_ENABLED=1", "GOPROXY=off",
		"GOFLAGS=-mod=vendor -race -p=1 --tags=x -trimpath -modcacherw -ldflags=-X",
	}, false)
	want := []string{"HOME=/root", "GOPROXY=off", "GOFLAGS=-p=1 -modcacherw", "GOWORK=off", "CGO_ENABLED=0"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("BuildEnv() (-want +got):\n%s", diff)
	}
}

func TestMissing(t *testing.T) {
	s := &Store{Bin: t.TempDir()}
	if err := os.WriteFile(s.Path("etcd"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	missing, err := s.Missing(TestServer()...)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, program := range missing {
		names = append(names, program.Name)
	}
	if diff := cmp.Diff([]string{"kube-apiserver", "kubectl"}, names); diff != "" {
		t.Errorf("Missing() (-want +got):\n%s", diff)
	}
}

func TestRemoveLitterSparesYoungBuilds(t *testing.T) {
	s := &Store{Dir: t.TempDir()}
	build := filepath.Join(s.Dir, "build-1")
	if err := os.Mkdir(build, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		now  time.Time
		gone bool
	}{{time.Now(), false}, {time.Now().Add(3 * time.Hour), true}} {
		if err := s.removeLitter(step.now); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(build); os.IsNotExist(err) != step.gone {
			t.Errorf("gone = %t, want %t", !step.gone, step.gone)
		}
	}
}
