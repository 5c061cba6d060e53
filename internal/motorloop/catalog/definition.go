// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"motorcortex.dev/motorcortex/internal/toolapi"
)

// ToolDefinition is a tool as the model sees it.
type ToolDefinition struct {
	Name        string
	Description string
	// Parameters is a JSON schema.
	Parameters json.RawMessage
}

// MCPServer is a server of the Model Context Protocol as the model sees it.
type MCPServer struct {
	Name string
	// Tools are the server's tools, under their full names (toolapi.MCPToolName). Description and Parameters are the server's own text.
	Tools []ToolDefinition
	// Problem is why the server, or a tool of it, cannot be used, "" if all can. A call of a tool that is missing for that
	// reason is not refused: Tools answers it, because it may have been made before the tool was missing.
	Problem string
}

// Narrow removes the tools that the sandbox does not have, and the arguments of the others that it does not know.
func Narrow(defs []ToolDefinition, peer *toolapi.Peer) []ToolDefinition {
	if peer == nil {
		return defs
	}
	defs = slices.DeleteFunc(defs, func(d ToolDefinition) bool { return !peer.HasTool(d.Name) })
	for i, d := range defs {
		var schema struct {
			Properties json.RawMessage `json:"properties"`
		}
		if json.Unmarshal(d.Parameters, &schema) == nil {
			defs[i] = d.Without(peer.Lacks(d.Name, schema.Properties)...)
		}
	}
	return defs
}

// Without returns the definition without some of the arguments.
func (d ToolDefinition) Without(names ...string) ToolDefinition {
	var schema, properties map[string]json.RawMessage
	if len(names) == 0 || json.Unmarshal(d.Parameters, &schema) != nil || json.Unmarshal(schema["properties"], &properties) != nil {
		return d
	}
	maps.DeleteFunc(properties, func(name string, _ json.RawMessage) bool { return slices.Contains(names, name) })
	var required []string
	if json.Unmarshal(schema["required"], &required) == nil {
		required = slices.DeleteFunc(required, func(name string) bool { return slices.Contains(names, name) })
	}
	var err1, err2 error
	schema["properties"], err1 = json.Marshal(properties)
	if required != nil {
		schema["required"], err2 = json.Marshal(required)
	}
	if narrowed, err := json.Marshal(schema); errors.Join(err, err1, err2) == nil {
		d.Parameters = narrowed
	}
	return d
}
