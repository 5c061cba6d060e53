// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/sandbox"
)

func mergePatchOf(format string, args ...any) client.Patch {
	return client.RawPatch(types.MergePatchType, fmt.Appendf(nil, format, args...))
}

const notYours = "only the operator makes the Pods that a MotorRun or a SandboxPool owns"

func TestOnlyTheManagerMakesPodsOfRuns(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	run := createRun(ctx, t, ns)
	other, err := clientAs("system:serviceaccount:"+ns+":motorcortex-manager", "system:masters")
	must(t, err)
	for name, c := range map[string]client.Client{"administrator": admin, "namesake": other} {
		t.Run(name, func(t *testing.T) {
			forged := sandbox.Pod(run, sandbox.Config{Image: "i", ManagerKey: "k", Namespace: managerNamespace})
			wantRefused(t, c.Create(ctx, forged), notYours)
			forged.OwnerReferences[0].Controller = nil
			forged.OwnerReferences[0].APIVersion = "motorcortex.dev/v2"
			wantRefused(t, c.Create(ctx, forged), notYours)
			refs := forged.OwnerReferences
			forged.OwnerReferences, forged.Labels = nil, nil
			forged.Name = "plain-" + name
			must(t, c.Create(ctx, forged))
			forged.OwnerReferences = refs
			wantRefused(t, c.Update(ctx, forged.DeepCopy()), notYours)
			wantRefused(t, c.Patch(ctx, forged.DeepCopy(), mergePatchOf(
				`{"metadata":{"ownerReferences":[{"apiVersion":"motorcortex.dev/v1alpha1","kind":"MotorRun","name":"run","uid":%q,"controller":true}]}}`, run.UID)), notYours)
		})
	}
	// The policy is about runs only.
	elsewhere := podProbe()
	elsewhere.Namespace, elsewhere.Name = ns, "elsewhere"
	elsewhere.OwnerReferences[0].APIVersion = "example.org/v1"
	must(t, admin.Create(ctx, elsewhere))
	must(t, admin.Patch(ctx, elsewhere, mergePatchOf(`{"metadata":{"labels":{"motorcortex.dev/component":"demo"}}}`)))
	must(t, admin.Patch(ctx, elsewhere, mergePatchOf(`{"metadata":{"labels":{"motorcortex.dev/component":null}}}`)))
}

func TestSandboxKeepsItsLabel(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	run := createRun(ctx, t, ns)
	pod := sandbox.Pod(run, sandbox.Config{Image: "i", ManagerKey: "k", Namespace: managerNamespace})
	must(t, manager.Create(ctx, pod))
	const kept = "no user takes it away"
	for name, labels := range map[string]string{
		"removed": `{"motorcortex.dev/component":null}`, "changed": `{"motorcortex.dev/component":"open"}`,
	} {
		t.Run(name, func(t *testing.T) {
			wantRefused(t, admin.Patch(ctx, pod.DeepCopy(), mergePatchOf(`{"metadata":{"labels":%s}}`, labels)), kept)
			wantRefused(t, admin.Status().Patch(ctx, pod.DeepCopy(), mergePatchOf(`{"metadata":{"labels":%s}}`, labels)), kept)
		})
	}
	t.Run("all removed", func(t *testing.T) {
		bare := pod.DeepCopy()
		bare.Labels = nil
		wantRefused(t, admin.Update(ctx, bare), kept)
	})
	// What a kubelet, a garbage collector and a person do with such a Pod stays free.
	must(t, admin.Status().Patch(ctx, pod.DeepCopy(), mergePatchOf(`{"status":{"phase":"Running"}}`)))
	gc, err := clientAs("system:serviceaccount:kube-system:generic-garbage-collector", "system:masters")
	must(t, err)
	must(t, gc.Patch(ctx, pod.DeepCopy(), mergePatchOf(
		`{"metadata":{"ownerReferences":[{"apiVersion":"motorcortex.dev/v1alpha1","kind":"MotorRun","name":"run","uid":%q,"controller":true,"blockOwnerDeletion":false}]}}`, run.UID)))
	must(t, gc.Patch(ctx, pod.DeepCopy(), mergePatchOf(`{"metadata":{"ownerReferences":null}}`)))
	must(t, admin.Delete(ctx, pod))
}

// The builder's Pods are the same after the API server has put its defaults into them.
func TestCreatedPodIsTheSame(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	run := createRun(ctx, t, newNamespace(ctx, t))
	for _, userNamespaces := range []bool{false, true} {
		cfg := sandbox.Config{Image: "i", ManagerKey: "k", Namespace: managerNamespace, UserNamespaces: userNamespaces}
		want := sandbox.Pod(run, cfg)
		want.Name = fmt.Sprintf("pod-%t-motor-sandbox", userNamespaces)
		created := want.DeepCopy()
		must(t, manager.Create(ctx, created))
		have := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: want.Namespace, Name: want.Name}}
		must(t, admin.Get(ctx, client.ObjectKeyFromObject(have), have))
		if !sandbox.Same(have, want) {
			t.Errorf("user namespaces %t: what was created is not what was built: %+v", userNamespaces, have.Spec)
		}
		if have.Labels[v1alpha1.LabelComponent] == "" {
			t.Error("the label is missing")
		}
	}
}
