// SPDX-License-Identifier: Apache-2.0

package docs_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// A reader who types what stands below the run of the README gets that run, with its files.
func TestTheRunOfTheReadmeIsThatOfItsSample(t *testing.T) {
	t.Parallel()
	const sample = "config/samples/portfolio"
	readme := read(t, "README.md")
	_, block, _ := strings.Cut(readme, "```yaml\n")
	block, _, _ = strings.Cut(block, "```")
	var shown, is v1alpha1.MotorRun
	for text, run := range map[string]*v1alpha1.MotorRun{block: &shown, read(t, sample+"/run.yaml"): &is} {
		if err := yaml.UnmarshalStrict([]byte(text), run); err != nil {
			t.Fatal(err)
		}
	}
	if shown.Spec.Task == "" {
		t.Fatal("the README shows no run")
	}
	// Its task is shortened.
	shown.Spec.Task, is.Spec.Task = "", ""
	if diff := cmp.Diff(is, shown); diff != "" {
		t.Errorf("the run of the README is not that of %s (-sample +README):\n%s", sample, diff)
	}
	for _, command := range []string{"kubectl apply -k " + sample + "\n", "kubectl motor watch " + is.Name + " ", "make plugin "} {
		if !strings.Contains(readme, command) {
			t.Errorf("the README does not have the command %q", command)
		}
	}
}
