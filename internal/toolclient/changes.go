// SPDX-License-Identifier: Apache-2.0

package toolclient

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"motorcortex.dev/motorcortex/internal/toolapi"
)

// maxChangesAnswerBytes holds the largest diff in base64, and what is left out of it.
const maxChangesAnswerBytes = toolapi.MaxDiffBytes*4/3 + 64<<10

// Changes returns what changed in the workspace against what was given, as a diff. Nothing of it is to be believed but that the sandbox
// says so. ErrUnsupported is a tool server that keeps nothing of what was given.
func (c *Client) Changes(ctx context.Context, req toolapi.ChangesRequest) (toolapi.Changes, error) {
	var found toolapi.Changes
	err := c.request(ctx, exchange{
		method: http.MethodPost, path: toolapi.PathChanges, payload: req, timeout: shortTimeout + time.Duration(req.TimeoutMs)*time.Millisecond,
		into: &found, most: maxChangesAnswerBytes,
	})
	if err == nil && (len(found.Diff) > toolapi.MaxDiffBytes || len(found.LeftOut) > toolapi.MaxLeftOut || found.Omitted < 0) {
		err = fmt.Errorf("%w: a diff of %d bytes, which leaves out %d files and %d more", ErrBadAnswer, len(found.Diff), len(found.LeftOut), found.Omitted)
	}
	if err != nil {
		return toolapi.Changes{}, err
	}
	for i := range found.LeftOut {
		left := &found.LeftOut[i]
		left.Path, left.Why = plain(left.Path, toolapi.MaxArtifactPath), plain(left.Why, 128)
	}
	return found, nil
}
