// SPDX-License-Identifier: Apache-2.0

//go:build linux

package files

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolserver/workspace"
	"motorcortex.dev/motorcortex/test/traps"
)

// openTrapped opens a workspace with traps in it, for a fuzz target.
func openTrapped(f *testing.F) (w *workspace.Workspace, outside string) {
	f.Helper()
	dir := f.TempDir() + "/workspace"
	if err := os.Mkdir(dir, 0o755); err != nil {
		f.Fatal(err)
	}
	outside = traps.Fill(f, dir)
	w, err := workspace.Open(dir)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = w.Close() })
	return w, outside
}

func TestPathsAreConfined(t *testing.T) {
	s := newSandbox(t)
	outside := traps.Fill(t, s.workspace)
	long := strings.Repeat("x", 300)
	tests := map[string]struct{ path, read, write, list string }{
		"parent":                     {"../secret", toolapi.CodeOutsideWorkspace, toolapi.CodeOutsideWorkspace, toolapi.CodeOutsideWorkspace},
		"parent after a folder":      {"dir/../../secret", toolapi.CodeOutsideWorkspace, toolapi.CodeOutsideWorkspace, toolapi.CodeOutsideWorkspace},
		"absolute":                   {outside, toolapi.CodeOutsideWorkspace, toolapi.CodeOutsideWorkspace, toolapi.CodeOutsideWorkspace},
		"absolute, by the sandbox":   {s.workspace + "/../secret", toolapi.CodeOutsideWorkspace, toolapi.CodeOutsideWorkspace, toolapi.CodeOutsideWorkspace},
		"absolute, similar":          {s.workspace + "2/file", toolapi.CodeOutsideWorkspace, toolapi.CodeOutsideWorkspace, toolapi.CodeOutsideWorkspace},
		"system file":                {"/etc/passwd", toolapi.CodeOutsideWorkspace, toolapi.CodeOutsideWorkspace, toolapi.CodeOutsideWorkspace},
		"below an absolute link":     {"rootlink/etc/passwd", toolapi.CodeOutsideWorkspace, toolapi.CodeOutsideWorkspace, toolapi.CodeOutsideWorkspace},
		"below a link to the parent": {"up/secret", toolapi.CodeOutsideWorkspace, toolapi.CodeOutsideWorkspace, toolapi.CodeOutsideWorkspace},
		"absolute link":              {"abs", toolapi.CodeOutsideWorkspace, "", toolapi.CodeOutsideWorkspace},
		"link to the parent":         {"rel", toolapi.CodeOutsideWorkspace, "", toolapi.CodeOutsideWorkspace},
		"link to a new file":         {"newout", toolapi.CodeOutsideWorkspace, "", toolapi.CodeOutsideWorkspace},
		"loop":                       {"loop/x", toolapi.CodeInvalidArguments, toolapi.CodeInvalidArguments, toolapi.CodeInvalidArguments},
		"NUL":                        {"a\x00b", toolapi.CodeInvalidArguments, toolapi.CodeInvalidArguments, toolapi.CodeInvalidArguments},
		"long name":                  {long, toolapi.CodeInvalidArguments, toolapi.CodeInvalidArguments, toolapi.CodeInvalidArguments},
		"long path":                  {strings.Repeat("x/", 3000), toolapi.CodeInvalidArguments, toolapi.CodeInvalidArguments, toolapi.CodeInvalidArguments},
		"pipe":                       {"pipe", toolapi.CodeInvalidArguments, toolapi.CodeInvalidArguments, toolapi.CodeNotDirectory},
		"link to a pipe":             {"topipe", toolapi.CodeInvalidArguments, "", toolapi.CodeNotDirectory},
		"socket":                     {"socket", toolapi.CodeInvalidArguments, toolapi.CodeInvalidArguments, toolapi.CodeNotDirectory},
		"folder":                     {"dir", toolapi.CodeIsDirectory, toolapi.CodeIsDirectory, ""},
		"workspace":                  {s.workspace, toolapi.CodeIsDirectory, toolapi.CodeIsDirectory, ""},
		"below a file":               {"dir/file/x", toolapi.CodeNotDirectory, toolapi.CodeNotDirectory, toolapi.CodeNotDirectory},
		"nothing there":              {"no/such", toolapi.CodeNotFound, "", toolapi.CodeNotFound},
		"newline":                    {"a\nb", toolapi.CodeNotFound, "", toolapi.CodeNotFound},
		"absolute inside":            {s.workspace + "/dir/file", "", "", toolapi.CodeNotDirectory},
		"link inside":                {"good/file", "", "", toolapi.CodeNotDirectory},
		"odd spelling":               {"./dir//sub/../file", "", "", toolapi.CodeNotDirectory},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			want := func(doing, code string, r toolapi.Result) {
				t.Helper()
				if r.ErrorCode != code || r.OK != (code == "") || r.Output == "" {
					t.Errorf("%s %q: code %q, want %q: %s", doing, workspace.Display(test.path), r.ErrorCode, code, r.Output)
				}
				if strings.Contains(r.Output, traps.Secret) {
					t.Errorf("%s %q gives the secret", doing, test.path)
				}
			}
			want("read", test.read, s.run(toolapi.ToolRead, toolapi.ReadArgs{Path: test.path}))
			want("list", test.list, s.run(toolapi.ToolList, toolapi.ListArgs{Path: test.path}))
			want("write", test.write, s.run(toolapi.ToolWrite, toolapi.WriteArgs{Path: test.path, Content: "new"}))
		})
	}
	if content, err := os.ReadFile(outside); err != nil || string(content) != traps.Secret {
		t.Errorf("the file outside is %q: %v", content, err)
	}
	if _, err := os.Lstat(filepath.Dir(s.workspace) + "/newfile"); !errors.Is(err, fs.ErrNotExist) {
		t.Error("a file was made outside")
	}
}

func TestAppendIsConfined(t *testing.T) {
	s := newSandbox(t)
	outside := traps.Fill(t, s.workspace)
	for path, code := range map[string]string{
		"abs": toolapi.CodeOutsideWorkspace, "rel": toolapi.CodeOutsideWorkspace, "newout": toolapi.CodeOutsideWorkspace,
		"pipe": toolapi.CodeInvalidArguments, "topipe": toolapi.CodeInvalidArguments, "socket": toolapi.CodeInvalidArguments,
		"dir": toolapi.CodeIsDirectory, "../secret": toolapi.CodeOutsideWorkspace, "good/file": "",
	} {
		r := s.run(toolapi.ToolWrite, toolapi.WriteArgs{Path: path, Content: "more", Append: true})
		if r.ErrorCode != code {
			t.Errorf("append to %s: %+v, want %q", path, r, code)
		}
	}
	if content, err := os.ReadFile(outside); err != nil || string(content) != traps.Secret {
		t.Errorf("the file outside is %q: %v", content, err)
	}
}

// swapLinks is a program that has d lead to the folder real, and to one outside that has the secret in file, in turn, until stop is
// called.
func (s *sandbox) swapLinks() (outside string, stop func()) {
	s.t.Helper()
	outside = filepath.Dir(s.workspace) + "/outside"
	if err := errors.Join(os.Mkdir(outside, 0o755), os.WriteFile(outside+"/file", []byte(traps.Secret), 0o644)); err != nil {
		s.t.Fatal(err)
	}
	swapped, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(swapped)
		for {
			select {
			case <-stopped:
				return
			default:
			}
			_ = os.Symlink(outside, s.workspace+"/t1")
			_ = os.Rename(s.workspace+"/t1", s.workspace+"/d")
			_ = os.Symlink("real", s.workspace+"/t2")
			_ = os.Rename(s.workspace+"/t2", s.workspace+"/d")
		}
	}()
	return outside, func() {
		close(stopped)
		<-swapped
	}
}

// A program swaps a folder for a link that leads out, over and over, while the tools use a path through it.
func TestSwappedLinkDoesNotLeadOut(t *testing.T) {
	s := newSandbox(t)
	s.write("real/file", "inside")
	outside, stop := s.swapLinks()
	w := s.opened
	for i := range 3000 {
		if file, _, err := w.OpenFile("d/file", os.O_RDONLY); err == nil {
			content := make([]byte, len(traps.Secret))
			n, _ := file.Read(content)
			_ = file.Close()
			if string(content[:n]) == traps.Secret {
				t.Fatal("the secret was read")
			}
		}
		// The folders above a new file are made too. The way may lead out as soon as it is known that there is no such file.
		for j := range 10 {
			_, _ = w.Prepare(fmt.Sprintf("d/new/%d-%d/file", i, j))
		}
		if i%20 == 0 { // Each is synced to the disk.
			_ = w.Replace("d/file", strings.NewReader("inside"))
		}
	}
	stop()
	if content, err := os.ReadFile(outside + "/file"); err != nil || string(content) != traps.Secret {
		t.Errorf("the file outside is %q: %v", content, err)
	}
	if entries, err := os.ReadDir(outside); err != nil || len(entries) != 1 {
		t.Errorf("the folder outside has %v: %v", entries, err)
	}
}

func FuzzPathIsConfined(f *testing.F) {
	for _, seed := range []string{"dir/file", "../secret", "/etc/passwd", "abs", "rel", "up/secret", "good/../rel", "rootlink/etc/passwd",
		"dir/../../secret", "a\x00b", "a\nb", "....//secret", "pipe", "loop/x", "%2e%2e/secret", "./.", "", "\xff", "good/../up/secret"} {
		f.Add(seed)
	}
	w, outside := openTrapped(f)
	f.Fuzz(func(t *testing.T, name string) {
		for _, name := range []string{name, w.Dir + "/" + name, "good/" + name} {
			local, err := w.Resolve(name)
			if err != nil {
				continue
			}
			if !filepath.IsLocal(local) {
				t.Fatalf("%q became %q", name, local)
			}
			file, info, err := w.OpenFile(local, os.O_RDONLY)
			if err != nil {
				if r := w.Failure("read", name, err); r.ErrorCode == toolapi.CodeInternal {
					t.Fatalf("%q: %v has no code of its own", name, err)
				}
				continue
			}
			real, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", file.Fd()))
			_ = file.Close()
			if err != nil || !workspace.Within(w.Dir, real) || real == outside {
				t.Fatalf("%q led to %q (%v): %v", name, real, info.Mode(), err)
			}
		}
	})
}

// Every access to a file of the workspace goes through its os.Root. A function of os that takes a path follows links out of the workspace,
// and only by luck would a test detect that.
func TestWorkspaceGoesThroughItsRoot(t *testing.T) {
	allowed := []string{"OpenRoot", "SameFile"}
	for _, file := range []string{"../workspace/workspace.go", "../workspace/parts.go", "../workspace/textfile.go", "../input.go", "../inputparts.go", "patchwrite.go", "edit.go", "glob.go", "list.go", "patch.go", "read.go", "write.go"} {
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			if f, ok := call.Fun.(*ast.SelectorExpr); ok {
				if of, ok := f.X.(*ast.Ident); ok && of.Name == "os" && !slices.Contains(allowed, f.Sel.Name) {
					t.Errorf("%s calls os.%s", file, f.Sel.Name)
				}
			}
			return true
		})
	}
}
