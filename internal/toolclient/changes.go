// SPDX-License-Identifier: Apache-2.0

package toolclient

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"motorcortex.dev/motorcortex/internal/toolapi"
)

// maxChangesAnswerBytes fits the largest diff in base64, and the list of omitted files.
const maxChangesAnswerBytes = toolapi.MaxDiffBytes*4/3 + 64<<10

// Changes returns the changes in the workspace against its initial files, as a diff. The diff is the sandbox's claim and must not be
// trusted. ErrUnsupported means that the tool server does not record the initial files.
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
