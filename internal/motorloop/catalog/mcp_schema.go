// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"motorcortex.dev/motorcortex/internal/schemabound"
)

// checkServerArguments checks arguments against the schema of an MCP server's tool, as far as it can be used. Otherwise arguments need only be a
// JSON object: the server checks them too, and its check is authoritative.
func checkServerArguments(schema json.RawMessage, args map[string]any, size int) error {
	s, err := schemabound.Read(schema, size)
	if err != nil {
		return nil //nolint:nilerr // A schema that cannot be used asks for nothing.
	}
	if schemabound.MayFit(s, args) {
		return nil
	}
	if why := Misfit(s, args, "argument"); why != "" {
		return errors.New(why)
	}
	return errors.New("the arguments do not fit the schema of the tool")
}

// Misfit returns which property of an object does not fit its schema, "" if that is unknown. The validator's own message names the property
// that it happens to reach first, and repeats values of any size.
func Misfit(s *jsonschema.Schema, object map[string]any, noun string) string {
	for _, name := range slices.Sorted(slices.Values(s.Required)) {
		if _, given := object[name]; !given {
			return fmt.Sprintf("the %s %q is missing", noun, Shorten(name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		sub := s.Properties[name]
		switch {
		case sub == nil && len(s.PatternProperties) == 0 && forbidsOthers(s):
			return fmt.Sprintf("there is no %s %q: it can be %s", noun, Shorten(name), shortNames(s.Properties))
		case sub != nil && !schemabound.MayFit(sub, object[name]):
			return fmt.Sprintf("the %s %q does not fit its schema%s: it is %s", noun, Shorten(name), TypeOf(sub), KindOf(object[name]))
		}
	}
	return ""
}

// forbidsOthers reports whether additionalProperties is false.
func forbidsOthers(s *jsonschema.Schema) bool {
	b, err := json.Marshal(s.AdditionalProperties)
	return err == nil && string(b) == "false"
}

// shortNames returns the names of properties, shortened for display.
func shortNames(properties map[string]*jsonschema.Schema) string {
	const most = 32
	var names []string
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		names = append(names, fmt.Sprintf("%q", Shorten(name)))
	}
	if len(names) > most {
		names = append(names[:most], "…")
	}
	return strings.Join(names, ", ")
}

// TypeOf returns the type that a schema asks for, in parentheses, "" if it asks for none of the JSON types.
func TypeOf(s *jsonschema.Schema) string {
	switch s.Type {
	case "string", "number", "integer", "boolean", "array", "object":
		return " (" + s.Type + ")"
	}
	return ""
}
