// SPDX-License-Identifier: Apache-2.0

// Package fakecluster is a cluster in memory, for tests of programs that people use: it knows who asks, what they may do, and takes their answers as
// the API server does.
package fakecluster

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/cluster"
)

// User is the name of the person.
const User = "dana@example.org"

// Cluster is the client of the person.
type Cluster struct {
	client.WithWatch

	mu     sync.Mutex
	denied map[string]bool
	sent   []v1alpha1.Response
}

// New is a cluster with these objects.
func New(t testing.TB, objects ...client.Object) *Cluster {
	t.Helper()
	scheme, err := cluster.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	c := &Cluster{denied: map[string]bool{}}
	c.WithWatch = fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&v1alpha1.MotorRun{}, &v1alpha1.MotorStep{}, &v1alpha1.Skill{}).WithObjects(objects...).
		WithInterceptorFuncs(interceptor.Funcs{Create: c.create, List: c.list, Get: c.get, Patch: c.patch}).Build()
	return c
}

// Deny takes rights away, as in "approve motorruns" or "list motorsteps".
func (c *Cluster) Deny(rights ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range rights {
		c.denied[r] = true
	}
}

// Sent are the responses that runs were sent.
func (c *Cluster) Sent() []v1alpha1.Response {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.sent)
}

// Operate changes the status of a run, as the operator does.
func (c *Cluster) Operate(ctx context.Context, t testing.TB, key client.ObjectKey, change func(*v1alpha1.MotorRun)) {
	t.Helper()
	run := &v1alpha1.MotorRun{}
	if err := c.Get(ctx, key, run); err != nil {
		t.Fatal(err)
	}
	change(run)
	if err := c.Status().Update(ctx, run); err != nil {
		t.Fatal(err)
	}
}

// ConfigMaps are those of these names, of whatever namespace.
func (c *Cluster) ConfigMaps(t testing.TB, names []string) []*corev1.ConfigMap {
	t.Helper()
	list := &corev1.ConfigMapList{}
	if err := c.List(context.Background(), list); err != nil {
		t.Fatal(err)
	}
	var found []*corev1.ConfigMap
	for i := range list.Items {
		if slices.Contains(names, list.Items[i].Name) {
			found = append(found, &list.Items[i])
		}
	}
	return found
}

func (c *Cluster) may(verb, resource string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.denied[verb+" "+resource] {
		return apierrors.NewForbidden(schema.GroupResource{Group: v1alpha1.GroupVersion.Group, Resource: resource}, "",
			errors.New(`User "`+User+`" cannot `+verb+` resource "`+resource+`"`))
	}
	return nil
}

// resourceOf is the resource of an object or a list.
func resourceOf(o any) string {
	switch o.(type) {
	case *v1alpha1.MotorRun, *v1alpha1.MotorRunList:
		return "motorruns"
	case *v1alpha1.MotorStep, *v1alpha1.MotorStepList:
		return "motorsteps"
	case *v1alpha1.Skill, *v1alpha1.SkillList:
		return "skills"
	case *corev1.ConfigMap, *corev1.ConfigMapList:
		return "configmaps"
	}
	return "namespaces"
}

func (c *Cluster) create(ctx context.Context, in client.WithWatch, o client.Object, options ...client.CreateOption) error {
	switch review := o.(type) {
	case *authenticationv1.SelfSubjectReview:
		review.Status.UserInfo.Username = User
		return nil
	case *authorizationv1.SelfSubjectAccessReview:
		a := review.Spec.ResourceAttributes
		review.Status.Allowed = c.may(a.Verb, a.Resource) == nil
		return nil
	}
	return in.Create(ctx, o, options...)
}

func (c *Cluster) get(ctx context.Context, in client.WithWatch, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
	if err := c.may("get", resourceOf(o)); err != nil {
		return err
	}
	return in.Get(ctx, key, o, options...)
}

// list leaves out what the fake does not know: it selects by no field.
func (c *Cluster) list(ctx context.Context, in client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
	if err := c.may("list", resourceOf(list)); err != nil {
		return err
	}
	o := (&client.ListOptions{}).ApplyOptions(options)
	waits := o.FieldSelector != nil && strings.Contains(o.FieldSelector.String(), "status.pendingKind")
	o.FieldSelector = nil
	if err := in.List(ctx, list, o); err != nil {
		return err
	}
	if runs, ok := list.(*v1alpha1.MotorRunList); ok && waits {
		runs.Items = slices.DeleteFunc(runs.Items, func(r v1alpha1.MotorRun) bool { return len(r.Status.PendingInputs) == 0 })
	}
	return nil
}

// patch takes a response as admission does: it writes who responded, and refuses a second one. Everything else is for the fake.
func (c *Cluster) patch(ctx context.Context, in client.WithWatch, o client.Object, patch client.Patch, options ...client.PatchOption) error {
	run, isRun := o.(*v1alpha1.MotorRun)
	if !isRun {
		return in.Patch(ctx, o, patch, options...)
	}
	if err := c.may("patch", "motorruns"); err != nil {
		return err
	}
	body, err := patch.Data(o)
	if err != nil {
		return err
	}
	var operations []struct {
		Op, Path string
		Value    json.RawMessage
	}
	if err := json.Unmarshal(body, &operations); err != nil {
		return err
	}
	now := &v1alpha1.MotorRun{}
	if err := in.Get(ctx, client.ObjectKeyFromObject(run), now); err != nil {
		return err
	}
	for _, op := range operations {
		if op.Path != "/spec/responses/-" {
			continue
		}
		var r v1alpha1.Response
		if err := json.Unmarshal(op.Value, &r); err != nil {
			return err
		}
		if slices.ContainsFunc(now.Spec.Responses, func(old v1alpha1.Response) bool { return old.ID == r.ID }) {
			return apierrors.NewGenericServerResponse(422, "patch", schema.GroupResource{Resource: "motorruns"}, run.Name, "there is one", 0, false)
		}
		r.RespondedBy = User
		now.Spec.Responses = append(now.Spec.Responses, r)
		c.mu.Lock()
		c.sent = append(c.sent, r)
		c.mu.Unlock()
	}
	return in.Update(ctx, now)
}
