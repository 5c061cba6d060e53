// SPDX-License-Identifier: Apache-2.0

package main

import (
	"go/ast"
	"maps"
	"regexp"
	"strconv"
	"strings"
)

// documented is a field as a page shows it.
type documented struct {
	path  string
	depth int
	// kind is one line with the bounds: "integer, 1 to 50, default 20".
	kind  string
	text  string
	items []string
}

// place is where the fields of a type are shown: below a field of a kind.
type place struct{ kind, path string }

// elsewhere are types whose fields belong to another kind than the first one that has them.
var elsewhere = map[string]place{"SkillPolicy": {"Skill", "spec.policy"}}

// findPlaces returns for each type the first field that has it, in the order of the kinds. A type that several fields have is shown once,
// and the others link there.
func (s *source) findPlaces() map[string]place {
	places := maps.Clone(elsewhere)
	for _, k := range kinds {
		for _, half := range []string{"spec", "status"} {
			s.visit(k.name, s.typeOf(k.name, half), half, places)
		}
	}
	return places
}

func (s *source) visit(kind, typeName, path string, places map[string]place) {
	t := s.types[typeName]
	if t == nil {
		return
	}
	for _, f := range t.fields {
		inner, _ := elementOf(f.expr)
		at := place{kind, path + "." + f.name}
		if s.types[inner] == nil {
			continue
		}
		if _, ok := places[inner]; !ok {
			places[inner] = at
		}
		if places[inner] == at {
			s.visit(kind, inner, at.path, places)
		}
	}
}

// fieldsOf returns the fields of a type below a path of a kind, each before those in it.
func (s *source) fieldsOf(kind, typeName, path string, depth int) []documented {
	t := s.types[typeName]
	if t == nil {
		return nil
	}
	var list []documented
	for _, f := range t.fields {
		inner, many := elementOf(f.expr)
		at := place{kind, path + "." + f.name}
		d := documented{path: at.path, depth: depth, kind: s.describe(f, inner, many), text: s.format(lead(f.name, f.doc.text))}
		own := append(rules(t.doc, f.name), rules(f.doc, "")...)
		named, home := s.types[inner], s.places[inner]
		switch {
		case f.doc.has("Enum"):
			d.items = append(d.items, s.values(f.doc, "")...)
		case named == nil:
		case home == at || len(named.fields) == 0 && !manyValues(named.doc):
			d.items = append(d.items, s.values(named.doc, inner)...)
			d.items = append(d.items, atHome(home == at, rules(named.doc, ""))...)
		case len(named.fields) > 0:
			d.items = append(d.items, "Its fields are those of "+home.link(kind)+".")
		default:
			d.items = append(d.items, "One of the values of "+home.link(kind)+".")
		}
		d.items = append(d.items, own...)
		list = append(list, d)
		if home == at {
			list = append(list, s.fieldsOf(kind, inner, at.path, depth+1)...)
		}
	}
	return list
}

func atHome(home bool, list []string) []string {
	if !home {
		return nil
	}
	return list
}

// manyValues reports whether an enumeration is too long to be shown wherever it is used.
func manyValues(d doc) bool {
	enum, _ := d.value("Enum")
	return strings.Count(enum, ";") > 6
}

// link returns a link to the heading of a place, from the page of a kind. Only the first levels have headings.
func (p place) link(from string) string {
	parts := strings.SplitN(p.path, ".", maxHeading+2)
	heading := strings.Join(parts[:min(len(parts), maxHeading+1)], "")
	page := ""
	if p.kind != from {
		page = pageOf(p.kind)
	}
	text := "`" + p.path + "`"
	if page != "" {
		text += " of a " + p.kind
	}
	return "[" + text + "](" + page + "#" + strings.ToLower(heading) + ")"
}

// elementOf returns the name of the type that an expression leads to, and whether there are many of it.
func elementOf(expr ast.Expr) (name string, many bool) {
	switch e := expr.(type) {
	case *ast.StarExpr:
		return elementOf(e.X)
	case *ast.ArrayType:
		name, _ = elementOf(e.Elt)
		// Bytes are one text in base64.
		return name, name != "byte"
	case *ast.MapType:
		name, _ = elementOf(e.Value)
		return name, true
	case *ast.SelectorExpr:
		return e.Sel.Name, false
	case *ast.Ident:
		return e.Name, false
	}
	return "", false
}

// words name a kind of value, one and many of it.
var words = map[string][2]string{
	"string": {"string", "strings"}, "int32": {"integer", "integers"}, "int64": {"integer", "integers"}, "bool": {"boolean", "booleans"},
	"byte": {"base64", "base64"},
	"Time": {"time", "times"}, "MicroTime": {"time", "times"}, "Quantity": {"quantity", "quantities"}, "Condition": {"condition", "conditions"},
}

// describe says in one line of what kind a field is, and which bounds it has.
func (s *source) describe(f field, inner string, many bool) string {
	basic, of := inner, doc{}
	if named := s.types[inner]; named != nil {
		of = named.doc
		if under, ok := named.expr.(*ast.Ident); ok {
			basic = under.Name
		}
	}
	word, ok := words[basic]
	if !ok {
		word = [2]string{"object", "objects"}
	}
	var parts []string
	switch bound := bounds(f.doc, many); {
	case many:
		parts = append(append([]string{"list of " + word[1]}, bound...), eachOf(bounds(of, false))...)
	case len(bound) > 0:
		parts = append([]string{word[0]}, bound...)
	default:
		parts = append([]string{word[0]}, bounds(of, false)...)
	}
	if f.doc.has("required") {
		parts = append(parts, "required")
	}
	if value, ok := f.doc.value("default"); ok && value != "{}" && value != "[]" {
		parts = append(parts, "default "+strings.Trim(value, `"`))
	}
	return strings.Join(parts, ", ")
}

func eachOf(bounds []string) []string {
	for i := range bounds {
		bounds[i] = "each " + bounds[i]
	}
	return bounds
}

// bounds puts the bounds of markers into words. Of a list, the length of a text is that of each entry.
func bounds(d doc, many bool) []string {
	minimum, maximum, unit, each := "Minimum", "Maximum", "", ""
	if many {
		minimum, maximum, unit, each = "MinItems", "MaxItems", " entries", "each "
	}
	var list []string
	low, hasLow := d.value(minimum)
	high, hasHigh := d.value(maximum)
	switch {
	case hasLow && hasHigh:
		list = append(list, low+" to "+high+unit)
	case hasHigh:
		list = append(list, "at most "+high+unit)
	case hasLow:
		list = append(list, "at least "+low+unit)
	}
	if most, ok := d.value("MaxLength"); ok {
		list = append(list, each+"at most "+most+" characters")
	}
	return list
}

// values lists the values of an enumeration, with what the comments of the constants of its type say.
func (s *source) values(d doc, typeName string) []string {
	enum, ok := d.value("Enum")
	if !ok {
		return nil
	}
	meanings := map[string]string{}
	for _, c := range s.constants {
		if _, text, found := strings.Cut(oneLine(c.doc.text), ": "); found && typeName != "" && c.typeName == typeName && strings.HasPrefix(c.doc.text, c.name) {
			meanings[c.value] = text
		}
	}
	if len(meanings) == 0 {
		return []string{"One of `" + strings.ReplaceAll(enum, ";", "`, `") + "`."}
	}
	var list []string
	for value := range strings.SplitSeq(enum, ";") {
		item := "`" + value + "`"
		if meanings[value] != "" {
			item += ": " + s.format(meanings[value])
		}
		list = append(list, item)
	}
	return list
}

var (
	message   = regexp.MustCompile(`message=("(?:[^"\\]|\\.)*")`)
	fieldOf   = regexp.MustCompile(`fieldPath="\.(?:spec\.)?(\w+)"`)
	immutable = regexp.MustCompile(`never changes? after creation`)
)

// rules lists the messages of the CEL rules for a field of a type, or with an empty name those of the field itself. That a field never
// changes is said once for the whole kind.
func rules(d doc, name string) []string {
	var list []string
	for _, m := range d.markers {
		if m.name != "XValidation" {
			continue
		}
		at := ""
		if of := fieldOf.FindStringSubmatch(m.value); of != nil {
			at = of[1]
		}
		quoted := message.FindStringSubmatch(m.value)
		if at != name || quoted == nil || immutable.MatchString(quoted[1]) {
			continue
		}
		text, err := strconv.Unquote(quoted[1])
		if err != nil {
			text = quoted[1]
		}
		list = append(list, "Rule: "+text+".")
	}
	return list
}

// lead formats the name of a field that its comment begins with.
func lead(name, text string) string {
	if rest, ok := strings.CutPrefix(text, name); ok && (rest == "" || strings.ContainsAny(rest[:1], " ,:")) {
		return "`" + name + "`" + rest
	}
	return text
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
