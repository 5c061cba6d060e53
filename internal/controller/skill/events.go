// SPDX-License-Identifier: Apache-2.0

package skill

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/pass"
)

// The events of new revisions.
const (
	reasonRevisionStored   = "RevisionStored"
	reasonRevisionProposed = "RevisionProposed"
	actionStore            = "Store"
)

// toldOf are the conditions whose changes are events, with the verb that names the change.
var toldOf = []struct{ conditionType, action string }{
	{v1alpha1.ConditionSourceReady, "ReadSource"},
	{v1alpha1.ConditionPolicyValid, "CheckPolicy"},
	{v1alpha1.ConditionApproved, "Approve"},
	{v1alpha1.ConditionPackagesReady, "InstallPackages"},
}

// transitions compares the former status with the present one. Only a change of status or reason is a transition.
func transitions(before, after *v1alpha1.Skill) []pass.Transition {
	list := newRevisions(before, after)
	for _, t := range toldOf {
		was, is := pass.ChangedCondition(before.Status.Conditions, after.Status.Conditions, t.conditionType)
		if is == nil {
			continue
		}
		if was == nil && (is.Status == metav1.ConditionTrue && t.conditionType == v1alpha1.ConditionPolicyValid || isNoNews(is.Reason)) {
			continue
		}
		kind := corev1.EventTypeNormal
		if isTrouble(is.Reason) {
			kind = corev1.EventTypeWarning
		}
		list = append(list, pass.NewTransition(kind, is.Reason, t.action, is.Message))
	}
	return list
}

// newRevisions reports the revisions that were not there before, the oldest first.
func newRevisions(before, after *v1alpha1.Skill) []pass.Transition {
	var list []pass.Transition
	for _, rev := range slices.Backward(after.Status.Revisions) {
		if slices.ContainsFunc(before.Status.Revisions, func(old v1alpha1.RevisionSummary) bool { return old.Name == rev.Name }) {
			continue
		}
		if rev.RunName == "" {
			list = append(list, pass.NewTransition(corev1.EventTypeNormal, reasonRevisionStored, actionStore, fmt.Sprintf("The source's files are stored as %s.", rev.Name)))
			continue
		}
		list = append(list, pass.NewTransition(corev1.EventTypeNormal, reasonRevisionProposed, actionStore,
			fmt.Sprintf("The run %s proposes %s, which waits to be looked at.", rev.RunName, rev.Name)))
	}
	return list
}

// isNoNews reports whether a reason, as the first one, means that nothing has happened yet.
func isNoNews(reason string) bool {
	return reason == v1alpha1.ReasonNoSource || reason == v1alpha1.ReasonNoRevision || reason == v1alpha1.ReasonReviewing
}

// isTrouble reports whether a person who does not look at the skill should know of a reason.
func isTrouble(reason string) bool {
	switch reason {
	case v1alpha1.ReasonSourceNotFound, v1alpha1.ReasonSourceUnavailable, v1alpha1.ReasonFluxNotInstalled, v1alpha1.ReasonSkillInvalid,
		v1alpha1.ReasonSkillTooLarge, v1alpha1.ReasonPolicyInvalid, v1alpha1.ReasonContentChanged, v1alpha1.ReasonContentUnknown,
		v1alpha1.ReasonPolicyChanged, v1alpha1.ReasonApprovalExpired, v1alpha1.ReasonPackagesFailed, v1alpha1.ReasonNoPackageSource:
		return true
	}
	return false
}
