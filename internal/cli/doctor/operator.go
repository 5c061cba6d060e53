// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/duration"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// managerName is the name of the Deployment of config/manager.
	managerName = "motorcortex-manager"
	// leaderLease is the Lease of the replica that reconciles.
	leaderLease = "manager.motorcortex.dev"
	// maxLeaseAge is how long ago a Lease of a replica that lives was renewed, at most. It is renewed within seconds. The clocks of this machine
	// and of the replica may differ.
	maxLeaseAge = 2 * time.Minute
)

// deployment looks at the manager's Deployment.
func (e *examiner) deployment(ctx context.Context) {
	const name = "operator"
	needed := right{"get", appsv1.GroupName, "deployments", managerName, e.operator}
	if e.lacks(ctx, name, needed) {
		return
	}
	d := &appsv1.Deployment{}
	err := e.client.Get(ctx, client.ObjectKey{Namespace: e.operator, Name: managerName}, d)
	switch {
	case apierrors.IsNotFound(err):
		e.say(name, Failed, "install the operator, or name its namespace with --operator-namespace", "there is no Deployment %s in the namespace %s", managerName, e.operator)
		return
	case err != nil:
		e.trouble(name, needed, err)
		return
	}
	image := ""
	for _, c := range d.Spec.Template.Spec.Containers {
		if c.Name == "manager" {
			image = c.Image
		}
	}
	wanted := int32(1)
	if d.Spec.Replicas != nil {
		wanted = *d.Spec.Replicas
	}
	available := slices.ContainsFunc(d.Status.Conditions, func(c appsv1.DeploymentCondition) bool {
		return c.Type == appsv1.DeploymentAvailable && c.Status == corev1.ConditionTrue
	})
	progresses := slices.IndexFunc(d.Status.Conditions, func(c appsv1.DeploymentCondition) bool { return c.Type == appsv1.DeploymentProgressing })
	look := "look at \"kubectl -n " + e.operator + " get pods\" and at their logs: a replica is not ready before its self-test passes"
	switch {
	case wanted == 0:
		e.say(name, Failed, "scale the Deployment up", "the Deployment %s has no replicas", managerName)
	case !available:
		e.say(name, Failed, look, "%d of %d replicas are ready, of the image %s", d.Status.ReadyReplicas, wanted, image)
	case d.Status.ObservedGeneration < d.Generation:
		e.say(name, Unknown, "try again", "the Deployment %s was changed, and the cluster has not looked at it since", managerName)
	case progresses >= 0 && d.Status.Conditions[progresses].Status == corev1.ConditionFalse:
		e.say(name, Failed, look, "the update to the image %s does not get on, %d of %d replicas have it: %s", image, d.Status.UpdatedReplicas, wanted, d.Status.Conditions[progresses].Message)
	case d.Status.UpdatedReplicas < wanted || d.Status.Replicas > d.Status.UpdatedReplicas:
		e.say(name, Warning, "wait until the update is over, and "+look, "%d of %d replicas have the image %s, the others an earlier version", d.Status.UpdatedReplicas, max(wanted, d.Status.Replicas), image)
	case d.Status.ReadyReplicas < wanted:
		e.say(name, Warning, look, "%d of %d replicas are ready, of the image %s", d.Status.ReadyReplicas, wanted, image)
	default:
		e.say(name, OK, "", "%d of %d replicas are ready, of the image %s", d.Status.ReadyReplicas, wanted, image)
	}
}

// leader looks for the replica that reconciles.
func (e *examiner) leader(ctx context.Context) {
	const name = "leader"
	needed := right{"get", coordinationv1.GroupName, "leases", leaderLease, e.operator}
	if e.lacks(ctx, name, needed) {
		return
	}
	l := &coordinationv1.Lease{}
	err := e.client.Get(ctx, client.ObjectKey{Namespace: e.operator, Name: leaderLease}, l)
	do := "look at the logs of the Deployment " + managerName + " in the namespace " + e.operator
	switch {
	case apierrors.IsNotFound(err):
		e.say(name, Failed, do, "no replica has ever led")
	case err != nil:
		e.trouble(name, needed, err)
	case l.Spec.HolderIdentity == nil || *l.Spec.HolderIdentity == "":
		e.say(name, Failed, do, "no replica leads")
	case e.age(l) > maxLeaseAge:
		e.say(name, Failed, do+", and compare the clock of this machine", "%s leads, and has not said so for %s", *l.Spec.HolderIdentity, duration.HumanDuration(e.age(l)))
	default:
		e.say(name, OK, "", "%s", *l.Spec.HolderIdentity)
	}
}

// age is how long ago a Lease was renewed.
func (e *examiner) age(l *coordinationv1.Lease) time.Duration {
	if l.Spec.RenewTime == nil {
		return e.now().Sub(time.Time{})
	}
	return e.now().Sub(l.Spec.RenewTime.Time)
}
