// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

func entryOf(fields string) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{
		Manager: "by-hand", Operation: metav1.ManagedFieldsOperationApply, APIVersion: v1alpha1.GroupVersion.String(),
		FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields),
	}
}

// managedBy writes an entry of metadata.managedFields beside those that an object has, or in the place of all.
func managedBy(t *testing.T, o client.Object, fields string) client.Patch {
	t.Helper()
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"managedFields": append(o.GetManagedFields(), entryOf(fields))}})
	must(t, err)
	return client.RawPatch(types.MergePatchType, patch)
}

// reset has the API server forget who wrote which field.
var reset = client.RawPatch(types.JSONPatchType, []byte(`[{"op":"replace","path":"/metadata/managedFields","value":[{}]}]`))

// Clients that may answer or approve alone can write metadata.managedFields, and it cannot grow until an object can be neither applied
// nor deleted. Those who may steer have room left, and everybody can make it smaller.
func TestManagedFieldsHaveAnEnd(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	weak := person(ctx, t, ns, "weak@"+ns, rights{"get,patch,respond,approve motorruns", "get,patch,approve skills"})
	strong := person(ctx, t, ns, "strong@"+ns, rights{"get,patch,update motorruns", "get,patch,update skills"})
	run := createRun(ctx, t, ns)
	skill := skillOf(ns, "managed", func(s *v1alpha1.Skill) {})
	must(t, admin.Create(ctx, skill))
	steer := map[string]client.Patch{
		"MotorRun": mergePatchOf(`{"spec":{"suspend":true}}`), "Skill": mergePatchOf(`{"metadata":{"labels":{"team":"a"}}}`),
	}
	for kind, o := range map[string]client.Object{"MotorRun": run, "Skill": skill} {
		fresh := func() client.Object {
			t.Helper()
			again := o.DeepCopyObject().(client.Object)
			must(t, admin.Get(ctx, client.ObjectKeyFromObject(o), again))
			return again
		}
		long := func(bytes int) string {
			const each = 1024
			var names []string
			for i := range bytes / each {
				names = append(names, fmt.Sprintf(`"f:%04d%s":{}`, i, strings.Repeat("x", each-13)))
			}
			return `{"f:spec":{` + strings.Join(names, ",") + `}}`
		}
		var many []string
		for i := range 18000 {
			many = append(many, fmt.Sprintf(`"f:x%05d":{}`, i))
		}
		for name, fields := range map[string]string{
			"long": long(512 << 10), "one name": fmt.Sprintf(`{"f:spec":{"f:%s":{}}}`, strings.Repeat("x", 1<<20)),
			"escaped": strings.ReplaceAll(long(40<<10), "xxxxxxxxxx", "<<<<<<<<<<"), "many": `{"f:spec":{` + strings.Join(many, ",") + `}}`,
			"deep":      strings.Repeat(`{"f:a":`, 11) + `{}` + strings.Repeat(`}`, 11),
			"very deep": strings.Repeat(`{"f:a":`, 5000) + `{}` + strings.Repeat(`}`, 5000),
		} {
			t.Log(kind, name)
			wantRefused(t, weak.Patch(ctx, fresh(), managedBy(t, fresh(), fields)), "metadata.managedFields", "/metadata/managedFields")
		}

		// Ten managers of a 20 KiB each are as bad as one, and some are no harm.
		var err error
		for i := 0; err == nil && i < 20; i++ {
			patch := managedBy(t, fresh(), long(20<<10))
			patch = client.RawPatch(types.MergePatchType, []byte(strings.Replace(string(dataOf(t, patch)), "by-hand", fmt.Sprintf("by-hand-%d", i), 1)))
			err = weak.Patch(ctx, fresh(), patch)
		}
		wantRefused(t, err, "metadata.managedFields would have", "may have 196608", "262144 at creation")
		if n := len(fresh().GetManagedFields()); n < 9 {
			t.Errorf("%s: %d managers", kind, n)
		}
		// Whoever may steer still can.
		must(t, strong.Patch(ctx, fresh(), steer[kind]))
		must(t, strong.Patch(ctx, fresh(), managedBy(t, fresh(), long(100<<10))))
		wantRefused(t, weak.Patch(ctx, fresh(), mergePatchOf(`{}`)), "metadata.managedFields would have", "/metadata/managedFields")
		// It can be applied, and deleted by those who wait for what belongs to it.
		u := &unstructured.Unstructured{}
		u.SetAPIVersion(v1alpha1.GroupVersion.String())
		u.SetKind(kind)
		u.SetNamespace(ns)
		u.SetName(o.GetName())
		u.SetLabels(map[string]string{"applied": "yes"})
		must(t, strong.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), client.FieldOwner("gitops")))
		must(t, weak.Patch(ctx, fresh(), reset))
		if b := stored(t, fresh().GetManagedFields()); b > 4096 {
			t.Errorf("%s: %d bytes are left", kind, b)
		}
		must(t, weak.Patch(ctx, fresh(), managedBy(t, fresh(), long(150<<10))))
		must(t, admin.Delete(ctx, fresh(), client.PropagationPolicy(metav1.DeletePropagationForeground)))

		again := o.DeepCopyObject().(client.Object)
		again.SetName("created")
		again.SetResourceVersion("")
		again.SetManagedFields([]metav1.ManagedFieldsEntry{entryOf(long(270 << 10))})
		wantRefused(t, admin.Create(ctx, again), "metadata.managedFields would have", "262144 at creation")
		again.SetManagedFields([]metav1.ManagedFieldsEntry{entryOf(long(230 << 10))})
		must(t, admin.Create(ctx, again))
	}
}

func dataOf(t *testing.T, p client.Patch) []byte {
	t.Helper()
	b, err := p.Data(nil)
	must(t, err)
	return b
}
