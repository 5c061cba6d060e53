// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"motorcortex.dev/motorcortex/hack/devcluster/internal/component"
	"motorcortex.dev/motorcortex/hack/devcluster/internal/debian"
	"motorcortex.dev/motorcortex/hack/devcluster/internal/ociimage"
)

// suite is the Debian release of the sandbox: its Node.js and Python are those that runs are written
// for.
const suite = "trixie"

// unwanted is what a sandbox has no use for. Dockerfile.sandbox removes the same.
var unwanted = []string{
	"/usr/share/man/*", "/usr/share/info/*", "/usr/share/doc/*", "/usr/share/locale/*", "/usr/share/lintian/*",
	"/usr/share/bash-completion/*", "/usr/share/bug/*",
}

// sandboxImage puts the tool server and an empty workspace on top of a root file system.
func sandboxImage(base v1.Layer, toolServer string) (v1.Image, error) {
	tools, err := ociimage.Layer(
		ociimage.Entry{Path: "/usr/local/bin/toolserver", Mode: 0o755, From: toolServer},
		ociimage.Entry{Path: "/workspace/", Mode: 0o755, Owner: ociimage.Nonroot},
	)
	if err != nil {
		return nil, err
	}
	return ociimage.New(v1.Config{
		Entrypoint: []string{"/usr/local/bin/toolserver"}, User: user(), WorkingDir: "/workspace",
		Env: []string{
			"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/workspace", "LANG=C.UTF-8",
		},
	}, base, tools)
}

// rootFS returns the layer with the sandbox's root file system. It is made once for each list of
// packages and kept, since it takes most of a minute; deleting the file gets newer package versions.
func (b *builder) rootFS(ctx context.Context) (ociimage.StoredLayer, error) {
	content, err := os.ReadFile(filepath.Join(b.recipes, "sandbox.packages"))
	if err != nil {
		return ociimage.StoredLayer{}, err
	}
	packages := parsePackages(string(content))
	base := filepath.Join(b.cache, "rootfs-"+rootFSKey(packages))
	if layer, err := storedLayer(base); err == nil {
		return layer, nil
	}
	if err := debian.Install(ctx, b.out, debian.RootFS()); err != nil {
		return ociimage.StoredLayer{}, err
	}
	if err := os.MkdirAll(b.cache, 0o755); err != nil {
		return ociimage.StoredLayer{}, err
	}
	what := fmt.Sprintf("making a Debian %s root file system with %d packages", suite, len(packages))
	if err := b.out.During(what, func() error { return b.bootstrap(ctx, packages, base) }); err != nil {
		return ociimage.StoredLayer{}, err
	}
	return storedLayer(base)
}

// storedLayer reads the description of a layer, which is written after the layer is complete.
func storedLayer(base string) (ociimage.StoredLayer, error) {
	layer := ociimage.StoredLayer{File: base + ".tar.gz"}
	content, err := os.ReadFile(base + ".json")
	if err != nil {
		return layer, err
	}
	if err := json.Unmarshal(content, &layer); err != nil {
		return layer, err
	}
	info, err := os.Stat(layer.File)
	if err == nil && info.Size() != layer.Length {
		err = fmt.Errorf("%s is not the file that was described", layer.File)
	}
	return layer, err
}

// parsePackages reads a list with one package a line and comments after "#".
func parsePackages(text string) []string {
	var packages []string
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		packages = append(packages, strings.Fields(line)...)
	}
	return packages
}

// rootFSKey covers what decides about a root file system's content, but for the time it is made.
func rootFSKey(packages []string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %s %q %q %q", recipe, suite, packages, unwanted, setup))
	return hex.EncodeToString(sum[:])[:12]
}

// linkPackages has import of Node.js find the packages of skills, for which it takes no variable. It is in Dockerfile.sandbox too.
const linkPackages = "ln -s packages/node_modules /node_modules"

// compilePython is in Dockerfile.sandbox too.
const compilePython = "python3 -m compileall -q --invalidation-mode unchecked-hash /usr/lib/python3 /usr/lib/python3.*"

// setup runs at the end, with the root file system as $1. What differs from one build to the next
// goes, so that equal packages make equal images.
var setup = []string{
	`echo "nonroot:x:65532:65532:nonroot:/workspace:/bin/bash" >> "$1/etc/passwd"`,
	`echo "nonroot:x:65532:" >> "$1/etc/group"`,
	`rm -rf "$1"/var/lib/apt/lists/* "$1"/var/cache/* "$1"/var/log/* "$1"/tmp/* "$1"/run/*`,
	`rm -f "$1/etc/machine-id" "$1/etc/hostname" "$1/etc/resolv.conf" "$1/etc/passwd-" "$1/etc/group-" "$1/etc/shadow-"`,
	// Python reads its library five times as fast when it is compiled, and cannot compile it itself in a
	// read-only container. By default compiled files are only good for sources of one exact time.
	`find "$1/usr" -name __pycache__ -prune -exec rm -rf {} +`,
	`chroot "$1" sh -c "` + compilePython + `"`,
	`chroot "$1" sh -c "` + linkPackages + `"`,
}

func (b *builder) bootstrap(ctx context.Context, packages []string, base string) error {
	temporary, err := os.MkdirTemp(b.cache, "rootfs-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(temporary) }()
	raw := filepath.Join(temporary, "raw.tar")
	args := []string{"--variant=minbase", "--include=" + strings.Join(packages, ",")}
	for _, pattern := range unwanted {
		args = append(args, "--dpkgopt=path-exclude="+pattern)
	}
	// Licences have to stay with what they are for.
	args = append(args, "--dpkgopt=path-include=/usr/share/doc/*/copyright")
	for _, hook := range setup {
		args = append(args, "--customize-hook="+hook)
	}
	cmd := exec.CommandContext(ctx, "mmdebstrap", append(args, suite, raw)...)
	cmd.Env = append(os.Environ(), "SOURCE_DATE_EPOCH=1", "LC_ALL=C")
	component.KillGroup(cmd)
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Run(); err != nil {
		lines := strings.Split(strings.TrimSpace(output.String()), "\n")
		return fmt.Errorf("mmdebstrap: %w\n%s", err, strings.Join(lines[max(0, len(lines)-20):], "\n"))
	}
	clean := filepath.Join(temporary, "clean.tar")
	if err := normalise(raw, clean); err != nil {
		return err
	}
	packed := filepath.Join(temporary, "packed.tar.gz")
	layer, err := ociimage.StoreLayer(clean, packed)
	if err != nil {
		return err
	}
	description, err := json.Marshal(layer)
	if err != nil {
		return err
	}
	if err := os.Rename(packed, base+".tar.gz"); err != nil {
		return err
	}
	return os.WriteFile(base+".json", description, 0o644)
}

// normalise copies a root file system's archive and takes out what has no meaning in an image: times,
// names of owners, and device files, which a container gets from its runtime.
func normalise(from, to string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	reader, writer := tar.NewReader(in), tar.NewWriter(out)
	for {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return writer.Close()
		}
		if err != nil {
			return err
		}
		if strings.HasPrefix(path.Clean(header.Name), "dev/") {
			continue
		}
		if err := writer.WriteHeader(ociimage.Timeless(header)); err != nil {
			return err
		}
		if _, err := io.Copy(writer, reader); err != nil {
			return err
		}
	}
}
