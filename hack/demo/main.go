// SPDX-License-Identifier: Apache-2.0

// Command demo applies the portfolio sample to a cluster where the operator runs, follows the run to its result, and
// says what it does. It can be run again at any time, also after it was killed.
//
//	go run ./hack/demo [-namespace N] [-dir DIR] [-answer TEXT] [-timeout D] [-figures] …
//
// The environment: KUBECONFIG names the cluster; OPENAI_API_KEY, OPENAI_BASE_URL and OPENAI_MODEL the model, else the
// scripted one is used; DEMO_ANSWER answers the run's question where nobody can be asked; MOTOR_DEMO_START is the
// time, in seconds since 1970, that elapsed times are counted from.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// exitInterrupted is what shells give a program that Ctrl-C ended.
const exitInterrupted = 130

type options struct {
	namespace, dir, answer, kubectl string
	timeout                         time.Duration
	figures                         bool
	figuresJSON, podImage           string
	pods                            int
	managerRSS                      int64
	model                           model
	start                           time.Time
}

func main() {
	signals, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	opts, err := parse(os.Args[1:], os.Getenv, time.Now())
	if errors.Is(err, flag.ErrHelp) {
		os.Exit(0)
	}
	if err == nil {
		err = run(signals, opts)
	}
	interrupted := signals.Err() != nil
	stop()
	switch {
	case interrupted:
		fmt.Fprintf(os.Stderr, "\ndemo: interrupted. What was started goes on in the cluster: kubectl -n %s get motorruns.\n"+
			"make demo starts afresh, make cluster-down removes everything.\n", opts.namespace)
		os.Exit(exitInterrupted)
	case err != nil:
		fmt.Fprintln(os.Stderr, "demo:", clean(err.Error()))
		os.Exit(1)
	}
}

func parse(args []string, getenv func(string) string, now time.Time) (options, error) {
	var o options
	flags := flag.NewFlagSet("demo", flag.ContinueOnError)
	flags.StringVar(&o.namespace, "namespace", "motorcortex-demo", "namespace of the sample; it is made if it is missing")
	flags.StringVar(&o.dir, "dir", "config/samples/portfolio", "kustomization with one MotorRun")
	flags.StringVar(&o.answer, "answer", getenv("DEMO_ANSWER"), "answer where no person can be asked (DEMO_ANSWER); else the question's default")
	flags.StringVar(&o.kubectl, "kubectl", "kubectl", "kubectl, which builds the kustomization")
	flags.DurationVar(&o.timeout, "timeout", 10*time.Minute, "longest time for all of it")
	flags.BoolVar(&o.figures, "figures", false, "measure, and print figures at the end")
	flags.StringVar(&o.figuresJSON, "figures-json", "", "file to write the figures to as well")
	flags.StringVar(&o.podImage, "pod-image", "", "image of the plain Pods that are measured: default the sandbox's")
	flags.IntVar(&o.pods, "pods", 3, "how many plain Pods are measured, one after the other")
	flags.Int64Var(&o.managerRSS, "manager-rss", 0, "memory of the manager in bytes, to print with the figures")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if o.pods < 1 {
		return o, errors.New("-pods is at least 1")
	}
	o.figures = o.figures || o.figuresJSON != ""
	var err error
	if o.start, err = startTime(getenv("MOTOR_DEMO_START"), now); err != nil {
		return o, err
	}
	o.model, err = model{key: getenv("OPENAI_API_KEY"), baseURL: getenv("OPENAI_BASE_URL"), name: getenv("OPENAI_MODEL")}.complete()
	return o, err
}

func startTime(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return now, nil
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return now, fmt.Errorf("MOTOR_DEMO_START is %q, not seconds since 1970", text)
	}
	return time.Unix(seconds, 0), nil
}

func run(signals context.Context, opts options) error {
	// The client library's own log lines would stand between those of the demo.
	ctrl.SetLogger(logr.Discard())
	c, err := connect()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(signals, opts.timeout, fmt.Errorf("%w of %s (-timeout)", errTimeout, opts.timeout))
	defer cancel()
	d := &demo{
		opts: opts, c: c, now: time.Now,
		print: &printer{out: os.Stdout, now: time.Now, start: opts.start},
	}
	if interactive(os.Stdin) {
		d.typed = inputLines(os.Stdin)
	}
	return d.run(ctx)
}

// connect makes a client of the cluster that kubectl would use.
func connect() (client.WithWatch, error) {
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(clientcmd.NewDefaultClientConfigLoadingRules(), nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("no cluster: %w (set KUBECONFIG, or use make demo)", err)
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	c, err := client.NewWithWatch(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	return c, nil
}
