// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 is the API of Motor Cortex: tasks for agents, carried out in sandboxes.
// +kubebuilder:object:generate=true
// +groupName=motorcortex.dev
// +groupGoName=MotorCortex
package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the group and version of every kind in this package.
var GroupVersion = schema.GroupVersion{Group: "motorcortex.dev", Version: "v1alpha1"}

// SchemeGroupVersion is GroupVersion by the name that generated clients use.
var SchemeGroupVersion = GroupVersion

var (
	// SchemeBuilder collects what makes the kinds of this package known.
	SchemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)
	// AddToScheme makes the kinds of this package known to a scheme.
	AddToScheme = SchemeBuilder.AddToScheme
)

// Resource returns the resource of a name in this group.
func Resource(resource string) schema.GroupResource {
	return GroupVersion.WithResource(resource).GroupResource()
}

func addKnownTypes(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion,
		&MotorRun{}, &MotorRunList{},
		&MotorStep{}, &MotorStepList{},
		&MotorCortex{}, &MotorCortexList{},
		&Skill{}, &SkillList{},
		&SkillRevision{}, &SkillRevisionList{},
		&SandboxPool{}, &SandboxPoolList{},
		&MotorSchedule{}, &MotorScheduleList{},
		&MotorRunTemplate{}, &MotorRunTemplateList{},
	)
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}
