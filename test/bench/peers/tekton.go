// SPDX-License-Identifier: Apache-2.0

package peers

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var taskRunKind = schema.GroupVersionKind{Group: "tekton.dev", Version: "v1", Kind: "TaskRun"}

// taskRun returns the time from the creation of a TaskRun of the step `true` until its status says how the step ended.
func (b *Bench) taskRun(ctx context.Context, name string) (time.Duration, error) {
	step := map[string]any{"name": "first", "image": b.Pod.Containers[0].Image, "command": []any{"true"}}
	run := b.object(taskRunKind, name, map[string]any{"taskSpec": map[string]any{"steps": []any{step}}})
	times, err := b.timed(ctx, []*unstructured.Unstructured{run}, stepEnded)
	if err != nil {
		return 0, err
	}
	return times[0], b.remove(ctx, run)
}

// stepEnded reports whether the status of a TaskRun has the end of its first step. A step or a TaskRun that failed is an error.
func stepEnded(o *unstructured.Unstructured) (bool, error) {
	if status, message := condition(o, "Succeeded"); status == "False" {
		return false, errors.New(message)
	}
	steps, _, _ := unstructured.NestedSlice(o.Object, "status", "steps")
	if len(steps) == 0 {
		return false, nil
	}
	first, _ := steps[0].(map[string]any)
	ended, found, _ := unstructured.NestedMap(first, "terminated")
	if !found {
		return false, nil
	}
	if code, _, _ := unstructured.NestedInt64(ended, "exitCode"); code != 0 {
		return false, fmt.Errorf("its first step ended with exit code %d", code)
	}
	return true, nil
}
