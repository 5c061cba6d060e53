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

// checkSchema says why no value could be held to a schema, or no value could fit it as far as that is plain to see.
func checkSchema(raw json.RawMessage) error {
	s, err := schemabound.Read(raw, toolapi.MaxFinishValue)
	if err != nil {
		return err
	}
	// Whether it can be used is seen by using it.
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

// Keywords whose values are schemas, lists of schemas, or objects of schemas. In others, such as const and enum, any value may stand.
var (
	oneSchema = []string{
		"items", "additionalItems", "additionalProperties", "contains", "not", "if", "then", "else", "propertyNames", "unevaluatedItems",
		"unevaluatedProperties",
	}
	manySchemas  = []string{"allOf", "anyOf", "oneOf", "prefixItems", "items"}
	namedSchemas = []string{"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"}
)

// oddType is a type of the schema, or of one within it, that there is not; "" if all are known. The schema is not nested deep: Read has read it.
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

// listOf is a list, or the value alone.
func listOf(v any) []any {
	if list, ok := v.([]any); ok {
		return list
	}
	return []any{v}
}
