// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"
)

func TestSkillLabel(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 64)
	for name, want := range map[string]string{"mail": "mail", long[:63]: long[:63], long: long[:50] + ".ffe054fe7ae0"} {
		got := SkillLabel(name)
		if got != want || len(validation.IsValidLabelValue(got)) > 0 {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if SkillLabel(long) == SkillLabel(long[:63]+"b") {
		t.Error("two names have the same label")
	}
}
