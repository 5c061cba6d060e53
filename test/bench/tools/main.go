// SPDX-License-Identifier: Apache-2.0

// Command tools measures a tool call beside a plain spawn of the same program and beside exec through the API server, and the memory of
// sandboxes that do nothing, on a cluster where the operator is installed.
//
//	go run ./test/bench/tools [-namespace N] [-sandboxes N] [-rounds N] [-calls N] [-kubectl FILE] [-json FILE] [-compare FILE] [-machine TEXT]
//
// KUBECONFIG names the cluster. It speaks to tool servers itself, as a manager does, so it must run inside of the cluster's network. The
// namespace must have the model server with the script bench-ask: see hack/bench.sh. The program exits with 1 if a figure misses its bound or
// is worse than the one of the compared file beyond noise.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/test/bench/figures"
)

// patience is the most that everything may take.
const patience = 15 * time.Minute

type options struct {
	namespace        string
	kubectl          string
	sandboxes        int
	rounds, perRound int
	results          figures.Results
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	opts, err := parse(os.Args[1:])
	if err == nil {
		err = run(ctx, opts, os.Stdout)
	}
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "bench:", err)
		stop()
		os.Exit(1) //nolint:gocritic // stop was called.
	}
}

func parse(args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("tools", flag.ContinueOnError)
	flags.StringVar(&o.namespace, "namespace", "motorcortex-bench", "namespace with the model server")
	flags.StringVar(&o.kubectl, "kubectl", "kubectl", "program that exec is measured with")
	flags.IntVar(&o.sandboxes, "sandboxes", 5, "sandboxes whose memory is measured")
	flags.IntVar(&o.rounds, "rounds", 20, "how often spawns, calls and execs take turns")
	flags.IntVar(&o.perRound, "calls", 10, "spawns, calls and execs of a round")
	o.results.Flags(flags)
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if o.sandboxes < 1 || o.sandboxes > 20 || o.rounds < 1 || o.perRound < 1 || o.perRound > 1000 {
		return o, errors.New("-sandboxes must be 1 to 20, -rounds 1 or more, and -calls 1 to 1000")
	}
	return o, nil
}

func run(ctx context.Context, o options, out io.Writer) error {
	if err := o.results.Open(); err != nil {
		return err
	}
	b, err := connect(o.namespace, o.kubectl)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	runs, err := b.start(ctx, o.sandboxes)
	defer func() {
		after, leave := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer leave()
		b.remove(after, runs)
	}()
	if err != nil {
		return err
	}
	idle, err := b.idleMemory(ctx, runs)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%d idle sandboxes measured, calls begin\n", len(idle))
	took, err := b.takeTurns(ctx, runs[0], o.rounds, o.perRound)
	if err != nil {
		return err
	}
	return o.results.Put(out, figures.Report{Figures: figuresOf(took, idle)})
}

func connect(namespace, kubectl string) (*bench, error) {
	ctrl.SetLogger(logr.Discard())
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(clientcmd.NewDefaultClientConfigLoadingRules(), nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig: %w", err)
	}
	config.QPS = -1
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	nodes, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	return &bench{client: c, nodes: nodes.CoreV1().RESTClient(), namespace: namespace, kubectl: kubectl}, nil
}
