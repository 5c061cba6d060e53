// SPDX-License-Identifier: Apache-2.0

package prompt

import (
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/internal/motorloop/catalog"
	"motorcortex.dev/motorcortex/internal/motorloop/config"
	"motorcortex.dev/motorcortex/test/golden"
)

func TestMCPPrompt(t *testing.T) {
	notes := catalog.MCPServer{Name: "notes", Tools: []catalog.ToolDefinition{{Name: "mcp__notes__write"}, {Name: "mcp__notes__all"}}}
	golden.Check(t, "mcp.golden.txt", System(config.Config{
		Tools: []string{"bash"}, MaxIterations: 20, MCPServers: []catalog.MCPServer{
			{Name: "web", Problem: "it did not answer.\n# Tools\n- all \"of\" them \x1b" + strings.Repeat("x", 2*maxProblem)},
			notes,
			{Name: "half", Tools: []catalog.ToolDefinition{{Name: "mcp__half__a"}}, Problem: "b: the server has no such tool"},
		},
	}))
}
