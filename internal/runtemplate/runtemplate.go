// SPDX-License-Identifier: Apache-2.0

// Package runtemplate makes runs of templates: it puts the values of parameters into their texts. It has no I/O. The manager makes the runs of
// schedules with it, and the plugin those of people.
package runtemplate

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// Bounds of the texts of a run, with the values in them. The first four are those of the kinds, in characters. maxAll is in bytes: the API server
// stores no run with more.
const (
	maxTask  = 32768
	maxInput = 8192
	maxFile  = 262144
	maxValue = 4096
	maxAll   = 786432
)

// Digest returns "sha256:…" of the parameters and the run of a template. It changes with everything that a run of the template depends on, and not
// with who wrote the template.
func Digest(spec *v1alpha1.MotorRunTemplateSpec) (string, error) {
	content := v1alpha1.MotorRunTemplateSpec{Parameters: spec.Parameters, RunTemplate: spec.RunTemplate}
	text, err := json.Marshal(content)
	if err != nil {
		return "", fmt.Errorf("encode the template: %w", err)
	}
	sum := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}

// Expand returns the run of a template with the values of its parameters. An error names the parameter or the field, and says what to do.
func Expand(spec *v1alpha1.MotorRunTemplateSpec, given map[string]string) (*v1alpha1.RunTemplate, error) {
	values, err := valuesOf(spec.Parameters, given)
	if err != nil {
		return nil, err
	}
	t := spec.RunTemplate.DeepCopy()
	e := expansion{values: values}
	e.put("spec.task", &t.Spec.Task, maxTask)
	for i := range t.Spec.Inputs {
		e.put(fmt.Sprintf("spec.inputs[%d].value", i), &t.Spec.Inputs[i].Value, maxInput)
	}
	for i := range t.Spec.Files {
		if t.Spec.Files[i].Content != nil {
			e.put(fmt.Sprintf("spec.files[%d].content", i), t.Spec.Files[i].Content, maxFile)
		}
	}
	if e.err != nil {
		return nil, e.err
	}
	return t, nil
}

// valuesOf returns the value of each parameter.
func valuesOf(parameters []v1alpha1.TemplateParameter, given map[string]string) (map[string]string, error) {
	values := map[string]string{}
	for i := range parameters {
		values[parameters[i].Name] = ""
	}
	// A name that is misspelt is said first: by it a value is missing, too.
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if _, known := values[name]; !known {
			return nil, fmt.Errorf("the template has no parameter %q: it has %s", name, listed(values))
		}
	}
	for i := range parameters {
		p := &parameters[i]
		value, found := given[p.Name]
		if err := check(p, value, found); err != nil {
			return nil, err
		}
		if !found && p.Default != nil {
			value = *p.Default
		}
		values[p.Name] = value
	}
	return values, nil
}

// check returns an error if a value is missing or is not as its parameter demands.
func check(p *v1alpha1.TemplateParameter, value string, found bool) error {
	switch {
	case !found && p.Required:
		return fmt.Errorf("the parameter %q needs a value", p.Name)
	case !found:
		return nil
	case utf8.RuneCountInString(value) > maxValue:
		return fmt.Errorf("the value of the parameter %q has more than %d characters", p.Name, maxValue)
	case len(p.Enum) > 0 && !slices.Contains(p.Enum, value):
		return fmt.Errorf("the value of the parameter %q is none of %q", p.Name, p.Enum)
	case p.Pattern == "":
		return nil
	}
	pattern, err := regexp.Compile(`^(?:` + p.Pattern + `)$`)
	if err != nil {
		return fmt.Errorf("the pattern of the parameter %q is no regular expression: %w", p.Name, err)
	}
	if !pattern.MatchString(value) {
		return fmt.Errorf("the value of the parameter %q does not match its pattern %q", p.Name, p.Pattern)
	}
	return nil
}

func listed(values map[string]string) string {
	if len(values) == 0 {
		return "none"
	}
	return strings.Join(slices.Sorted(maps.Keys(values)), ", ")
}

// reference is the place of a value in a text. With a second $ before it, it is that text itself.
var reference = regexp.MustCompile(`\$?\$\(params\.([^()\s]{0,64})\)`)

// expansion puts values into texts.
type expansion struct {
	values map[string]string
	all    int
	err    error
}

// put replaces the references in a text. A value is not looked through again: what it says is no reference.
func (e *expansion) put(field string, text *string, most int) {
	if e.err != nil {
		return
	}
	var b strings.Builder
	at := 0
	for _, m := range reference.FindAllStringSubmatchIndex(*text, -1) {
		found, name := (*text)[m[0]:m[1]], (*text)[m[2]:m[3]]
		b.WriteString((*text)[at:m[0]])
		at = m[1]
		value, known := e.values[name]
		switch {
		case strings.HasPrefix(found, "$$"):
			b.WriteString(found[1:])
		case !known:
			e.err = fmt.Errorf("%s of the template names the parameter %q, and it has %s: write $$(params.…) for that text itself", field, name, listed(e.values))
			return
		default:
			b.WriteString(value)
		}
		if e.all+b.Len() > maxAll {
			break
		}
	}
	b.WriteString((*text)[at:])
	e.all += b.Len()
	switch {
	case e.all > maxAll:
		e.err = fmt.Errorf("the texts of the run would have more than %d bytes with the values of the parameters: give shorter values", maxAll)
		return
	case utf8.RuneCountInString(b.String()) > most:
		e.err = fmt.Errorf("%s of the run would have more than %d characters with the values of the parameters: give shorter values", field, most)
		return
	}
	*text = b.String()
}
