// SPDX-License-Identifier: Apache-2.0

package motorloop

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"motorcortex.dev/motorcortex/internal/jsonbound"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// The schema of a tool of an MCP server is hostile: one of a few bytes can refer to itself for ever, or make a validator
// work for days. It is used only where it is plain to see that it cannot. Otherwise arguments need only be a JSON object:
// the server judges them too, and it is the one that must.

const (
	// maxSchemaCost is the most parts that a schema may have, with each reference replaced by what it refers to, and the
	// programs of its patterns counted too.
	maxSchemaCost = 4000
	// maxCheckCost is the most that parts times bytes of the arguments may be.
	maxCheckCost = 32 << 20
	// maxSchemaDepth is how deep a schema may be nested, references followed.
	maxSchemaDepth = 64
	maxPattern     = 1 << 10
)

// knownDrafts are the values of $schema that the validator knows.
var knownDrafts = []string{
	"", "http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2020-12/schema",
}

var errUnusableSchema = errors.New("the schema cannot be used")

// checkServerArguments holds arguments to the schema of an MCP server's tool, as far as it can be used.
func checkServerArguments(schema json.RawMessage, args map[string]any, size int) error {
	s, err := usableSchema(schema, size)
	if err != nil {
		return nil //nolint:nilerr // A schema that cannot be used asks for nothing.
	}
	fits := func(s *jsonschema.Schema, value any) (ok bool) {
		defer func() { ok = ok || recover() != nil }()
		resolved, err := s.CloneSchemas().Resolve(nil)
		return err != nil || resolved.Validate(value) == nil
	}
	if fits(s, args) {
		return nil
	}
	// The validator's own message names whichever field it came to first, and repeats values of any size.
	for _, name := range slices.Sorted(slices.Values(s.Required)) {
		if _, given := args[name]; !given {
			return fmt.Errorf("the argument %q is missing", shorten(name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(args)) {
		sub := s.Properties[name]
		switch {
		case sub == nil && len(s.PatternProperties) == 0 && forbidsOthers(s):
			return fmt.Errorf("there is no argument %q: the arguments are %s", shorten(name), shortNames(s.Properties))
		case sub != nil && !fits(sub, args[name]):
			return fmt.Errorf("the argument %q does not fit its schema%s: it is %s", shorten(name), typeOf(sub), kindOf(args[name]))
		}
	}
	return errors.New("the arguments do not fit the schema of the tool")
}

// forbidsOthers says whether additionalProperties is false.
func forbidsOthers(s *jsonschema.Schema) bool {
	b, err := json.Marshal(s.AdditionalProperties)
	return err == nil && string(b) == "false"
}

// shortNames are the names of properties as far as they are shown.
func shortNames(properties map[string]*jsonschema.Schema) string {
	const most = 32
	var names []string
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		names = append(names, fmt.Sprintf("%q", shorten(name)))
	}
	if len(names) > most {
		names = append(names[:most], "…")
	}
	return strings.Join(names, ", ")
}

func typeOf(s *jsonschema.Schema) string {
	switch s.Type {
	case "string", "number", "integer", "boolean", "array", "object":
		return " (" + s.Type + ")"
	}
	return ""
}

// usableSchema reads a schema that is safe to be used for arguments of the given size in bytes.
func usableSchema(raw json.RawMessage, size int) (s *jsonschema.Schema, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%w: %v", errUnusableSchema, v)
		}
	}()
	// The library takes very long to read what is nested deep.
	if len(raw) > toolapi.MaxMCPSchema || jsonbound.Check(raw, jsonbound.Limits{Depth: maxSchemaDepth}) != nil {
		return nil, errUnusableSchema
	}
	if err := json.Unmarshal(raw, &s); err != nil {
		return nil, err
	}
	if s == nil || !slices.Contains(knownDrafts, s.Schema) {
		return nil, errUnusableSchema
	}
	// What the library has understood is what is looked at: it may take a word for another one that only looks like it.
	understood, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	c := schemaCost{following: map[string]bool{}}
	if err := json.Unmarshal(understood, &c.root); err != nil {
		return nil, err
	}
	cost, err := c.of(c.root, 0)
	if err == nil && cost*(size+64) > maxCheckCost {
		err = errUnusableSchema
	}
	return s, err
}

// schemaCost adds up the parts of a schema.
type schemaCost struct {
	root any
	// following are the references that are being followed.
	following map[string]bool
	spent     int
}

// plainRef is a reference whose target cannot be mistaken.
var plainRef = regexp.MustCompile(`^#/(\$defs|definitions)/([A-Za-z0-9_.-]+)$`)

// of gives the cost of a part. Values that are no schemas are counted as if they were some.
func (c *schemaCost) of(v any, depth int) (int, error) {
	if c.spent++; c.spent > maxSchemaCost || depth > maxSchemaDepth {
		return 0, errUnusableSchema
	}
	sum := 1
	add := func(cost int, err error) error {
		sum += cost
		return err
	}
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			if err := add(c.of(item, depth+1)); err != nil {
				return 0, err
			}
		}
	case map[string]any:
		for key, item := range v {
			if err := add(c.word(key, item, depth)); err != nil {
				return 0, err
			}
			if err := add(c.of(item, depth+1)); err != nil {
				return 0, err
			}
		}
	}
	return sum, nil
}

// word gives what a keyword costs beside its value.
func (c *schemaCost) word(key string, value any, depth int) (int, error) {
	is := func(word string) bool { return strings.EqualFold(key, word) }
	text, isText := value.(string)
	switch {
	case is("patternProperties"):
		return c.patterns(value)
	case !isText:
		return 0, nil
	case is("pattern"):
		return patternCost(text)
	case is("$ref"):
		return c.follow(text, depth)
	case is("$id"), is("$anchor"), is("$dynamicAnchor"), is("$dynamicRef"), is("$recursiveRef"), is("$recursiveAnchor"):
		return 0, errUnusableSchema
	}
	return 0, nil
}

func (c *schemaCost) follow(ref string, depth int) (int, error) {
	m := plainRef.FindStringSubmatch(ref)
	if m == nil || c.following[ref] {
		return 0, errUnusableSchema
	}
	root, _ := c.root.(map[string]any)
	defs, _ := root[m[1]].(map[string]any)
	target, ok := defs[m[2]]
	if !ok {
		return 0, errUnusableSchema
	}
	c.following[ref] = true
	defer delete(c.following, ref)
	return c.of(target, depth+1)
}

func (c *schemaCost) patterns(value any) (int, error) {
	properties, _ := value.(map[string]any)
	sum := 0
	for pattern := range properties {
		cost, err := patternCost(pattern)
		if err != nil {
			return 0, err
		}
		sum += cost
	}
	return sum, nil
}

// patternCost is about how many instructions the pattern takes.
func patternCost(pattern string) (int, error) {
	if len(pattern) > maxPattern {
		return 0, errUnusableSchema
	}
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return 0, err
	}
	cost := programSize(re)
	if cost > maxSchemaCost {
		return 0, errUnusableSchema
	}
	return cost, nil
}

func programSize(re *syntax.Regexp) int {
	size := 1 + len(re.Rune)
	for _, sub := range re.Sub {
		size = min(size+programSize(sub), maxSchemaCost+1)
	}
	if re.Op == syntax.OpRepeat {
		size *= max(re.Min, re.Max, 1)
	}
	return min(size, maxSchemaCost+1)
}
