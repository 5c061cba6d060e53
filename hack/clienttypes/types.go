// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// object is an object type of the schemas.
type object struct {
	name, doc string
	fields    []field
}

// field is one of an object.
type field struct {
	name, doc string
	required  bool
	of        typ
}

// typ is the type of a field: one of these.
type typ struct {
	// basic is string, integer, boolean, number, any, or intOrString.
	basic  string
	enum   []string
	object string
	list   *typ
	dict   *typ
}

// named is the beginning of a description that has the name of a Go type.
var named = regexp.MustCompile(`^([A-Z][A-Za-z]+) (is|are|says|has|names|bounds|describes|makes|shows|tells|counts|holds) `)

// keywords are those of Python that a field could have as its name. A module with such a field is none that Python reads.
var keywords = []string{
	"and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import",
	"in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while", "with", "yield",
}

// collector gathers the object types of schemas.
type collector struct {
	objects []object
	known   map[string]string
}

// kind adds the types of a kind.
func (c *collector) kind(name string, schema *apiextensionsv1.JSONSchemaProps) error {
	o := object{name: name, doc: schema.Description, fields: []field{
		{name: "apiVersion", of: typ{basic: "string"}, required: true}, {name: "kind", of: typ{basic: "string"}, required: true},
		{name: "metadata", of: typ{object: "ObjectMeta"}, required: true},
	}}
	for _, part := range []string{"spec", "status"} {
		p, ok := schema.Properties[part]
		if !ok {
			continue
		}
		t, err := c.typeOf(name+strings.ToUpper(part[:1])+part[1:], &p)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		o.fields = append(o.fields, field{name: part, doc: p.Description, of: t, required: part == "spec"})
	}
	c.objects = append(c.objects, o)
	return nil
}

// typeOf returns the type of a schema. An object without a name of its own has the one that its place gives it.
func (c *collector) typeOf(place string, p *apiextensionsv1.JSONSchemaProps) (typ, error) {
	switch {
	case p.XIntOrString:
		return typ{basic: "intOrString"}, nil
	case len(p.Enum) > 0:
		t := typ{basic: "string"}
		for _, e := range p.Enum {
			t.enum = append(t.enum, strings.Trim(string(e.Raw), `"`))
		}
		return t, nil
	case p.Type == "array":
		of, err := c.typeOf(place, p.Items.Schema)
		return typ{list: &of}, err
	case p.Type == "object" && p.AdditionalProperties != nil:
		of, err := c.typeOf(place, p.AdditionalProperties.Schema)
		return typ{dict: &of}, err
	case p.Type == "object" && len(p.Properties) > 0:
		return c.object(place, p)
	case p.Type == "string" || p.Type == "integer" || p.Type == "boolean" || p.Type == "number":
		return typ{basic: p.Type}, nil
	case p.Type == "object" || p.XPreserveUnknownFields != nil:
		return typ{basic: "any"}, nil
	}
	return typ{}, fmt.Errorf("%s: a schema of type %q is not known", place, p.Type)
}

func (c *collector) object(place string, p *apiextensionsv1.JSONSchemaProps) (typ, error) {
	name := place
	if m := named.FindStringSubmatch(p.Description); m != nil {
		name = m[1]
	}
	o := object{doc: p.Description}
	for _, f := range slices.Sorted(maps.Keys(p.Properties)) {
		if slices.Contains(keywords, f) {
			return typ{}, fmt.Errorf("%s: the field %s has a keyword of Python as its name: choose another name", name, f)
		}
		s := p.Properties[f]
		t, err := c.typeOf(name+strings.ToUpper(f[:1])+f[1:], &s)
		if err != nil {
			return typ{}, err
		}
		o.fields = append(o.fields, field{name: f, doc: s.Description, of: t, required: slices.Contains(p.Required, f)})
	}
	shape := fmt.Sprintf("%+v", shapes(o.fields))
	for other, has := range c.known {
		if other == name && has != shape {
			name = place // Two types of Go have the same beginning.
			break
		}
	}
	if has, ok := c.known[name]; ok {
		if has != shape {
			return typ{}, fmt.Errorf("two types have the name %s", name)
		}
		return typ{object: name}, nil
	}
	c.known[name] = shape
	o.name = name
	c.objects = append(c.objects, o)
	return typ{object: name}, nil
}

// shapes are fields without their descriptions.
func shapes(fields []field) []string {
	var all []string
	for _, f := range fields {
		all = append(all, fmt.Sprintf("%s %v %s", f.name, f.required, python(f.of)))
	}
	return all
}
