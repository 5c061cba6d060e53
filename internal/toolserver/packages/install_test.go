// SPDX-License-Identifier: Apache-2.0

//go:build linux

package packages

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolserver/tool"
	"motorcortex.dev/motorcortex/test/packageindex"
)

// needs skips a test if a program does not run on this machine.
func needs(t *testing.T, program string, args ...string) {
	t.Helper()
	if err := exec.CommandContext(t.Context(), program, args...).Run(); err != nil {
		t.Skipf("%s %s does not run on this machine (%v); the tests of the cluster install packages in the image too", program, strings.Join(args, " "), err)
	}
}

// install installs packages, and returns the content that a Pod has of them after unpacking.
func (s *sandbox) install(args toolapi.InstallArgs) (toolapi.Result, toolapi.InstallResult, unpacking) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 5*time.Minute)
	s.t.Cleanup(cancel)
	r := s.call(ctx, toolapi.ToolInstall, args)
	if _, err := os.Stat(s.workspace + "/" + installDir); !os.IsNotExist(err) {
		s.t.Errorf("the folder of the installation is still there: %v", err)
	}
	var done toolapi.InstallResult
	if !r.OK {
		return r, done, unpacking{}
	}
	if err := json.Unmarshal([]byte(r.Output), &done); err != nil {
		s.t.Fatal(err)
	}
	archive := []byte(s.content(toolapi.InstallArchive))
	if int64(len(archive)) != done.Size {
		s.t.Errorf("the archive has %d bytes, and is told to have %d", len(archive), done.Size)
	}
	u := newUnpacking(s.t, archive)
	var said bytes.Buffer
	if code := Unpack([]string{"--sha256", done.SHA256, u.from, u.to}, &said); code != 0 {
		s.t.Fatalf("status %d: %s", code, &said)
	}
	return r, done, u
}

func testIndex(t *testing.T) string {
	t.Helper()
	const mark = `touch "$HOME/../../../ran" ran "$TMPDIR/../../../ran"`
	server := httptest.NewServer(packageindex.New(
		[]packageindex.Package{
			{
				Name: "tiny-wheel", Version: "1.2", Files: map[string]string{"tiny_wheel.py": "import other\nvalue = other.value + 1\ndef main(): print(value)\n"},
				Needs: map[string]string{"other": "3"}, Programs: map[string]string{"tiny-wheel": "tiny_wheel:main"},
			},
			{Name: "other", Version: "3", Files: map[string]string{"other.py": "value = 41\n"}},
		},
		[]packageindex.Package{
			{
				Name: "tiny", Version: "1.0.0", Needs: map[string]string{"@scope/part": "2.0.0"}, Programs: map[string]string{"tiny": "cli.js"},
				Files: map[string]string{"index.js": "module.exports = require('@scope/part') + 1\n", "cli.js": "#!/usr/bin/env node\nconsole.log(require('.'))\n"},
			},
			{Name: "@scope/part", Version: "2.0.0", Files: map[string]string{
				"index.js":     "module.exports = 41\n",
				"package.json": `{"scripts": {"preinstall": ` + quoted(mark) + `, "install": ` + quoted(mark) + `, "postinstall": ` + quoted(mark) + `}}`,
			}},
			{Name: "from-git", Version: "1.0.0", Needs: map[string]string{"part": "git+https://git.example.org/part.git"}},
			{Name: "from-file", Version: "1.0.0", Needs: map[string]string{"part": "file:/etc"}},
			{Name: "large", Version: "1.0.0", Files: map[string]string{"x": noise(toolapi.MaxPackedBytes + 1<<20)}},
		}, nil))
	t.Cleanup(server.Close)
	return server.URL
}

func quoted(s string) string { b, _ := json.Marshal(s); return string(b) }

func TestInstall(t *testing.T) {
	needs(t, "npm", "--version")
	needs(t, "python3", "-m", "pip", "--version")
	address, s := testIndex(t), installing(t)
	s.start()
	args := toolapi.InstallArgs{
		NPM: []string{"tiny@1.0.0"}, NPMRegistry: address + "/npm", Pip: []string{"tiny-wheel==1.2"}, PipIndex: address + "/simple",
	}
	r, done, u := s.install(args)
	if !r.OK {
		t.Fatalf("%+v", r)
	}
	want := []string{"npm @scope/part@2.0.0", "npm tiny@1.0.0", "pip other@3", "pip tiny_wheel@1.2"}
	if diff := cmp.Diff(want, done.Packages); diff != "" {
		t.Errorf("packages (-want +got):\n%s", diff)
	}
	if s.content("ran") != "" || slices.ContainsFunc([]string{s.workspace, s.workspace + "/.motor"}, func(dir string) bool { return isFile(dir + "/ran") }) {
		t.Error("a script of a package was run")
	}
	_, again, _ := s.install(args)
	if again.SHA256 != done.SHA256 {
		t.Errorf("the same packages are %s and %s", done.SHA256, again.SHA256)
	}

	// A Pod that has them can use them.
	s.stop()
	user := installing(t)
	user.packages = u.to
	user.start()
	for command, want := range map[string]string{
		"node -p \"require('tiny')\"": "42\n", "python3 -c 'import tiny_wheel; print(tiny_wheel.value)'": "42\n", "tiny": "42\n", "tiny-wheel": "42\n",
	} {
		if r := user.bash(command); r.Output != want {
			t.Errorf("%s: %+v", command, r)
		}
	}
	if r := user.run(toolapi.ToolCode, toolapi.CodeArgs{Language: toolapi.LanguageJavaScript, Source: "require('tiny')"}); !strings.Contains(r.Output, "42") {
		t.Errorf("%+v", r)
	}
}

func TestInstallFails(t *testing.T) {
	needs(t, "npm", "--version")
	needs(t, "python3", "-m", "pip", "--version")
	address, s := testIndex(t), installing(t)
	s.start()
	npm := func(names ...string) toolapi.InstallArgs {
		return toolapi.InstallArgs{NPM: names, NPMRegistry: address + "/npm"}
	}
	pip := func(names ...string) toolapi.InstallArgs {
		return toolapi.InstallArgs{Pip: names, PipIndex: address + "/simple"}
	}
	for name, tt := range map[string]struct {
		args toolapi.InstallArgs
		code string
		says string
	}{
		"nothing":           {toolapi.InstallArgs{}, toolapi.CodeInvalidArguments, "nothing to install"},
		"no registry":       {toolapi.InstallArgs{NPM: []string{"tiny@1.0.0"}}, toolapi.CodeInvalidArguments, "npm has packages, and no address"},
		"an option":         {npm("--scripts-prepend-node-path"), toolapi.CodeInvalidArguments, "is no package"},
		"two lines":         {pip("a==1\nb==2"), toolapi.CodeInvalidArguments, "is no package"},
		"unknown to npm":    {npm("missing@1.0.0"), toolapi.CodeInstallFailed, "missing"},
		"other version":     {npm("tiny@2.0.0"), toolapi.CodeInstallFailed, "No matching version found for tiny@2.0.0"},
		"unknown to pip":    {pip("missing==1"), toolapi.CodeInstallFailed, "No matching distribution found for missing==1"},
		"no such registry":  {toolapi.InstallArgs{NPM: []string{"tiny@1.0.0"}, NPMRegistry: address + "/none"}, toolapi.CodeInstallFailed, "404"},
		"out of Git":        {npm("from-git@1.0.0"), toolapi.CodeInstallFailed, "git"},
		"more than it may":  {npm("large@1.0.0"), toolapi.CodeInstallTooLarge, "compressed they have more than 20 MiB"},
		"some field beside": {toolapi.InstallArgs{Apt: []string{"x=1"}, AptSource: "\nhttp://x"}, toolapi.CodeInvalidArguments, "apt has packages"},
	} {
		if r, _, _ := s.install(tt.args); r.OK || r.ErrorCode != tt.code || !strings.Contains(r.Output, tt.says) || len(r.Output) > 2*maxWhy {
			t.Errorf("%s: %+v", name, r)
		}
		if isFile(s.workspace + "/" + toolapi.InstallArchive) {
			t.Errorf("%s: there is an archive", name)
		}
	}
	// A link to a folder of the machine is not packed, and not followed.
	if r, _, u := s.install(npm("from-file@1.0.0")); r.OK && isFile(u.to+"/node_modules/part/passwd") {
		t.Errorf("%+v", r)
	}
}

func TestInstallWithoutPrograms(t *testing.T) {
	s := stoppedSandbox(t)
	s.path = t.TempDir()
	s.start()
	for _, args := range []toolapi.InstallArgs{
		{NPM: []string{"a@1.0.0"}, NPMRegistry: "https://npm.example.org"}, {Pip: []string{"a==1"}, PipIndex: "https://pip.example.org"},
		{Apt: []string{"a=1"}, AptSource: "https://deb.example.org trixie main"},
	} {
		if r, _, _ := s.install(args); r.ErrorCode != toolapi.CodeInstallFailed || !strings.Contains(r.Output, "The sandbox's image has no ") {
			t.Errorf("%+v", r)
		}
	}
}

// An installation ends with its call, and with the server.
func TestInstallCancelled(t *testing.T) {
	s := installing(t)
	programs := t.TempDir()
	s.path = programs + ":" + s.path
	if err := os.WriteFile(programs+"/npm", []byte("#!/bin/bash\ntouch begun\nexec sleep 1000\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	s.start()
	ctx, cancel := context.WithCancelCause(testContext(t))
	ended := make(chan toolapi.Result, 1)
	go func() {
		ended <- s.call(ctx, toolapi.ToolInstall, toolapi.InstallArgs{NPM: []string{"a@1.0.0"}, NPMRegistry: "https://npm.example.org"})
	}()
	await(t, "npm runs", func() bool { return isFile(s.workspace + "/" + installDir + "/out/begun") })
	cancel(tool.ErrCancelled)
	if r := <-ended; r.ErrorCode != toolapi.CodeCancelled {
		t.Errorf("%+v", r)
	}
	if left := marked(t, programs); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
}

func TestWhyFailed(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ log, want string }{
		"npm": {
			"npm warn x\nnpm error code E404\nnpm error 404 Not Found\nnpm error\nnpm error A complete log of this run can be found in: x\n",
			"npm error code E404\nnpm error 404 Not Found",
		},
		"pip":  {"Looking in indexes\nERROR: No matching distribution\n", "ERROR: No matching distribution"},
		"apt":  {"Reading\nE: Version '9' for 'jq' was not found\n", "E: Version '9' for 'jq' was not found"},
		"none": {"something\nelse\n", "something\nelse\n"},
		"long": {strings.Repeat("é", 2000), strings.Repeat("é", maxWhy/2)},
	} {
		if got := whyFailed(tt.log); got != tt.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}
