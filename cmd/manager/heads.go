// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strings"
	"unicode/utf8"
	"unique"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/pass"
	"motorcortex.dev/motorcortex/internal/oneshot"
	"motorcortex.dev/motorcortex/internal/runpolicy"
	"motorcortex.dev/motorcortex/internal/runpolicy/fit"
	"motorcortex.dev/motorcortex/internal/signal"
	"motorcortex.dev/motorcortex/internal/storage"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

const (
	// headContent bounds the part of a closing text that the controller needs: it is the bound of the status.
	headContent = 8192
	// headStatement bounds the line in which the model says what it does.
	headStatement = 200
	// headOutput bounds the part of a tool's output that the status shows.
	headOutput = 200
	// headArguments bounds the arguments that a person is shown of a call whose outcome is unknown.
	headArguments = 200
)

// runHead retains all of a cached run except the content of its files; code that needs the content reads the run itself. The size of the whole run is
// noted for the budget of its namespace. A finished run also lacks its task, which only a loop needs.
func runHead(o any) (any, error) {
	r, ok := o.(*v1alpha1.MotorRun)
	if !ok {
		return o, nil
	}
	size := storage.Of(r)
	r.ObjectMeta = metaHead(&r.ObjectMeta)
	storage.Note(r, size)
	for i := range r.Spec.Files {
		if r.Spec.Files[i].Content != nil {
			r.Spec.Files[i].Content = new(string)
		}
	}
	for i := range r.Spec.Responses {
		files := r.Spec.Responses[i].Files
		for j := range files {
			files[j].Content, files[j].BinaryContent = nil, nil
		}
	}
	if pass.IsFinished(r) {
		r.Spec.Task = ""
		shareConditions(r.Status.Conditions)
	}
	return r, nil
}

// shareConditions has equal texts of conditions in memory once. Finished runs are many, and most of them say the same.
func shareConditions(conditions []metav1.Condition) {
	for i := range conditions {
		c := &conditions[i]
		for _, s := range []*string{&c.Type, &c.Reason, &c.Message} {
			*s = unique.Make(*s).Value()
		}
		c.Status = unique.Make(c.Status).Value()
	}
}

// stepHead retains the part of a cached step that the controller reads, and its size. The journal itself is never read from the cache.
func stepHead(o any) (any, error) {
	s, ok := o.(*v1alpha1.MotorStep)
	if !ok {
		return o, nil
	}
	size := storage.Of(s)
	s.ObjectMeta = metaHead(&s.ObjectMeta)
	storage.Note(s, size)
	if s.Spec.Final || s.Spec.Type == v1alpha1.StepEnd {
		s.Spec.Content = fit.Cut(s.Spec.Content, headContent)
	} else {
		s.Spec.Content = statementHead(s)
	}
	for i := range s.Spec.ToolCalls {
		switch c := &s.Spec.ToolCalls[i]; {
		case runpolicy.IsAsked(s, c.ID):
			// The controller decides about them by the whole arguments, and a run has one such call at a time.
		default:
			c.Arguments = fit.Cut(c.Arguments, headArguments)
		}
	}
	for i := range s.Status.Results {
		r := &s.Status.Results[i]
		r.Output = outputHead(s, r)
	}
	return s, nil
}

// statementHead retains the line in which the model says what it does, for signals. It is a copy: a part of the text would keep all of it in memory.
func statementHead(s *v1alpha1.MotorStep) string {
	if s.Spec.Type != v1alpha1.StepTurn {
		return ""
	}
	line := signal.FirstLine(s.Spec.Content)
	if utf8.RuneCountInString(line) > headStatement {
		// The signal is searched for secrets too, but what the cut left of one is not found.
		line = signal.Searched(line)
	}
	return strings.Clone(fit.Cut(line, headStatement))
}

// outputHead retains the part of the output of a run without a model that the status shows.
func outputHead(s *v1alpha1.MotorStep, r *v1alpha1.ToolResult) string {
	is := func(tool string) bool {
		return slices.ContainsFunc(s.Spec.ToolCalls, func(c v1alpha1.ToolCall) bool { return c.ID == r.CallID && c.Tool == tool })
	}
	if (is(toolapi.ToolOneshot) || is(toolapi.ToolOneshotNetwork)) && len(r.Output) > headOutput {
		return oneshot.Read(r.OK, r.ErrorCode, r.Output).Value
	}
	if is(toolapi.ToolInstall) {
		return fit.Cut(r.Output, toolapi.MaxInstalledBytes)
	}
	return fit.Cut(r.Output, headOutput)
}

// skillHead retains all of a cached skill except the content of its files; code that reads its source reads the skill itself.
func skillHead(o any) (any, error) {
	s, ok := o.(*v1alpha1.Skill)
	if !ok {
		return o, nil
	}
	s.ObjectMeta = metaHead(&s.ObjectMeta)
	if s.Spec.Source != nil {
		for i := range s.Spec.Source.Files {
			s.Spec.Source.Files[i].Content = ""
		}
	}
	return s, nil
}

// configMapHead retains the metadata of a ConfigMap that shows whether it was changed, and its owner.
func configMapHead(o any) (any, error) {
	m, ok := o.(*metav1.PartialObjectMetadata)
	if !ok {
		return o, nil
	}
	m.ObjectMeta = metaHead(&m.ObjectMeta)
	if _, isSkill := m.Labels[v1alpha1.LabelSkill]; !isSkill {
		m.Labels = nil
	}
	m.Annotations = nil
	return m, nil
}

// policyHead retains the owner of a cached NetworkPolicy, and which version it is. Code that needs the rest reads the policy itself.
func policyHead(o any) (any, error) {
	p, ok := o.(*networkingv1.NetworkPolicy)
	if !ok {
		return o, nil
	}
	p.ObjectMeta, p.Spec = metaHead(&p.ObjectMeta), networkingv1.NetworkPolicySpec{}
	return p, nil
}

// nodeHead retains the part of a cached node that shows whether it supports user namespaces.
func nodeHead(o any) (any, error) {
	n, ok := o.(*corev1.Node)
	if !ok {
		return o, nil
	}
	n.ObjectMeta, n.Spec = metaHead(&n.ObjectMeta), corev1.NodeSpec{Unschedulable: n.Spec.Unschedulable}
	n.Status = corev1.NodeStatus{RuntimeHandlers: n.Status.RuntimeHandlers}
	return n, nil
}
