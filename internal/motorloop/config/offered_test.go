// SPDX-License-Identifier: Apache-2.0

package config

import (
	"slices"
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/internal/motorloop/catalog"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// The model sees the capabilities of the sandbox, and no others.
func TestOffersWhatTheSandboxHas(t *testing.T) {
	hello := toolapi.Hello{Tools: []string{toolapi.ToolBash, toolapi.ToolRead}}
	for _, f := range toolapi.Features() {
		if f != "bash.background" {
			hello.Features = append(hello.Features, f)
		}
	}
	cfg := Config{Tools: []string{toolapi.ToolBash, toolapi.ToolRead, toolapi.ToolGrep}}
	whole := cfg.Definitions(catalog.Builtin())
	cfg.Peer = hello.Peer()
	defs := cfg.Definitions(catalog.Builtin())
	var names []string
	for _, d := range defs {
		names = append(names, d.Name)
	}
	if !slices.Contains(names, toolapi.ToolAskUser) || !slices.Contains(names, toolapi.ToolBash) || slices.Contains(names, toolapi.ToolGrep) {
		t.Errorf("offered are %q", names)
	}
	for _, d := range defs {
		schema := string(d.Parameters)
		if d.Name == toolapi.ToolBash && (strings.Contains(schema, `"background"`) || !strings.Contains(schema, `"timeoutSeconds"`) || !strings.Contains(schema, `"required":["command"]`)) {
			t.Errorf("bash is described as %s", schema)
		}
		if d.Name != toolapi.ToolBash && !slices.ContainsFunc(whole, func(w catalog.ToolDefinition) bool { return w.Name == d.Name && string(w.Parameters) == schema }) {
			t.Errorf("%s is described as %s", d.Name, schema)
		}
	}
	if again := (Config{Tools: cfg.Tools}).Definitions(catalog.Builtin()); !slices.ContainsFunc(again, func(d catalog.ToolDefinition) bool {
		return d.Name == toolapi.ToolBash && strings.Contains(string(d.Parameters), `"background"`)
	}) {
		t.Error("the catalog of all runs was changed")
	}
}
