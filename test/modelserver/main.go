// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"motorcortex.dev/motorcortex/test/modelserver/script"
)

const (
	readHeaderTimeout = 10 * time.Second
	readTimeout       = time.Minute
	// A reply may have to wait for a fault's longest delay and still be sent.
	writeTimeout    = script.MaxDelay + time.Minute
	idleTimeout     = 2 * time.Minute
	shutdownTimeout = 5 * time.Second
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stderr)
	stop()
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "modelserver:", err)
		os.Exit(1)
	}
}

// run serves until the context ends. It writes the address that it listens on,
// which a caller that asked for port 0 has to read.
func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("modelserver", flag.ContinueOnError)
	flags.SetOutput(out)
	listen := flags.String("listen", "127.0.0.1:8080", "address to listen on")
	dir := flags.String("scripts", "", "directory of *.yaml scripts (required)")
	key := flags.String("require-key", "", "refuse requests without this bearer key")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *dir == "" || flags.NArg() > 0 {
		return errors.New("usage: modelserver --scripts DIR [--listen ADDRESS] [--require-key KEY]")
	}
	scripts, err := script.LoadFS(os.DirFS(*dir))
	if err != nil {
		return fmt.Errorf("scripts in %s: %w", *dir, err)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", *listen)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "modelserver: %d scripts, listening on %s\n", len(scripts), listener.Addr())
	return serve(ctx, listener, newServer(scripts, *key).handler())
}

// serve ends requests that wait in a fault at once when the context ends, and
// gives the others a moment to finish.
func serve(ctx context.Context, listener net.Listener, handler http.Handler) error {
	srv := &http.Server{
		Handler:           handler,
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
	}
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(listener) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	err := srv.Shutdown(grace)
	if errors.Is(err, context.DeadlineExceeded) {
		err = srv.Close() // A client that opened a connection and sends nothing is no failure.
	}
	if served := <-failed; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}
