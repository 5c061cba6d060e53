// SPDX-License-Identifier: Apache-2.0

package sweep

import (
	"context"
	"net/netip"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/egress/grant"
)

// What belongs to a run that goes on stays, and so does what belongs to a run that the cache does not have yet.
func TestSweep(t *testing.T) {
	t.Parallel()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	run := func(name string, over bool) *v1alpha1.MotorRun {
		r := &v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name)}}
		if over {
			r.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionFinished, Status: metav1.ConditionTrue}}
		}
		return r
	}
	objects := []client.Object{run("running", false), run("over", true), run("new", false)}
	for _, name := range []string{"running", "over", "new", "gone"} {
		objects = append(objects, grantOf(t, name), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: name, Labels: map[string]string{v1alpha1.LabelComponent: v1alpha1.ComponentSandbox, v1alpha1.LabelRun: name},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: v1alpha1.GroupVersion.String(), Kind: "MotorRun", Name: name, UID: types.UID(name), Controller: new(true)}},
		}})
	}
	server := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
	cache := interceptor.NewClient(server, interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
		err := c.List(ctx, list, opts...)
		if runs, ok := list.(*v1alpha1.MotorRunList); ok {
			runs.Items = slices.DeleteFunc(runs.Items, func(r v1alpha1.MotorRun) bool { return r.Name == "new" })
		}
		return err
	}})
	w := &Sweeper{Client: cache, Live: server, Namespace: "system"}
	if err := w.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	var secrets corev1.SecretList
	var pods corev1.PodList
	for _, list := range []client.ObjectList{&secrets, &pods} {
		if err := server.List(t.Context(), list); err != nil {
			t.Fatal(err)
		}
	}
	var grants, sandboxes []string
	for _, s := range secrets.Items {
		grants = append(grants, s.Name)
	}
	for _, p := range pods.Items {
		sandboxes = append(sandboxes, p.Name)
	}
	slices.Sort(grants)
	slices.Sort(sandboxes)
	if want := []string{"egress-new", "egress-running"}; !slices.Equal(grants, want) {
		t.Errorf("grants: %v, want %v", grants, want)
	}
	// The Pod of a run that is over goes with the run's own pass.
	if want := []string{"new", "over", "running"}; !slices.Equal(sandboxes, want) {
		t.Errorf("Pods: %v, want %v", sandboxes, want)
	}
}

// grantOf returns the Secret of a run's grant.
func grantOf(t *testing.T, run string) *corev1.Secret {
	t.Helper()
	data, err := (&grant.Grant{
		RunUID: run, Namespace: "ns", Run: run, PodName: run, PodUID: "pod", PodIPs: []netip.Addr{netip.MustParseAddr("10.0.0.1")},
		TokenHash: grant.HashToken("token"), Attempt: 1, Domains: []string{"example.org"}, ExpiresAt: time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC),
	}).Encode()
	if err != nil {
		t.Fatal(err)
	}
	return &corev1.Secret{Data: data, ObjectMeta: metav1.ObjectMeta{
		Namespace: "system", Name: grant.SecretName(run), UID: types.UID("grant of " + run),
		Labels: map[string]string{v1alpha1.LabelComponent: v1alpha1.ComponentEgressGrant, v1alpha1.LabelRunUID: run},
	}}
}
