// SPDX-License-Identifier: Apache-2.0

// Command manager does what an engine does with a sandbox, with the client of the release that it is built in. It uses what every
// release has, and nothing else.
package main

import (
	"context"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolclient"
)

// The arguments are the server's address, the Pod's UID, the epoch, and what to do. The environment has the key, and the file that lets
// the call in the middle come to its end.
func main() {
	ctx, stop := context.WithTimeout(context.Background(), 2*time.Minute)
	defer stop()
	if err := run(ctx, os.Args[1], os.Args[2], os.Args[3], os.Args[4]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, address, podUID, epochText, verb string) error {
	der, err := base64.StdEncoding.DecodeString(os.Getenv("SKEW_KEY"))
	if err != nil {
		return err
	}
	key, err := x509.ParseECPrivateKey(der)
	if err != nil {
		return err
	}
	cert, err := toolclient.ClientCertificate(key)
	if err != nil {
		return err
	}
	epoch, err := strconv.ParseInt(epochText, 10, 64)
	if err != nil {
		return err
	}
	c, err := toolclient.New(toolclient.Config{Address: address, PodUID: podUID, ClientCert: cert, Epoch: epoch})
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := c.Hello(ctx); err != nil {
		return fmt.Errorf("hello: %w", err)
	}
	if verb == "begin" {
		return begin(ctx, c)
	}
	return goOn(ctx, c)
}

// begin prepares the sandbox, makes calls, and is in the middle of the last one when it is ended.
func begin(ctx context.Context, c *toolclient.Client) error {
	targets := []toolapi.ProbeTarget{{Name: "nothing", Network: "tcp", Address: "127.0.0.1:1"}}
	if p, err := c.Probe(ctx, toolapi.ProbeRequest{TimeoutMs: 200, Targets: targets}); err != nil || p.Results[0].Reached {
		return fmt.Errorf("probe: %+v, %w", p, err)
	}
	if _, err := c.PutFile(ctx, "in.txt", []byte("given\n")); err != nil {
		return fmt.Errorf("put a file: %w", err)
	}
	if err := wayOut(ctx, c); err != nil {
		return err
	}
	if r, err := call(ctx, c, "a", toolapi.ToolBash, `{"command":"cat in.txt; echo $SKEW_VALUE; echo run >> runs"}`); err != nil || r.Output != "given\nvalue\n" {
		return fmt.Errorf("call a: %+v, %w", r, err)
	}
	_, err := call(ctx, c, "b", toolapi.ToolBash, `{"command":"echo run >> runs; touch begun; until [ -e go ]; do sleep 0.05; done; echo waited"}`)
	return fmt.Errorf("call b came to an end: %w", err)
}

func wayOut(ctx context.Context, c *toolclient.Client) error {
	if _, err := c.SetEgress(ctx, toolapi.EgressRequest{Environment: map[string]string{"SKEW_VALUE": "value"}}); err != nil {
		return fmt.Errorf("say the way out: %w", err)
	}
	return nil
}

// goOn takes over from another manager in the middle of a call.
func goOn(ctx context.Context, c *toolclient.Client) error {
	if state, err := c.State(ctx, "a"); err != nil || state.Phase != toolapi.CallFinished || state.Result.Output != "given\nvalue\n" {
		return fmt.Errorf("state of a: %+v, %w", state, err)
	}
	if state, err := c.State(ctx, "b"); err != nil || state.Phase != toolapi.CallRunning {
		return fmt.Errorf("state of b: %+v, %w", state, err)
	}
	if state, err := c.State(ctx, "c"); err != nil || state.Phase != toolapi.CallAbsent {
		return fmt.Errorf("state of c: %+v, %w", state, err)
	}
	if err := wayOut(ctx, c); err != nil {
		return err
	}
	// Not by a call: that would wait for the one that runs.
	if err := os.WriteFile(os.Getenv("SKEW_GO"), nil, 0o600); err != nil {
		return err
	}
	if r, err := call(ctx, c, "b", toolapi.ToolBash, `{"command":"echo run >> runs; touch begun; until [ -e go ]; do sleep 0.05; done; echo waited"}`); err != nil || r.Output != "waited\n" {
		return fmt.Errorf("call b, again: %+v, %w", r, err)
	}
	if r, err := call(ctx, c, "e", toolapi.ToolBash, `{"command":"mkdir artifacts; echo whole > artifacts/out.txt; cat runs"}`); err != nil || r.Output != "run\nrun\n" {
		return fmt.Errorf("call e: %+v, %w", r, err)
	}
	list, err := c.Artifacts(ctx)
	if err != nil || len(list.Files) != 1 || list.Files[0].Path != "artifacts/out.txt" {
		return fmt.Errorf("artifacts: %+v, %w", list, err)
	}
	var content strings.Builder
	if _, err := c.ReadArtifact(ctx, "artifacts/out.txt", &content, 100); err != nil || content.String() != "whole\n" {
		return fmt.Errorf("read an artifact: %q, %w", &content, err)
	}
	_, err = c.GetFile(ctx, "nothing")
	if remote := (*toolclient.RemoteError)(nil); !errors.As(err, &remote) || remote.Code != toolapi.ErrNotFound {
		return fmt.Errorf("a file that is not there: %w", err)
	}
	_, err = io.WriteString(os.Stdout, "done\n")
	return err
}

func call(ctx context.Context, c *toolclient.Client, id, tool, args string) (toolapi.Result, error) {
	return c.Call(ctx, toolapi.Call{ID: id, Tool: tool, Arguments: json.RawMessage(args)})
}
