// SPDX-License-Identifier: Apache-2.0

package component

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"motorcortex.dev/motorcortex/hack/devcluster/internal/progress"
)

// Build makes the named programs, or all, as far as they are missing. Each appears under its name
// only when it is complete, so a build that was killed is simply continued.
func (s *Store) Build(ctx context.Context, out *progress.Printer, names ...string) error {
	missing, err := s.Missing(names...)
	if err != nil || len(missing) == 0 {
		return err
	}
	if _, err := exec.LookPath("go"); err != nil {
		return fmt.Errorf("the cluster's programs are built from source: %w", err)
	}
	if err := os.MkdirAll(s.Bin, 0o755); err != nil {
		return err
	}
	if err := s.removeLitter(time.Now()); err != nil {
		return err
	}
	out.Printf("%d programs to build into %s; the first time takes about a quarter of an hour on two cores",
		len(missing), s.Bin)
	for i, program := range missing {
		what := fmt.Sprintf("building %s (%d of %d)", program.Name, i+1, len(missing))
		if err := out.During(what, func() error { return s.build(ctx, program) }); err != nil {
			return err
		}
	}
	return nil
}

// removeLitter deletes what builds that were killed have left. A young folder may be in use by another
// command.
func (s *Store) removeLitter(now time.Time) error {
	litter, err := filepath.Glob(filepath.Join(s.Dir, "build-*"))
	if err != nil {
		return err
	}
	for _, dir := range litter {
		if info, err := os.Stat(dir); err == nil && now.Sub(info.ModTime()) > 2*time.Hour {
			if err := os.RemoveAll(dir); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *Store) build(ctx context.Context, program Program) error {
	temporary, err := os.MkdirTemp(s.Dir, "build-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(temporary) }()
	result := filepath.Join(temporary, program.Name)
	// Every setting that decides about the result is given here, where it overrides GOFLAGS.
	cmd := exec.CommandContext(ctx, "go", "build", "-mod=readonly", "-trimpath", "-buildvcs=false",
		"-tags="+program.Tags, "-ldflags="+strings.TrimSpace("-s -w "+program.LinkFlags), "-o", result, program.Package)
	cmd.Dir = filepath.Join(s.Source, program.Dir)
	cmd.Env = BuildEnv(os.Environ(), program.CGO)
	// A cancelled build must not leave compilers behind: they get the signal, and a moment to obey.
	KillGroup(cmd)
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("build %s: %w\n%s", program.Name, err, lastLines(output.String(), 20))
	}
	return os.Rename(result, s.Path(program.Name))
}

// BuildEnv takes out of the caller's environment what would build something else than the pinned
// program for this machine, and keeps the rest: proxies, caches, and harmless GOFLAGS.
func BuildEnv(environ []string, cgo bool) []string {
	env := make([]string, 0, len(environ)+3)
	for _, setting := range environ {
		name, value, _ := strings.Cut(setting, "=")
		switch name {
		case "GOOS", "GOARCH", "GOWORK", "CGO_ENABLED", "GO111MODULE":
			continue
		case "GOFLAGS":
			setting = "GOFLAGS=" + safeFlags(value)
		}
		env = append(env, setting)
	}
	enabled := "0"
	if cgo {
		enabled = "1"
	}
	return append(env, "GOWORK=off", "CGO_ENABLED="+enabled)
}

// safeFlags drops flags that change what is built or that need another toolchain setup.
func safeFlags(flags string) string {
	breaking := []string{
		"mod", "modfile", "overlay", "tags", "ldflags", "gcflags", "asmflags", "race", "msan", "asan", "cover",
		"covermode", "coverpkg", "buildmode", "compiler", "linkshared", "toolexec", "trimpath", "o", "C", "n", "json",
	}
	kept := slices.DeleteFunc(strings.Fields(flags), func(flag string) bool {
		name, _, _ := strings.Cut(strings.TrimLeft(flag, "-"), "=")
		return slices.Contains(breaking, name)
	})
	return strings.Join(kept, " ")
}

func lastLines(text string, count int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-count):], "\n")
}
