// SPDX-License-Identifier: Apache-2.0

// The oidcissuer is an issuer of OpenID Connect for tests on a cluster. It lets everybody in as whoever they say they are: see package oidcissuer.
package main

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"motorcortex.dev/motorcortex/test/oidcissuer"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "oidcissuer:", err)
		os.Exit(1)
	}
}

// run serves until the context ends.
func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("oidcissuer", flag.ContinueOnError)
	listen := flags.String("listen", ":8443", "address to listen on")
	address := flags.String("url", "", "URL of the issuer, as in its tokens")
	redirect := flags.String("redirect-url", "", "the only address that codes are sent to")
	certificate, key := flags.String("tls-cert-file", "", "certificate, PEM"), flags.String("tls-key-file", "", "its key, PEM")
	if err := flags.Parse(args); err != nil {
		return err
	}
	handler, err := oidcissuer.Handler(*address, *redirect)
	if err != nil {
		return err
	}
	s := &http.Server{Addr: *listen, Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	stopped := context.AfterFunc(ctx, func() { _ = s.Close() })
	defer stopped()
	if err := s.ListenAndServeTLS(*certificate, *key); ctx.Err() == nil {
		return err
	}
	return nil
}
