// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"path"
	"slices"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// reportName is the file that the demo prints at the end.
const reportName = "report.md"

// story turns what is seen of one run into events, each of them once, whatever is seen again after a broken watch.
type story struct {
	run   *v1alpha1.MotorRun
	steps []v1alpha1.MotorStep

	told    map[string]bool
	sandbox bool
	stalled string
	ended   bool
}

// event is one of the types below.
type event any

type (
	// sandboxRuns: the run's Pod runs.
	sandboxRuns struct{ pod string }
	// stepWritten: the model answered, and nothing of what it wants was done yet.
	stepWritten struct{ step *v1alpha1.MotorStep }
	// callEnded: a tool call has its result.
	callEnded struct {
		step   *v1alpha1.MotorStep
		call   *v1alpha1.ToolCall
		result *v1alpha1.ToolResult
	}
	// asked: the run waits for an answer.
	asked struct{ input *v1alpha1.PendingInput }
	// settled: the run does not wait for that answer any more.
	settled struct{ id, answer string }
	// stalled: the run cannot go on before somebody changes something.
	stalledNow struct{ reason, message string }
	// goesOn: it can again.
	goesOn struct{}
	// ended: the run has ended, whichever way.
	ended struct{}
	// vanished: the run was deleted.
	vanished struct{}
)

// see takes a view in and says what happened since the one before.
func (s *story) see(v view) []event {
	if v.steps != nil {
		s.steps = ordered(v.steps)
		return s.tellSteps()
	}
	if v.run == nil || s.run != nil && v.run.UID != s.run.UID {
		if s.run == nil || s.ended {
			return nil
		}
		s.ended = true
		return []event{vanished{}}
	}
	before := s.run
	s.run = v.run
	// Steps may have been seen before the run that they belong to.
	events := s.tellSteps()
	events = append(events, s.tellSandbox()...)
	events = append(events, s.tellInput(before)...)
	events = append(events, s.tellStalled()...)
	if isTrue(s.run, v1alpha1.ConditionFinished) && !s.ended {
		s.ended = true
		events = append(events, ended{})
	}
	return events
}

func (s *story) once(what string) bool {
	if s.told == nil {
		s.told = map[string]bool{}
	}
	first := !s.told[what]
	s.told[what] = true
	return first
}

func (s *story) tellSteps() []event {
	if s.run == nil {
		return nil
	}
	var events []event
	for i := range s.steps {
		step := &s.steps[i]
		if !metav1.IsControlledBy(step, s.run) {
			continue
		}
		if s.once("step " + step.Name) {
			events = append(events, stepWritten{step})
		}
		for j := range step.Spec.ToolCalls {
			call := &step.Spec.ToolCalls[j]
			if result := resultOf(step, call.ID); result != nil && s.once("call "+call.ID) {
				events = append(events, callEnded{step, call, result})
			}
		}
	}
	return events
}

// tellSandbox is silent once there are steps: their watch was faster, and the news is old.
func (s *story) tellSandbox() []event {
	if s.sandbox || len(s.steps) > 0 || !isTrue(s.run, v1alpha1.ConditionSandboxReady) || s.run.Status.Sandbox == nil {
		return nil
	}
	s.sandbox = true
	return []event{sandboxRuns{s.run.Status.Sandbox.PodName}}
}

func (s *story) tellInput(before *v1alpha1.MotorRun) []event {
	var events []event
	now := s.run.Status.Pending()
	if before != nil && before.Status.Pending() != nil {
		id := before.Status.Pending().ID
		if now == nil || now.ID != id {
			e := settled{id: id}
			for _, r := range s.run.Spec.Responses {
				if r.ID == id {
					e.answer = r.Answer
				}
			}
			events = append(events, e)
		}
	}
	if now != nil && s.once("input "+now.ID) {
		events = append(events, asked{now})
	}
	return events
}

func (s *story) tellStalled() []event {
	c := apimeta.FindStatusCondition(s.run.Status.Conditions, v1alpha1.ConditionStalled)
	reason := ""
	if c != nil && c.Status == metav1.ConditionTrue && !isTrue(s.run, v1alpha1.ConditionFinished) {
		reason = c.Reason
	}
	if reason == s.stalled {
		return nil
	}
	s.stalled = reason
	if reason == "" {
		return []event{goesOn{}}
	}
	return []event{stalledNow{reason, c.Message}}
}

// report is the report as the run wrote it last.
func (s *story) report() string {
	text := ""
	for i := range s.steps {
		step := &s.steps[i]
		for j := range step.Spec.ToolCalls {
			call := &step.Spec.ToolCalls[j]
			result := resultOf(step, call.ID)
			if result == nil || !result.OK {
				continue
			}
			args := decodeArgs(call)
			if path.Base(args.Path) != reportName {
				continue
			}
			if call.Tool == toolapi.ToolWrite {
				text = args.Content
			}
		}
	}
	return text
}

func ordered(steps []v1alpha1.MotorStep) []v1alpha1.MotorStep {
	steps = slices.Clone(steps)
	slices.SortFunc(steps, func(a, b v1alpha1.MotorStep) int {
		return cmp.Or(cmp.Compare(a.Spec.Attempt, b.Spec.Attempt), cmp.Compare(a.Spec.Index, b.Spec.Index))
	})
	return steps
}

func resultOf(step *v1alpha1.MotorStep, callID string) *v1alpha1.ToolResult {
	i := slices.IndexFunc(step.Status.Results, func(r v1alpha1.ToolResult) bool { return r.CallID == callID })
	if i < 0 {
		return nil
	}
	return &step.Status.Results[i]
}

func isTrue(run *v1alpha1.MotorRun, condition string) bool {
	return apimeta.IsStatusConditionTrue(run.Status.Conditions, condition)
}
