// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"
)

// maxRunName is how many characters the name of a MotorRun has at most.
const maxRunName = 48

// The names of steps sort as attempt and index do: kubectl lists objects by name.
func TestNamesOfSteps(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		attempt, index int32
		want           string
	}{
		{1, 1, "run-a01-s0001"},
		{1, 2, "run-a01-s0002"},
		{1, 9, "run-a01-s0009"},
		{1, 10, "run-a01-s0010"},
		{1, 99, "run-a01-s0099"},
		{1, 100, "run-a01-s0100"},
		{1, 999, "run-a01-s0999"},
		{1, 1000, "run-a01-s1000"},
		{2, 1, "run-a02-s0001"},
		{9, 1000, "run-a09-s1000"},
		{10, 1, "run-a10-s0001"},
	} {
		if got := StepName("run", tt.attempt, tt.index); got != tt.want {
			t.Errorf("attempt %d, index %d: %s, want %s", tt.attempt, tt.index, got, tt.want)
		}
	}
	var names []string
	for attempt := int32(1); attempt <= 10; attempt++ {
		for index := int32(1); index <= 1000; index++ {
			names = append(names, StepName("run", attempt, index))
		}
	}
	if !slices.IsSorted(names) {
		t.Error("the names do not sort as attempt and index do")
	}
}

// The digits of a name are those of the greatest numbers that the API takes, and the longest name is valid.
func TestNamesOfStepsFitTheBoundsOfTheAPI(t *testing.T) {
	t.Parallel()
	spec := stepSchema(t)
	attempt, index := spec["attempt"].Maximum, spec["index"].Maximum
	if len(fmt.Sprint(attempt)) != 2 || len(fmt.Sprint(index)) != 4 {
		t.Errorf("attempts go to %d and indexes to %d: StepName has as many digits as they need", attempt, index)
	}
	name := StepName(strings.Repeat("r", maxRunName), int32(attempt), int32(index)) + outageSuffix
	if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
		t.Errorf("the name %s: %q", name, problems)
	}
}

type bounded struct {
	Maximum    int64              `json:"maximum"`
	Properties map[string]bounded `json:"properties"`
}

// stepSchema returns the fields of the spec in the CustomResourceDefinition of MotorSteps.
func stepSchema(t *testing.T) map[string]bounded {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "config", "crd", "bases", "motorcortex.dev_motorsteps.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var crd struct {
		Spec struct {
			Versions []struct {
				Schema struct {
					OpenAPIV3Schema bounded `json:"openAPIV3Schema"`
				} `json:"schema"`
			} `json:"versions"`
		} `json:"spec"`
	}
	if err := yaml.Unmarshal(data, &crd); err != nil {
		t.Fatal(err)
	}
	return crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties
}
