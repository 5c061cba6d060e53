// SPDX-License-Identifier: Apache-2.0

package doctor_test

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/doctor"
)

// Each check has a case for every end that it can have.
func TestChecks(t *testing.T) {
	t.Parallel()
	lease := func(do func(l *coordinationv1.Lease)) func(*installation) {
		return func(i *installation) { change(i, do) }
	}
	deployment := func(do func(d *appsv1.Deployment)) func(*installation) {
		return func(i *installation) { change(i, do) }
	}
	condition := func(kind string, is metav1.ConditionStatus, reason string) func(*installation) {
		return func(i *installation) {
			change(i, func(c *v1alpha1.MotorCortex) {
				c.Status.Conditions = []metav1.Condition{{Type: kind, Status: is, Reason: reason, Message: "So it is."}}
			})
		}
	}
	told := func(is metav1.ConditionStatus, seen int64) func(*installation) {
		return func(i *installation) {
			change(i, func(c *v1alpha1.MotorCortex) {
				c.Status.Receivers = []v1alpha1.SinkStatus{{Name: "team", Conditions: []metav1.Condition{
					{Type: v1alpha1.CortexSinkReady, Status: is, Reason: v1alpha1.ReasonSinkRefuses, Message: "It refuses.", ObservedGeneration: seen},
				}}}
			})
		}
	}
	denied := func(rights ...string) func(*installation) {
		return func(i *installation) {
			for _, r := range rights {
				i.denied[r] = true
			}
		}
	}
	worker := func(version string, age time.Duration) func(*installation) {
		return func(i *installation) {
			i.objects = append(i.objects, &coordinationv1.Lease{
				ObjectMeta: metav1.ObjectMeta{Namespace: "motorcortex-system", Name: "worker-b", Labels: map[string]string{v1alpha1.LabelComponent: v1alpha1.ComponentWorker}, Annotations: map[string]string{v1alpha1.AnnotationVersion: version}},
				Spec:       coordinationv1.LeaseSpec{RenewTime: new(metav1.NewMicroTime(time.Now().Add(-age)))},
			})
		}
	}
	pool := func(conditions ...metav1.Condition) func(*installation) {
		return func(i *installation) {
			i.objects = append(i.objects, &v1alpha1.SandboxPool{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "warm"}, Status: v1alpha1.SandboxPoolStatus{Replicas: 3, ReadyReplicas: 1, Conditions: conditions}})
		}
	}
	stuck := func(d *appsv1.Deployment) {
		d.Status.Conditions = append(d.Status.Conditions, appsv1.DeploymentCondition{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionFalse, Reason: "ProgressDeadlineExceeded", Message: "Slow."})
	}
	answer := func(err error) func(*installation) { return func(i *installation) { i.created = err } }
	later := func(is metav1.ConditionStatus, reason string) func(*installation) {
		return func(i *installation) { i.objects = append(i.objects, proved("later", is, reason, 5)) }
	}
	for name, tt := range map[string]struct {
		with   func(*installation)
		check  string
		status doctor.Status
		says   string
	}{
		"a server of before":      {func(i *installation) { i.minor = "31" }, "API server", doctor.Failed, "needs 1.32 or later"},
		"one without stamping":    {func(i *installation) { i.minor = "35" }, "API server", doctor.Warning, "no MutatingAdmissionPolicy"},
		"one of another kind":     {func(i *installation) { i.minor = "x" }, "API server", doctor.Unknown, "not with its version"},
		"no right to the schema":  {denied("/openapi/v3/apis/motorcortex.dev/v1alpha1"), "kinds", doctor.Unknown, "you lack the right to get /openapi"},
		"no operator":             {without[*appsv1.Deployment], "operator", doctor.Failed, "there is no Deployment motorcortex-manager in the namespace motorcortex-system"},
		"no right to it":          {denied("get deployments"), "operator", doctor.Unknown, "you lack the right to get deployments.apps motorcortex-manager in the namespace motorcortex-system"},
		"none of it is ready":     {deployment(func(d *appsv1.Deployment) { d.Status = appsv1.DeploymentStatus{} }), "operator", doctor.Failed, "0 of 2 replicas are ready"},
		"some of it is ready":     {deployment(func(d *appsv1.Deployment) { d.Status.ReadyReplicas = 1 }), "operator", doctor.Warning, "1 of 2 replicas"},
		"an update under way":     {deployment(func(d *appsv1.Deployment) { d.Status.UpdatedReplicas = 1 }), "operator", doctor.Warning, "1 of 2 replicas have the image manager:v1"},
		"an update that surges":   {deployment(func(d *appsv1.Deployment) { d.Status.Replicas = 3 }), "operator", doctor.Warning, "2 of 3 replicas have the image"},
		"an update that is stuck": {deployment(stuck), "operator", doctor.Failed, "does not get on, 2 of 2 replicas have it: Slow."},
		"one not seen yet":        {deployment(func(d *appsv1.Deployment) { d.Generation = 2 }), "operator", doctor.Unknown, "has not looked at it since"},
		"a receiver that fails":   {told(metav1.ConditionFalse, 0), "receiver team", doctor.Warning, "It refuses."},
		"a receiver that takes":   {told(metav1.ConditionTrue, 0), "receivers", doctor.OK, "1 of 1 take"},
		"a receiver of before":    {told(metav1.ConditionTrue, -1), "receiver team", doctor.Unknown, "not looked at yet"},
		"a model before a change": {func(i *installation) { change(i, func(c *v1alpha1.MotorCortex) { c.Generation = 2 }) }, "model", doctor.Unknown, "not looked at yet"},
		"it is scaled away":       {deployment(func(d *appsv1.Deployment) { d.Spec.Replicas = new(int32(0)) }), "operator", doctor.Failed, "has no replicas"},
		"no leader":               {lease(func(l *coordinationv1.Lease) { l.Spec.HolderIdentity = nil }), "leader", doctor.Failed, "no replica leads"},
		"none ever":               {without[*coordinationv1.Lease], "leader", doctor.Failed, "no replica has ever led"},
		"a leader that is silent": {lease(func(l *coordinationv1.Lease) { l.Spec.RenewTime = new(metav1.NewMicroTime(time.Now().Add(-time.Hour))) }), "leader", doctor.Failed, "pod-a leads, and has not said so for 60m"},
		"no right to leases":      {denied("get leases"), "leader", doctor.Unknown, "get leases.coordination.k8s.io manager.motorcortex.dev in the namespace motorcortex-system"},
		"two versions":            {worker("0.1.0", 0), "versions", doctor.Warning, "replicas of the manager have the versions 0.1.0 and "},
		"one that is gone":        {worker("0.1.0", time.Hour), "versions", doctor.OK, "the plugin is "},
		"no version":              {without[*coordinationv1.Lease], "versions", doctor.Unknown, "no replica of the manager says its version"},
		"another version":         {func(i *installation) { without[*coordinationv1.Lease](i); worker("0.1.0", 0)(i) }, "versions", doctor.Warning, "and the operator 0.1.0"},
		"no right to policies":    {denied("get validatingadmissionpolicies"), "admission policies", doctor.Unknown, "get validatingadmissionpolicies.admissionregistration.k8s.io motorcortex-runs in the cluster"},
		"a policy that is away":   {answer(nil), "admission in effect", doctor.Failed, "let a user create a run with a label of the operator's"},
		"another that refuses":    {answer(refusal("a quota")), "admission in effect", doctor.Unknown, "something else refused first"},
		"no such namespace":       {answer(apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "ns")), "admission in effect", doctor.Unknown, `namespaces "ns" not found`},
		"no right to runs":        {denied("create motorruns"), "admission in effect", doctor.Unknown, "create motorruns.motorcortex.dev in the namespace ns"},
		"a policy that holds":     {func(*installation) {}, "admission in effect", doctor.OK, "is refused in the namespace ns"},
		"a model that answers":    {func(*installation) {}, "model", doctor.OK, "It answers."},
		"one that does not":       {condition(v1alpha1.CortexModelAvailable, metav1.ConditionFalse, "ModelUnreachable"), "model", doctor.Failed, "So it is."},
		"one that is not listed":  {condition(v1alpha1.CortexModelAvailable, metav1.ConditionTrue, v1alpha1.ReasonModelNotListed), "model", doctor.Warning, "So it is."},
		"one not asked yet":       {condition(v1alpha1.CortexModelAvailable, metav1.ConditionUnknown, "X"), "model", doctor.Unknown, "So it is."},
		"a search that fails":     {condition(v1alpha1.CortexSearchReady, metav1.ConditionFalse, "SearchUnavailable"), "search", doctor.Failed, "So it is."},
		"an archive":              {condition(v1alpha1.CortexArchiveReady, metav1.ConditionTrue, "Available"), "archive", doctor.OK, "So it is."},
		"no MotorCortex":          {without[*v1alpha1.MotorCortex], "model", doctor.Warning, "the namespace ns has no MotorCortex"},
		"one nobody looked at":    {func(i *installation) { change(i, func(c *v1alpha1.MotorCortex) { c.Status.Conditions = nil }) }, "model", doctor.Unknown, "has not looked at the MotorCortex"},
		"no right to it, as well": {denied("get motorcortices"), "model", doctor.Unknown, "get motorcortices.motorcortex.dev default in the namespace ns"},
		"a closed sandbox":        {func(*installation) {}, "isolation", doctor.OK, "of the run run, 56y ago: Tried."},
		"an open one, later":      {later(metav1.ConditionFalse, v1alpha1.ReasonIsolationUnverified), "isolation", doctor.Failed, "of the run later"},
		"an open one, allowed":    {later(metav1.ConditionFalse, v1alpha1.ReasonUnenforcedAllowed), "isolation", doctor.Failed, "of the run later"},
		"one on a later page": {func(i *installation) {
			later(metav1.ConditionFalse, v1alpha1.ReasonIsolationUnverified)(i)
			i.earlier = []v1alpha1.MotorRun{*proved("a", metav1.ConditionTrue, v1alpha1.ReasonIsolationVerified, 1)}
		}, "isolation", doctor.Failed, "of the run later"},
		"one whose policy changed": {later(metav1.ConditionFalse, v1alpha1.ReasonIsolationLost), "isolation", doctor.Warning, "of the run later"},
		"one not tried yet":        {later(metav1.ConditionUnknown, v1alpha1.ReasonIsolationPending), "isolation", doctor.OK, "of the run run"},
		"no sandbox":               {without[*v1alpha1.MotorRun], "isolation", doctor.Warning, "isolation is proved at the first run: no sandbox of the namespace ns was tried yet"},
		"no right to list runs":    {denied("list motorruns"), "isolation", doctor.Unknown, "list motorruns.motorcortex.dev in the namespace ns"},
		"no pools":                 {func(*installation) {}, "pools", doctor.OK, "the namespace ns has none"},
		"no right to pools":        {denied("list sandboxpools"), "pools", doctor.Unknown, "list sandboxpools.motorcortex.dev in the namespace ns"},
		"a pool":                   {pool(metav1.Condition{Type: v1alpha1.PoolReady, Status: metav1.ConditionTrue}), "pool warm", doctor.OK, "1 sandboxes are ready"},
		"one that fills":           {pool(metav1.Condition{Type: v1alpha1.PoolReady, Status: metav1.ConditionFalse, Reason: "Filling", Message: "They start."}), "pool warm", doctor.Warning, "1 of 3 sandboxes are ready: They start."},
		"a pool before a change": {func(i *installation) {
			pool(metav1.Condition{Type: v1alpha1.PoolReady, Status: metav1.ConditionTrue})(i)
			i.objects[len(i.objects)-1].SetGeneration(2)
		}, "pool warm", doctor.Unknown, "not looked at yet"},
		"one not looked at":        {pool(), "pool warm", doctor.Unknown, "has not looked at it yet"},
		"a right that is missing":  {denied("respond motorruns"), "you may answer runs", doctor.Warning, "you lack respond motorruns"},
		"one that is there":        {denied("respond motorruns"), "you may approve calls", doctor.OK, "in the namespace ns"},
		"the right of credentials": {denied("use secrets"), "you may use credentials", doctor.Warning, "you lack use secrets"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := newInstallation(t)
			tt.with(i)
			c, there := i.checks()[tt.check]
			if !there || c.Status != tt.status || !strings.Contains(c.Message, tt.says) {
				t.Errorf("got %+v", c)
			}
			if (c.Status == doctor.Failed || c.Status == doctor.Warning) && c.Do == "" {
				t.Errorf("it does not say what to do: %+v", c)
			}
		})
	}
}
