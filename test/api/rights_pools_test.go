// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"testing"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// A pool takes room of the cluster that no run uses, so who sets up a namespace says how large it is, and not who starts runs there.
func TestRolesForPools(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	pool := &v1alpha1.SandboxPool{ObjectMeta: meta(ns, "warm")}
	must(t, admin.Create(ctx, pool))
	const noGet, noCreate, noPatch, noDelete = "cannot get", "cannot create", "cannot patch", "cannot delete"
	for role, want := range map[string]struct{ first, read, create, change, scale, remove string }{
		"motorcortex-viewer":          {"get motorcortex.dev motorruns", "", noCreate, noPatch, noPatch, noDelete},
		"motorcortex-editor":          {"create motorcortex.dev motorruns", noGet, noCreate, noPatch, noPatch, noDelete},
		"motorcortex-admin":           {"create motorcortex.dev motorruns", noGet, "", "", "", ""},
		"motorcortex-responder":       {"respond motorcortex.dev motorruns", noGet, noCreate, noPatch, noPatch, noDelete},
		"motorcortex-approver":        {"approve motorcortex.dev motorruns", noGet, noCreate, noPatch, noPatch, noDelete},
		"motorcortex-skill-approver":  {"approve motorcortex.dev skills", noGet, noCreate, noPatch, noPatch, noDelete},
		"motorcortex-credential-user": {"use secrets", noGet, noCreate, noPatch, noPatch, noDelete},
	} {
		t.Run(role, func(t *testing.T) {
			user := role + "@" + ns
			bind(ctx, t, ns, user, rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role})
			awaitRight(ctx, t, user, attributes(ns, want.first))
			as, err := clientAs(user)
			must(t, err)
			c := dryRun(as)
			wantAdmitted(t, as.Get(ctx, client.ObjectKeyFromObject(pool), pool.DeepCopy()), want.read)
			// kubectl scale with --current-replicas, and an autoscaler's dashboard, read the scale before they write it.
			wantAdmitted(t, as.SubResource("scale").Get(ctx, pool.DeepCopy(), &autoscalingv1.Scale{}), want.read)
			wantAdmitted(t, c.Create(ctx, &v1alpha1.SandboxPool{ObjectMeta: meta(ns, "own")}), want.create)
			wantAdmitted(t, c.Patch(ctx, pool.DeepCopy(), mergePatchOf(`{"spec":{"replicas":2}}`)), want.change)
			wantAdmitted(t, as.SubResource("scale").Patch(ctx, pool.DeepCopy(), mergePatchOf(`{"spec":{"replicas":1}}`)), want.scale)
			wantAdmitted(t, c.Delete(ctx, pool.DeepCopy()), want.remove)
			for _, what := range []string{"update", "patch"} {
				if may(ctx, t, user, attributes(ns, what+" motorcortex.dev sandboxpools/status")) {
					t.Errorf("it lets people %s the status, which is the operator's", what)
				}
			}
		})
	}
}
