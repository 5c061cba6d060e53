// SPDX-License-Identifier: Apache-2.0

package config

import (
	"slices"

	"motorcortex.dev/motorcortex/internal/motorloop/catalog"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// granted returns the names of the tools that the run may use, beside ask_user and those of MCP servers. It omits search_web if no
// searcher is configured.
func (cfg Config) granted() []string {
	granted := slices.DeleteFunc(slices.Clone(cfg.Tools), func(tool string) bool { return tool == toolapi.ToolSearchWeb && !cfg.Search })
	if cfg.RequestDomain {
		granted = append(granted, toolapi.ToolRequestDomain)
	}
	return granted
}

// Definitions returns the tools that the run is offered.
func (cfg Config) Definitions(c *catalog.Catalog) []catalog.ToolDefinition {
	defs := c.Definitions(cfg.granted())
	for i := range defs {
		defs[i] = defs[i].Without(cfg.hidden(defs[i].Name)...)
	}
	if cfg.Review {
		defs = slices.DeleteFunc(defs, func(d catalog.ToolDefinition) bool { return d.Name == toolapi.ToolAskUser })
	}
	return catalog.Narrow(defs, cfg.Peer)
}

// hidden returns the arguments of a tool that are meaningless in the run and would only tempt the model: the value of finish without a
// schema for it, and the name of an external effect in a run that can reach nothing outside.
func (cfg Config) hidden(tool string) []string {
	switch tool {
	case toolapi.ToolFinish:
		if len(cfg.Accept.Schemas) == 0 {
			return []string{"value"}
		}
	case toolapi.ToolBash, toolapi.ToolFetch:
		if len(cfg.Domains) == 0 && !cfg.RequestDomain {
			return []string{"idempotencyKey"}
		}
	}
	return nil
}

// Offered returns the names of definitions.
func (cfg Config) Offered(c *catalog.Catalog) []string {
	var names []string
	for _, d := range cfg.Definitions(c) {
		names = append(names, d.Name)
	}
	return names
}

// Withheld reports whether the tool may be missing only because of a problem of its server. See MCPServer.
func (cfg Config) Withheld(tool string) bool {
	name, _, ok := toolapi.ParseMCPToolName(tool)
	return ok && slices.ContainsFunc(cfg.MCPServers, func(s catalog.MCPServer) bool { return s.Name == name && s.Problem != "" })
}
