// SPDX-License-Identifier: Apache-2.0

// The pluginpack command builds kubectl-motor for every platform, packs each program with the licence, and writes the manifest for krew, which
// names the archives and their sums. The same source makes the same archives.
package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"

	"motorcortex.dev/motorcortex"
)

// manifest is the template of the manifest, and the name of what is made of it.
const manifest = "config/krew/motor.yaml"

// platform is one that the plugin is built for.
type platform struct{ os, arch string }

var platforms = []platform{{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}, {"windows", "amd64"}}

// archive is the name of the platform's archive.
func (p platform) archive() string { return "kubectl-motor_" + p.os + "_" + p.arch + ".tar.gz" }

// program is the name of the program in it.
func (p platform) program() string {
	if p.os == "windows" {
		return "kubectl-motor.exe"
	}
	return "kubectl-motor"
}

// variable is what the sum of the archive is called in the manifest.
func (p platform) variable() string { return strings.ToUpper("SHA256_" + p.os + "_" + p.arch) }

func main() {
	out := flag.String("o", "dist/plugin", "folder to write")
	base := flag.String("url", "", "address below which the archives will be published")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, *out, *base)
	stop()
	if err != nil {
		slog.Error("the plugin cannot be packed", "error", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out, base string) error {
	if u, err := url.Parse(base); err != nil || u.Scheme != "https" || u.Host == "" {
		return fmt.Errorf("-url %q is no address that begins with https://: say below which one the archives will be published", base)
	}
	template, err := os.ReadFile(manifest)
	if err != nil {
		return err
	}
	licence, err := os.ReadFile("LICENSE")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	values := map[string]string{"VERSION": motorcortex.Version(), "URL": strings.TrimSuffix(base, "/")}
	for _, p := range platforms {
		program, err := build(ctx, p)
		if err != nil {
			return fmt.Errorf("build for %s/%s: %w", p.os, p.arch, err)
		}
		packed, err := pack(p, program, licence)
		if err != nil {
			return err
		}
		path := filepath.Join(out, p.archive())
		if err := os.WriteFile(path, packed, 0o644); err != nil {
			return err
		}
		sum := sha256.Sum256(packed)
		values[p.variable()] = hex.EncodeToString(sum[:])
		fmt.Println(path)
	}
	filled, err := fill(string(template), values)
	if err != nil {
		return err
	}
	path := filepath.Join(out, filepath.Base(manifest))
	fmt.Println(path)
	return os.WriteFile(path, []byte(filled), 0o644)
}

// build returns the program for a platform.
func build(ctx context.Context, p platform) (program []byte, err error) {
	dir, err := os.MkdirTemp("", "kubectl-motor-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	file := filepath.Join(dir, p.program())
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", file, "./cmd/kubectl-motor")
	cmd.Env = append(os.Environ(), "GOOS="+p.os, "GOARCH="+p.arch, "CGO_ENABLED=0")
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return nil, err
	}
	return os.ReadFile(file)
}

// pack makes the archive of a platform. It has no times and no owners.
func pack(p platform, program, licence []byte) ([]byte, error) {
	var b bytes.Buffer
	zipped := gzip.NewWriter(&b)
	archive := tar.NewWriter(zipped)
	for _, f := range []struct {
		name    string
		mode    int64
		content []byte
	}{{p.program(), 0o755, program}, {"LICENSE", 0o644, licence}} {
		if err := archive.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: f.name, Mode: f.mode, Size: int64(len(f.content))}); err != nil {
			return nil, err
		}
		if _, err := archive.Write(f.content); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(archive.Close(), zipped.Close()); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// fill puts the values of variables into a template. A variable without a value is an error, and so is a value that no variable is for. Only ${NAME} is
// a variable: the manifest has commands for a shell.
func fill(template string, values map[string]string) (string, error) {
	used := map[string]bool{}
	var filled strings.Builder
	for rest := template; ; {
		before, after, found := strings.Cut(rest, "${")
		filled.WriteString(before)
		if !found {
			break
		}
		name, next, closed := strings.Cut(after, "}")
		value, known := values[name]
		if !closed || !known {
			return "", fmt.Errorf("%s: nothing is known for the variable ${%s", manifest, strings.SplitN(after, "\n", 2)[0])
		}
		used[name] = true
		filled.WriteString(value)
		rest = next
	}
	for name := range values {
		if !used[name] {
			return "", fmt.Errorf("%s does not have the variable ${%s}", manifest, name)
		}
	}
	return filled.String(), nil
}
