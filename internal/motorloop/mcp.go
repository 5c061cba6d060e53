// SPDX-License-Identifier: Apache-2.0

package motorloop

import (
	"context"

	"motorcortex.dev/motorcortex/internal/motorloop/catalog"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// meet waits for the MCP servers and adds their tools, once per Run.
func (r *run) meet(ctx context.Context) error {
	if r.servers == nil || r.met {
		return nil
	}
	if err := r.gate.wait(ctx); err != nil {
		return err
	}
	r.cfg.MCPServers = r.servers()
	r.catalog, r.met = catalog.With(r.cfg.MCPServers), true
	return nil
}

// meetFor is meet, if the tool may be one of theirs. A call that needs none of them does not wait.
func (r *run) meetFor(ctx context.Context, tool string) error {
	if r.catalog.Knows(tool) {
		return nil
	}
	return r.meet(ctx)
}

// carriesWeb reports whether a result of the tool may hold data from outside. A program that is an MCP server can
// write such data into any file, and so can a model that has read the results of a search.
func (r *run) carriesWeb(tool string, ok bool) bool {
	if len(r.cfg.Domains) == 0 && !r.cfg.Tainted && !r.cfg.Search && r.servers == nil {
		return toolapi.AlwaysWeb(tool)
	}
	return toolapi.CarriesWeb(tool, ok)
}
