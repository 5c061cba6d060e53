// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"encoding/json"
	"maps"
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
	return c.held.Steps["run-a0-s1"]
}

// A manager of a version that knew fewer fields wrote the archive, and ended before it noted it. The next version knows it again.
func TestArchiveOfAVersionWithFewerFields(t *testing.T) {
	t.Parallel()
	step := &v1alpha1.MotorStep{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "run-a0-s1", UID: "1", OwnerReferences: []metav1.OwnerReference{{UID: "run"}}}}
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
