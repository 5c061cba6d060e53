// SPDX-License-Identifier: Apache-2.0

package toolclient

import (
	"context"
	"fmt"
	"net/http"

	"motorcortex.dev/motorcortex/internal/toolapi"
)

// Background lists the background programs of calls. ErrUnsupported means that the tool server has no record of them.
func (c *Client) Background(ctx context.Context) ([]toolapi.Program, error) {
	return c.programs(ctx, exchange{method: http.MethodGet, path: toolapi.PathBackground, timeout: shortTimeout})
}

// EndBackground ends the background programs of calls, and lists them. The reason is one of the toolapi.Stopped constants. Repeating
// it is harmless.
func (c *Client) EndBackground(ctx context.Context, reason string) ([]toolapi.Program, error) {
	return c.endPrograms(ctx, toolapi.BackgroundRequest{Reason: reason})
}

// EndPrograms is EndBackground that also ends the programs of MCP servers. A tool server that cannot do that ends the background
// programs of calls only.
func (c *Client) EndPrograms(ctx context.Context, reason string) ([]toolapi.Program, error) {
	return c.endPrograms(ctx, toolapi.BackgroundRequest{Reason: reason, MCP: true})
}

func (c *Client) endPrograms(ctx context.Context, req toolapi.BackgroundRequest) ([]toolapi.Program, error) {
	return c.programs(ctx, exchange{method: http.MethodPost, path: toolapi.PathBackground, timeout: cancelTimeout, payload: req})
}

func (c *Client) programs(ctx context.Context, e exchange) ([]toolapi.Program, error) {
	var resp toolapi.BackgroundResponse
	e.into = &resp
	if err := c.request(ctx, e); err != nil {
		return nil, err
	}
	if len(resp.Programs) > toolapi.MaxPrograms {
		return nil, fmt.Errorf("%w: %d programs in the background", ErrBadAnswer, len(resp.Programs))
	}
	for i := range resp.Programs {
		p := &resp.Programs[i]
		switch p.State {
		case toolapi.ProgramRunning, toolapi.ProgramSucceeded, toolapi.ProgramFailed, toolapi.ProgramStopped, toolapi.ProgramLost:
		default:
			return nil, fmt.Errorf("%w: a program in the background is %q", ErrBadAnswer, plain(string(p.State), 32))
		}
		p.Call, p.Reason = plain(p.Call, 128), plain(p.Reason, toolapi.MaxStopReason)
	}
	return resp.Programs, nil
}
