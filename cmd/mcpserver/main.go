// SPDX-License-Identifier: Apache-2.0

// The mcpserver serves Motor Cortex by the Model Context Protocol to agents that run in the cluster. See internal/mcpserver/cluster.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"motorcortex.dev/motorcortex"
	"motorcortex.dev/motorcortex/internal/mcpserver"
	"motorcortex.dev/motorcortex/internal/mcpserver/cluster"
	"motorcortex.dev/motorcortex/internal/serving"
)

// qps is the most requests to the API server a second, of all programs together, and burst how many may come at once.
const qps, burst = 100, 200

// options are the flags.
type options struct {
	serving serving.Options
	cluster cluster.Options
}

func (o *options) bind(f *flag.FlagSet) {
	o.serving.Bind(f, "programs with agents", "tokens are readable on the way, so only where a mesh encrypts it")
	f.StringVar(&o.cluster.Audience, "audience", "motorcortex-mcp", "the audience that tokens must be for")
	f.BoolVar(&o.cluster.Consent, "allow-consent", false,
		"let agents pass on what a person decided: answers, approvals, credentials. They need the verbs for that, too")
}

func (o *options) check() error {
	if o.cluster.Audience == "" {
		return errors.New("--audience is empty: it is what keeps tokens for the API server out")
	}
	return o.serving.Check("programs send tokens")
}

func main() {
	var o options
	o.bind(flag.CommandLine)
	version := flag.Bool("version", false, "print the version and end")
	flag.Parse()
	if *version {
		fmt.Println(motorcortex.Version())
		return
	}
	handler := slog.NewJSONHandler(os.Stderr, nil)
	log := slog.New(handler)
	klog.SetLogger(logr.FromSlogHandler(handler))
	ctrl.SetLogger(logr.FromSlogHandler(handler))
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	err := start(ctx, &o, log)
	stop()
	if err != nil {
		log.Error("the MCP server cannot go on", "error", err)
		os.Exit(1)
	}
}

func start(ctx context.Context, o *options, log *slog.Logger) error {
	if err := o.check(); err != nil {
		return err
	}
	config, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("find the API server: %w", err)
	}
	config.QPS, config.Burst = qps, burst
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", o.serving.Listen)
	if err != nil {
		return fmt.Errorf("listen for programs: %w", err)
	}
	return run(ctx, o, config, listener, log)
}

func run(ctx context.Context, o *options, config *rest.Config, listener net.Listener, log *slog.Logger) error {
	err := serving.Run(ctx, &o.serving, listener, log, func(ctx context.Context) (*http.Server, func(), error) {
		servers, err := cluster.New(ctx, config, o.cluster)
		if err != nil {
			return nil, nil, err
		}
		log.Info("the MCP server listens", "address", listener.Addr().String(), "audience", o.cluster.Audience, "consent", o.cluster.Consent)
		return mcpserver.HTTP(ctx, servers.Handler()), servers.Close, nil
	})
	if err != nil {
		return fmt.Errorf("serve programs: %w", err)
	}
	log.Info("the MCP server has ended")
	return nil
}
