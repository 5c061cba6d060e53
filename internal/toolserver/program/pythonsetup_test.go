// SPDX-License-Identifier: Apache-2.0

//go:build linux

package program

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/internal/toolapi"
)

// pythonPackage puts modules into the packages of a sandbox, of pip and of apt.
func pythonPackage(t *testing.T, s *sandbox) {
	t.Helper()
	s.packages = t.TempDir()
	for folder, modules := range map[string][]string{
		toolapi.PackagesPip: {"json", "ssl", "of_pip", "pip", "sitecustomize", "usercustomize"},
		toolapi.PackagesApt + "/usr/lib/python3/dist-packages": {"json", "of_apt"},
	} {
		dir := filepath.Join(s.packages, folder)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for _, name := range modules {
			if err := os.WriteFile(filepath.Join(dir, name+".py"), []byte("print(\"the package's "+name+"\")\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// pythons are the interpreters of the machine: that of the path, and that of the distribution, which has a setup of its own.
func pythons(t *testing.T) []string {
	t.Helper()
	all := []string{"python3"}
	if _, err := os.Stat("/usr/bin/python3"); err == nil {
		all = append(all, "/usr/bin/python3")
	}
	return all
}

// A package that brings a module under the name of one of the standard library does not shadow it. Its others are found, before those
// of the image: pip is of the image, and not of the standard library.
func TestTheStandardLibraryComesBeforePackages(t *testing.T) {
	const program = "import json, ssl, of_pip, of_apt, pip; print(json.dumps([ssl.OPENSSL_VERSION_INFO[0]])[0])"
	const want = "the package's of_pip\nthe package's of_apt\nthe package's pip\n[\n"
	for _, python := range pythons(t) {
		t.Run(strings.ReplaceAll(python, "/", "_"), func(t *testing.T) {
			s := stoppedSandbox(t)
			pythonPackage(t, s)
			s.start()
			if r := s.bash(python + " -c '" + program + "'"); r.Output != want {
				t.Errorf("a program: %q", r.Output)
			}
			s.write("folder/script.py", program)
			if r := s.bash("cd / && " + python + " " + s.workspace + "/folder/script.py"); r.Output != want {
				t.Errorf("a script: %q", r.Output)
			}
			if r := s.bash(python + " -m venv --without-pip v && v/bin/python -c '" + program + "'"); r.Output != want {
				t.Errorf("in a virtual environment: %q", r.Output)
			}
			if r := s.bash(python + " -I -c 'import json, ssl; print(json.dumps([]))'"); r.Output != "[]\n" {
				t.Errorf("isolated: %q", r.Output)
			}
			if r := s.bash("rm -rf $TMPDIR/* $TMPDIR/.[a-z]*"); !r.OK {
				t.Errorf("%+v", r)
			}
			if r := s.bash(python + " -c '" + program + "'"); r.Output != want {
				t.Errorf("after the temporary files were removed: %q", r.Output)
			}
		})
	}
	s := stoppedSandbox(t)
	pythonPackage(t, s)
	s.start()
	if r := s.run(toolapi.ToolCode, toolapi.CodeArgs{Language: toolapi.LanguagePython, Source: program}); r.Output != want {
		t.Errorf("the tool code: %q", r.Output)
	}
	p := s.programs
	if got := p.ServerVariables("server"); !slices.Contains(got, "PYTHONPATH="+filepath.Join(p.Egress.Temp.Dir, pythonSetupDir)+":"+s.workspace) {
		t.Errorf("the program of an MCP server has %q", got)
	}
}

// A run may have modules of its own that Python imports when it starts. They are run, and those of packages are not.
func TestModulesThatPythonImportsByItself(t *testing.T) {
	s := stoppedSandbox(t)
	pythonPackage(t, s)
	s.start()
	s.write("sitecustomize.py", "import json; print('site')\n")
	s.write("usercustomize.py", "import sys; sys.path.append('/added'); print('user')\n")
	if r := s.bash("python3 -c 'import sys, of_pip; print(sys.path.count(\"/added\"))'"); r.Output != "site\nuser\nthe package's of_pip\n1\n" {
		t.Errorf("%q", r.Output)
	}
	s.write("sitecustomize.py", "import missing\n")
	if r := s.bash("python3 -c 'import of_pip'"); !strings.Contains(r.Output, "missing") || !strings.Contains(r.Output, "the package's of_pip") {
		t.Errorf("one that fails: %q", r.Output)
	}
}

func TestWithoutPythonPackagesNothingIsSetUp(t *testing.T) {
	s := newSandbox(t)
	if r := s.bash("echo $PYTHONPATH; ls -a $TMPDIR/.motor/python"); !strings.HasPrefix(r.Output, s.workspace+"\n") || r.OK {
		t.Errorf("%+v", r)
	}
}
