// SPDX-License-Identifier: Apache-2.0

package toolclient

import (
	"context"
	"fmt"
	"net/http"

	"motorcortex.dev/motorcortex/internal/toolapi"
)

// Halt ends everything that runs in the sandbox, and returns its remaining connections. Repeating it is harmless.
func (c *Client) Halt(ctx context.Context) (toolapi.HaltResponse, error) {
	var resp toolapi.HaltResponse
	err := c.request(ctx, exchange{method: http.MethodPost, path: toolapi.PathHalt, timeout: fileTimeout, into: &resp})
	if err == nil && (len(resp.Connections) > toolapi.MaxConnections || int(resp.All) < len(resp.Connections)) {
		err = fmt.Errorf("%w: %d connections of %d", ErrBadAnswer, len(resp.Connections), resp.All)
	}
	if err != nil {
		return toolapi.HaltResponse{}, err
	}
	for i := range resp.Connections {
		conn := &resp.Connections[i]
		conn.Network, conn.State = plain(conn.Network, 16), plain(conn.State, 16)
		conn.Local, conn.Remote = plain(conn.Local, 64), plain(conn.Remote, 64)
	}
	return resp, nil
}
