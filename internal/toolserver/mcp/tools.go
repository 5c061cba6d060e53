// SPDX-License-Identifier: Apache-2.0

//go:build linux

package mcp

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolserver/plaintext"
)

const (
	// maxPages and maxListed bound how long a server may go on naming tools.
	maxPages  = 32
	maxListed = 1024
	// maxDepth is how deep a schema may be nested.
	maxDepth = 32
)

// offer is the set of allowed tools that a server offers.
type offer struct {
	// tools are in the order of their names.
	tools []toolapi.MCPTool
	// omitted has the reason for each allowed tool that is not among them.
	omitted []string
}

func (l *offer) digest() string {
	b, err := json.Marshal(l.tools)
	if err != nil {
		return "" // The schemas are JSON that this program wrote.
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// list asks for the tools.
func (s *session) list(ctx context.Context, words toolapi.MCPServer) (*offer, error) {
	s.traffic.refill()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // It ends the remainder of an answer.
	found := map[string]*mcp.Tool{}
	cursor, listed := "", 0
	for range maxPages {
		page, err := s.client.ListTools(ctx, &mcp.ListToolsParams{Cursor: cursor})
		if err != nil {
			return nil, fmt.Errorf("ask for its tools: %w", err)
		}
		if listed += len(page.Tools); listed > maxListed {
			return nil, fmt.Errorf("it names more than %d tools", maxListed)
		}
		for _, t := range page.Tools {
			if found[t.Name] == nil {
				found[t.Name] = t
			}
		}
		if cursor = page.NextCursor; cursor == "" {
			return choose(words, found), nil
		}
	}
	return nil, fmt.Errorf("its list of tools has more than %d pages", maxPages)
}

// choose takes the allowed tools of those that a server names.
func choose(words toolapi.MCPServer, found map[string]*mcp.Tool) *offer {
	list := &offer{}
	for _, name := range slices.Sorted(slices.Values(words.Tools)) {
		t, err := describeTool(words.Name, name, found[name])
		if err != nil {
			list.omitted = append(list.omitted, fmt.Sprintf("%s: %v", name, err))
			continue
		}
		list.tools = append(list.tools, t)
	}
	return list
}

// describeTool converts a server's description of a tool.
func describeTool(server, name string, t *mcp.Tool) (toolapi.MCPTool, error) {
	full := toolapi.MCPToolName(server, name)
	switch {
	case t == nil:
		return toolapi.MCPTool{}, errors.New("the server has no such tool")
	case len(full) > toolapi.MaxToolName:
		return toolapi.MCPTool{}, fmt.Errorf("its whole name %s has more than %d characters", full, toolapi.MaxToolName)
	case !modelToolName.MatchString(full):
		return toolapi.MCPTool{}, errors.New("models take letters, digits, - and _ only in the name of a tool")
	}
	schema, err := cleanSchema(t.InputSchema)
	if err != nil {
		return toolapi.MCPTool{}, fmt.Errorf("its schema cannot be used: %w", err)
	}
	description := plaintext.Clean(t.Description)
	if len(description) > toolapi.MaxMCPDescription {
		const mark = "…"
		description = plaintext.First(description, toolapi.MaxMCPDescription-len(mark)) + mark
	}
	return toolapi.MCPTool{Name: name, Description: description, InputSchema: schema}, nil
}

// cleanSchema writes a schema with sorted keys and nothing between them.
func cleanSchema(schema any) (json.RawMessage, error) {
	object, ok := schema.(map[string]any)
	switch {
	case !ok:
		return nil, errors.New("it is no object")
	case object["type"] != "object":
		return nil, errors.New(`its type is not "object"`)
	case deeperThan(schema, maxDepth):
		return nil, fmt.Errorf("it is nested deeper than %d", maxDepth)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(object); err != nil {
		return nil, err
	}
	text := bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	if len(text) > toolapi.MaxMCPSchema {
		return nil, fmt.Errorf("it has more than %d bytes", toolapi.MaxMCPSchema)
	}
	return text, nil
}

func deeperThan(v any, depth int) bool {
	if depth < 0 {
		return true
	}
	switch v := v.(type) {
	case []any:
		return slices.ContainsFunc(v, func(item any) bool { return deeperThan(item, depth-1) })
	case map[string]any:
		for _, item := range v {
			if deeperThan(item, depth-1) {
				return true
			}
		}
	}
	return false
}
