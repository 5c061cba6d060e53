// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// wantStep fails unless the API server takes the step, or refuses it with that word.
func wantStep(t *testing.T, step *v1alpha1.MotorStep, refused string) {
	t.Helper()
	err := manager.Create(testContext(t), step, client.DryRunAll)
	if refused == "" {
		must(t, err)
		return
	}
	wantRefused(t, err, refused)
}

func bareStep(namespace, name string, change ...func(*v1alpha1.MotorStepSpec)) *v1alpha1.MotorStep {
	s := &v1alpha1.MotorStep{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace},
		Spec:       v1alpha1.MotorStepSpec{Type: v1alpha1.StepTurn, Attempt: 1, Index: 1, Epoch: 1, Content: "said"},
	}
	for _, c := range change {
		c(&s.Spec)
	}
	return s
}

func TestStepSpecs(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	outcome := &v1alpha1.StepOutcome{Category: v1alpha1.CategoryModelFailure, Reason: "Why"}
	tests := map[string]struct {
		change func(*v1alpha1.MotorStepSpec)
		want   string
	}{
		"a turn":                 {change: func(s *v1alpha1.MotorStepSpec) { s.Final = true }},
		"an outcome":             {change: func(s *v1alpha1.MotorStepSpec) { s.Type, s.Outcome = v1alpha1.StepEnd, outcome }},
		"a turn with an outcome": {func(s *v1alpha1.MotorStepSpec) { s.Outcome = outcome }, "outcome is set if, and only if"},
		"an outcome without one": {func(s *v1alpha1.MotorStepSpec) { s.Type = v1alpha1.StepEnd }, "outcome is set if, and only if"},
		"an unknown type":        {func(s *v1alpha1.MotorStepSpec) { s.Type = "Note" }, "spec.type"},
		"an unknown category": {func(s *v1alpha1.MotorStepSpec) {
			s.Type = v1alpha1.StepEnd
			s.Outcome = &v1alpha1.StepOutcome{Category: "Bad", Reason: "Why"}
		}, "spec.outcome.category"},
		"an outcome without reason": {func(s *v1alpha1.MotorStepSpec) {
			s.Type = v1alpha1.StepEnd
			s.Outcome = &v1alpha1.StepOutcome{Category: v1alpha1.CategoryUnknown}
		}, "spec.outcome.reason"},
		"index 0":    {func(s *v1alpha1.MotorStepSpec) { s.Index = 0 }, "spec.index"},
		"epoch 0":    {func(s *v1alpha1.MotorStepSpec) { s.Epoch = 0 }, "spec.epoch"},
		"attempt 0":  {func(s *v1alpha1.MotorStepSpec) { s.Attempt = 0 }, "spec.attempt"},
		"attempt 11": {func(s *v1alpha1.MotorStepSpec) { s.Attempt = 11 }, "spec.attempt"},
		"a call twice": {func(s *v1alpha1.MotorStepSpec) {
			s.ToolCalls = []v1alpha1.ToolCall{{ID: "c", Tool: "x"}, {ID: "c", Tool: "y"}}
		}, "spec.toolCalls[1]"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantStep(t, bareStep(ns, "step", tt.change), tt.want)
		})
	}
}

// Every field that the journal writes must be in the installed schema: the API server drops the others without a word.
func TestStepKeepsEveryField(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	s := bareStep(ns, "step", func(s *v1alpha1.MotorStepSpec) { s.Final = true })
	strict := client.WithFieldValidation(manager, metav1.FieldValidationStrict)
	must(t, strict.Create(ctx, s))
	if !s.Spec.Final {
		t.Error("spec.final was dropped")
	}
}

func TestStepSpecIsImmutableAndStatusIsApart(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	s := bareStep(ns, "step")
	s.Status = v1alpha1.MotorStepStatus{Phase: v1alpha1.StepSettled, OK: "1/1"}
	must(t, manager.Create(ctx, s))
	if s.Status.Phase != v1alpha1.StepInFlight || s.Status.OK != "" {
		t.Errorf("a step is in flight from its creation on, without another write, and this one is %+v", s.Status)
	}
	base := s.DeepCopy()
	s.Spec.Content = "never said"
	s.Status.Phase = v1alpha1.StepSettled
	must(t, manager.Status().Patch(ctx, s, client.MergeFrom(base)))
	if s.Spec.Content != "said" || s.Status.Phase != v1alpha1.StepSettled {
		t.Errorf("a patch of the status gave content %q and phase %q", s.Spec.Content, s.Status.Phase)
	}
	grant(ctx, t, ns, managerUser, "edit-steps", rbacv1.PolicyRule{APIGroups: []string{"motorcortex.dev"}, Resources: []string{"motorsteps"}, Verbs: []string{"patch"}})
	for name, patch := range map[string]string{
		"changed": `{"spec":{"content":"never said"}}`, "added": `{"spec":{"final":true}}`, "removed": `{"spec":{"content":null}}`,
	} {
		t.Run(name, func(t *testing.T) {
			err := manager.Patch(ctx, s.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(patch)))
			wantRefused(t, err, "a step's spec never changes")
		})
	}
}

// grant grants a user a right in a namespace and waits until the authorizer knows of it.
func grant(ctx context.Context, t *testing.T, namespace, user, name string, rule rbacv1.PolicyRule) {
	t.Helper()
	meta := metav1.ObjectMeta{Name: name, Namespace: namespace}
	must(t, admin.Create(ctx, &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{rule}}))
	must(t, admin.Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: user}},
	}))
	as, err := clientAs(user)
	must(t, err)
	must(t, wait.PollUntilContextCancel(ctx, 20*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		o := bareStep(namespace, "no-such-step")
		err := as.Patch(ctx, o, client.RawPatch(types.MergePatchType, []byte(`{}`)))
		return !apierrors.IsForbidden(err), nil
	}))
}

func TestOnlyTheManagerWritesSteps(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	existing := bareStep(ns, "existing")
	must(t, manager.Create(ctx, existing))
	const only = "only its manager writes them"
	run := createRun(ctx, t, ns)
	revision, skill := bareRevision(ns, "weather-0123456789ab"), &v1alpha1.Skill{ObjectMeta: meta(ns, "weather")}
	// The policy is what is tried here, not the manager's roles.
	as, err := clientAs(managerUser, "system:masters")
	must(t, err)
	must(t, as.Create(ctx, revision))
	must(t, as.Create(ctx, skill))
	cortex := &v1alpha1.MotorCortex{ObjectMeta: meta(ns, "default")}
	must(t, as.Create(ctx, cortex))
	other, err := clientAs("system:serviceaccount:"+ns+":motorcortex-manager", "system:masters")
	must(t, err)
	for name, c := range map[string]client.Client{"an administrator": admin, "a service account of that name elsewhere": other} {
		t.Run(name, func(t *testing.T) {
			wantRefused(t, c.Create(ctx, bareStep(ns, "forged")), only)
			wantRefused(t, c.Patch(ctx, existing.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`))), only)
			wantRefused(t, c.Status().Patch(ctx, existing.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"status":{"phase":"Settled"}}`))), only)
			update := existing.DeepCopy()
			update.Finalizers = []string{"example.org/hold"}
			wantRefused(t, c.Update(ctx, update), only)
			wantRefused(t, c.Status().Patch(ctx, run.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"status":{"execution":{"worker":"mine"}}}`))), only)
			wantRefused(t, c.Create(ctx, bareRevision(ns, "forged")), only)
			wantRefused(t, c.Patch(ctx, revision.DeepCopy(), mergePatchOf(`{"metadata":{"labels":{"a":"b"}}}`)), only)
			wantRefused(t, c.Status().Patch(ctx, revision.DeepCopy(), mergePatchOf(`{"status":{"findings":[]}}`)), only)
			wantRefused(t, c.Status().Patch(ctx, skill.DeepCopy(), mergePatchOf(`{"status":{"state":"Approved"}}`)), only)
			wantRefused(t, c.Status().Patch(ctx, cortex.DeepCopy(), mergePatchOf(`{"status":{"observedGeneration":7}}`)), only)
		})
	}
	must(t, manager.Status().Patch(ctx, existing.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"status":{"phase":"Settled"}}`))))
	must(t, manager.Status().Patch(ctx, run, client.RawPatch(types.MergePatchType, []byte(`{"status":{"execution":{"worker":"replica-1"}}}`))))
	must(t, as.Status().Patch(ctx, revision.DeepCopy(), mergePatchOf(`{"status":{"findings":[]}}`)))
	must(t, as.Status().Patch(ctx, skill.DeepCopy(), mergePatchOf(`{"status":{"state":"AwaitingApproval"}}`)))
	// Deleting stays free, for those who clean up a namespace.
	must(t, admin.Delete(ctx, existing))
	must(t, admin.Delete(ctx, revision))
}

func bareRevision(namespace, name string) *v1alpha1.SkillRevision {
	return &v1alpha1.SkillRevision{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace},
		Spec: v1alpha1.SkillRevisionSpec{
			SkillName: "weather", ContentHash: thisDigest, Files: []v1alpha1.RevisionFile{{Path: "SKILL.md", SHA256: strings.Repeat("a", 64)}},
		},
	}
}

// The cluster's own controllers remove finalizers and owners of steps that go with their run.
func TestGarbageCollectorMayTouchSteps(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	s := bareStep(ns, "step")
	must(t, manager.Create(ctx, s))
	gc, err := clientAs("system:serviceaccount:kube-system:generic-garbage-collector", "system:masters")
	must(t, err)
	must(t, gc.Patch(ctx, s, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":["foregroundDeletion"]}}`))))
	as, err := clientAs(managerUser, "system:masters")
	must(t, err)
	revision := bareRevision(ns, "weather-0123456789ab")
	must(t, as.Create(ctx, revision))
	must(t, gc.Patch(ctx, revision, mergePatchOf(`{"metadata":{"ownerReferences":null,"finalizers":["foregroundDeletion"]}}`)))
}
