// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"motorcortex.dev/motorcortex/hack/devcluster/internal/ociimage"
	"motorcortex.dev/motorcortex/hack/devcluster/internal/progress"
)

func TestParsePackages(t *testing.T) {
	got := parsePackages("# a comment\n\nnodejs\n  git # with a reason\ncurl")
	if diff := cmp.Diff([]string{"nodejs", "git", "curl"}, got); diff != "" {
		t.Errorf("parsePackages() (-want +got):\n%s", diff)
	}
}

func TestSandboxHasWhatTheToolsNeed(t *testing.T) {
	content, err := os.ReadFile("sandbox.packages")
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Join(parsePackages(string(content)), " ") + " "
	for _, needed := range []string{"nodejs", "python3", "bash", "git", "jq", "ripgrep", "curl", "patch", "ca-certificates", "npm", "python3-pip", "python3-pytest", "make"} {
		if !strings.Contains(" "+all, " "+needed+" ") {
			t.Errorf("%s is missing", needed)
		}
	}
}

// TestDockerfileRemovesTheSame keeps the two ways to build the sandbox together.
func TestDockerfileRemovesTheSame(t *testing.T) {
	content, err := os.ReadFile("Dockerfile.sandbox")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range unwanted {
		if path != "/usr/share/doc/*" && !strings.Contains(string(content), path) {
			t.Errorf("Dockerfile.sandbox keeps %s", path)
		}
	}
	for _, command := range []string{compilePython, linkPackages} {
		if !strings.Contains(string(content), command) {
			t.Errorf("Dockerfile.sandbox does not run %s", command)
		}
	}
	if !strings.Contains(string(content), "sandbox.packages") || !strings.Contains(string(content), "debian:"+suite) {
		t.Error("Dockerfile.sandbox does not use the same packages and release")
	}
}

func TestChoose(t *testing.T) {
	cases := map[string]struct {
		names []string
		want  []string
		bad   bool
	}{
		"all":     {want: []string{"manager", "egressproxy", "mcpserver", "pageserver", "modelserver", "oidcissuer", "sandbox"}},
		"one":     {names: []string{"sandbox"}, want: []string{"sandbox"}},
		"variant": {names: []string{"manager-faults"}, want: []string{"manager-faults"}},
		"server":  {names: []string{"s3server"}, want: []string{"s3server"}},
		"unknown": {names: []string{"sandbox", "nothing"}, bad: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			chosen, err := choose(table, tc.names)
			if (err != nil) != tc.bad {
				t.Fatalf("choose() = %v", err)
			}
			var got []string
			for _, d := range chosen {
				got = append(got, d.Name)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("choose() (-want +got):\n%s", diff)
			}
		})
	}
}

// A program that is larger than it may be is no image.
func TestAProgramIsNotTooLarge(t *testing.T) {
	program := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(program, make([]byte, 2<<20+1), 0o600); err != nil {
		t.Fatal(err)
	}
	for most, want := range map[int64]string{0: "", 3: "", 2: "the program of p has 2 MiB and may have 2"} {
		err := definition{Name: "p", Most: most}.checkSize(program)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("with %d MiB: %v", most, err)
		}
	}
	if err := (definition{Name: "p", Most: 1}).checkSize(program + ".none"); err == nil {
		t.Error("a program that is not there has no size")
	}
}

// Both ways to build the operator's programs leave out the same. A program of others is built as they say.
func TestTagsOfPrograms(t *testing.T) {
	content, err := os.ReadFile("Dockerfile.static")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		d    definition
		want string
	}{{definition{}, "grpcnotrace"}, {definition{Tags: "faults"}, "faults,grpcnotrace"}, {definition{Module: "test/stores"}, ""}} {
		if got := tt.d.tags(); got != tt.want {
			t.Errorf("%+v has the tags %q, want %q", tt.d, got, tt.want)
		}
	}
	if !strings.Contains(string(content), "-tags="+definition{}.tags()+" ") {
		t.Error("Dockerfile.static builds with other tags")
	}
}

func TestReplacePackages(t *testing.T) {
	changed, err := replacePackages(table, []string{"manager=./other/manager"})
	if err != nil || changed[0].Package != "./other/manager" || table[0].Package != "./cmd/manager" {
		t.Errorf("replacePackages() = %+v, %v", changed, err)
	}
	for _, bad := range []string{"manager", "manager=", "nothing=./x"} {
		if _, err := replacePackages(table, []string{bad}); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

func TestPushReference(t *testing.T) {
	got := pushReference("registry.example.com:5000/team/", "manager", "motorcortex.dev/manager:dev-0123456789ab")
	if want := "registry.example.com:5000/team/manager:dev-0123456789ab"; got != want {
		t.Errorf("pushReference() = %s, want %s", got, want)
	}
}

func TestStaticImageIsTheSameEachTime(t *testing.T) {
	build := func(changed time.Time) string {
		t.Helper()
		dir := t.TempDir()
		for _, name := range []string{"program", "trust"} {
			file := filepath.Join(dir, name)
			if err := os.WriteFile(file, []byte(name), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(file, changed, changed); err != nil {
				t.Fatal(err)
			}
		}
		img, err := staticImage("/manager", filepath.Join(dir, "program"), filepath.Join(dir, "trust"))
		if err != nil {
			t.Fatal(err)
		}
		reference, err := ociimage.Reference("manager", img)
		if err != nil {
			t.Fatal(err)
		}
		config, err := img.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		if config.Config.User != "65532:65532" || config.Config.Entrypoint[0] != "/manager" {
			t.Errorf("it runs %v as %s", config.Config.Entrypoint, config.Config.User)
		}
		return reference
	}
	if first, second := build(time.Now()), build(time.Now().Add(time.Hour)); first != second {
		t.Errorf("built twice: %s and %s", first, second)
	}
}

func TestNothingIsDoneWhenNothingChanged(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "program")
	if err := os.WriteFile(program, []byte("program"), 0o600); err != nil {
		t.Fatal(err)
	}
	b := &builder{output: filepath.Join(dir, "out"), trust: program, out: progress.New(io.Discard)}
	d := definition{Name: "manager"}
	var references []string
	packed := 0
	build := func() {
		t.Helper()
		result, err := b.assemble(d, []string{program}, func() (v1.Image, error) {
			packed++
			return staticImage("/manager", program, program)
		})
		if err != nil {
			t.Fatal(err)
		}
		references = append(references, result.Reference)
	}
	build()
	build()
	if packed != 1 || references[0] != references[1] {
		t.Errorf("packed %d times as %v, want once", packed, references)
	}
	if err := os.Remove(b.archive(d.Name)); err != nil {
		t.Fatal(err)
	}
	build()
	if packed != 2 {
		t.Error("a lost archive was not made again")
	}
	if err := os.WriteFile(program, []byte("changed"), 0o600); err != nil {
		t.Fatal(err)
	}
	build()
	if packed != 3 || references[3] == references[0] {
		t.Errorf("a changed program was not packed: %v", references)
	}
	if err := b.writeEnvironment([]definition{d, {Name: "sandbox"}}); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(filepath.Join(b.output, "images.env"))
	if want := "MANAGER_IMAGE=" + references[3] + "\n"; err != nil || string(content) != want {
		t.Errorf("images.env is %q, %v; want %q", content, err, want)
	}
}

func TestMissingSource(t *testing.T) {
	b := &builder{product: t.TempDir(), out: progress.New(io.Discard)}
	if _, err := b.compile(t.Context(), definition{Name: "x", Package: "./cmd/x"}); !errors.Is(err, errNoSource) {
		t.Errorf("compile() = %v, want %v", err, errNoSource)
	}
}

func TestNormalise(t *testing.T) {
	dir := t.TempDir()
	from, to := filepath.Join(dir, "from.tar"), filepath.Join(dir, "to.tar")
	out, err := os.Create(from)
	if err != nil {
		t.Fatal(err)
	}
	writer := tar.NewWriter(out)
	for _, header := range []*tar.Header{
		{Name: "./dev/", Typeflag: tar.TypeDir, Mode: 0o755},
		{Name: "./dev/null", Typeflag: tar.TypeChar},
		{Name: "./etc/hello", Typeflag: tar.TypeReg, Mode: 0o644, Size: 5, ModTime: time.Now(), Uname: "somebody"},
		{Name: "./etc/link", Typeflag: tar.TypeSymlink, Linkname: "hello"},
	} {
		if err := writer.WriteHeader(header); err != nil {
			t.Fatal(err)
		}
		if header.Size > 0 {
			if _, err := io.WriteString(writer, "hello"); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := errors.Join(writer.Close(), out.Close(), normalise(from, to)); err != nil {
		t.Fatal(err)
	}
	in, err := os.Open(to)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close() }()
	var names []string
	for reader := tar.NewReader(in); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, header.Name)
		if header.Uname != "" || header.ModTime.Unix() != 1 {
			t.Errorf("%s is of %q and %s", header.Name, header.Uname, header.ModTime)
		}
	}
	if diff := cmp.Diff([]string{"./dev/", "./etc/hello", "./etc/link"}, names); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}
