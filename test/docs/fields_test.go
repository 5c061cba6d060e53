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

// The page of a kind has a heading for each field of its spec and its status, and for those in it; an item of a list below a heading is a
// field that is deeper. The fields of a type that is in several places are on one page.

func TestEveryFieldIsDocumented(t *testing.T) {
	t.Parallel()
	pages := map[string]string{}
	for kind := range kinds {
		pages[kind] = read(t, "docs/reference/"+strings.ToLower(kind)+".md")
	}
	for _, path := range undocumented(pages, kinds) {
		t.Errorf("the field %s has neither a heading nor an item below one", path)
	}
}

var kinds = map[string]reflect.Type{
	"MotorRun": reflect.TypeFor[v1alpha1.MotorRun](), "MotorStep": reflect.TypeFor[v1alpha1.MotorStep](), "MotorCortex": reflect.TypeFor[v1alpha1.MotorCortex](),
	"Skill": reflect.TypeFor[v1alpha1.Skill](), "SkillRevision": reflect.TypeFor[v1alpha1.SkillRevision](),
}

// A field is not documented by a word of prose, nor by a field of the same name of another kind, or of another type on the same page.
func TestFieldsThatAreNotDocumentedAreFound(t *testing.T) {
	t.Parallel()
	pages := map[string]string{
		"MotorRun": `# MotorRun

The ` + "`suspend`" + `, and the tools.

### spec.mode

### spec.limits

#### spec.limits.maxTokens

### spec.credentials

#### spec.credentials.secretRef

* **` + "`name`" + `** (string, required): of the Secret.
* ` + "`key`" + `: is not an item of a field.

#### spec.credentials.hosts

### status.sandbox

#### status.sandbox.podName

` + "```\n### spec.task\n```\n",
		"Skill": `### spec.source

#### spec.source.oci

* **` + "`reference`" + `** (string): text
  * **` + "`deeper`" + `** (string): text
`,
	}
	missing := undocumented(pages, map[string]reflect.Type{"MotorRun": kinds["MotorRun"], "Skill": kinds["Skill"]})
	for _, path := range []string{
		"MotorRun.spec.task", "MotorRun.spec.suspend", "MotorRun.status.attempts", "Skill.spec.source.flux", "Skill.spec.source.oci.pullSecretName",
		"MotorRun.spec.credentials.name", "MotorRun.spec.credentials.slot", "MotorRun.spec.credentials.secretRef.key", "MotorRun.status.sandbox.podUID",
		"MotorRun.spec.tools",
	} {
		if !slices.Contains(missing, path) {
			t.Errorf("%s is not found missing", path)
		}
	}
	for _, path := range []string{
		"MotorRun.spec.mode", "MotorRun.spec.limits", "MotorRun.spec.limits.maxTokens", "MotorRun.spec.credentials", "MotorRun.spec.credentials.secretRef.name",
		"MotorRun.spec.credentials.hosts", "MotorRun.status.sandbox", "MotorRun.status.sandbox.podName", "Skill.spec.source", "Skill.spec.source.oci.reference",
	} {
		if slices.Contains(missing, path) {
			t.Errorf("%s is documented, and found missing", path)
		}
	}
}

// undocumented returns the paths of fields that no page has. A type that is in several places is documented in one of them.
func undocumented(pages map[string]string, kinds map[string]reflect.Type) []string {
	type field struct {
		of   reflect.Type
		name string
	}
	documented, paths := map[field]bool{}, map[field]string{}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		named := documentedPaths(pages[kind])
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

var (
	fieldHeading = regexp.MustCompile(`^#{3,4} ((?:spec|status)(?:\.\w+)+)$`)
	fieldItem    = regexp.MustCompile("^( *)\\* \\*\\*`(\\w+)`\\*\\* \\(")
)

// documentedPaths are the paths of the headings of a page, and of the items below them.
func documentedPaths(page string) map[string]bool {
	paths := map[string]bool{}
	var above []string
	for line := range strings.SplitSeq(fence.ReplaceAllString(page, ""), "\n") {
		if m := fieldHeading.FindStringSubmatch(line); m != nil {
			above = []string{m[1]}
			paths[m[1]] = true
			continue
		}
		if m := fieldItem.FindStringSubmatch(line); m != nil && len(above) > len(m[1])/2 {
			above = append(above[:len(m[1])/2+1], m[2])
			paths[strings.Join(above, ".")] = true
		}
	}
	return paths
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
