// SPDX-License-Identifier: Apache-2.0

package toolclient

import (
	"context"
	"net/http"

	"motorcortex.dev/motorcortex/internal/toolapi"
)

// MakeRepository makes the initial files the first commit of a git repository in the workspace, if nothing prevents it. Repeating it is
// harmless.
func (c *Client) MakeRepository(ctx context.Context) (toolapi.Repository, error) {
	var made toolapi.Repository
	err := c.request(ctx, exchange{method: http.MethodPost, path: toolapi.PathRepository, timeout: fileTimeout, into: &made})
	return made, err
}
