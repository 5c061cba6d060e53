// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

func schemaOf(description string, required []string, properties map[string]apiextensionsv1.JSONSchemaProps) apiextensionsv1.JSONSchemaProps {
	return apiextensionsv1.JSONSchemaProps{Type: "object", Description: description, Required: required, Properties: properties}
}

var text = apiextensionsv1.JSONSchemaProps{Type: "string"}

// Two types with one beginning of a name are two types, and one that is used twice is one.
func TestTypesHaveNames(t *testing.T) {
	t.Parallel()
	item := schemaOf("Item is one.", []string{"id"}, map[string]apiextensionsv1.JSONSchemaProps{"id": text})
	other := schemaOf("Item is another one.", nil, map[string]apiextensionsv1.JSONSchemaProps{"other": text})
	list := apiextensionsv1.JSONSchemaProps{Type: "array", Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &item}}
	spec := schemaOf("spec.", []string{"all"}, map[string]apiextensionsv1.JSONSchemaProps{"all": list, "again": list, "other": other, "at": schemaOf("at is where.", nil, map[string]apiextensionsv1.JSONSchemaProps{"x": text})})
	kind := schemaOf("Thing.", nil, map[string]apiextensionsv1.JSONSchemaProps{"spec": spec})
	c := collector{known: map[string]string{}}
	if err := c.kind("Thing", &kind); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, o := range c.objects {
		names = append(names, o.name)
	}
	if want := []string{"Item", "ThingSpecAt", "ThingSpecOther", "ThingSpec", "Thing"}; !slices.Equal(names, want) {
		t.Errorf("the types are %v, want %v", names, want)
	}
}

func TestAnUnknownSchemaIsAnError(t *testing.T) {
	t.Parallel()
	kind := schemaOf("Thing.", nil, map[string]apiextensionsv1.JSONSchemaProps{"spec": schemaOf("", nil, map[string]apiextensionsv1.JSONSchemaProps{"x": {Type: "odd"}})})
	c := collector{known: map[string]string{}}
	if err := c.kind("Thing", &kind); err == nil || !strings.Contains(err.Error(), "ThingSpecX") {
		t.Errorf("%v", err)
	}
}

func TestAFieldThatPythonCannotHaveIsAnError(t *testing.T) {
	t.Parallel()
	kind := schemaOf("Thing.", nil, map[string]apiextensionsv1.JSONSchemaProps{"spec": schemaOf("", nil, map[string]apiextensionsv1.JSONSchemaProps{"from": text})})
	c := collector{known: map[string]string{}}
	if err := c.kind("Thing", &kind); err == nil || !strings.Contains(err.Error(), "the field from") {
		t.Errorf("%v", err)
	}
}
