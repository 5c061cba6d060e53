// SPDX-License-Identifier: Apache-2.0

//go:build linux

package internet

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// withKey sends a key with every request.
type withKey string

func (k withKey) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(k))
	return http.DefaultTransport.RoundTrip(r)
}

func connect(t *testing.T, url, key string) (*mcp.ClientSession, error) {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	return client.Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint: url, HTTPClient: &http.Client{Transport: withKey(key)}, MaxRetries: -1, DisableStandaloneSSE: true,
	}, nil)
}

// described returns the tools of the server with their descriptions.
func described(t *testing.T, session *mcp.ClientSession) map[string]string {
	t.Helper()
	list, err := session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	tools := map[string]string{}
	for _, tool := range list.Tools {
		tools[tool.Name] = tool.Description
	}
	return tools
}

func TestMCP(t *testing.T) {
	m := NewMCP("right")
	host := httptest.NewServer(m)
	t.Cleanup(host.Close)
	if session, err := connect(t, host.URL, "wrong"); err == nil {
		_ = session.Close()
		t.Fatal("another key is let in")
	}
	session, err := connect(t, host.URL, "right")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	if tools := described(t, session); len(tools) != 2 || tools[MCPList] != "Lists the open issues of a repository." || tools[MCPCreate] == "" {
		t.Errorf("it offers %q", tools)
	}
	res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: MCPList, Arguments: map[string]any{"owner": "a", "repo": "b"}})
	if err != nil || res.IsError || len(res.Content) != 1 {
		t.Fatalf("%+v %v", res, err)
	}
	if text, ok := res.Content[0].(*mcp.TextContent); !ok || text.Text != "#1 of a/b: The door does not close" {
		t.Errorf("it answers %+v", res.Content[0])
	}
	m.Describe("Something else.")
	if tools := described(t, session); len(tools) != 2 || tools[MCPList] != "Something else." {
		t.Errorf("then it offers %q", tools)
	}
	if calls := m.Calls(); !slices.Equal(calls, []string{MCPList}) {
		t.Errorf("it was called %q", calls)
	}
}
