// SPDX-License-Identifier: Apache-2.0

// Command images builds the product's container images without a container engine, as archives for
// "devcluster load", "kind load image-archive" and the like, and pushes them to a registry.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"motorcortex.dev/motorcortex/hack/devcluster/internal/progress"
	"motorcortex.dev/motorcortex/hack/devcluster/internal/source"
)

const usage = `usage: images build [-o DIR] [--package NAME=PATH] [NAME…]
       images push --registry REGISTRY [-o DIR] [NAME…]
       images sbom [-o DIR] [NAME…]

build writes NAME.tar and images.env to DIR and prints a line "NAME=REFERENCE TAR" for each image;
what has not changed is not built again. Without names it builds every image whose source is there.
push sends what was built to a registry and prints a line "NAME=REFERENCE" for each image.
sbom writes NAME.spdx.json for what was built: the Go modules and Debian packages in it.
`

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "images:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		fmt.Print(usage)
		return nil
	}
	switch args[0] {
	case "build":
		return runBuild(ctx, args[1:])
	case "push":
		return runPush(ctx, args[1:])
	case "sbom":
		return runSBOM(ctx, args[1:])
	}
	return fmt.Errorf("unknown command %q\n\n%s", args[0], usage)
}

// list is a flag that may be given several times.
type list []string

func (l *list) String() string { return strings.Join(*l, ",") }

func (l *list) Set(value string) error {
	*l = append(*l, value)
	return nil
}

func runBuild(ctx context.Context, args []string) error {
	set := flag.NewFlagSet("build", flag.ContinueOnError)
	output := set.String("o", "", "folder for the archives (default: in the user's cache)")
	var packages list
	set.Var(&packages, "package", "take an image's program from another path of the repository: NAME=PATH")
	if err := set.Parse(args); err != nil {
		return err
	}
	definitions, err := replacePackages(table, packages)
	if err != nil {
		return err
	}
	b, err := newBuilder(*output)
	if err != nil {
		return err
	}
	return b.buildAll(ctx, definitions, set.Args())
}

func runSBOM(ctx context.Context, args []string) error {
	set := flag.NewFlagSet("sbom", flag.ContinueOnError)
	output := set.String("o", "", "folder of the archives, and for the documents (default: in the user's cache)")
	if err := set.Parse(args); err != nil {
		return err
	}
	b, err := newBuilder(*output)
	if err != nil {
		return err
	}
	return b.sbomAll(ctx, table, set.Args())
}

func runPush(ctx context.Context, args []string) error {
	set := flag.NewFlagSet("push", flag.ContinueOnError)
	output := set.String("o", "", "folder of the archives (default: in the user's cache)")
	registry := set.String("registry", "", "where to push to, such as registry.example.com/team")
	if err := set.Parse(args); err != nil {
		return err
	}
	if *registry == "" {
		return fmt.Errorf("--registry is missing\n\n%s", usage)
	}
	b, err := newBuilder(*output)
	if err != nil {
		return err
	}
	definitions, err := choose(table, set.Args())
	if err != nil {
		return err
	}
	return b.pushAll(ctx, definitions, *registry)
}

// newBuilder finds the sources and the folders to work in.
func newBuilder(output string) (*builder, error) {
	module, err := source.Dir()
	if err != nil {
		return nil, err
	}
	product, err := source.Product()
	if err != nil {
		return nil, err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	cache = filepath.Join(cache, "motorcortex", "images")
	if output == "" {
		output = filepath.Join(cache, "built")
	}
	output, err = filepath.Abs(output)
	if err != nil {
		return nil, err
	}
	return &builder{
		product: product, recipes: filepath.Join(module, "images"), cache: cache, output: output,
		trust: "/etc/ssl/certs/ca-certificates.crt", out: progress.New(os.Stderr),
	}, nil
}
