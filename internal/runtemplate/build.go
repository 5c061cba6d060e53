// SPDX-License-Identifier: Apache-2.0

package runtemplate

import (
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// Run returns a run of a template, without a name and a namespace.
func Run(t *v1alpha1.RunTemplate) *v1alpha1.MotorRun {
	t = t.DeepCopy()
	s := &t.Spec
	run := &v1alpha1.MotorRun{
		ObjectMeta: metav1.ObjectMeta{Labels: maps.Clone(t.Metadata.Labels), Annotations: maps.Clone(t.Metadata.Annotations)},
		Spec: v1alpha1.MotorRunSpec{
			Mode: s.Mode, Task: s.Task, Code: s.Code, Tools: s.Tools, Bash: s.Bash, MCPServers: s.MCPServers, Domains: s.Domains,
			Credentials: s.Credentials, Files: s.Files, Model: s.Model, SkillRef: s.SkillRef, Inputs: s.Inputs, ExtractSkills: s.ExtractSkills, Keep: s.Keep,
			Sandbox: sandbox(s.Sandbox), Approval: s.Approval, Questions: s.Questions, Accept: s.Accept,
			MaxAttempts: s.MaxAttempts, Priority: s.Priority, TTLSecondsAfterFinished: s.TTLSecondsAfterFinished,
			Budget: s.Budget,
		},
	}
	if s.Limits != nil {
		run.Spec.Limits = *s.Limits
	}
	return run
}

func sandbox(s *v1alpha1.TemplateSandbox) *v1alpha1.RunSandbox {
	if s == nil {
		return nil
	}
	return &v1alpha1.RunSandbox{
		RuntimeClassName: s.RuntimeClassName, WorkspaceStorageClassName: s.WorkspaceStorageClassName,
		Resources: v1alpha1.SandboxResources{CPU: s.Resources.CPU, Memory: s.Resources.Memory, Workspace: s.Resources.Workspace},
	}
}

// Exposes reports whether a run of the template puts the value of a credential into its sandbox.
func Exposes(t *v1alpha1.RunTemplate) bool {
	for i := range t.Spec.Credentials {
		if t.Spec.Credentials[i].ExposeToSandbox {
			return true
		}
	}
	return false
}

// Annotate sets an annotation of a run.
func Annotate(run *v1alpha1.MotorRun, key, value string) {
	if run.Annotations == nil {
		run.Annotations = map[string]string{}
	}
	run.Annotations[key] = value
}
