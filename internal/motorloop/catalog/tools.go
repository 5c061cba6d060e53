// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"

	"motorcortex.dev/motorcortex/internal/toolapi"
)

// Catalog has all tools, with the schemas that the model sees and that validate its arguments. It never changes after New and may be
// shared.
type Catalog struct {
	// tools are in the order in which the model sees them.
	tools []catalogTool
}

type catalogTool struct {
	ToolDefinition
	schema *jsonschema.Schema
	whole  *jsonschema.Resolved
	// fields has the schema of each property alone, to find the one that an error is about.
	fields map[string]*jsonschema.Resolved
	// server is the MCP server that has the tool, "" for a built-in tool. A tool of a server has its ToolDefinition only, and is always
	// offered.
	server string
}

// Builtin returns the one Catalog that the loop uses. It is made at first use and never changed. Making it is slow: a loop that made one
// for each turn would spend more on it than on everything else.
var Builtin = sync.OnceValue(New)

// Definitions returns the granted tools, ask_user and finish as the model sees them, in an order that does not depend on
// that of granted. It ignores names of unknown tools.
func Definitions(granted []string) []ToolDefinition { return Builtin().Definitions(granted) }

// Definitions is like the function of that name.
func (c *Catalog) Definitions(granted []string) []ToolDefinition {
	var defs []ToolDefinition
	for _, t := range c.tools {
		if t.Name == toolapi.ToolAskUser || t.Name == toolapi.ToolFinish || t.server != "" || slices.Contains(granted, t.Name) {
			defs = append(defs, t.ToolDefinition)
		}
	}
	return defs
}

// Names returns the names of all tools, in the order in which the model sees them.
func (c *Catalog) Names() []string {
	names := make([]string, 0, len(c.tools))
	for _, t := range c.tools {
		names = append(names, t.Name)
	}
	return names
}

// Knows reports whether the catalog has a tool.
func (c *Catalog) Knows(tool string) bool { return c.find(tool) != nil }

func (c *Catalog) find(tool string) *catalogTool {
	i := slices.IndexFunc(c.tools, func(t catalogTool) bool { return t.Name == tool })
	if i < 0 {
		return nil
	}
	return &c.tools[i]
}

// describe makes the entry of a tool whose arguments are T; refine gets T's properties by name.
func describe[T any](name, description string, refine func(map[string]*jsonschema.Schema)) catalogTool {
	t, err := tryDescribe[T](name, description, refine)
	if err != nil {
		panic(fmt.Sprintf("arguments of tool %s: %v", name, err))
	}
	return t
}

func tryDescribe[T any](
	name, description string, refine func(map[string]*jsonschema.Schema),
) (t catalogTool, err error) {
	s, err := jsonschema.For[T](nil)
	if err != nil {
		return t, err
	}
	refine(s.Properties)
	t = catalogTool{
		ToolDefinition: ToolDefinition{Name: name, Description: description},
		schema:         s,
		fields:         map[string]*jsonschema.Resolved{},
	}
	if t.Parameters, err = json.Marshal(shown(s)); err != nil {
		return t, err
	}
	for field, sub := range s.Properties {
		if t.fields[field], err = sub.CloneSchemas().Resolve(nil); err != nil {
			return t, err
		}
	}
	t.whole, err = s.Resolve(nil)
	return t, err
}

// shown returns a schema without the bounds that are checked all the same. They would be in every request, and a call that breaks one gets an error.
func shown(s *jsonschema.Schema) *jsonschema.Schema {
	s = s.CloneSchemas()
	prune(s)
	return s
}

func prune(s *jsonschema.Schema) {
	s.MinLength, s.MaxLength, s.Minimum, s.Maximum, s.MinItems, s.MaxItems, s.AdditionalProperties = nil, nil, nil, nil, nil, nil, nil
	for _, p := range s.Properties {
		prune(p)
	}
	if s.Items != nil {
		prune(s.Items)
	}
}

func notEmpty(s *jsonschema.Schema) { s.MinLength = new(1) }

func between(s *jsonschema.Schema, low, high float64) { s.Minimum, s.Maximum = &low, &high }

// atLeast does not change the maximum of the field's Go type, so that no value fits the schema that the tool server
// cannot decode.
func atLeast(s *jsonschema.Schema, low float64) { s.Minimum = &low }
