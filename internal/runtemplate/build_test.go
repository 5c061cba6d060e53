// SPDX-License-Identifier: Apache-2.0

package runtemplate

import (
	"reflect"
	"slices"
	"testing"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// notOfATemplate are the fields of the spec of a run that are said about one run, or that the operator writes.
var notOfATemplate = []string{
	"Requester", "Origin", "SkillReview", "Dependencies", "Suspend", "SuspendedBy", "Responses", "Cancel", "CancelledBy",
}

// A field that a template lacked by mistake would be missing in the runs of every schedule.
func TestATemplateHasEveryFieldOfARunThatDescribesTheTask(t *testing.T) {
	t.Parallel()
	template, run := reflect.TypeFor[v1alpha1.RunTemplateSpec](), reflect.TypeFor[v1alpha1.MotorRunSpec]()
	for f := range run.Fields() {
		_, has := template.FieldByName(f.Name)
		if has == slices.Contains(notOfATemplate, f.Name) {
			t.Errorf("the field %s of a run: in a template %t", f.Name, has)
		}
	}
	for f := range template.Fields() {
		of, has := run.FieldByName(f.Name)
		if !has || of.Tag.Get("json") != f.Tag.Get("json") && f.Name != "Limits" {
			t.Errorf("the field %s of a template is not one of a run by the same name", f.Name)
		}
	}
}

// fill sets every field of a value to something that is not empty.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Struct:
		for _, f := range v.Fields() {
			if f.CanSet() {
				fill(f)
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int32, reflect.Int64:
		v.SetInt(1)
	default: // The maps of the metadata are not of the spec.
	}
}

func TestARunHasEveryFieldOfItsTemplate(t *testing.T) {
	t.Parallel()
	template := &v1alpha1.RunTemplate{}
	fill(reflect.ValueOf(&template.Spec).Elem())
	run := Run(template)
	got := reflect.ValueOf(run.Spec)
	for f := range reflect.TypeFor[v1alpha1.RunTemplateSpec]().Fields() {
		if got.FieldByName(f.Name).IsZero() {
			t.Errorf("the field %s is lost", f.Name)
		}
	}
	if run.Spec.Sandbox.Resources.CPU == nil || run.Spec.Sandbox.Resources.Memory == nil || run.Spec.Sandbox.Resources.Workspace == nil ||
		run.Spec.Sandbox.RuntimeClassName == nil || run.Spec.Sandbox.WorkspaceStorageClassName == nil {
		t.Errorf("the shape of the sandbox is lost: %+v", run.Spec.Sandbox)
	}
	run.Spec.Tools[0] = "changed"
	if template.Spec.Tools[0] != "x" {
		t.Error("a run shares what it has with the template")
	}
}

func TestExposes(t *testing.T) {
	t.Parallel()
	template := &v1alpha1.RunTemplate{Spec: v1alpha1.RunTemplateSpec{Credentials: []v1alpha1.Credential{{Name: "a"}, {Name: "b"}}}}
	if Exposes(template) {
		t.Error("no credential is exposed")
	}
	template.Spec.Credentials[1].ExposeToSandbox = true
	if !Exposes(template) {
		t.Error("one is exposed")
	}
}

func TestAnnotate(t *testing.T) {
	t.Parallel()
	run := &v1alpha1.MotorRun{}
	Annotate(run, "a", "1")
	Annotate(run, "b", "2")
	if len(run.Annotations) != 2 || run.Annotations["b"] != "2" {
		t.Errorf("%v", run.Annotations)
	}
}
