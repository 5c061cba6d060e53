// SPDX-License-Identifier: Apache-2.0

// Package ocsftest checks lines against the schema of OCSF, for tests.
package ocsftest

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// schemaText is the part of the schema that events have. Its license is Apache-2.0; the file names its source.
//
//go:embed schema.json
var schemaText []byte

type attribute struct {
	Type     string
	Object   bool
	Array    bool
	Required bool
	Profile  string
	Enum     []int
}

type object struct {
	Name        string
	Category    int
	Constraints map[string][]string
	Attributes  map[string]attribute
}

type schema struct {
	Version string
	// Types are the simple types, and what they are made of.
	Types   map[string]string
	Classes map[string]object
	Objects map[string]object
}

// Check returns why a line is no event of the schema: it has an attribute that its class has not, lacks one that is required, or has a wrong value.
func Check(line []byte) error {
	var s schema
	if err := json.Unmarshal(schemaText, &s); err != nil {
		return fmt.Errorf("read the schema: %w", err)
	}
	var event map[string]any
	if err := json.Unmarshal(line, &event); err != nil {
		return fmt.Errorf("read the line: %w", err)
	}
	number := func(name string) int { n, _ := event[name].(float64); return int(n) }
	class, ok := s.Classes[strconv.Itoa(number("class_uid"))]
	if !ok {
		return fmt.Errorf("there is no class %v", event["class_uid"])
	}
	c := checker{schema: &s}
	metadata, _ := event["metadata"].(map[string]any)
	profiles, _ := metadata["profiles"].([]any)
	for _, p := range profiles {
		c.profiles = append(c.profiles, fmt.Sprint(p))
	}
	c.object("", &class, event)
	if n := number("category_uid"); n != class.Category {
		c.fail("category_uid", "is %d, want %d", n, class.Category)
	}
	if n, want := number("type_uid"), number("class_uid")*100+number("activity_id"); n != want {
		c.fail("type_uid", "is %d, want %d", n, want)
	}
	if v := metadata["version"]; v != s.Version {
		c.fail("metadata.version", "is %v, want %s", v, s.Version)
	}
	return errors.Join(c.errs...)
}

type checker struct {
	schema   *schema
	profiles []string
	errs     []error
}

func (c *checker) fail(path, format string, args ...any) {
	c.errs = append(c.errs, fmt.Errorf(strings.TrimPrefix(path, ".")+" "+format, args...))
}

func (c *checker) object(path string, of *object, value map[string]any) {
	applies := func(a attribute) bool { return a.Profile == "" || slices.Contains(c.profiles, a.Profile) }
	for name, a := range of.Attributes {
		if _, ok := value[name]; !ok && a.Required && applies(a) {
			c.fail(path+"."+name, "is required")
		}
	}
	for name, v := range value {
		a, ok := of.Attributes[name]
		if !ok || !applies(a) {
			c.fail(path+"."+name, "is not of the schema with the profiles %v", c.profiles)
			continue
		}
		c.attribute(path+"."+name, a, v)
	}
	has := func(name string) bool { _, ok := value[name]; return ok }
	if some := of.Constraints["at_least_one"]; some != nil && !slices.ContainsFunc(some, has) {
		c.fail(path, "has none of %v", some)
	}
	if one := of.Constraints["just_one"]; one != nil {
		n := 0
		for _, name := range one {
			if has(name) {
				n++
			}
		}
		if n != 1 {
			c.fail(path, "has %d of %v", n, one)
		}
	}
}

func (c *checker) attribute(path string, a attribute, value any) {
	if !a.Array {
		c.value(path, a, value)
		return
	}
	list, ok := value.([]any)
	if !ok {
		c.fail(path, "is no array")
	}
	for i, v := range list {
		c.value(fmt.Sprintf("%s[%d]", path, i), a, v)
	}
}

func (c *checker) value(path string, a attribute, value any) {
	if a.Object || c.schema.Types[a.Type] == "" {
		of, known := c.schema.Objects[a.Type]
		v, ok := value.(map[string]any)
		switch {
		case !known:
			c.fail(path, "is of the type %s, which this part of the schema has not", a.Type)
		case !ok:
			c.fail(path, "is no object")
		case a.Type != "object":
			c.object(path, &of, v)
		}
		return
	}
	switch kind := c.schema.Types[a.Type]; kind {
	case "string_t":
		if text, ok := value.(string); !ok || text == "" {
			c.fail(path, "is %v, want a text", value)
		}
	case "integer_t", "long_t":
		n, ok := value.(float64)
		if !ok || n != math.Trunc(n) || len(a.Enum) > 0 && !slices.Contains(a.Enum, int(n)) {
			c.fail(path, "is %v, want one of %v", value, a.Enum)
		}
	case "boolean_t":
		if _, ok := value.(bool); !ok {
			c.fail(path, "is %v, want true or false", value)
		}
	case "json_t":
	default:
		c.fail(path, "is of the type %s, which is not checked", kind)
	}
}
