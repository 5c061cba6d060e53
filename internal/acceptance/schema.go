// SPDX-License-Identifier: Apache-2.0

package acceptance

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"motorcortex.dev/motorcortex/internal/schemabound"
	"motorcortex.dev/motorcortex/internal/text"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// checkSchema returns an error if no value can be validated against a schema, or if plainly no value could match it.
func checkSchema(raw json.RawMessage) error {
	s, err := schemabound.Read(raw, toolapi.MaxFinishValue)
	if err != nil {
		return err
	}
	// Only its use shows whether it is usable.
	if _, err := schemabound.Fits(s, map[string]any{}); err != nil {
		return err
	}
	var schema map[string]any
	if json.Unmarshal(raw, &schema) != nil {
		return errors.New("it must be a JSON object")
	}
	if odd := oddType(schema); odd != "" {
		return fmt.Errorf("it has the type %q, and there are %s", text.CutBytes(text.Printable(odd), 40), strings.Join(types, ", "))
	}
	if schema["type"] == "null" {
		return errors.New("only null fits it, and that counts as no value")
	}
	return nil
}

// types are those of JSON schema.
var types = []string{"array", "boolean", "integer", "null", "number", "object", "string"}

// Keywords whose values are schemas, lists of schemas, or objects of schemas. Others, such as const and enum, may have any value.
var (
	oneSchema = []string{
		"items", "additionalItems", "additionalProperties", "contains", "not", "if", "then", "else", "propertyNames", "unevaluatedItems",
		"unevaluatedProperties",
	}
	manySchemas  = []string{"allOf", "anyOf", "oneOf", "prefixItems", "items"}
	namedSchemas = []string{"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"}
)

// oddType returns an unknown type of the schema, or of one within it; "" if all are known. The schema is not nested deep: Read has read it.
func oddType(schema any) string {
	object, ok := schema.(map[string]any)
	if !ok {
		return ""
	}
	for _, t := range listOf(object["type"]) {
		if name, ok := t.(string); ok && !slices.Contains(types, name) {
			return name
		}
	}
	for _, key := range slices.Sorted(maps.Keys(object)) {
		var within []any
		if slices.Contains(oneSchema, key) {
			within = append(within, object[key])
		}
		if list, ok := object[key].([]any); ok && slices.Contains(manySchemas, key) {
			within = append(within, list...)
		}
		if named, ok := object[key].(map[string]any); ok && slices.Contains(namedSchemas, key) {
			for _, name := range slices.Sorted(maps.Keys(named)) {
				within = append(within, named[name])
			}
		}
		for _, s := range within {
			if odd := oddType(s); odd != "" {
				return odd
			}
		}
	}
	return ""
}

// listOf returns a list, or a list of the value alone.
func listOf(v any) []any {
	if list, ok := v.([]any); ok {
		return list
	}
	return []any{v}
}
