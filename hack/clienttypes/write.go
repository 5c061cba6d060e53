// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
)

// python is a type in Python's words.
func python(t typ) string {
	switch {
	case t.list != nil:
		return "list[" + python(*t.list) + "]"
	case t.dict != nil:
		return "dict[str, " + python(*t.dict) + "]"
	case t.object != "":
		return `"` + t.object + `"`
	case len(t.enum) > 0:
		return `Literal["` + strings.Join(t.enum, `", "`) + `"]`
	}
	return map[string]string{"string": "str", "integer": "int", "boolean": "bool", "number": "float", "any": "Any", "intOrString": "int | str"}[t.basic]
}

// columns is the most columns of a line of a docstring.
const columns = 140

// wrapped is a text in lines, each after the indent.
func wrapped(text, indent string) string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && len(indent)+len(line)+1+len(word) > columns {
			lines = append(lines, indent+line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return strings.Join(append(lines, indent+line), "\n")
}

const pythonHead = `# SPDX-License-Identifier: Apache-2.0
# Generated from config/crd/bases by "make generate". Do not edit.
"""The kinds of motorcortex.dev/v1alpha1."""

from typing import Any, Literal, NotRequired, TypedDict


class OwnerReference(TypedDict):
    """The owner of an object."""

    apiVersion: str
    kind: str
    name: str
    uid: str
    controller: NotRequired[bool]
    blockOwnerDeletion: NotRequired[bool]


class ObjectMeta(TypedDict):
    """The metadata of an object, as the API server returns it."""

    name: str
    namespace: str
    uid: str
    resourceVersion: str
    generation: int
    creationTimestamp: str
    deletionTimestamp: NotRequired[str]
    labels: NotRequired[dict[str, str]]
    annotations: NotRequired[dict[str, str]]
    finalizers: NotRequired[list[str]]
    ownerReferences: NotRequired[list[OwnerReference]]
`

// writePython writes the types as TypedDicts.
func writePython(objects []object) string {
	var b strings.Builder
	b.WriteString(pythonHead)
	for _, o := range objects {
		fmt.Fprintf(&b, "\n\nclass %s(TypedDict):\n", o.name)
		if o.doc != "" {
			fmt.Fprintf(&b, "    \"\"\"\n%s\n    \"\"\"\n\n", escaped(wrapped(o.doc, "    ")))
		}
		for _, f := range o.fields {
			t := python(f.of)
			if !f.required {
				t = "NotRequired[" + t + "]"
			}
			if f.doc != "" {
				fmt.Fprintf(&b, "%s\n", wrapped(f.doc, "    # "))
			}
			fmt.Fprintf(&b, "    %s: %s\n", f.name, t)
		}
		if len(o.fields) == 0 {
			b.WriteString("    pass\n")
		}
	}
	return b.String()
}

// escaped keeps a docstring from ending early.
func escaped(text string) string {
	return strings.NewReplacer(`\`, `\\`, `"""`, `\"\"\"`).Replace(text)
}
