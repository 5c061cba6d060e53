// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"motorcortex.dev/motorcortex/internal/cli/verb"
	"motorcortex.dev/motorcortex/pkg/client/clientset/versioned/fake"
	"motorcortex.dev/motorcortex/pkg/client/motor"
)

// aClient is of a cluster without runs.
func aClient(t *testing.T) *motor.Client {
	t.Helper()
	c, err := motor.NewFor(motor.Clients{Motor: fake.NewSimpleClientset()}, "ns")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestOnlyTheLoopbackIsListenedAt(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]bool{
		"127.0.0.1:0": true, "localhost:8808": true, "[::1]:8808": true, "127.9.9.9:1": true,
		":8808": false, "0.0.0.0:8808": false, "[::]:8808": false, "10.0.0.1:8808": false, "example.org:8808": false, "127.0.0.1": false, "": false,
	} {
		if err := local(address); (err == nil) != want {
			t.Errorf("%q: %v", address, err)
		}
	}
}

// bearer sends a token with each request.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// A program with the token is served, and everything ends with the verb.
func TestServeHTTP(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out, printed := io.Pipe()
	serving, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		ended <- serveHTTP(serving, verb.Streams{Out: printed, Err: io.Discard}, "127.0.0.1:0", aClient(t), false)
	}()
	var url, token string
	if _, err := fmt.Fscanf(out, "url:   %s\ntoken: %s\n", &url, &token); err != nil || len(token) < 20 {
		t.Fatalf("%v, a token of %d", err, len(token))
	}
	c := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, nil)
	session, err := c.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: bearer(token)}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: motor.ToolTask, Arguments: map[string]any{"action": "list"}})
	if err != nil || result.IsError || result.Content[0].(*mcp.TextContent).Text != `{"runs":[],"total":0}` {
		t.Errorf("%+v, %v", result, err)
	}
	stop()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-ctx.Done():
		t.Fatal("the verb goes on without an end")
	}
}
