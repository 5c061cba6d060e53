// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	egressgrant "motorcortex.dev/motorcortex/internal/egress/grant"
)

const credentialType = "motorcortex.dev/credential"

func TestWhatTheManagerWritesOutside(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	// With every right there is, so that only the policies refuse.
	c, err := clientAs(managerUser, "system:masters")
	must(t, err)
	const others = "outside of its namespace the manager writes"
	component := func(value string) []string { return []string{v1alpha1.LabelComponent, value} }
	for name, tt := range map[string]struct {
		secret *corev1.Secret
		want   string
	}{
		"a credential":      {secretOf(ns, "saved", credentialType, component(v1alpha1.ComponentCredential)...), ""},
		"without label":     {secretOf(ns, "bare", credentialType), others},
		"another type":      {secretOf(ns, "opaque", "Opaque", component(v1alpha1.ComponentCredential)...), others},
		"a grant elsewhere": {secretOf(ns, "grant", egressgrant.SecretType, component(v1alpha1.ComponentEgressGrant)...), others},
		"a grant at home":   {secretOf(managerNamespace, "egress-"+ns, egressgrant.SecretType, component(v1alpha1.ComponentEgressGrant)...), ""},
		"its own key":       {secretOf(managerNamespace, "key-"+ns, "Opaque"), ""},
		"a bootstrap token": {secretOf(ns, "token", "bootstrap.kubernetes.io/token", component(v1alpha1.ComponentCredential)...), others},
	} {
		t.Run(name, func(t *testing.T) { wantAdmitted(t, c.Create(ctx, tt.secret), tt.want) })
	}
	foreign := secretOf(ns, "foreign", "Opaque")
	must(t, admin.Create(ctx, foreign))
	wantRefused(t, c.Patch(ctx, foreign.DeepCopy(), mergePatchOf(`{"metadata":{"labels":{"motorcortex.dev/component":"credential"}}}`)), others)
	wantRefused(t, c.Delete(ctx, foreign.DeepCopy()), others)
	// A Secret of the type that somebody made by hand is theirs until it has the label.
	theirs := secretOf(ns, "theirs", credentialType)
	must(t, admin.Create(ctx, theirs))
	wantRefused(t, c.Patch(ctx, theirs.DeepCopy(), mergePatchOf(`{"metadata":{"labels":{"motorcortex.dev/component":"credential"}}}`)), others)
	saved := secretOf(ns, "saved", credentialType)
	must(t, c.Patch(ctx, saved, mergePatchOf(`{"stringData":{"value":"another"}}`)))
	wantRefused(t, c.Patch(ctx, saved, mergePatchOf(`{"metadata":{"labels":{"motorcortex.dev/component":null}}}`)), others)
	must(t, c.Delete(ctx, saved))
	wantRefused(t, c.Create(ctx, &corev1.ConfigMap{ObjectMeta: meta(ns, "c")}), others)
	must(t, c.Create(ctx, &corev1.ConfigMap{ObjectMeta: meta(managerNamespace, "own-"+ns)}))
}

func TestWhichConfigMapsTheManagerWrites(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	run := createRun(ctx, t, ns)
	// With every right there is, so that only the policy refuses.
	c, err := clientAs(managerUser, "system:masters")
	must(t, err)
	const others = "outside of its namespace the manager writes"
	artifact := func(name string) *corev1.ConfigMap {
		cm := &corev1.ConfigMap{ObjectMeta: meta(ns, name), Immutable: new(true)}
		cm.Labels = map[string]string{v1alpha1.LabelComponent: v1alpha1.ComponentArtifact}
		cm.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(run, v1alpha1.GroupVersion.WithKind("MotorRun"))}
		return cm
	}
	for name, tt := range map[string]struct {
		change func(*corev1.ConfigMap)
		want   string
	}{
		"an artifact":     {func(*corev1.ConfigMap) {}, ""},
		"without label":   {func(cm *corev1.ConfigMap) { cm.Labels = nil }, others},
		"another label":   {func(cm *corev1.ConfigMap) { cm.Labels[v1alpha1.LabelComponent] = "credential" }, others},
		"changeable":      {func(cm *corev1.ConfigMap) { cm.Immutable = nil }, others},
		"of nobody":       {func(cm *corev1.ConfigMap) { cm.OwnerReferences = nil }, others},
		"of another kind": {func(cm *corev1.ConfigMap) { cm.OwnerReferences[0].Kind = "MotorStep" }, others},
		"not controlled":  {func(cm *corev1.ConfigMap) { cm.OwnerReferences[0].Controller = nil }, others},
	} {
		t.Run(name, func(t *testing.T) {
			cm := artifact("made")
			tt.change(cm)
			wantAdmitted(t, c.Create(ctx, cm, client.DryRunAll), tt.want)
			there := artifact("there-" + strings.ReplaceAll(name, " ", "-"))
			tt.change(there)
			must(t, admin.Create(ctx, there))
			wantAdmitted(t, c.Delete(ctx, there), tt.want)
		})
	}
}

// The files of skills and their packages: the manager's alone, each below an owner of its kind.
func TestConfigMapsOfSkills(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	// With every right there is, so that only the policies refuse.
	c, err := clientAs(managerUser, "system:masters")
	must(t, err)
	const others, only = "outside of its namespace the manager writes", "no other client writes them"
	owned := func(name, component, kind string, change ...func(*corev1.ConfigMap)) *corev1.ConfigMap {
		cm := &corev1.ConfigMap{ObjectMeta: meta(ns, name), Immutable: new(true)}
		cm.Labels = map[string]string{v1alpha1.LabelComponent: component}
		cm.OwnerReferences = []metav1.OwnerReference{{APIVersion: v1alpha1.GroupVersion.String(), Kind: kind, Name: "o", UID: "u", Controller: new(true)}}
		for _, f := range change {
			f(cm)
		}
		return cm
	}
	for name, tt := range map[string]struct {
		cm   *corev1.ConfigMap
		want string
	}{
		"files of a revision":    {owned("made", v1alpha1.ComponentSkill, "SkillRevision"), ""},
		"packages of a skill":    {owned("made", v1alpha1.ComponentPackages, "Skill"), ""},
		"files of a skill":       {owned("made", v1alpha1.ComponentSkill, "Skill"), others},
		"packages of a revision": {owned("made", v1alpha1.ComponentPackages, "SkillRevision"), others},
		"an artifact of a skill": {owned("made", v1alpha1.ComponentArtifact, "Skill"), others},
		"files of a run":         {owned("made", v1alpha1.ComponentSkill, "MotorRun"), others},
		"changeable files":       {owned("made", v1alpha1.ComponentSkill, "SkillRevision", func(cm *corev1.ConfigMap) { cm.Immutable = nil }), others},
		"files of nobody":        {owned("made", v1alpha1.ComponentSkill, "SkillRevision", func(cm *corev1.ConfigMap) { cm.OwnerReferences = nil }), others},
		"files not controlled":   {owned("made", v1alpha1.ComponentSkill, "SkillRevision", func(cm *corev1.ConfigMap) { cm.OwnerReferences[0].Controller = nil }), others},
		"something of nobody":    {owned("made", "other", "", func(cm *corev1.ConfigMap) { cm.OwnerReferences = nil }), others},
	} {
		t.Run(name, func(t *testing.T) {
			wantAdmitted(t, c.Create(ctx, tt.cm, client.DryRunAll), tt.want)
		})
	}
	made := owned("made", v1alpha1.ComponentSkill, "SkillRevision")
	must(t, c.Create(ctx, made))
	for _, component := range []string{v1alpha1.ComponentSkill, v1alpha1.ComponentPackages} {
		wantRefused(t, admin.Create(ctx, owned("forged", component, "Skill")), only)
	}
	wantRefused(t, admin.Patch(ctx, made.DeepCopy(), mergePatchOf(`{"metadata":{"labels":{"motorcortex.dev/component":null}}}`)), only)
	wantRefused(t, admin.Patch(ctx, made.DeepCopy(), mergePatchOf(`{"metadata":{"ownerReferences":null}}`)), only)
	plain := &corev1.ConfigMap{ObjectMeta: meta(ns, "plain"), Data: map[string]string{"SKILL.md": "text"}}
	must(t, admin.Create(ctx, plain))
	wantRefused(t, admin.Patch(ctx, plain.DeepCopy(), mergePatchOf(`{"metadata":{"labels":{"motorcortex.dev/component":"skill"}}}`)), only)
	must(t, admin.Patch(ctx, plain, mergePatchOf(`{"metadata":{"labels":{"motorcortex.dev/component":"mine"}}}`)))
	gc, err := clientAs("system:serviceaccount:kube-system:generic-garbage-collector", "system:masters")
	must(t, err)
	must(t, gc.Patch(ctx, made.DeepCopy(), mergePatchOf(`{"metadata":{"finalizers":["foregroundDeletion"]}}`)))
	must(t, gc.Patch(ctx, made.DeepCopy(), mergePatchOf(`{"metadata":{"finalizers":null}}`)))
	must(t, c.Delete(ctx, made))
	// Deleting stays free.
	must(t, c.Create(ctx, owned("again", v1alpha1.ComponentPackages, "Skill")))
	must(t, admin.Delete(ctx, &corev1.ConfigMap{ObjectMeta: meta(ns, "again")}))
}

func TestTheProxyWritesNothing(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	c, err := clientAs(egressProxyUser, "system:masters")
	must(t, err)
	const nothing = "it writes no Secret and no ConfigMap"
	for _, namespace := range []string{ns, managerNamespace} {
		wantRefused(t, c.Create(ctx, secretOf(namespace, "x", "Opaque")), nothing)
		// Two policies stand against a grant, and which one speaks is not said.
		wantRefused(t, c.Create(ctx, secretOf(namespace, "x", egressgrant.SecretType)), "denied request")
		wantRefused(t, c.Create(ctx, &corev1.ConfigMap{ObjectMeta: meta(namespace, "x")}), nothing)
	}
	secret := secretOf(ns, "s", "Opaque")
	must(t, admin.Create(ctx, secret))
	wantRefused(t, c.Delete(ctx, secret), nothing)
}

func TestOnlyTheManagerGivesGrants(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	const grants, network = "only the operator gives them", "is kept by the operator"
	granted := secretOf(managerNamespace, "egress-of-"+ns, egressgrant.SecretType, v1alpha1.LabelComponent, v1alpha1.ComponentEgressGrant)
	wantRefused(t, admin.Create(ctx, granted.DeepCopy()), grants)
	wantRefused(t, admin.Create(ctx, secretOf(managerNamespace, "typed", egressgrant.SecretType)), grants)
	labelled := secretOf(managerNamespace, "labelled-"+ns, "Opaque")
	must(t, admin.Create(ctx, labelled))
	wantRefused(t, admin.Patch(ctx, labelled, mergePatchOf(`{"metadata":{"labels":{"motorcortex.dev/component":"egress-grant"}}}`)), grants)
	must(t, manager.Create(ctx, granted))
	wantRefused(t, admin.Patch(ctx, granted.DeepCopy(), mergePatchOf(`{"stringData":{"grant.json":"{}"}}`)), grants)
	must(t, admin.Delete(ctx, granted))

	cidrs := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: managerNamespace, Name: "motorcortex-egress-network"}}
	wantRefused(t, admin.Create(ctx, cidrs.DeepCopy(), client.DryRunAll), network)
	as, err := clientAs(managerUser, "system:masters")
	must(t, err)
	// The managers of other tests keep it too.
	must(t, client.IgnoreAlreadyExists(as.Create(ctx, cidrs.DeepCopy())))
	wantRefused(t, admin.Patch(ctx, cidrs.DeepCopy(), mergePatchOf(`{"data":{"cidrs":"[]"}}`)), network)
	// Elsewhere the name means nothing.
	must(t, admin.Create(ctx, &corev1.ConfigMap{ObjectMeta: meta(ns, cidrs.Name)}))
}
