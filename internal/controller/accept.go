// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/modelref"
	"motorcortex.dev/motorcortex/internal/runpolicy"
)

// accept checks what admission cannot see, before the run asks for a place. An accepted run stays accepted.
func (r *MotorRunReconciler) accept(ctx context.Context, s *scope) (bool, error) {
	if isAccepted(s.run) {
		return true, nil
	}
	if refusal := unsupported(s.run); refusal != nil {
		s.set(v1alpha1.ConditionAccepted, metav1.ConditionFalse, refusal.Reason, refusal.Message)
		end(s, refusal)
		return false, nil
	}
	if ok, err := r.acceptDomains(ctx, s); err != nil || !ok {
		return false, err
	}
	endpoint, err := r.Models.Resolve(ctx, s.run)
	if err == nil {
		err = CheckFiles(ctx, r.Live, s.run)
	}
	if err == nil {
		err = r.checkCredentials(ctx, s.run)
	}
	if p, ok := modelref.AsProblem(err); ok {
		s.block(v1alpha1.ConditionAccepted, p.Reason, p.Message, true)
		// A missing Secret or ConfigMap is looked for again: they are not watched, because that would take the right to read
		// all of them.
		s.wake(s.now.Add(s.pause()))
		return false, nil
	}
	if err != nil {
		return false, err
	}
	s.run.Status.Model = endpoint.Model
	showExposure(s)
	return true, nil
}

// acceptDomains checks that the run's domains can be allowed, and that there is a way to them.
func (r *MotorRunReconciler) acceptDomains(ctx context.Context, s *scope) (bool, error) {
	if refusal := runpolicy.RefuseDomains(s.run, s.bounds); refusal != nil {
		s.block(v1alpha1.ConditionAccepted, refusal.Reason, refusal.Message, true)
		s.wake(s.now.Add(s.pause()))
		if refusal.Final {
			end(s, refused(refusal.Reason, refusal.Message))
		}
		return false, nil
	}
	if len(s.run.Spec.Domains) == 0 {
		return true, nil
	}
	address, err := r.proxyAddress(ctx)
	if err != nil {
		return false, err
	}
	if address == "" {
		s.block(v1alpha1.ConditionAccepted, v1alpha1.ReasonEgressUnavailable, r.noProxyMessage(), true)
		s.wake(s.now.Add(s.pause()))
	}
	return address != "", nil
}

// showExposure marks a run whose sandbox can read a credential.
func showExposure(s *scope) {
	var names []string
	for _, c := range s.run.Spec.Credentials {
		if c.ExposeToSandbox {
			names = append(names, c.Name)
		}
	}
	if len(names) > 0 {
		s.set(v1alpha1.ConditionCredentialsExposed, metav1.ConditionTrue, v1alpha1.ReasonCredentialsExposed, fmt.Sprintf(
			"The sandbox, and with it the model, can read %s, because of exposeToSandbox in spec.credentials.", strings.Join(names, ", ")))
	}
}

// unsupported refuses for good what this version could only pretend to do.
func unsupported(run *v1alpha1.MotorRun) *runpolicy.End {
	if run.Spec.Mode == v1alpha1.ModeAgentic {
		return nil
	}
	return refused(v1alpha1.ReasonModeUnsupported, fmt.Sprintf(
		"spec.mode: this version does not carry out %s runs. Create an Agentic run with the tool code.", run.Spec.Mode))
}

func refused(reason, message string) *runpolicy.End {
	return &runpolicy.End{Phase: v1alpha1.PhaseFailed, Reason: reason, Message: message, Failure: &v1alpha1.FailureSummary{
		Category: v1alpha1.CategoryInvalidTask, Reason: reason, Message: message,
		SuggestedAction: runpolicy.SuggestedAction(v1alpha1.CategoryInvalidTask, reason, false),
	}}
}

// CheckFiles looks whether the ConfigMaps of spec.files are there. The error is a *modelref.Problem if one is not.
func CheckFiles(ctx context.Context, reader client.Reader, run *v1alpha1.MotorRun) error {
	for i, f := range run.Spec.Files {
		ref := f.ConfigMapKeyRef
		if ref == nil {
			continue
		}
		var cm corev1.ConfigMap
		err := reader.Get(ctx, types.NamespacedName{Namespace: run.Namespace, Name: ref.Name}, &cm)
		if apierrors.IsNotFound(err) {
			return &modelref.Problem{Reason: v1alpha1.ReasonInputFileNotFound, Message: fmt.Sprintf(
				"spec.files[%d]: the ConfigMap %s does not exist in namespace %s. Create it.", i, ref.Name, run.Namespace)}
		}
		if err != nil {
			return fmt.Errorf("get ConfigMap %s: %w", ref.Name, err)
		}
		_, text := cm.Data[ref.Key]
		if _, binary := cm.BinaryData[ref.Key]; !text && !binary {
			return &modelref.Problem{Reason: v1alpha1.ReasonInputFileNotFound, Message: fmt.Sprintf(
				"spec.files[%d]: the ConfigMap %s in namespace %s has no key %s. Add it.", i, ref.Name, run.Namespace, ref.Key)}
		}
	}
	return nil
}
