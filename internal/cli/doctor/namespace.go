// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/show"
)

const (
	// runsPage is how many runs are read in one request, and maxRunPages how many requests look for the newest proof.
	runsPage, maxRunPages = 500, 40
	// notLookedAt is said of an object whose status is of an earlier version.
	notLookedAt = "not looked at yet: it was changed since the operator looked"
)

// services are what a MotorCortex configures, by the conditions about them.
var services = []struct{ name, condition string }{
	{"model", v1alpha1.CortexModelAvailable}, {"search", v1alpha1.CortexSearchReady}, {"archive", v1alpha1.CortexArchiveReady},
}

// cortex says what the MotorCortex of the namespace knows of its services.
func (e *examiner) cortex(ctx context.Context) {
	const name = "model"
	needed := right{"get", v1alpha1.GroupVersion.Group, "motorcortices", v1alpha1.CortexName, e.namespace}
	if e.lacks(ctx, name, needed) {
		return
	}
	cortex := &v1alpha1.MotorCortex{}
	err := e.client.Get(ctx, client.ObjectKey{Namespace: e.namespace, Name: v1alpha1.CortexName}, cortex)
	switch {
	case apierrors.IsNotFound(err):
		e.say(name, Warning, "make a MotorCortex "+v1alpha1.CortexName+", unless the operator has a model for all namespaces", "the namespace %s has no MotorCortex, so it is not known whether a model answers", e.namespace)
		return
	case err != nil:
		e.trouble(name, needed, err)
		return
	case len(cortex.Status.Conditions) == 0:
		e.say(name, Unknown, "see the checks of the operator", "the operator has not looked at the MotorCortex of the namespace %s yet", e.namespace)
		return
	case cortex.Status.ObservedGeneration < cortex.Generation:
		e.say(name, Unknown, "try again", notLookedAt)
		return
	}
	for _, s := range services {
		c := apimeta.FindStatusCondition(cortex.Status.Conditions, s.condition)
		switch {
		case c == nil:
			// It is not configured.
		case c.Status == metav1.ConditionTrue && c.Reason == v1alpha1.ReasonModelNotListed:
			e.say(s.name, Warning, "check the name in spec.models of the MotorCortex, unless the endpoint serves names that it does not list", "%s", c.Message)
		case c.Status == metav1.ConditionTrue:
			e.say(s.name, OK, "", "%s", c.Message)
		case c.Status == metav1.ConditionFalse:
			e.say(s.name, Failed, "see the reason "+c.Reason+" in the reference, and the MotorCortex of the namespace", "%s", c.Message)
		default:
			e.say(s.name, Unknown, "try again", "%s", c.Message)
		}
	}
	e.told(cortex)
}

// told says of each sink and receiver of a MotorCortex that is not told what it should be, and counts the others. A run goes on without them.
func (e *examiner) told(cortex *v1alpha1.MotorCortex) {
	for _, of := range []struct {
		kind string
		list []v1alpha1.SinkStatus
	}{{"receiver", cortex.Status.Receivers}, {"sink", cortex.Status.Sinks}} {
		takes := 0
		for i := range of.list {
			name := of.kind + " " + of.list[i].Name
			c := apimeta.FindStatusCondition(of.list[i].Conditions, v1alpha1.CortexSinkReady)
			switch {
			case c == nil:
				e.say(name, Unknown, "see the checks of the operator", "the operator has not looked at it yet")
			case c.ObservedGeneration < cortex.Generation:
				e.say(name, Unknown, "try again", notLookedAt)
			case c.Status == metav1.ConditionFalse:
				e.say(name, Warning, "see the reason "+c.Reason+" in the reference, and spec of the MotorCortex", "%s", c.Message)
			default:
				takes++
			}
		}
		if takes > 0 {
			e.say(of.kind+"s", OK, "", "%d of %d take what they are sent", takes, len(of.list))
		}
	}
}

// isolation looks for the newest proof that a sandbox of the namespace is closed: the operator makes it before each sandbox is used.
func (e *examiner) isolation(ctx context.Context) {
	const name = "isolation"
	needed := right{"list", v1alpha1.GroupVersion.Group, "motorruns", "", e.namespace}
	if e.lacks(ctx, name, needed) {
		return
	}
	newest, run, err := e.newestProof(ctx)
	if err != nil {
		e.trouble(name, needed, err)
		return
	}
	switch {
	case newest == nil:
		e.say(name, Warning, "start a run: its sandbox is tried before anything runs in it", "isolation is proved at the first run: no sandbox of the namespace %s was tried yet", e.namespace)
	case newest.Status == metav1.ConditionTrue:
		e.say(name, OK, "", "the newest sandbox that was tried, of the run %s, %s ago: %s", run, show.Since(e.now(), newest.LastTransitionTime), newest.Message)
	case newest.Reason == v1alpha1.ReasonIsolationLost:
		e.say(name, Warning, "find out who writes the NetworkPolicies of sandboxes, if it repeats", "of the run %s, %s ago: %s", run, show.Since(e.now(), newest.LastTransitionTime), newest.Message)
	default:
		e.say(name, Failed, "use a network plugin that enforces NetworkPolicy for egress, and see the reason "+newest.Reason+" in the reference", "of the run %s, %s ago: %s", run, show.Since(e.now(), newest.LastTransitionTime), newest.Message)
	}
}

// newestProof is the newest end of a try of a sandbox, with its run; nil if there is none. The API server lists runs by name, so that the newest
// can be on any page.
func (e *examiner) newestProof(ctx context.Context) (newest *metav1.Condition, run string, err error) {
	next := ""
	for range maxRunPages {
		page := &v1alpha1.MotorRunList{}
		if err := e.client.List(ctx, page, client.InNamespace(e.namespace), client.Limit(runsPage), client.Continue(next)); err != nil {
			return nil, "", err
		}
		for i := range page.Items {
			c := apimeta.FindStatusCondition(page.Items[i].Status.Conditions, v1alpha1.ConditionIsolationVerified)
			if c != nil && c.Status != metav1.ConditionUnknown && (newest == nil || newest.LastTransitionTime.Before(&c.LastTransitionTime)) {
				newest, run = c, page.Items[i].Name
			}
		}
		if next = page.Continue; next == "" {
			return newest, run, nil
		}
	}
	return nil, "", fmt.Errorf("there are more than %d runs, which are not all looked through", runsPage*maxRunPages)
}

// pools says how the pools of the namespace stand.
func (e *examiner) pools(ctx context.Context) {
	const name = "pools"
	needed := right{"list", v1alpha1.GroupVersion.Group, "sandboxpools", "", e.namespace}
	if e.lacks(ctx, name, needed) {
		return
	}
	pools := &v1alpha1.SandboxPoolList{}
	if err := e.client.List(ctx, pools, client.InNamespace(e.namespace)); err != nil {
		e.trouble(name, needed, err)
		return
	}
	if len(pools.Items) == 0 {
		e.say(name, OK, "", "the namespace %s has none", e.namespace)
	}
	for i := range pools.Items {
		p := &pools.Items[i]
		c := apimeta.FindStatusCondition(p.Status.Conditions, v1alpha1.PoolReady)
		switch name := "pool " + p.Name; {
		case c == nil:
			e.say(name, Unknown, "see the checks of the operator", "the operator has not looked at it yet")
		case p.Status.ObservedGeneration < p.Generation:
			e.say(name, Unknown, "try again", notLookedAt)
		case c.Status == metav1.ConditionTrue:
			e.say(name, OK, "", "%d sandboxes are ready", p.Status.ReadyReplicas)
		default:
			// Runs start without it meanwhile.
			e.say(name, Warning, "see the reason "+c.Reason+" in the reference", "%d of %d sandboxes are ready: %s", p.Status.ReadyReplicas, p.Status.Replicas, c.Message)
		}
	}
}
