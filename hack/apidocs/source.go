// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
)

// source is what a package of API types says: its types and its constants, in the order of its files.
type source struct {
	types     map[string]*typeDecl
	constants []constant
	// places are where the fields of each type are shown.
	places map[string]place
	// reasons are those of conditions, in the order of their constants.
	reasons []reason
	// format sets names in a sentence as code.
	format func(string) string
}

// typeDecl is a type with its comment and markers.
type typeDecl struct {
	doc    doc
	expr   ast.Expr
	fields []field
}

// field is a field of a struct as JSON has it.
type field struct {
	name string
	expr ast.Expr
	doc  doc
}

// constant is a string constant with its comment. typeName is empty for an untyped one, and block is the comment of its block.
type constant struct {
	name, typeName, value string
	doc                   doc
	block                 string
}

// doc is a comment: the text for people, and the markers for programs.
type doc struct {
	text    string
	markers []marker
}

// marker is one marker, such as +kubebuilder:validation:MaxLength=64: its name is MaxLength.
type marker struct{ name, value string }

// value returns the value of the first marker of that name.
func (d doc) value(name string) (string, bool) {
	for _, m := range d.markers {
		if m.name == name {
			return m.value, true
		}
	}
	return "", false
}

func (d doc) has(name string) bool {
	_, ok := d.value(name)
	return ok
}

// readSource parses the files of a package that are neither tests nor generated.
func readSource(dir string) (*source, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	s := &source{types: map[string]*typeDecl{}}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") || strings.HasPrefix(filepath.Base(file), "zz_generated") {
			continue
		}
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		if err := s.add(file, content); err != nil {
			return nil, err
		}
	}
	if len(s.types) == 0 {
		return nil, fmt.Errorf("%s has no types", dir)
	}
	s.places = s.findPlaces()
	s.reasons, err = s.readReasons()
	s.format = formatter(s.reasons)
	return s, err
}

// add reads one file.
func (s *source) add(name string, content []byte) error {
	tree, err := parser.ParseFile(token.NewFileSet(), name, content, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	for _, decl := range tree.Decls {
		block, ok := decl.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range block.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				s.addType(block, spec)
			case *ast.ValueSpec:
				s.addConstants(block, spec)
			}
		}
	}
	return nil
}

func (s *source) addType(block *ast.GenDecl, spec *ast.TypeSpec) {
	comment := spec.Doc
	if comment == nil {
		comment = block.Doc
	}
	t := &typeDecl{doc: readDoc(comment), expr: spec.Type}
	if body, ok := spec.Type.(*ast.StructType); ok {
		for _, f := range body.Fields.List {
			name := jsonName(f)
			if name == "" || name == "metadata" || len(f.Names) == 0 {
				continue
			}
			t.fields = append(t.fields, field{name, f.Type, readDoc(f.Doc)})
		}
	}
	s.types[spec.Name.Name] = t
}

func (s *source) addConstants(block *ast.GenDecl, spec *ast.ValueSpec) {
	if block.Tok != token.CONST {
		return
	}
	for i, name := range spec.Names {
		if i >= len(spec.Values) {
			continue
		}
		literal, ok := spec.Values[i].(*ast.BasicLit)
		if !ok || literal.Kind != token.STRING {
			continue
		}
		value, err := strconv.Unquote(literal.Value)
		if err != nil {
			continue
		}
		c := constant{name: name.Name, value: value, doc: readDoc(spec.Doc), block: readDoc(block.Doc).text}
		if typeName, ok := spec.Type.(*ast.Ident); ok {
			c.typeName = typeName.Name
		}
		s.constants = append(s.constants, c)
	}
}

// jsonName returns the name of a field in JSON, empty if it has none.
func jsonName(f *ast.Field) string {
	if f.Tag == nil {
		return ""
	}
	tag, err := strconv.Unquote(f.Tag.Value)
	if err != nil {
		return ""
	}
	name, _, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ",")
	return name
}

// readDoc separates the markers of a comment from its text. A line of the text that ends a paragraph is kept as an empty one.
func readDoc(comment *ast.CommentGroup) doc {
	var d doc
	if comment == nil {
		return d
	}
	var lines []string
	for _, c := range comment.List {
		line := strings.TrimSpace(strings.TrimPrefix(c.Text, "//"))
		if !strings.HasPrefix(line, "+") {
			lines = append(lines, line)
			continue
		}
		name, value, _ := strings.Cut(strings.TrimPrefix(line, "+"), "=")
		// XValidation's parameters follow a colon: XValidation:rule="…".
		if before, rest, found := strings.Cut(name, "XValidation:"); found {
			name, value = before+"XValidation", rest+"="+value
		}
		d.markers = append(d.markers, marker{name[strings.LastIndex(name, ":")+1:], value})
	}
	d.text = strings.TrimSpace(strings.Join(lines, "\n"))
	return d
}
