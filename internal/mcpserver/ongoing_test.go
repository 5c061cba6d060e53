// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"motorcortex.dev/motorcortex/pkg/client/motor"
)

// A call ends with its session, with its server and with its own end, and no other call does.
func TestCallsEndWithTheirSession(t *testing.T) {
	t.Parallel()
	life, over := context.WithCancel(t.Context())
	c := &ongoing{life: life}
	first, end := c.begin(t.Context(), "a")
	second, _ := c.begin(t.Context(), "a")
	other, _ := c.begin(t.Context(), "b")
	end()
	if first.Err() == nil || second.Err() != nil || other.Err() != nil {
		t.Errorf("one call has ended: %v, %v, %v", first.Err(), second.Err(), other.Err())
	}
	c.end("a")
	if second.Err() == nil || other.Err() != nil {
		t.Errorf("a session has ended: %v, %v", second.Err(), other.Err())
	}
	over()
	select {
	case <-other.Done():
	case <-time.After(time.Minute):
		t.Error("the server has ended, and a call goes on")
	}
	_, end = c.begin(t.Context(), "c")
	end()
	if len(c.of["c"]) != 0 {
		t.Error("a call that has ended is kept")
	}
}

// The end of a server waits for no call that waits for a run.
func TestAServerThatEndsWaitsForNoCall(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	entered := make(chan struct{})
	_, session := begun(ctx, t, func(ctx context.Context) (context.Context, func(), bool) { close(entered); return ctx, func() {}, true })
	ended := make(chan error, 1)
	go func() {
		_, err := session.CallTool(t.Context(), &mcp.CallToolParams{
			Name: motor.ToolTask, Arguments: json.RawMessage(`{"action":"wait","runId":"a","timeoutSeconds":600}`),
		})
		ended <- err
	}()
	<-entered
	stop()
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Error("the call goes on")
	}
}

// Too many calls are an error that a model reads.
func TestCallsThatAreTooMany(t *testing.T) {
	t.Parallel()
	_, session := begun(t.Context(), t, func(context.Context) (context.Context, func(), bool) { return nil, nil, false })
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: motor.ToolTask, Arguments: json.RawMessage(`{"action":"list"}`)})
	if err != nil || !result.IsError || result.Content[0].(*mcp.TextContent).Text != errMany.Error() {
		t.Errorf("%+v, %v", result, err)
	}
	if _, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: skillsURI}); err == nil || errors.Is(err, context.Canceled) {
		t.Errorf("a resource: %v", err)
	}
}
