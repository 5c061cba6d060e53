// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
)

// typescript is a type in TypeScript's words.
func typescript(t typ) string {
	switch {
	case t.list != nil && len(t.list.enum) > 0:
		return "(" + typescript(*t.list) + ")[]"
	case t.list != nil:
		return typescript(*t.list) + "[]"
	case t.dict != nil:
		return "Record<string, " + typescript(*t.dict) + ">"
	case t.object != "":
		return t.object
	case len(t.enum) > 0:
		return `"` + strings.Join(t.enum, `" | "`) + `"`
	}
	return map[string]string{"string": "string", "integer": "number", "boolean": "boolean", "number": "number", "any": "unknown", "intOrString": "(number | string)"}[t.basic]
}

const typescriptHead = `// SPDX-License-Identifier: Apache-2.0
// Generated from config/crd/bases by "make generate". Do not edit.

/** The owner of an object. */
export interface OwnerReference {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
  blockOwnerDeletion?: boolean;
}

/** The metadata of an object, as the API server returns it. */
export interface ObjectMeta {
  name: string;
  namespace: string;
  uid: string;
  resourceVersion: string;
  generation: number;
  creationTimestamp: string;
  deletionTimestamp?: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  finalizers?: string[];
  ownerReferences?: OwnerReference[];
}
`

// writeTypeScript writes the types as interfaces.
func writeTypeScript(objects []object) string {
	var b strings.Builder
	b.WriteString(typescriptHead)
	for _, o := range objects {
		b.WriteString("\n" + comment(o.doc, ""))
		fmt.Fprintf(&b, "export interface %s {\n", o.name)
		for _, f := range o.fields {
			mark := "?"
			if f.required {
				mark = ""
			}
			fmt.Fprintf(&b, "%s  %s%s: %s;\n", comment(f.doc, "  "), f.name, mark, typescript(f.of))
		}
		b.WriteString("}\n")
	}
	return b.String()
}

// comment is a text that cannot end its comment early.
func comment(text, indent string) string {
	if text == "" {
		return ""
	}
	return indent + "/**\n" + wrapped(strings.ReplaceAll(text, "*/", `*\/`), indent+" * ") + "\n" + indent + " */\n"
}
