// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"motorcortex.dev/motorcortex/internal/jsonbound"
	"motorcortex.dev/motorcortex/internal/toolalias"
)

// ArgumentLimits bound the arguments of a call. Each level uses a part of the stack wherever they are read.
var ArgumentLimits = jsonbound.Limits{Depth: 64}

// ValidateArguments checks the model's arguments of a tool against the tool's schema. No arguments at all count
// as an empty object, and a null as an omitted field, because models write both. The error is one sentence for the
// model: which field, the expected value, the actual value. The same arguments always yield the same error, since it becomes
// part of the conversation.
func (c *Catalog) ValidateArguments(tool, raw string) error {
	t := c.find(tool)
	if t == nil {
		return fmt.Errorf("there is no tool %q", tool)
	}
	if err := jsonbound.Check([]byte(raw), ArgumentLimits); err != nil {
		return fmt.Errorf("the arguments cannot be read: %w", err)
	}
	var v any
	if err := json.Unmarshal([]byte(ObjectOrEmpty(raw)), &v); err != nil {
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			return fmt.Errorf("the arguments are not JSON: %w after %d bytes", err, syntax.Offset)
		}
		return fmt.Errorf("the arguments are not JSON: %w", err)
	}
	args, ok := v.(map[string]any)
	if !ok {
		return fmt.Errorf("the arguments must be a JSON object, not %s", KindOf(v))
	}
	if t.server != "" {
		return checkServerArguments(t.Parameters, args, len(raw))
	}
	for name, value := range args {
		if value == nil && !slices.Contains(t.schema.Required, name) && t.fields[name] != nil {
			delete(args, name)
		}
	}
	if t.whole.Validate(args) == nil {
		return nil
	}
	return t.explain(args)
}

// OwnArguments returns the arguments of a call with the tool's own names and types for them. The record of an answer has these, so
// that approvals, policies and replays see the actual call. The arguments of an MCP server's tool are for the server to read.
func (c *Catalog) OwnArguments(tool, raw string) string {
	t := c.find(tool)
	if t == nil || t.server != "" {
		return raw
	}
	return toolalias.Arguments(tool, t.schema, raw)
}

// explain returns why arguments do not fit. The validator's own message names the field that its map iteration reaches first, and repeats
// values of any size.
func (t *catalogTool) explain(args map[string]any) error {
	for _, name := range slices.Sorted(maps.Keys(args)) {
		if t.fields[name] == nil {
			msg := fmt.Sprintf("there is no argument %q: the arguments are %s", Shorten(name), strings.Join(t.schema.PropertyOrder, ", "))
			if advice := toolalias.Advice(t.Name, t.schema, name, func(other string) bool { return args[other] != nil }); advice != "" {
				msg += ". " + advice
			}
			return errors.New(msg)
		}
	}
	for _, name := range t.schema.PropertyOrder {
		expected := expectation(t.schema.Properties[name])
		value, given := args[name]
		if !given {
			if slices.Contains(t.schema.Required, name) {
				return fmt.Errorf("the argument %q is missing: it must be %s", name, expected)
			}
			continue
		}
		if t.fields[name].Validate(value) != nil {
			return fmt.Errorf("the argument %q must be %s, not %s", name, expected, KindOf(value))
		}
	}
	return errors.New("the arguments do not fit the schema of the tool")
}

// expectation describes the expected value in words.
func expectation(s *jsonschema.Schema) string {
	switch {
	case s.Enum != nil:
		var values []string
		for _, v := range s.Enum {
			values = append(values, fmt.Sprintf("%q", v))
		}
		return "one of " + strings.Join(values, ", ")
	case s.Type == "integer":
		if *s.Maximum == math.MaxInt32 {
			return fmt.Sprintf("an integer of at least %.0f", *s.Minimum)
		}
		return fmt.Sprintf("an integer from %.0f to %.0f", *s.Minimum, *s.Maximum)
	case s.Type == "boolean":
		return "true or false"
	case s.Type == "array":
		return fmt.Sprintf("a list of at most %d items, each %s", *s.MaxItems, expectation(s.Items))
	case s.MinLength != nil && s.MaxLength != nil:
		return fmt.Sprintf("a string of %d to %d characters", *s.MinLength, *s.MaxLength)
	case s.MinLength != nil:
		return "a string that is not empty"
	case s.MaxLength != nil:
		return fmt.Sprintf("a string of at most %d characters", *s.MaxLength)
	default:
		return "a string"
	}
}

// KindOf describes a JSON value in words, with the value itself if it is short.
func KindOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return strconv.FormatBool(v)
	case float64:
		return fmt.Sprintf("the number %g", v)
	case string:
		if r := []rune(v); len(r) > maxShown {
			return fmt.Sprintf("a string of %d characters", len(r))
		}
		return fmt.Sprintf("the string %q", v)
	case []any:
		return fmt.Sprintf("a list of %d items", len(v))
	default:
		return "an object"
	}
}

// maxShown is how many characters of a value are repeated to the model.
const maxShown = 40

// Shorten returns a value, or as much of it as is repeated to the model.
func Shorten(s string) string {
	if r := []rune(s); len(r) > maxShown {
		return string(r[:maxShown]) + "…"
	}
	return s
}

// ObjectOrEmpty returns raw, or an empty object if raw is empty.
func ObjectOrEmpty(raw string) string {
	if strings.TrimSpace(raw) == "" {
		return "{}"
	}
	return raw
}
