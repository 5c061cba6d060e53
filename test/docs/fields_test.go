// SPDX-License-Identifier: Apache-2.0

package docs_test

import (
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// docs/reference/api.md has for each kind tables of fields. A row is of the fields that its first cell names, by their paths in the spec or the
// status. Its second cell names what is in them: `a` is a field of the row's own, and `b` one of a's in "`a: {b}`" or "`a` (`b`)".

func TestEveryFieldIsDocumented(t *testing.T) {
	t.Parallel()
	for _, path := range undocumented(read(t, "docs/reference/api.md"), map[string]reflect.Type{
		"MotorRun": reflect.TypeFor[v1alpha1.MotorRun](), "MotorStep": reflect.TypeFor[v1alpha1.MotorStep](), "MotorCortex": reflect.TypeFor[v1alpha1.MotorCortex](),
		"Skill": reflect.TypeFor[v1alpha1.Skill](), "SkillRevision": reflect.TypeFor[v1alpha1.SkillRevision](),
	}) {
		t.Errorf("docs/reference/api.md does not have the field %s in a row of its own, or of one that it is in", path)
	}
}

// A field is not documented by a word of prose, nor by a field of the same name of another kind, or of another type in the same section.
func TestFieldsThatAreNotDocumentedAreFound(t *testing.T) {
	t.Parallel()
	const reference = `## MotorRun

The ` + "`mode`" + `, and what the task is.

### spec

| field | meaning |
|---|---|
| ` + "`mode`, `limits.maxTokens`" + ` | both |
| ` + "`credentials[]`" + ` | at most 16: ` + "`secretRef: {name, key}`, `hosts`" + ` (not ` + "`slot`" + `) |
| ` + "`inputs[]`" + ` | ` + "`{name, value: a text}`" + ` |

### status

| field | meaning |
|---|---|
| ` + "`sandbox`" + ` | ` + "`podName`" + ` (never ` + "`podUID`" + `) |
| ` + "`….podIP`, `nodeName`" + ` | addresses |

## Skill

` + "`task`" + `

### Spec of a Skill

| ` + "`source`" + ` | ` + "`oci` (`reference`, `pullSecret`), `flux`" + ` |

` + "```\nsuspend: true\n```\n"
	missing := undocumented(reference, map[string]reflect.Type{"MotorRun": reflect.TypeFor[v1alpha1.MotorRun](), "Skill": reflect.TypeFor[v1alpha1.Skill]()})
	for _, path := range []string{
		"MotorRun.spec.task", "MotorRun.spec.suspend", "MotorRun.status.attempts", "Skill.spec.source.flux.name",
		"MotorRun.spec.credentials.name", "MotorRun.spec.credentials.slot", "MotorRun.status.sandbox.podUID", "MotorRun.spec.tools",
	} {
		if !slices.Contains(missing, path) {
			t.Errorf("%s is not found missing", path)
		}
	}
	for _, path := range []string{
		"MotorRun.spec.mode", "MotorRun.spec.limits", "MotorRun.spec.limits.maxTokens", "MotorRun.spec.credentials", "MotorRun.spec.credentials.secretRef.name",
		"MotorRun.spec.credentials.hosts", "MotorRun.spec.inputs.name", "MotorRun.spec.inputs.value", "MotorRun.status.sandbox.podName", "MotorRun.status.sandbox.podIP",
		"MotorRun.status.sandbox.nodeName", "Skill.spec.source", "Skill.spec.source.oci.reference", "Skill.spec.source.flux",
	} {
		if slices.Contains(missing, path) {
			t.Errorf("%s is documented, and found missing", path)
		}
	}
}

// undocumented gives the paths of fields that no row has which is theirs. A type that is in several places is documented in one of them.
func undocumented(reference string, kinds map[string]reflect.Type) []string {
	type field struct {
		of   reflect.Type
		name string
	}
	documented, paths := map[field]bool{}, map[field]string{}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		named := documentedPaths(section(reference, kind))
		eachField(kinds[kind], "", func(of reflect.Type, name, path string) {
			f := field{of, name}
			documented[f] = documented[f] || named[path]
			if paths[f] == "" {
				paths[f] = kind + "." + path
			}
		})
	}
	var missing []string
	for f, path := range paths {
		if !documented[f] {
			missing = append(missing, path)
		}
	}
	slices.Sort(missing)
	return missing
}

// section is what stands below a heading of the second level.
func section(reference, heading string) string {
	var text strings.Builder
	for part := range strings.SplitSeq(reference, "\n## ") {
		// What is about a Skill has several headings of that level.
		if title, body, _ := strings.Cut(strings.TrimPrefix(part, "## "), "\n"); slices.Contains(strings.Fields(title), heading) {
			text.WriteString(body)
		}
	}
	return text.String()
}

// documentedPaths are the paths that the tables of a section name, and all that these lead through.
func documentedPaths(text string) map[string]bool {
	paths := map[string]bool{}
	within, above := "", []string{""}
	for line := range strings.SplitSeq(text, "\n") {
		if title, ok := strings.CutPrefix(line, "### "); ok {
			within = strings.ToLower(strings.Fields(title)[0])
		}
		cells := strings.Split(line, " | ")
		if !strings.HasPrefix(line, "| `") || len(cells) < 2 || within == "conditions" {
			continue
		}
		var rows []string
		for i, name := range namedFields(strings.TrimPrefix(cells[0], "| ")) {
			rest, continued := strings.CutPrefix(name, "….")
			switch {
			case continued || i > 0 && strings.HasPrefix(cells[0], "| `….") && !strings.Contains(name, "."):
				for _, base := range above {
					rows = append(rows, base+"."+rest)
				}
			case strings.HasPrefix(name, "spec.") || strings.HasPrefix(name, "status."):
				rows = append(rows, name)
			case within == "spec" || within == "status":
				rows = append(rows, within+"."+name)
			case i > 0 && len(rows) > 0:
				// The path of the first one is that of those after it.
				rows = append(rows, rows[0][:strings.LastIndex(rows[0], ".")+1]+name)
			}
		}
		if !strings.HasPrefix(cells[0], "| `….") {
			above = rows
		}
		inner := namedFields(strings.Join(cells[1:], " | "))
		for _, row := range rows {
			for _, path := range append([]string{row}, inner...) {
				if path != row {
					path = row + "." + path
				}
				for at := len(path); at > 0; at = strings.LastIndex(path[:at], ".") {
					paths[path[:at]] = true
				}
			}
		}
	}
	return paths
}

var (
	codeSpan  = regexp.MustCompile("`[^`\n]+`")
	fieldPath = regexp.MustCompile(`^(?:….)?[a-zA-Z][a-zA-Z0-9]*(?:(?:\[\])?\.[a-zA-Z][a-zA-Z0-9]*)*(?:\[\])?`)
)

// namedFields are the paths of fields that the code spans of a cell name. What stands in brackets after one is in it.
func namedFields(cell string) []string {
	var found, brackets []string
	last, before := "", 0
	prefix := func() string {
		for _, b := range slices.Backward(brackets) {
			if b != "" {
				return b + "."
			}
		}
		return ""
	}
	for _, at := range append(codeSpan.FindAllStringIndex(cell, -1), []int{len(cell), len(cell)}) {
		for i, c := range cell[before:at[0]] {
			switch {
			case c == '(' && strings.TrimSpace(cell[before:before+i]) == "":
				brackets = append(brackets, last)
			case c == '(':
				brackets = append(brackets, "")
			case c == ')' && len(brackets) > 0:
				brackets = brackets[:len(brackets)-1]
			}
		}
		if at[0] == at[1] {
			break
		}
		names := spanFields(cell[at[0]+1:at[1]-1], prefix())
		found = append(found, names...)
		last, before = "", at[1]
		if len(names) > 0 {
			last = names[0]
		}
	}
	return found
}

// spanFields are the paths in one code span: of `{a, b: {c}}` a, b and b.c.
func spanFields(span, prefix string) []string {
	var found []string
	for _, item := range splitItems(span) {
		if inner, ok := strings.CutPrefix(item, "{"); ok {
			found = append(found, spanFields(strings.TrimSuffix(inner, "}"), prefix)...)
			continue
		}
		name := fieldPath.FindString(item)
		if name == "" {
			continue
		}
		path := prefix + strings.ReplaceAll(name, "[]", "")
		found = append(found, path)
		if value, ok := strings.CutPrefix(strings.TrimSpace(item[len(name):]), ":"); ok && strings.HasPrefix(strings.TrimSpace(value), "{") {
			found = append(found, spanFields(strings.TrimSpace(value), path+".")...)
		}
	}
	return found
}

// splitItems splits at the commas that are in no braces.
func splitItems(text string) []string {
	var items []string
	depth, begin := 0, 0
	for i, c := range text {
		switch {
		case c == '{':
			depth++
		case c == '}':
			depth--
		case c == ',' && depth == 0:
			items, begin = append(items, strings.TrimSpace(text[begin:i])), i+1
		}
	}
	return append(items, strings.TrimSpace(text[begin:]))
}

// eachField calls yield for all fields of a type of the API, with their paths.
func eachField(t reflect.Type, path string, yield func(of reflect.Type, name, path string)) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || t.PkgPath() != reflect.TypeFor[v1alpha1.MotorRun]().PkgPath() {
		return // Conditions, times and quantities are documented elsewhere.
	}
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || f.Type == reflect.TypeFor[metav1.ObjectMeta]() {
			continue
		}
		inner := strings.TrimPrefix(path+"."+name, ".")
		if inner != "spec" && inner != "status" {
			yield(t, name, inner)
		}
		eachField(f.Type, inner, yield)
	}
}
