// SPDX-License-Identifier: Apache-2.0

package websearch

import (
	"context"
	"net/http"
)

// Probe reports whether the provider can be used, without a search. It sends SearXNG an empty query, which SearXNG refuses (400) after it has
// checked whether it may answer in JSON. Brave counts every request, so Probe checks only the form of its key. Its errors are *Error, or the
// context's.
func (p Provider) Probe(ctx context.Context) error {
	within, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	req, err := p.request(within, "", 1)
	if err != nil || p.Type == Brave {
		return err
	}
	resp, err := p.client().Do(req)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return p.unreachable(within, err)
	}
	if err := resp.Body.Close(); err != nil {
		return p.unreachable(within, err)
	}
	if resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusBadRequest {
		return p.refused(resp.StatusCode)
	}
	return nil
}
