// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/internal/toolapi"
)

func TestMCPHostileSchemas(t *testing.T) {
	for name, tt := range map[string]struct {
		schema, args string
		fits         bool
	}{
		"itself":      {`{"type":"object","$ref":"#"}`, `{}`, true},
		"remote":      {`{"$ref":"https://example.org/schema","required":["b"]}`, `{}`, true},
		"old version": {`{"$schema":"http://json-schema.org/draft-07/schema#","required":["b"]}`, `{}`, false},
		"refers":      {`{"$defs":{"a":{"type":"integer"}},"properties":{"x":{"$ref":"#/$defs/a"}}}`, `{"x":"y"}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := With([]MCPServer{{Name: "s", Tools: []ToolDefinition{{Name: "mcp__s__t", Parameters: json.RawMessage(tt.schema)}}}})
			began := time.Now()
			err := c.ValidateArguments("mcp__s__t", tt.args)
			if (err == nil) != tt.fits {
				t.Errorf("%v", err)
			}
			if again := c.ValidateArguments("mcp__s__t", tt.args); fmt.Sprint(err) != fmt.Sprint(again) || len(fmt.Sprint(err)) > 500 {
				t.Errorf("%v, then %v", err, again)
			}
			if took := time.Since(began); took > 5*time.Second {
				t.Errorf("it took %s", took)
			}
			if err := c.ValidateArguments("mcp__s__t", `"x"`); err == nil {
				t.Error("arguments that are no object are let through")
			}
		})
	}
}

func FuzzMCPSchema(f *testing.F) {
	f.Add(noteSchema, `{"text":"x"}`)
	f.Add(`{"$defs":{"a":{"type":"integer"}},"properties":{"x":{"$ref":"#/$defs/a"}}}`, `{"x":1}`)
	f.Add(`{"type":"object","properties":{"a":{"$ref":"#"}}}`, `{"a":{}}`)
	f.Add(`{"patternProperties":{"^a{3}$":{"pattern":"x+"}},"additionalProperties":{"oneOf":[{},{"not":{}}]}}`, `{"aaa":"x"}`)
	f.Fuzz(func(t *testing.T, schema, args string) {
		if len(schema) > toolapi.MaxMCPSchema || len(args) > toolapi.MaxArgumentsBytes {
			return
		}
		c := With([]MCPServer{{Name: "s", Tools: []ToolDefinition{{Name: "mcp__s__t", Parameters: json.RawMessage(schema)}}}})
		if first, second := c.ValidateArguments("mcp__s__t", args), c.ValidateArguments("mcp__s__t", args); fmt.Sprint(first) != fmt.Sprint(second) {
			t.Errorf("%v, then %v", first, second)
		}
	})
}
