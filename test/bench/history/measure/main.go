// SPDX-License-Identifier: Apache-2.0

// Command measure starts an API server and etcd, installs the operator's kinds and policies, and measures the manager and the plugin with no finished
// run and with very many.
//
//	go run ./test/bench/history/measure -manager PROGRAM -plugin PROGRAM [-runs N] [-json FILE]
//
// KUBEBUILDER_ASSETS is the folder with etcd, kube-apiserver and kubectl. There is no kubelet: a run has "begun" when the manager has created its
// sandbox Pod. The program exits with 1 if a figure misses its bound.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"motorcortex.dev/motorcortex/test/bench/history"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:], os.Stdout)
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "history:", err)
		stop()
		os.Exit(1) //nolint:gocritic // stop was called.
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	ctrl.SetLogger(logr.Discard())
	flags := flag.NewFlagSet("measure", flag.ContinueOnError)
	var o history.Options
	flags.StringVar(&o.Manager, "manager", "", "program of the manager")
	flags.StringVar(&o.Plugin, "plugin", "", "program of the plugin")
	flags.IntVar(&o.Runs, "runs", 100_000, "how many finished runs there are")
	flags.IntVar(&o.Rounds, "rounds", 10, "how often each thing is measured")
	file := flags.String("json", "", "file to write the figures to as well")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if o.Manager == "" || o.Plugin == "" || o.Runs < 1 || o.Rounds < 1 {
		return errors.New("-manager and -plugin must name programs, and -runs and -rounds must be 1 or more")
	}
	report, err := history.Measure(ctx, o, out)
	if err != nil {
		return err
	}
	fmt.Fprint(out, report.Table())
	if *file != "" {
		content, err := json.MarshalIndent(report, "", "  ")
		if err != nil {
			return err
		}
		if err := os.WriteFile(*file, append(content, '\n'), 0o644); err != nil { //nolint:gosec // The figures are for everybody.
			return err
		}
	}
	if missed := report.Missed(); len(missed) > 0 {
		for _, line := range missed {
			fmt.Fprintln(out, line)
		}
		return errors.New("a figure misses its bound")
	}
	return nil
}
