// SPDX-License-Identifier: Apache-2.0

// Command devcluster runs a real single-node Kubernetes on a Linux machine that has nothing but Go,
// root and a package mirror: no container engine, no image registry, no change to the machine.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"motorcortex.dev/motorcortex/hack/devcluster/internal/cluster"
	"motorcortex.dev/motorcortex/hack/devcluster/internal/component"
	"motorcortex.dev/motorcortex/hack/devcluster/internal/debian"
	"motorcortex.dev/motorcortex/hack/devcluster/internal/progress"
	"motorcortex.dev/motorcortex/hack/devcluster/internal/source"
)

const usage = `usage: devcluster COMMAND

  up [--uplink]        start the cluster, or repair it; says what it does
                       --uplink: Pods can reach the outside through a proxy on the node
  down [--purge]       remove it without a trace; --purge removes loaded images too
  status               what runs; the exit code says whether all of it does
  kubeconfig           print the path of a kubeconfig for programs on this machine
  load IMAGE.tar…      make images available to Pods
  exec -- COMMAND…     run a command inside the cluster's network, with its kubectl
  logs [-f] COMPONENT  show the log of a component
  stop COMPONENT       end one component, to see what happens without it
  start COMPONENT      start it again
  build                build the programs only
  assets               build and print the folder for KUBEBUILDER_ASSETS
`

// app is what the commands work with.
type app struct {
	out *progress.Printer
}

// command is one verb. It is given the arguments that follow it.
type command func(ctx context.Context, a app, args []string) error

// commands lists the verbs; those of locked take the cluster's lock first.
var (
	commands = map[string]command{
		"status": status, "kubeconfig": kubeconfig, "load": load, "exec": execute, "logs": logs,
		"build": build, "assets": assets,
		"internal-enter":   func(_ context.Context, _ app, args []string) error { return cluster.Enter(args) },
		"internal-forward": func(ctx context.Context, _ app, args []string) error { return cluster.RunForward(ctx, args) },
		"internal-uplink":  func(ctx context.Context, _ app, args []string) error { return cluster.RunUplink(ctx, args) },
	}
	locked = map[string]command{"up": up, "down": down, "stop": stop, "start": start}
)

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "devcluster:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 || slices.Contains([]string{"help", "-h", "--help"}, args[0]) {
		fmt.Print(usage)
		return nil
	}
	a := app{out: progress.New(os.Stderr)}
	if do, found := commands[args[0]]; found {
		return do(ctx, a, args[1:])
	}
	do, found := locked[args[0]]
	if !found {
		return fmt.Errorf("unknown command %q\n\n%s", args[0], usage)
	}
	if os.Geteuid() == 0 {
		release, err := cluster.Lock(ctx, a.out)
		if err != nil {
			return err
		}
		defer release()
	}
	return do(ctx, a, args[1:])
}

// programs finds the store of built programs.
func programs() (*component.Store, error) {
	dir, err := source.Dir()
	if err != nil {
		return nil, err
	}
	return component.Open(dir)
}

func (a app) cluster() (*cluster.Cluster, error) {
	store, err := programs()
	if err != nil {
		return nil, err
	}
	return cluster.Open(store, a.out)
}

// flags parses a verb's flags and returns the other arguments, of which there must be count.
func flags(set *flag.FlagSet, args []string, count int) ([]string, error) {
	if err := set.Parse(args); err != nil {
		return nil, err
	}
	if set.NArg() != count {
		return nil, fmt.Errorf("%s takes %d arguments, not %d", set.Name(), count, set.NArg())
	}
	return set.Args(), nil
}

func up(ctx context.Context, a app, args []string) error {
	set := flag.NewFlagSet("up", flag.ContinueOnError)
	uplink := set.Bool("uplink", false, "let Pods reach the outside through a proxy on the node")
	if _, err := flags(set, args, 0); err != nil {
		return err
	}
	c, err := a.cluster()
	if err != nil {
		return err
	}
	return c.Up(ctx, cluster.Options{Uplink: *uplink})
}

func down(ctx context.Context, a app, args []string) error {
	set := flag.NewFlagSet("down", flag.ContinueOnError)
	purge := set.Bool("purge", false, "remove loaded images too")
	if _, err := flags(set, args, 0); err != nil {
		return err
	}
	c, err := a.cluster()
	if err != nil {
		return err
	}
	return c.Down(ctx, *purge)
}

func status(ctx context.Context, a app, _ []string) error {
	c, err := a.cluster()
	if err != nil {
		return err
	}
	return c.Status(ctx, os.Stdout)
}

func kubeconfig(_ context.Context, a app, _ []string) error {
	c, err := a.cluster()
	if err != nil {
		return err
	}
	path, err := c.KubeconfigPath()
	if err == nil {
		fmt.Println(path)
	}
	return err
}

func load(ctx context.Context, a app, args []string) error {
	if len(args) == 0 {
		return errors.New("no image given: load IMAGE.tar…")
	}
	c, err := a.cluster()
	if err != nil {
		return err
	}
	return c.Load(ctx, args...)
}

func execute(_ context.Context, a app, args []string) error {
	c, err := a.cluster()
	if err != nil {
		return err
	}
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	return c.Exec(args)
}

func logs(ctx context.Context, a app, args []string) error {
	set := flag.NewFlagSet("logs", flag.ContinueOnError)
	follow := set.Bool("f", false, "go on with what is added")
	names, err := flags(set, args, 1)
	if err != nil {
		return err
	}
	c, err := a.cluster()
	if err != nil {
		return err
	}
	return c.Logs(ctx, names[0], *follow, os.Stdout)
}

func stop(ctx context.Context, a app, args []string) error {
	names, err := flags(flag.NewFlagSet("stop", flag.ContinueOnError), args, 1)
	if err != nil {
		return err
	}
	c, err := a.cluster()
	if err != nil {
		return err
	}
	return c.Stop(ctx, names[0])
}

func start(ctx context.Context, a app, args []string) error {
	names, err := flags(flag.NewFlagSet("start", flag.ContinueOnError), args, 1)
	if err != nil {
		return err
	}
	c, err := a.cluster()
	if err != nil {
		return err
	}
	return c.Start(ctx, names[0])
}

func build(ctx context.Context, a app, _ []string) error {
	store, err := programs()
	if err != nil {
		return err
	}
	missing, err := store.Missing()
	if err != nil {
		return err
	}
	if len(missing) == 0 {
		a.out.Printf("everything is built: %s", store.Bin)
		return nil
	}
	if err := debian.Install(ctx, a.out, debian.Build()); err != nil {
		return err
	}
	return store.Build(ctx, a.out)
}

// assets prints the folder last and alone on standard output, so that it can be captured.
func assets(ctx context.Context, a app, _ []string) error {
	store, err := programs()
	if err != nil {
		return err
	}
	if err := store.Build(ctx, a.out, component.TestServer()...); err != nil {
		return err
	}
	fmt.Println(store.Bin)
	return nil
}
