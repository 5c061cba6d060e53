// SPDX-License-Identifier: Apache-2.0

package motorloop

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"motorcortex.dev/motorcortex/internal/toolapi"
)

// learnPeer asks for the capabilities of the sandbox, until they are known. A sandbox that is not available ends the question.
func (r *run) learnPeer(ctx context.Context) {
	if r.askPeer == nil || r.cfg.Peer != nil {
		return
	}
	// The sandbox gets ready beyond the question, so its context must not be the one that ends with the question.
	r.gate.start(ctx)
	asking, cancel := context.WithCancel(ctx)
	defer cancel()
	defer r.gate.onFailure(cancel)()
	r.cfg.Peer = r.askPeer(asking)
	r.keepPrompt()
}

// keepPrompt retains the prompt of an attempt that began before its slow sandbox reported its environment. Another prompt would invalidate
// the endpoint's cache of the whole conversation, then and in each loop that carries the attempt on.
func (r *run) keepPrompt() {
	i := slices.IndexFunc(r.turns, func(t *Turn) bool { return t.PromptDigest != "" })
	if i < 0 || r.cfg.Peer.Environment() == nil {
		return
	}
	without := r.cfg
	without.Peer = r.cfg.Peer.WithoutEnvironment()
	began := r.turns[i].PromptDigest
	if began != digest([]byte(SystemPrompt(r.cfg))) && began == digest([]byte(SystemPrompt(without))) {
		r.cfg = without
	}
}

// narrow removes the tools that the sandbox does not have, and the arguments of the others that it does not know.
func narrow(defs []ToolDefinition, peer *toolapi.Peer) []ToolDefinition {
	if peer == nil {
		return defs
	}
	defs = slices.DeleteFunc(defs, func(d ToolDefinition) bool { return !peer.HasTool(d.Name) })
	for i, d := range defs {
		var schema struct {
			Properties json.RawMessage `json:"properties"`
		}
		if json.Unmarshal(d.Parameters, &schema) == nil {
			defs[i] = d.without(peer.Lacks(d.Name, schema.Properties)...)
		}
	}
	return defs
}

// without returns the definition without some of the arguments.
func (d ToolDefinition) without(names ...string) ToolDefinition {
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
