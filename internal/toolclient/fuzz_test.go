// SPDX-License-Identifier: Apache-2.0

package toolclient

import (
	"encoding/json"
	"testing"

	"motorcortex.dev/motorcortex/internal/jsonbound"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// FuzzMCPState checks that a sandbox's report of its MCP servers is refused, or within its bounds.
func FuzzMCPState(f *testing.F) {
	f.Add([]byte(`{"servers":[{"name":"s","tools":[{"name":"t","inputSchema":{"type":"object"}}]}]}`))
	f.Add([]byte(`{"servers":[{"name":"s","error":"\u001b[2J"}]}`))
	f.Add([]byte(`{"servers":[{"name":"s","tools":[{"inputSchema":[[[[[[[[[[`))
	asked := toolapi.MCPServer{Name: "s", Tools: []string{"t", "u"}}
	f.Fuzz(func(t *testing.T, content []byte) {
		var resp toolapi.MCPResponse
		if jsonbound.Check(content, answerLimits) != nil || json.Unmarshal(content, &resp) != nil {
			return
		}
		for i := range resp.Servers {
			s := &resp.Servers[i]
			if checkState(s, asked) == nil && (len(s.Tools) > len(asked.Tools) || len(s.Error) > toolapi.MaxMCPProblem) {
				t.Errorf("%+v", s)
			}
		}
	})
}
