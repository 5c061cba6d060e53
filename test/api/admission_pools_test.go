// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/sandbox"
)

// poolOf is a SandboxPool of a namespace that the API server does not have.
func poolOf(namespace string) *v1alpha1.SandboxPool {
	return &v1alpha1.SandboxPool{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "warm", UID: "6f1c2a34-0000-4000-8000-000000000002"}}
}

// waitingPod makes a sandbox that waits in a pool, as the manager does.
func waitingPod(ctx context.Context, t *testing.T, namespace, suffix string, change ...func(*corev1.Pod)) *corev1.Pod {
	t.Helper()
	pod := sandbox.Pooled(poolOf(namespace), suffix, sandbox.Config{Image: "registry.example.org/sandbox:1", ManagerKey: "sha256:0000", Namespace: managerNamespace})
	for _, c := range change {
		c(pod)
	}
	must(t, manager.Create(ctx, pod))
	return pod
}

// adoption changes a Pod as a run does that takes it from its pool, and further by the changes. The API server only judges the patch.
func adoption(ctx context.Context, c client.Client, pod *corev1.Pod, change ...func(*corev1.Pod)) error {
	return adoptionBy(ctx, c, pod, true, change...)
}

// adoptionBy is the adoption by a run that may have a way out, or by one that has none.
func adoptionBy(ctx context.Context, c client.Client, pod *corev1.Pod, wayOut bool, change ...func(*corev1.Pod)) error {
	run := newRun(pod.Namespace)
	run.UID = "6f1c2a34-0000-4000-8000-000000000001"
	taken := pod.DeepCopy()
	sandbox.Adopt(taken, run, wayOut, time.Now())
	for _, f := range change {
		f(taken)
	}
	return c.Patch(ctx, taken, client.MergeFromWithOptions(pod.DeepCopy(), client.MergeFromWithOptimisticLock{}), client.DryRunAll)
}

// The manager has the right to change Pods for one change alone.
func TestTheManagerOnlyGivesWaitingSandboxesToRuns(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	const labels, owners, spec, notes = "keeps all others", "belongs to that run alone", "keeps its image", "annotations and no others"
	pod := waitingPod(ctx, t, ns, "waits", func(p *corev1.Pod) { p.Labels["topology.kubernetes.io/zone"] = "a" })
	must(t, adoption(ctx, manager, pod))
	for name, tt := range map[string]struct {
		change func(*corev1.Pod)
		want   string
	}{
		"nothing is adopted": {func(p *corev1.Pod) {
			p.Labels, p.OwnerReferences = pod.DeepCopy().Labels, pod.DeepCopy().OwnerReferences
		}, owners},
		"a label more":              {func(p *corev1.Pod) { p.Labels["app"] = "web" }, labels},
		"the label of the pool too": {func(p *corev1.Pod) { p.Labels[v1alpha1.LabelPool] = "warm" }, labels},
		"no label of a run":         {func(p *corev1.Pod) { delete(p.Labels, v1alpha1.LabelRun) }, labels},
		"no component":              {func(p *corev1.Pod) { delete(p.Labels, v1alpha1.LabelComponent) }, labels},
		"another component":         {func(p *corev1.Pod) { p.Labels[v1alpha1.LabelComponent] = "open" }, labels},
		"another zone":              {func(p *corev1.Pod) { p.Labels["topology.kubernetes.io/zone"] = "b" }, labels},
		"no zone":                   {func(p *corev1.Pod) { delete(p.Labels, "topology.kubernetes.io/zone") }, labels},
		"the label of another run":  {func(p *corev1.Pod) { p.Labels[v1alpha1.LabelRun] = "other" }, owners},
		"another run as its owner":  {func(p *corev1.Pod) { p.OwnerReferences[0].Name = "other" }, owners},
		"no owner":                  {func(p *corev1.Pod) { p.OwnerReferences = nil }, owners},
		"an owner that is no run":   {func(p *corev1.Pod) { p.OwnerReferences[0].Kind = "SandboxPool" }, owners},
		"a run of another API":      {func(p *corev1.Pod) { p.OwnerReferences[0].APIVersion = "example.org/v1" }, owners},
		"an owner without control":  {func(p *corev1.Pod) { p.OwnerReferences[0].Controller = nil }, owners},
		"two owners": {func(p *corev1.Pod) {
			p.OwnerReferences = append(p.OwnerReferences, metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "c", UID: "u"})
		}, owners},
		"two runs": {func(p *corev1.Pod) {
			second := p.OwnerReferences[0]
			second.UID, second.Controller = "6f1c2a34-0000-4000-8000-000000000003", nil
			p.OwnerReferences = append(p.OwnerReferences, second)
		}, owners},
		"another image": {func(p *corev1.Pod) { p.Spec.Containers[0].Image = "registry.example.org/other:1" }, spec},
		"a toleration": {func(p *corev1.Pod) {
			p.Spec.Tolerations = append(p.Spec.Tolerations, corev1.Toleration{Operator: corev1.TolerationOpExists})
		}, spec},
		"a finalizer":      {func(p *corev1.Pod) { p.Finalizers = []string{"example.org/keep"} }, spec},
		"a second network": {func(p *corev1.Pod) { p.Annotations["k8s.v1.cni.cncf.io/networks"] = "tenant/macvlan" }, notes},
		"any annotation":   {func(p *corev1.Pod) { p.Annotations["note"] = "b" }, notes},
	} {
		t.Run(name, func(t *testing.T) {
			wantRefused(t, adoption(ctx, manager, pod, tt.change), "'motorcortex-adoptions'", tt.want)
		})
	}
	// A run without a way out changes no label.
	must(t, adoptionBy(ctx, manager, pod, false))
	for name, tt := range map[string]struct {
		change func(*corev1.Pod)
		want   string
	}{
		"a label more":             {func(p *corev1.Pod) { p.Labels["app"] = "web" }, labels},
		"the label of a run too":   {func(p *corev1.Pod) { p.Labels[v1alpha1.LabelRun] = p.OwnerReferences[0].Name }, labels},
		"no label of the pool":     {func(p *corev1.Pod) { delete(p.Labels, v1alpha1.LabelPool) }, labels},
		"the label of another one": {func(p *corev1.Pod) { p.Labels[v1alpha1.LabelPool] = "other" }, labels},
		"no component":             {func(p *corev1.Pod) { delete(p.Labels, v1alpha1.LabelComponent) }, labels},
		"no zone":                  {func(p *corev1.Pod) { delete(p.Labels, "topology.kubernetes.io/zone") }, labels},
		"no labels":                {func(p *corev1.Pod) { p.Labels = nil }, labels},
		"no owner":                 {func(p *corev1.Pod) { p.OwnerReferences = nil }, owners},
		"its pool as the owner":    {func(p *corev1.Pod) { p.OwnerReferences = pod.DeepCopy().OwnerReferences }, owners},
		"a run of another API":     {func(p *corev1.Pod) { p.OwnerReferences[0].APIVersion = "example.org/v1" }, owners},
		"another image":            {func(p *corev1.Pod) { p.Spec.Containers[0].Image = "registry.example.org/other:1" }, spec},
		"any annotation":           {func(p *corev1.Pod) { p.Annotations["note"] = "b" }, notes},
	} {
		t.Run("without a way out, "+name, func(t *testing.T) {
			wantRefused(t, adoptionBy(ctx, manager, pod, false, tt.change), "'motorcortex-adoptions'", tt.want)
		})
	}
	// The right is to patch alone, and the rule holds for an account that has more.
	everything, err := clientAs(managerUser, "system:masters")
	must(t, err)
	update := pod.DeepCopy()
	update.Annotations = map[string]string{"note": "b"}
	wantRefused(t, manager.Update(ctx, update.DeepCopy()), "cannot update")
	wantRefused(t, everything.Update(ctx, update.DeepCopy()), "'motorcortex-adoptions'")
	wantRefused(t, everything.Patch(ctx, pod.DeepCopy(), mergePatchOf(`{"metadata":{"finalizers":["example.org/keep"]}}`)), "'motorcortex-adoptions'")
}

// A Pod that does not wait in a pool stays as it is, whatever the change would make of it.
func TestTheManagerChangesNoOtherPod(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	const only = "the manager changes no Pod but a sandbox that waits in a pool"
	foreign := podProbe()
	foreign.Namespace, foreign.OwnerReferences = ns, nil
	must(t, admin.Create(ctx, foreign))
	ofARun := sandboxPod(ns, "other")
	must(t, manager.Create(ctx, ofARun))
	asIf := podProbe()
	asIf.Namespace, asIf.Name, asIf.OwnerReferences = ns, "as-if", nil
	asIf.Labels = map[string]string{v1alpha1.LabelPool: "warm"}
	must(t, admin.Create(ctx, asIf))
	for name, pod := range map[string]*corev1.Pod{
		"foreign":                      foreign,
		"foreign, with a pool's label": asIf,
		"of a run":                     ofARun,
		"of a run and of a pool": waitingPod(ctx, t, ns, "both", func(p *corev1.Pod) {
			p.Labels[v1alpha1.LabelRun] = "other"
		}),
		"without an owner": waitingPod(ctx, t, ns, "nobodys", func(p *corev1.Pod) { p.OwnerReferences = nil }),
		"of two owners": waitingPod(ctx, t, ns, "shared", func(p *corev1.Pod) {
			p.OwnerReferences = append(p.OwnerReferences, metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "c", UID: "u"})
		}),
		"of a pool of another API": waitingPod(ctx, t, ns, "elsewhere", func(p *corev1.Pod) { p.OwnerReferences[0].APIVersion = "example.org/v1" }),
	} {
		t.Run(name, func(t *testing.T) {
			wantRefused(t, adoption(ctx, manager, pod), "'motorcortex-adoptions'", only)
			wantRefused(t, manager.Patch(ctx, pod.DeepCopy(), mergePatchOf(`{"metadata":{"annotations":{"note":"b"}}}`)), "'motorcortex-adoptions'", only)
			wantRefused(t, patchJSON(ctx, manager, pod, `[{"op":"replace","path":"/spec/containers/0/image","value":"other"}]`), "'motorcortex-adoptions'", only)
		})
	}
	// What it adopts is a run's from then on.
	for name, wayOut := range map[string]bool{"taken": true, "closed": false} {
		taken := waitingPod(ctx, t, ns, name)
		before := taken.DeepCopy()
		run := newRun(ns)
		run.UID = "6f1c2a34-0000-4000-8000-000000000001"
		sandbox.Adopt(taken, run, wayOut, time.Now())
		must(t, manager.Patch(ctx, taken, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})))
		wantRefused(t, manager.Patch(ctx, taken.DeepCopy(), mergePatchOf(`{"metadata":{"labels":{"motorcortex.dev/run":"other"}}}`)), only)
		wantRefused(t, manager.Patch(ctx, taken.DeepCopy(), mergePatchOf(`{"metadata":{"labels":{"motorcortex.dev/run":"run","motorcortex.dev/pool":null}}}`)), only)
		// A second run that read the Pod before does not get it.
		wantRefused(t, adoptionBy(ctx, manager, before, wayOut), "the object has been modified")
	}
}

func TestUsersDoNotChangeWaitingSandboxes(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	pod := waitingPod(ctx, t, ns, "waits")
	eve := person(ctx, t, ns, "eve-waiting", rights{"get,update,patch pods", "update,patch pods/status"})
	const labels, owners = "no user changes those of a sandbox", "no user takes it away"
	owner := func(reference string) string { return `{"metadata":{"ownerReferences":[` + reference + `]}}` }
	for name, tt := range map[string]struct{ patch, want string }{
		"no pool":           {`{"metadata":{"labels":{"motorcortex.dev/pool":null}}}`, labels},
		"another pool":      {`{"metadata":{"labels":{"motorcortex.dev/pool":"other"}}}`, labels},
		"a run":             {`{"metadata":{"labels":{"motorcortex.dev/run":"run"}}}`, labels},
		"a label more":      {`{"metadata":{"labels":{"app":"web"}}}`, labels},
		"no component":      {`{"metadata":{"labels":{"motorcortex.dev/component":null}}}`, "is what closes a sandbox"},
		"no owner":          {`{"metadata":{"ownerReferences":null}}`, owners},
		"a run as owner":    {owner(`{"apiVersion":"motorcortex.dev/v1alpha1","kind":"MotorRun","name":"run","uid":"6f1c2a34-0000-4000-8000-000000000001","controller":true}`), "only the operator makes the Pods"},
		"another pool's":    {owner(`{"apiVersion":"motorcortex.dev/v1alpha1","kind":"SandboxPool","name":"warm","uid":"6f1c2a34-0000-4000-8000-000000000003","controller":true}`), "only the operator makes the Pods"},
		"no control":        {owner(`{"apiVersion":"motorcortex.dev/v1alpha1","kind":"SandboxPool","name":"warm","uid":"6f1c2a34-0000-4000-8000-000000000002","controller":false}`), owners},
		"another name":      {owner(`{"apiVersion":"motorcortex.dev/v1alpha1","kind":"SandboxPool","name":"other","uid":"6f1c2a34-0000-4000-8000-000000000002","controller":true}`), owners},
		"another kind":      {owner(`{"apiVersion":"v1","kind":"ConfigMap","name":"warm","uid":"6f1c2a34-0000-4000-8000-000000000002","controller":true}`), owners},
		"another API":       {owner(`{"apiVersion":"example.org/v1","kind":"SandboxPool","name":"warm","uid":"6f1c2a34-0000-4000-8000-000000000002","controller":true}`), owners},
		"a ConfigMap's":     {owner(`{"apiVersion":"v1","kind":"ConfigMap","name":"c","uid":"6f1c2a34-0000-4000-8000-000000000003"}`), owners},
		"an annotation":     {`{"metadata":{"annotations":{"note":"b"}}}`, "no user changes the annotations"},
		"taken from a pool": {`{"metadata":{"annotations":{"motorcortex.dev/pool":"other"}}}`, "no user changes the annotations"},
		"a deadline":        {`{"spec":{"activeDeadlineSeconds":5}}`, "activeDeadlineSeconds"},
		"a finalizer":       {`{"metadata":{"finalizers":["evil.example/keep"]}}`, "no user gives it a finalizer"},
	} {
		t.Run(name, func(t *testing.T) {
			for who, c := range map[string]client.Client{"eve": eve, "admin": admin} {
				t.Run(who, func(t *testing.T) {
					wantRefused(t, c.Patch(ctx, pod.DeepCopy(), mergePatchOf("%s", tt.patch)), "'motorcortex-pods'", tt.want)
					// A write of the status changes neither the spec nor the owners, whatever it says.
					if !strings.Contains(tt.patch, "ownerReferences") && !strings.Contains(tt.patch, "spec") {
						wantRefused(t, c.Status().Patch(ctx, pod.DeepCopy(), mergePatchOf("%s", tt.patch)), "'motorcortex-pods'", tt.want)
					}
				})
			}
		})
	}
	wantRefused(t, patchJSON(ctx, eve, pod, `[{"op":"replace","path":"/spec/containers/0/image","value":"other"}]`), "keeps the image")
	// Nobody but the operator takes one for a run, or puts that of a run into a pool.
	must(t, admin.Get(ctx, client.ObjectKeyFromObject(pod), pod))
	wantRefused(t, adoption(ctx, admin, pod), "'motorcortex-pods'")
	ofARun := sandboxPod(ns, "run")
	must(t, manager.Create(ctx, ofARun))
	wantRefused(t, eve.Patch(ctx, ofARun.DeepCopy(), mergePatchOf(`{"metadata":{"labels":{"motorcortex.dev/pool":"warm"}}}`)), labels)
	// What a kubelet does with it, and a person who makes room, stays free.
	must(t, eve.Status().Patch(ctx, pod.DeepCopy(), mergePatchOf(`{"status":{"phase":"Running"}}`)))
	must(t, admin.Delete(ctx, pod))
}

func TestUsersMakeNoWaitingSandboxes(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	const owned = "only the operator makes the Pods that a MotorRun or a SandboxPool owns"
	pool := poolOf(ns)
	forged := sandbox.Pooled(pool, "forged", sandbox.Config{Image: "i", ManagerKey: "k", Namespace: managerNamespace})
	for name, tt := range map[string]struct {
		change func(*corev1.Pod)
		want   string
	}{
		"as the manager makes it":  {func(*corev1.Pod) {}, owned},
		"of another version":       {func(p *corev1.Pod) { p.OwnerReferences[0].APIVersion = "motorcortex.dev/v2" }, owned},
		"not controlled by a pool": {func(p *corev1.Pod) { p.OwnerReferences[0].Controller = new(false) }, owned},
		"owned alone":              {func(p *corev1.Pod) { p.Labels = nil }, owned},
		"labelled alone":           {func(p *corev1.Pod) { p.OwnerReferences = nil }, "only the operator makes sandboxes"},
	} {
		t.Run(name, func(t *testing.T) {
			pod := forged.DeepCopy()
			tt.change(pod)
			wantRefused(t, admin.Create(ctx, pod, client.DryRunAll), "'motorcortex-pods'", tt.want)
		})
	}
	plain := podProbe()
	plain.Namespace, plain.OwnerReferences = ns, nil
	must(t, admin.Create(ctx, plain))
	wantRefused(t, admin.Patch(ctx, plain.DeepCopy(), mergePatchOf(`{"metadata":{"labels":{"motorcortex.dev/pool":"warm","motorcortex.dev/component":"sandbox"}}}`)), "only the operator makes sandboxes")
	wantRefused(t, admin.Patch(ctx, plain.DeepCopy(), mergePatchOf(
		`{"metadata":{"ownerReferences":[{"apiVersion":"motorcortex.dev/v1alpha1","kind":"SandboxPool","name":"warm","uid":%q}]}}`, pool.UID)), owned)
}
