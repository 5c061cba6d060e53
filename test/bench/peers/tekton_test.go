// SPDX-License-Identifier: Apache-2.0

package peers

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestAStepHasEndedWhenTheStatusHasItsExitCode(t *testing.T) {
	t.Parallel()
	steps := func(first map[string]any) map[string]any { return map[string]any{"steps": []any{first}} }
	ended := func(code int64) map[string]any {
		return steps(map[string]any{"terminated": map[string]any{"exitCode": code}})
	}
	failed := map[string]any{"conditions": []any{map[string]any{"type": "Succeeded", "status": "False", "message": "no image"}}}
	for name, tt := range map[string]struct {
		status  map[string]any
		want    bool
		problem string
	}{
		"no status":    {},
		"running":      {status: steps(map[string]any{"running": map[string]any{}})},
		"ended":        {status: ended(0), want: true},
		"failed step":  {status: ended(1), problem: "its first step ended with exit code 1"},
		"never begins": {status: failed, problem: "no image"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := stepEnded(&unstructured.Unstructured{Object: map[string]any{"status": tt.status}})
			problem := ""
			if err != nil {
				problem = err.Error()
			}
			if got != tt.want || problem != tt.problem {
				t.Errorf("%v, %q; want %v, %q", got, problem, tt.want, tt.problem)
			}
		})
	}
}
