// SPDX-License-Identifier: Apache-2.0

// Package schemabound reads JSON schemas of untrusted authors. Such a schema is hostile: one of a few bytes can refer to itself for ever, or make
// a validator work for days. It is used only if it plainly cannot.
package schemabound

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"motorcortex.dev/motorcortex/internal/jsonbound"
)

const (
	// MaxBytes is the maximum size of a schema.
	MaxBytes = 16 << 10
	// maxCost is the most parts that a schema may have, with each reference replaced by its target, and the
	// programs of its patterns counted too.
	maxCost = 4000
	// maxCheckCost is the maximum of parts times bytes of a value.
	maxCheckCost = 32 << 20
	// maxDepth is how deep a schema may be nested, references followed.
	maxDepth   = 64
	maxPattern = 1 << 10
)

// knownDrafts are the values of $schema that the validator knows.
var knownDrafts = []string{
	"", "http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2020-12/schema",
}

// ErrUnusable reports that a schema is too large, has a reference that cannot be followed, or may take too long.
var ErrUnusable = errors.New("the schema cannot be used: it is too large, takes too long, or refers to something outside of its $defs")

// Read reads a schema that is safe to be used for values of the given size in bytes. The error is ErrUnusable, or that of the JSON.
func Read(raw json.RawMessage, size int) (s *jsonschema.Schema, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%w: %v", ErrUnusable, v)
		}
	}()
	// The library takes very long to read deeply nested JSON.
	if len(raw) > MaxBytes || jsonbound.Check(raw, jsonbound.Limits{Depth: maxDepth}) != nil {
		return nil, ErrUnusable
	}
	if err := json.Unmarshal(raw, &s); err != nil {
		return nil, err
	}
	if s == nil || !slices.Contains(knownDrafts, s.Schema) {
		return nil, ErrUnusable
	}
	// The library's own reading of the schema is checked: the library may take a word for another one that only looks like it.
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
		err = ErrUnusable
	}
	return s, err
}

// Fits reports whether a value fits a schema that Read has read. An error means that the schema cannot be applied.
func Fits(s *jsonschema.Schema, value any) (fits bool, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%w: %v", ErrUnusable, v)
		}
	}()
	resolved, err := s.CloneSchemas().Resolve(nil)
	if err != nil {
		return false, fmt.Errorf("%w: %w", ErrUnusable, err)
	}
	return resolved.Validate(value) == nil, nil
}

// MayFit reports whether a value fits a schema, or that cannot be judged.
func MayFit(s *jsonschema.Schema, value any) bool {
	fits, err := Fits(s, value)
	return fits || err != nil
}

// schemaCost adds up the parts of a schema.
type schemaCost struct {
	root any
	// following are the references on the current path.
	following map[string]bool
	spent     int
}

// plainRef is a reference whose target cannot be mistaken.
var plainRef = regexp.MustCompile(`^#/(\$defs|definitions)/([A-Za-z0-9_.-]+)$`)

// of returns the cost of a part. Values that are no schemas are counted as if they were some.
func (c *schemaCost) of(v any, depth int) (int, error) {
	if c.spent++; c.spent > maxCost || depth > maxDepth {
		return 0, ErrUnusable
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

// word returns the cost of a keyword beside its value.
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
		return 0, ErrUnusable
	}
	return 0, nil
}

func (c *schemaCost) follow(ref string, depth int) (int, error) {
	m := plainRef.FindStringSubmatch(ref)
	if m == nil || c.following[ref] {
		return 0, ErrUnusable
	}
	root, _ := c.root.(map[string]any)
	defs, _ := root[m[1]].(map[string]any)
	target, ok := defs[m[2]]
	if !ok {
		return 0, ErrUnusable
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

// patternCost returns about how many instructions the pattern takes.
func patternCost(pattern string) (int, error) {
	if len(pattern) > maxPattern {
		return 0, ErrUnusable
	}
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return 0, err
	}
	cost := programSize(re)
	if cost > maxCost {
		return 0, ErrUnusable
	}
	return cost, nil
}

func programSize(re *syntax.Regexp) int {
	size := 1 + len(re.Rune)
	for _, sub := range re.Sub {
		size = min(size+programSize(sub), maxCost+1)
	}
	if re.Op == syntax.OpRepeat {
		size *= max(re.Min, re.Max, 1)
	}
	return min(size, maxCost+1)
}
