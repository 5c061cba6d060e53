// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 is the API of Motor Cortex: tasks for agents, carried out in sandboxes.
// +kubebuilder:object:generate=true
// +groupName=motorcortex.dev
package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the group and version of every kind in this package.
var GroupVersion = schema.GroupVersion{Group: "motorcortex.dev", Version: "v1alpha1"}

// AddToScheme makes the kinds of this package known to a scheme.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion,
		&MotorRun{}, &MotorRunList{},
		&MotorStep{}, &MotorStepList{},
		&MotorCortex{}, &MotorCortexList{},
		&Skill{}, &SkillList{},
		&SkillRevision{}, &SkillRevisionList{},
	)
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}
