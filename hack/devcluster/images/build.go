// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"motorcortex.dev/motorcortex/hack/devcluster/internal/component"
	"motorcortex.dev/motorcortex/hack/devcluster/internal/ociimage"
	"motorcortex.dev/motorcortex/hack/devcluster/internal/progress"
)

// recipe is raised when the way that images are put together changes, so that old ones are not taken
// for current.
const recipe = "2"

// builder knows where things are.
type builder struct {
	// product is the root of the repository, recipes the folder of this program's source.
	product, recipes string
	// cache holds root file systems, output the archives.
	cache, output string
	// trust is the machine's bundle of certificate authorities.
	trust string
	out   *progress.Printer
}

// built describes an archive. It is kept next to it, so that the next build knows what it was made of.
type built struct {
	Inputs    string `json:"inputs"`
	Reference string `json:"reference"`
	Archive   string `json:"-"`
}

// errNoSource says that the program of an image is not in this checkout.
var errNoSource = errors.New("its source is not there")

func (b *builder) buildAll(ctx context.Context, all []definition, names []string) error {
	chosen, err := choose(all, names)
	if err != nil {
		return err
	}
	for _, d := range chosen {
		result, err := b.build(ctx, d)
		if errors.Is(err, errNoSource) && len(names) == 0 {
			b.out.Printf("skipped image %s: %v", d.Name, err)
			continue
		}
		if err != nil {
			return fmt.Errorf("image %s: %w", d.Name, err)
		}
		fmt.Printf("%s=%s %s\n", d.Name, result.Reference, result.Archive)
	}
	return b.writeEnvironment(all)
}

// build makes one image, unless it exists with the same content.
func (b *builder) build(ctx context.Context, d definition) (built, error) {
	program, err := b.compile(ctx, d)
	if err != nil {
		return built{}, err
	}
	defer func() { _ = os.RemoveAll(filepath.Dir(program)) }()
	parts := []string{program, b.trust}
	if d.Sandbox {
		root, err := b.rootFS(ctx)
		if err != nil {
			return built{}, err
		}
		parts = []string{program}
		d.Package += " on " + root.Hash.String()
		return b.assemble(d, parts, func() (v1.Image, error) { return sandboxImage(root, program) })
	}
	return b.assemble(d, parts, func() (v1.Image, error) { return staticImage(d.path(), program, b.trust) })
}

// assemble writes the archive if one with these parts is not there yet.
func (b *builder) assemble(d definition, parts []string, put func() (v1.Image, error)) (built, error) {
	inputs, err := inputsKey(d, parts)
	if err != nil {
		return built{}, err
	}
	if known, err := b.known(d.Name); err == nil && known.Inputs == inputs {
		return known, nil
	}
	result := built{Inputs: inputs, Archive: b.archive(d.Name)}
	err = b.out.During("packing image "+d.Name, func() error {
		img, err := put()
		if err != nil {
			return err
		}
		if result.Reference, err = ociimage.Reference(d.Name, img); err != nil {
			return err
		}
		return ociimage.WriteArchive(result.Archive, result.Reference, img)
	})
	if err != nil {
		return built{}, err
	}
	content, err := json.Marshal(result)
	if err != nil {
		return built{}, err
	}
	return result, os.WriteFile(b.description(d.Name), content, 0o644)
}

func (b *builder) archive(name string) string     { return filepath.Join(b.output, name+".tar") }
func (b *builder) description(name string) string { return filepath.Join(b.output, name+".json") }

// known returns what was built before, if it is still there.
func (b *builder) known(name string) (built, error) {
	content, err := os.ReadFile(b.description(name))
	if err != nil {
		return built{}, err
	}
	var known built
	if err := json.Unmarshal(content, &known); err != nil {
		return built{}, err
	}
	known.Archive = b.archive(name)
	// A description without its archive, or with another one, describes nothing.
	reference, _, err := ociimage.ReadName(known.Archive)
	if err == nil && reference != known.Reference {
		err = errors.New("the archive is of another build")
	}
	return known, err
}

// inputsKey covers everything that an image is made of.
func inputsKey(d definition, parts []string) (string, error) {
	sum := sha256.New()
	_, _ = fmt.Fprintf(sum, "%s %+v %s\n", recipe, d, runtime.GOARCH) // a hash does not fail
	for _, part := range parts {
		content, err := os.ReadFile(part)
		if err != nil {
			return "", err
		}
		_, _ = fmt.Fprintf(sum, "%x\n", sha256.Sum256(content))
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// compile builds the image's program, without any C library: there is none in most of the images.
func (b *builder) compile(ctx context.Context, d definition) (string, error) {
	module, dir := b.product, filepath.Join(b.product, d.Package)
	if d.Module != "" {
		// The package is in Go's module cache, or will be.
		module = filepath.Join(b.product, d.Module)
		dir = module
	}
	for _, needed := range []string{filepath.Join(module, "go.mod"), dir} {
		if _, err := os.Stat(needed); errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("%w: %s", errNoSource, needed)
		}
	}
	temporary, err := os.MkdirTemp("", "motorcortex-image-")
	if err != nil {
		return "", err
	}
	program := filepath.Join(temporary, d.Name)
	cmd := exec.CommandContext(ctx, "go", "build", "-mod=readonly", "-trimpath", "-buildvcs=false",
		"-tags="+d.tags(), "-ldflags=-s -w", "-o", program, d.Package)
	cmd.Dir = module
	cmd.Env = component.BuildEnv(os.Environ(), false)
	component.KillGroup(cmd)
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	err = b.out.During("building image "+d.Name+"'s program", cmd.Run)
	if err != nil {
		_ = os.RemoveAll(temporary) // the error that is returned matters more
		return "", fmt.Errorf("build %s: %w\n%s", d.Package, err, output.String())
	}
	if err := d.checkSize(program); err != nil {
		_ = os.RemoveAll(temporary)
		return "", err
	}
	return program, nil
}

// writeEnvironment lists all images that are there, in a file that shells and make can read.
func (b *builder) writeEnvironment(all []definition) error {
	var lines strings.Builder
	for _, d := range all {
		known, err := b.known(d.Name)
		if err != nil {
			continue // not built yet
		}
		_, _ = fmt.Fprintf(&lines, "%s=%s\n", d.variable(), known.Reference)
	}
	return os.WriteFile(filepath.Join(b.output, "images.env"), []byte(lines.String()), 0o644)
}
