// SPDX-License-Identifier: Apache-2.0

// Package ui has the verb that serves the page on the loopback, with the rights of the user.
package ui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/pkg/browser"
	"github.com/spf13/cobra"

	"motorcortex.dev/motorcortex/internal/cli/cluster"
	"motorcortex.dev/motorcortex/internal/cli/verb"
	"motorcortex.dev/motorcortex/internal/page"
	"motorcortex.dev/motorcortex/internal/page/gate"
)

const (
	// headerTimeout, readTimeout, writeTimeout and idleTimeout bound a connection. Streams of changes set their own.
	headerTimeout, readTimeout, writeTimeout, idleTimeout = 5 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute
	// endTimeout is how long requests have to end after an interrupt.
	endTimeout = 5 * time.Second
	// maxHeader is the most bytes of the headers of a request.
	maxHeader = 16 << 10
	// loopback is the only address that the page has.
	loopback = "127.0.0.1"
)

// Command has the dependencies of the verb.
type Command struct {
	verb.Streams

	Connect cluster.Connect
	// Open shows a file in the browser of the user. Nil is for the one of the system.
	Open func(path string) error
}

// New is the verb.
func New(c Command) *cobra.Command {
	if c.Open == nil {
		c.Open = open
	}
	cmd := &cobra.Command{
		Use: "ui", Short: "Serve a page on this machine to answer runs, look at them and review skills.", Args: verb.Args(),
		Long: `Serve a page on this machine to answer runs, look at them and review skills.

It has the rights of your kubeconfig and no others, and only this machine reaches it. A link opens one window: with each window that was opened, the
link for the next one is printed. At a terminal the first one is opened in your browser. It ends with an interrupt (Ctrl-C).

A page that another program once served on the same port can stay in your browser as a service worker, and then it sees this page. With --port, open
the link in a private window. Without --port the port is another one each time.`,
		Example: `  kubectl motor ui
  ssh -t -L 8080:127.0.0.1:8080 build-host kubectl motor ui --port 8080 --no-browser     # open the link in a private window`,
	}
	port := cmd.Flags().Uint16("port", 0, "port of the page, 0 for one that is free; with another one, open the link in a private window")
	printOnly := cmd.Flags().Bool("no-browser", false, "print the link, and do not open it")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cl, namespace, err := c.Connect()
		if err != nil {
			return err
		}
		l, err := (&net.ListenConfig{}).Listen(cmd.Context(), "tcp4", net.JoinHostPort(loopback, strconv.Itoa(int(*port))))
		if err != nil {
			return fmt.Errorf("serve the page: %w", err)
		}
		p := page.New(func(*http.Request) (page.Person, error) {
			return page.Person{Key: "user", Client: cl, Namespace: namespace}, nil
		}, page.Own())
		// The end of the terminal or of its session leaves no file behind, as an interrupt does not.
		ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGTERM, syscall.SIGHUP)
		defer stop()
		return c.serve(ctx, l, p, c.Terminal && !*printOnly)
	}
	return cmd
}

// serve serves the page until the context ends.
func (c Command) serve(ctx context.Context, l net.Listener, p *page.Page, show bool) error {
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		return err
	}
	origins := []string{"http://" + net.JoinHostPort(loopback, port), "http://localhost:" + port}
	// The code is in the fragment, which browsers send to no server.
	link := func(code string) string { return origins[0] + "/#code=" + code }
	sessions, code := gate.NewSessions()
	var first *redirect
	if show {
		if first, err = newRedirect(link(code)); err != nil {
			c.notOpened(err)
		}
	}
	sessions.Opened = func(next string) {
		c.remove(first)
		fmt.Fprintf(c.Err, "A window was opened. The next one: %s\n", link(next))
	}
	defer c.remove(first)
	server := &http.Server{
		Handler:           gate.Headers(gate.SameOrigin(origins, sessions.Require(p))),
		ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
		// A broken connection is no matter of the person at the terminal.
		ErrorLog: log.New(io.Discard, "", 0),
	}
	server.RegisterOnShutdown(p.Close)
	fmt.Fprintln(c.Out, link(code))
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	// The page is served by then, as some browsers end only with their last window.
	if first != nil {
		if err := c.Open(first.path); err != nil {
			c.notOpened(err)
		}
	}
	select {
	case err := <-served:
		p.Close()
		return fmt.Errorf("serve the page: %w", err)
	case <-ctx.Done():
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	err = server.Shutdown(ending)
	if errors.Is(err, context.DeadlineExceeded) {
		err = server.Close()
	}
	p.Close()
	if ended := <-served; !errors.Is(ended, http.ErrServerClosed) {
		err = errors.Join(err, ended)
	}
	return err
}

// notOpened says why no browser shows the page.
func (c Command) notOpened(err error) {
	fmt.Fprintf(c.Err, "note: the browser was not opened: %v. Open the link yourself\n", err)
}

// remove removes the file that led to the first link. A file that stays opens nothing, as its code was used, or its server ended.
func (c Command) remove(r *redirect) {
	if err := r.remove(); err != nil {
		fmt.Fprintf(c.Err, "note: %v\n", err)
	}
}

// open shows a file in the browser of the system, whose words are none of the verb's.
func open(path string) error {
	browser.Stdout, browser.Stderr = io.Discard, io.Discard
	return browser.OpenURL(path)
}
