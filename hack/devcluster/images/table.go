// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
)

// definition is one image of the product.
type definition struct {
	// Name is the image's name; its line in images.env is NAME_IMAGE.
	Name string
	// Package is the program in it, a path from the root of the repository, or the path of a tool of Module.
	Package string
	// Module is the folder of another module, from the root of the repository, that names Package as a tool. An image with one is
	// a server for tests, of other people's making: it is built when it is named, and never with "all".
	Module string
	// Path is the program's path in the image, "" for the image's name in the root.
	Path string
	// Tags are build tags of the program. An image with tags is a variant for tests: it is built when it is named, and
	// never with "all".
	Tags string
	// Most is how many MiB the program may have at most, 0 for no bound. A manager has most of its program in memory, and one library that calls
	// methods by name keeps the linker from leaving out anything.
	Most int64
	// Sandbox puts the program on top of a Debian root file system; without it there is nothing but
	// the program.
	Sandbox bool
}

// table lists the images in the order that they are built in.
var table = []definition{
	{Name: "manager", Package: "./cmd/manager", Most: 90},
	{Name: "manager-faults", Package: "./cmd/manager", Tags: "faults"},
	{Name: "egressproxy", Package: "./cmd/egressproxy"},
	{Name: "mcpserver", Package: "./cmd/mcpserver"},
	{Name: "pageserver", Package: "./cmd/pageserver"},
	{Name: "modelserver", Package: "./test/modelserver"},
	{Name: "oidcissuer", Package: "./test/oidcissuer/server"},
	{Name: "s3server", Package: "github.com/versity/versitygw/cmd/versitygw", Module: "test/stores"},
	{Name: "agent-sandbox", Package: "sigs.k8s.io/agent-sandbox/cmd/agent-sandbox-controller", Module: "test/bench/peers/agentsandbox"},
	{Name: "tekton-controller", Package: "github.com/tektoncd/pipeline/cmd/controller", Module: "test/bench/peers/tekton"},
	{Name: "tekton-webhook", Package: "github.com/tektoncd/pipeline/cmd/webhook", Module: "test/bench/peers/tekton"},
	// The controller copies the program out of a container of this image, from the path where the project's own builds have it.
	{Name: "tekton-entrypoint", Package: "github.com/tektoncd/pipeline/cmd/entrypoint", Module: "test/bench/peers/tekton", Path: "/ko-app/entrypoint"},
	{Name: "sandbox", Package: "./cmd/toolserver", Sandbox: true},
}

// path is where the program is in an image that has nothing else.
func (d definition) path() string { return cmp.Or(d.Path, "/"+d.Name) }

// tags are the build tags of the program. grpc without its pages of traces needs no templates of HTML: those call methods by name, so the linker would
// keep every exported method of every type. Dockerfile.static has the same tag.
func (d definition) tags() string {
	if d.Module != "" {
		return d.Tags
	}
	return strings.TrimPrefix(d.Tags+",grpcnotrace", ",")
}

// checkSize returns an error if the program is larger than it may be.
func (d definition) checkSize(program string) error {
	info, err := os.Stat(program)
	if err != nil {
		return fmt.Errorf("look at the program of %s: %w", d.Name, err)
	}
	if most := d.Most << 20; most > 0 && info.Size() > most {
		return fmt.Errorf("the program of %s has %d MiB and may have %d: go build -ldflags=-dumpdep names what calls methods by name, as <ReflectMethod>", d.Name, info.Size()>>20, d.Most)
	}
	return nil
}

// variable is the name of the image's line in images.env.
func (d definition) variable() string {
	return strings.ToUpper(strings.ReplaceAll(d.Name, "-", "_")) + "_IMAGE"
}

// choose picks images by name, or all that are neither variants nor servers for tests.
func choose(all []definition, names []string) ([]definition, error) {
	var chosen []definition
	if len(names) == 0 {
		for _, d := range all {
			if d.Tags == "" && d.Module == "" {
				chosen = append(chosen, d)
			}
		}
	}
	for _, name := range names {
		at := slices.IndexFunc(all, func(d definition) bool { return d.Name == name })
		if at < 0 {
			var known []string
			for _, d := range all {
				known = append(known, d.Name)
			}
			return nil, fmt.Errorf("no image %q; there are %s", name, strings.Join(known, ", "))
		}
		chosen = append(chosen, all[at])
	}
	return chosen, nil
}

// replacePackages applies "name=./path" settings, for programs that live elsewhere.
func replacePackages(all []definition, settings []string) ([]definition, error) {
	changed := slices.Clone(all)
	for _, setting := range settings {
		name, pkg, found := strings.Cut(setting, "=")
		at := slices.IndexFunc(changed, func(d definition) bool { return d.Name == name })
		if !found || at < 0 || pkg == "" {
			return nil, fmt.Errorf("--package %q is not NAME=PATH of a known image", setting)
		}
		changed[at].Package = pkg
	}
	return changed, nil
}
