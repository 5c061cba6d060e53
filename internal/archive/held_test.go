// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// held is the digest that a manifest has of a step which stands in an archive.
func held(t *testing.T, object []byte) string {
	t.Helper()
	c := checker{held: Manifest{Namespace: "ns", UID: "run", Steps: map[string]string{}}}
	if problem := c.step(line{kind: KindStep, object: object}); problem != "" {
		t.Fatal(problem)
	}
	return c.held.Steps["run-a01-s0001"]
}

// A manager of a version that knew fewer fields wrote the archive, and ended before it noted it. The next version knows it again.
func TestArchiveOfAVersionWithFewerFields(t *testing.T) {
	t.Parallel()
	step := &v1alpha1.MotorStep{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "run-a01-s0001", UID: "1", OwnerReferences: []metav1.OwnerReference{{UID: "run"}}}}
	step.Spec.Type, step.Spec.Index, step.Spec.Epoch, step.Spec.Content = v1alpha1.StepTurn, 1, 3, "text"
	want, err := StepDigest(step)
	if err != nil {
		t.Fatal(err)
	}
	object, err := encodeStep(step)
	if err != nil {
		t.Fatal(err)
	}
	changed := func(change func(spec map[string]any)) string {
		var whole map[string]any
		if err := json.Unmarshal(object, &whole); err != nil {
			t.Fatal(err)
		}
		spec, _ := whole["spec"].(map[string]any)
		change(spec)
		text, err := encode(whole)
		if err != nil {
			t.Fatal(err)
		}
		return held(t, text)
	}
	if got := held(t, object); got != want {
		t.Errorf("this version's own: %s, want %s", got, want)
	}
	var whole struct{ Spec map[string]any }
	if err := json.Unmarshal(object, &whole); err != nil {
		t.Fatal(err)
	}
	without := 0
	for key, value := range maps.All(whole.Spec) {
		saysNothing := value == nil || value == "" || value == false || value == 0.0
		if saysNothing {
			without++
		}
		if got := changed(func(spec map[string]any) { delete(spec, key) }); (got == want) != saysNothing {
			t.Errorf("without %s, which was %v: the same is %t", key, value, got == want)
		}
	}
	if without == 0 {
		t.Error("no field of a step says nothing and is written all the same: the test tries nothing")
	}
	for name, change := range map[string]func(map[string]any){
		"says more":           func(spec map[string]any) { spec["future"] = 1 },
		"says something else": func(spec map[string]any) { spec["content"] = "other" },
		"is spelled otherwise": func(spec map[string]any) {
			spec["Content"] = spec["content"]
			delete(spec, "content")
		},
	} {
		if changed(change) == want {
			t.Errorf("one that %s counts as the same", name)
		}
	}
	if heldDigest([]byte("{")) != digestOf([]byte("{")) {
		t.Error("what is no step")
	}
}

// An attacker who can write to the bucket puts an archive where that of a run will be. Readers of JSON differ on a field that is there
// twice, so that it would show one value and count as another.
func TestPlantedArchiveWithRepeatedFields(t *testing.T) {
	t.Parallel()
	step := &v1alpha1.MotorStep{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: "run-a01-s0001", UID: "1", OwnerReferences: []metav1.OwnerReference{{UID: "run"}}, Labels: map[string]string{"a": "b", "A": "b"},
	}}
	step.Spec.Type, step.Spec.Index, step.Spec.Epoch, step.Spec.Content = v1alpha1.StepTurn, 1, 3, "text"
	run := &v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "run", UID: "run", Labels: map[string]string{"a": "b", "A": "b"}}}
	run.Spec.Task, run.Status.Phase = "task", v1alpha1.PhaseCompleted
	want, err := StepDigest(step)
	if err != nil {
		t.Fatal(err)
	}
	ofStep, err := encodeStep(step)
	if err != nil {
		t.Fatal(err)
	}
	ofRun, err := encodeRun(run)
	if err != nil {
		t.Fatal(err)
	}
	if held(t, ofStep) != want || !sameRun(ofRun, append(slices.Clone(ofRun), ' ')) {
		t.Fatal("labels that differ in the size of a letter are not the same field")
	}
	for name, forged := range map[string][2]string{
		"a text":             {`"content":"text"`, `"content":"forged","content":"text"`},
		"an escaped name":    {`"content":"text"`, `"content":"forged","\u0063ontent":"text"`},
		"the whole":          {`"spec":{`, `"spec":{"content":"forged"},"spec":{`},
		"in a list":          {`"ownerReferences":[{`, `"ownerReferences":[{"uid":"run",`},
		"a label":            {`"labels":{`, `"labels":{"a":"forged",`},
		"in other letters":   {`"content":"text"`, `"content":"forged","Content":"text"`},
		"in capital letters": {`"spec":{`, `"SPEC":{"content":"forged"},"spec":{`},
	} {
		planted := bytes.Replace(ofStep, []byte(forged[0]), []byte(forged[1]), 1)
		if bytes.Equal(planted, ofStep) || !json.Valid(planted) {
			t.Fatalf("%s: %s", name, planted)
		}
		if held(t, planted) == want {
			t.Errorf("a step with %s twice counts as the genuine one", name)
		}
	}
	for name, forged := range map[string][2]string{
		"the task":                  {`"task":"task"`, `"task":"forged","task":"task"`},
		"the task in other letters": {`"task":"task"`, `"task":"forged","Task":"task"`},
		"the status":                {`"status":{`, `"status":{"phase":"Failed"},"status":{`},
		"a label, which may change": {`"labels":{`, `"labels":{"a":"forged",`},
	} {
		planted := bytes.Replace(ofRun, []byte(forged[0]), []byte(forged[1]), 1)
		if bytes.Equal(planted, ofRun) || !json.Valid(planted) {
			t.Fatalf("%s: %s", name, planted)
		}
		if sameRun(ofRun, planted) || sameRun(planted, ofRun) {
			t.Errorf("a run with %s twice counts as the genuine one", name)
		}
	}
}
