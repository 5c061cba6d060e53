// SPDX-License-Identifier: Apache-2.0

package runtemplate

import (
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

func taskTemplate(task string, parameters ...v1alpha1.TemplateParameter) *v1alpha1.MotorRunTemplateSpec {
	return &v1alpha1.MotorRunTemplateSpec{Parameters: parameters, RunTemplate: v1alpha1.RunTemplate{Spec: v1alpha1.RunTemplateSpec{Task: task}}}
}

func TestExpand(t *testing.T) {
	t.Parallel()
	city := v1alpha1.TemplateParameter{Name: "city"}
	for name, tt := range map[string]struct {
		spec  *v1alpha1.MotorRunTemplateSpec
		given map[string]string
		want  string
		err   string
	}{
		"no parameters":              {taskTemplate("count"), nil, "count", ""},
		"a value, twice":             {taskTemplate("$(params.city)/$(params.city)", city), map[string]string{"city": "Bern"}, "Bern/Bern", ""},
		"a value is no reference":    {taskTemplate("$(params.city)", city), map[string]string{"city": "$(params.city)"}, "$(params.city)", ""},
		"the text itself":            {taskTemplate("$$(params.city)", city), nil, "$(params.city)", ""},
		"other texts stay":           {taskTemplate("$(date) ${city} $5", city), nil, "$(date) ${city} $5", ""},
		"a default":                  {taskTemplate("$(params.city)", v1alpha1.TemplateParameter{Name: "city", Default: new("Rome")}), nil, "Rome", ""},
		"a value over a default":     {taskTemplate("$(params.city)", v1alpha1.TemplateParameter{Name: "city", Default: new("Rome")}), map[string]string{"city": ""}, "", ""},
		"neither value nor default":  {taskTemplate("in $(params.city).", city), nil, "in .", ""},
		"a value is missing":         {taskTemplate("x", v1alpha1.TemplateParameter{Name: "city", Required: true}), nil, "", `the parameter "city" needs a value`},
		"no such parameter":          {taskTemplate("x", city), map[string]string{"town": "a"}, "", `no parameter "town": it has city`},
		"no parameter at all":        {taskTemplate("x"), map[string]string{"town": "a"}, "", "it has none"},
		"the template names another": {taskTemplate("$(params.town)", city), nil, "", `spec.task of the template names the parameter "town"`},
		"one of the enum":            {taskTemplate("$(params.a)", v1alpha1.TemplateParameter{Name: "a", Enum: []string{"x", "y"}}), map[string]string{"a": "y"}, "y", ""},
		"none of the enum":           {taskTemplate("$(params.a)", v1alpha1.TemplateParameter{Name: "a", Enum: []string{"x", "y"}}), map[string]string{"a": "z"}, "", "none of"},
		"the pattern":                {taskTemplate("$(params.a)", v1alpha1.TemplateParameter{Name: "a", Pattern: "a|b"}), map[string]string{"a": "b"}, "b", ""},
		"the pattern is of all":      {taskTemplate("$(params.a)", v1alpha1.TemplateParameter{Name: "a", Pattern: "a|b"}), map[string]string{"a": "b;"}, "", "does not match"},
		"the pattern ends at a line": {taskTemplate("$(params.a)", v1alpha1.TemplateParameter{Name: "a", Pattern: "a"}), map[string]string{"a": "a\nrm"}, "", "does not match"},
		"no regular expression":      {taskTemplate("$(params.a)", v1alpha1.TemplateParameter{Name: "a", Pattern: "("}), map[string]string{"a": "a"}, "", "is no regular expression"},
		"a long value":               {taskTemplate("x", city), map[string]string{"city": strings.Repeat("ä", 4097)}, "", "more than 4096 characters"},
		"a long task":                {taskTemplate(strings.Repeat("$(params.city)", 9), city), map[string]string{"city": strings.Repeat("a", 4096)}, "", "spec.task of the run would have more than 32768 characters"},
		"a longer task":              {taskTemplate(strings.Repeat("$(params.city)", 2000), city), map[string]string{"city": strings.Repeat("a", 4096)}, "", "more than 786432 bytes"},
	} {
		got, err := Expand(tt.spec, tt.given)
		switch {
		case tt.err == "" && err != nil, tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)):
			t.Errorf("%s: %v, want %q", name, err, tt.err)
		case tt.err == "" && got.Spec.Task != tt.want:
			t.Errorf("%s: %q, want %q", name, got.Spec.Task, tt.want)
		}
	}
}

// A value must never decide what a run may use.
func TestAValueIsPutIntoNoFieldOfPolicy(t *testing.T) {
	t.Parallel()
	const text = "$(params.a)"
	spec := taskTemplate(text, v1alpha1.TemplateParameter{Name: "a"})
	s := &spec.RunTemplate.Spec
	s.Domains, s.Tools, s.SkillRef = []v1alpha1.Domain{text}, []v1alpha1.ToolName{text}, &v1alpha1.SkillRef{Name: text}
	s.Credentials = []v1alpha1.Credential{{Name: text, SecretRef: v1alpha1.SecretKeyRef{Name: text, Key: text}}}
	s.Code, s.Model = &v1alpha1.Code{Source: text}, &v1alpha1.RunModel{Name: text}
	s.Inputs = []v1alpha1.RunInput{{Name: text, Value: text}}
	s.Files = []v1alpha1.InputFile{{Path: text, Content: new(text)}, {Path: text, ConfigMapKeyRef: &v1alpha1.ConfigMapKeyRef{Name: text, Key: text}}}
	s.Accept = &v1alpha1.RunAcceptance{Commands: []v1alpha1.AcceptCommand{{Command: text}}}
	spec.RunTemplate.Metadata.Annotations = map[string]string{"a": text}
	got, err := Expand(spec, map[string]string{"a": "VALUE"})
	if err != nil {
		t.Fatal(err)
	}
	if got.Spec.Task != "VALUE" || got.Spec.Inputs[0].Value != "VALUE" || *got.Spec.Files[0].Content != "VALUE" {
		t.Errorf("%+v", got.Spec)
	}
	if *spec.RunTemplate.Spec.Files[0].Content != text || spec.RunTemplate.Spec.Inputs[0].Value != text {
		t.Error("the template itself was changed")
	}
	want := spec.RunTemplate.DeepCopy()
	want.Spec.Task, want.Spec.Inputs[0].Value, want.Spec.Files[0].Content = "VALUE", "VALUE", new("VALUE")
	a, _ := Digest(&v1alpha1.MotorRunTemplateSpec{RunTemplate: *want})
	b, _ := Digest(&v1alpha1.MotorRunTemplateSpec{RunTemplate: *got})
	if a != b {
		t.Errorf("a value is in another field: %+v", got)
	}
}

func TestDigest(t *testing.T) {
	t.Parallel()
	of := func(s *v1alpha1.MotorRunTemplateSpec) string {
		d, err := Digest(s)
		if err != nil || len(d) != 71 || !strings.HasPrefix(d, "sha256:") {
			t.Fatalf("%q, %v", d, err)
		}
		return d
	}
	one := taskTemplate("a", v1alpha1.TemplateParameter{Name: "p"})
	same := one.DeepCopy()
	same.Requester = &v1alpha1.Requester{Username: "another"}
	if of(one) != of(same) {
		t.Error("who wrote it does not matter")
	}
	for name, other := range map[string]*v1alpha1.MotorRunTemplateSpec{
		"the task":      taskTemplate("b", v1alpha1.TemplateParameter{Name: "p"}),
		"no parameters": taskTemplate("a"),
		"a default":     taskTemplate("a", v1alpha1.TemplateParameter{Name: "p", Default: new("")}),
	} {
		if of(one) == of(other) {
			t.Errorf("%s matters", name)
		}
	}
}
