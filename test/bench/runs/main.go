// SPDX-License-Identifier: Apache-2.0

// Command runs measures runs on a cluster where the operator is installed, beside plain Pods and plain creates of the same round.
//
//	go run ./test/bench/runs -image IMAGE [-namespace N] [-rounds N] [-peers] [-only ROWS] [-json FILE] [-compare FILE] [-machine TEXT]
//
// KUBECONFIG names the cluster. The namespace must have the model server with the scripts of this folder: see hack/bench.sh. The program
// exits with 1 if a figure misses its bound or is worse than the one of the compared file beyond noise.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/test/bench/figures"
	"motorcortex.dev/motorcortex/test/bench/runs/manager"
)

type options struct {
	namespace, image string
	rounds, burst    int
	peers            bool
	only             []int
	crowded          crowds
	kubectl          string
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
	flags := flag.NewFlagSet("runs", flag.ContinueOnError)
	flags.StringVar(&o.namespace, "namespace", "motorcortex-bench", "namespace with the model server")
	flags.StringVar(&o.image, "image", "", "image of the plain Pods: the sandbox's")
	flags.IntVar(&o.rounds, "rounds", 15, "how often everything is measured")
	flags.IntVar(&o.burst, "burst", 20, "how many runs take their sandboxes from a pool at once; with 0 no pool is measured")
	flags.BoolVar(&o.peers, "peers", false, "measure agent-sandbox and tekton too, which must be installed")
	only := flags.String("only", "", "rows of the table in docs/performance.md that are measured, such as 6,9; without it all. Rows 1 to 5 are measured together")
	flags.IntVar(&o.crowded.many, "many", 500, "how many runs are created at once for row 7")
	flags.IntVar(&o.crowded.waiting, "waiting", 5000, "how many runs wait for a person for rows 7 and 8")
	flags.DurationVar(&o.crowded.quiet, "quiet", time.Minute, "how long the requests of waiting runs are counted for row 10")
	flags.StringVar(&o.kubectl, "kubectl", "kubectl", "kubectl's program")
	o.results.Flags(flags)
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if o.image == "" || o.rounds < 1 || o.burst < 0 || o.burst > 100 {
		return o, errors.New("-image must name an image, -rounds must be 1 or more, and -burst 0 to 100")
	}
	if o.crowded.many < 1 || o.crowded.waiting < 100 {
		return o, errors.New("-many must be 1 or more, and -waiting 100 or more: with fewer the memory of a run cannot be told")
	}
	if o.crowded.quiet < time.Second || o.crowded.quiet > 2*time.Minute {
		return o, errors.New("-quiet must be 1s to 2m")
	}
	var err error
	o.only, err = parseOnly(*only)
	return o, err
}

func run(ctx context.Context, o options, out io.Writer) error {
	if err := o.results.Open(); err != nil {
		return err
	}
	b, err := connect(o)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Hour)
	defer cancel()
	var report figures.Report
	if err := b.session(ctx, func(ctx context.Context) error { return b.report(ctx, &report, o.only, out) }); err != nil {
		return err
	}
	return o.results.Put(out, report)
}

// report measures the rows that are asked for.
func (b *bench) report(ctx context.Context, to *figures.Report, only []int, out io.Writer) error {
	// The memory of idle managers comes first: later ones have had runs.
	idle, err := takeRows(ctx, []measureRow{{[]int{8}, b.idle}}, only, out)
	if err != nil {
		return err
	}
	if withRounds(only) {
		all, err := b.measure(ctx, out)
		if err != nil {
			return err
		}
		to.Figures, to.Notes = figuresOf(all), notesOf(all)
		to.Path = pathOf(all, func(t taken) map[Moment]time.Duration { return t.path })
		to.Warm = pathOf(all, func(t taken) map[Moment]time.Duration { return t.warm.path })
	}
	after, err := takeRows(ctx, b.afterRounds(), only, out)
	to.Rows = slices.Concat(idle, after)
	slices.SortStableFunc(to.Rows, func(x, y Row) int { return x.Number - y.Number })
	return err
}

func connect(o options) (*bench, error) {
	ctrl.SetLogger(logr.Discard())
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(clientcmd.NewDefaultClientConfigLoadingRules(), nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig: %w", err)
	}
	// The measuring client never waits for itself.
	config.QPS = -1
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	c, err := client.NewWithWatch(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	b := &bench{
		client: c, namespace: o.namespace, image: o.image, burst: o.burst, rounds: o.rounds, crowded: o.crowded, seen: newSeen(),
		managers: &manager.Managers{Client: c, Kubectl: o.kubectl, Account: o.namespace}, prefix: fmt.Sprintf("b%d", time.Now().Unix()),
	}
	if o.peers {
		b.peers, err = newPeers(config, b)
	}
	return b, err
}
