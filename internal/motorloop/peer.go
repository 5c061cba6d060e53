// SPDX-License-Identifier: Apache-2.0

package motorloop

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"motorcortex.dev/motorcortex/internal/toolapi"
)

// learnPeer asks what the sandbox has, until it is known. A sandbox that cannot be had ends the question.
func (r *run) learnPeer(ctx context.Context) {
	if r.askPeer == nil || r.cfg.Peer != nil {
		return
	}
	// The sandbox gets ready beyond the question, so its context is not the one that ends with it.
	r.gate.start(ctx)
	asking, cancel := context.WithCancel(ctx)
	defer cancel()
	defer r.gate.onFailure(cancel)()
	r.cfg.Peer = r.askPeer(asking)
}

// narrow leaves out the tools that the sandbox does not have, and of the others the arguments that it does not know.
func narrow(defs []ToolDefinition, peer *toolapi.Peer) []ToolDefinition {
	if peer == nil {
		return defs
	}
	defs = slices.DeleteFunc(defs, func(d ToolDefinition) bool { return !peer.HasTool(d.Name) })
	for i, d := range defs {
		var schema map[string]json.RawMessage
		var properties map[string]json.RawMessage
		if json.Unmarshal(d.Parameters, &schema) != nil || json.Unmarshal(schema["properties"], &properties) != nil {
			continue
		}
		lacks := peer.Lacks(d.Name, schema["properties"])
		if len(lacks) == 0 {
			continue
		}
		maps.DeleteFunc(properties, func(name string, _ json.RawMessage) bool { return slices.Contains(lacks, name) })
		var required []string
		if json.Unmarshal(schema["required"], &required) == nil {
			required = slices.DeleteFunc(required, func(name string) bool { return slices.Contains(lacks, name) })
		}
		var err1, err2, err3 error
		schema["properties"], err1 = json.Marshal(properties)
		if required != nil {
			schema["required"], err2 = json.Marshal(required)
		}
		narrowed, err3 := json.Marshal(schema)
		if err1 == nil && err2 == nil && err3 == nil {
			defs[i].Parameters = narrowed
		}
	}
	return defs
}
