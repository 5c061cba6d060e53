// SPDX-License-Identifier: Apache-2.0

// Package mcp has the verb that serves Motor Cortex by the Model Context Protocol: to one program on standard input and output, or to programs of this
// machine by HTTP.
package mcp

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"syscall"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"

	"motorcortex.dev/motorcortex/internal/cli/verb"
	"motorcortex.dev/motorcortex/internal/mcpserver"
	"motorcortex.dev/motorcortex/pkg/client/motor"
)

// Connect returns how to reach the cluster with the user's kubeconfig, and the selected namespace.
type Connect func() (config *rest.Config, namespace string, err error)

// New is the verb.
func New(s verb.Streams, connect Connect) *cobra.Command {
	cmd := &cobra.Command{
		Use: "mcp", Short: "Serve Motor Cortex to an agent, by the Model Context Protocol.", Args: verb.Args(),
		Long: `Serve Motor Cortex to an agent, by the Model Context Protocol (MCP).

Programs that have agents start this verb, and speak with it on standard input and output. With --listen it serves HTTP to programs of this machine
instead, and prints the address and the token that they send.

The agent acts with the rights of your kubeconfig, in one namespace. What only a person decides is refused: answers to runs, decisions about skills,
credentials, and runs that send a value to hosts that its Secret does not name. With --allow-consent the agent can pass on what you decided. It needs
your rights for that too. Leave it off where the agent reads texts of others.`,
		Example: `  kubectl motor mcp -n agents
  kubectl motor mcp -n agents --allow-consent
  kubectl motor mcp -n agents --listen 127.0.0.1:8808`,
	}
	consent := cmd.Flags().Bool("allow-consent", false, "let the agent pass on what you decided: answers, approvals, credentials")
	listen := cmd.Flags().String("listen", "", "serve HTTP at this address of the loopback, as in 127.0.0.1:8808; port 0 takes a free one")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		config, namespace, err := connect()
		if err != nil {
			return err
		}
		client, err := motor.New(config, namespace)
		if err != nil {
			return err
		}
		if *listen != "" {
			return serveHTTP(cmd.Context(), s, *listen, client, *consent)
		}
		return serveStreams(cmd.Context(), s, client, *consent)
	}
	return cmd
}

// serveStreams serves one program on standard input and output, until that closes it.
func serveStreams(ctx context.Context, s verb.Streams, client *motor.Client, consent bool) error {
	if s.In == nil {
		return errors.New("there is no standard input: a program with an agent starts this verb")
	}
	ctx, cancel := context.WithCancel(ctx)
	server := mcpserver.New(ctx, client, consent, mcpserver.Bounds{})
	err := server.Run(ctx, &mcp.IOTransport{Reader: io.NopCloser(s.In), Writer: nopCloser{s.Out}, MaxLineLength: mcpserver.MaxMessage})
	cancel()
	server.Wait()
	if gone(err) {
		return nil
	}
	return err
}

// gone reports whether the program that is served has closed a stream, or this one is to end. That is the way in which the verb ends.
func gone(err error) bool {
	return slices.ContainsFunc([]error{context.Canceled, io.EOF, io.ErrClosedPipe, os.ErrClosed, syscall.EPIPE}, func(end error) bool { return errors.Is(err, end) })
}

// nopCloser leaves standard output open: the program may print more.
type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }
