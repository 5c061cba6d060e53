// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

const testUID = "11111111-2222-3333-4444-555555555555"

// fakeClock goes on by a quarter of a second each time that it is read.
type fakeClock struct{ t time.Time }

func (c *fakeClock) now() time.Time {
	c.t = c.t.Add(250 * time.Millisecond)
	return c.t
}

func testScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return scheme
}

func testDemo(out *bytes.Buffer) *demo {
	clock := &fakeClock{t: time.Unix(1000, 0)}
	d := &demo{
		opts:  options{namespace: "demo", start: time.Unix(1000, 0)},
		now:   clock.now,
		print: &printer{out: out, now: clock.now, start: time.Unix(1000, 0)},
	}
	d.key.Namespace, d.key.Name = "demo", "portfolio"
	return d
}

// runWith makes a run whose conditions are given as "Type=Status".
func runWith(conditions ...string) *v1alpha1.MotorRun {
	run := &v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "portfolio", UID: testUID}}
	for _, c := range conditions {
		name, status, _ := strings.Cut(c, "=")
		run.Status.Conditions = append(run.Status.Conditions, metav1.Condition{
			Type: name, Status: metav1.ConditionStatus(status), Reason: "Because", Message: "It is so.",
		})
	}
	return run
}

func asking(run *v1alpha1.MotorRun, id string) *v1alpha1.MotorRun {
	run.Status.PendingInputs = v1alpha1.PendingList(&v1alpha1.PendingInput{
		ID: id, Question: "ACME has no price. What now?", Options: []string{"skip it", "stop"}, Default: "skip it",
	})
	return run
}

// call is a tool call with its result; without an envelope it has none yet.
type call struct {
	tool, arguments string
	result          *v1alpha1.ToolResult
}

func ok(output string) *v1alpha1.ToolResult {
	return &v1alpha1.ToolResult{OK: true, Output: output, Provenance: "Internal", DurationMilliseconds: 3}
}

func step(index int32, calls ...call) v1alpha1.MotorStep {
	s := v1alpha1.MotorStep{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "demo", Name: fmt.Sprintf("portfolio-a01-s%04d", index),
			Labels: map[string]string{v1alpha1.LabelRun: "portfolio"},
			OwnerReferences: []metav1.OwnerReference{
				{APIVersion: v1alpha1.GroupVersion.String(), Kind: "MotorRun", Name: "portfolio", UID: testUID, Controller: new(true)},
			},
		},
		Spec: v1alpha1.MotorStepSpec{Type: v1alpha1.StepTurn, Attempt: 1, Index: index, Epoch: 1},
	}
	for i, c := range calls {
		id := fmt.Sprintf("a1-s%d-c%d", index, i)
		s.Spec.ToolCalls = append(s.Spec.ToolCalls, v1alpha1.ToolCall{ID: id, Tool: c.tool, Arguments: c.arguments})
		if c.result != nil {
			r := *c.result
			r.CallID = id
			s.Status.Results = append(s.Status.Results, r)
		}
	}
	return s
}
