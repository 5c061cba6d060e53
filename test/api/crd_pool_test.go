// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"fmt"
	"strings"
	"testing"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

func TestSandboxPoolSpecs(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	tests := map[string]struct{ name, spec, want string }{
		"empty":                  {spec: `{}`},
		"whole":                  {spec: `{replicas: 100, resources: {cpu: "2", memory: 2Gi, workspace: 4Gi}, runtimeClassName: gvisor, maxAgeSeconds: 86400}`},
		"smallest":               {spec: `{replicas: 0, maxAgeSeconds: 60}`},
		"longest name":           {name: strings.Repeat("p", 40), spec: `{}`},
		"a longer name":          {name: strings.Repeat("p", 41), spec: `{}`, want: "the name of a SandboxPool has at most 40 characters, because the names of its Pods begin with it"},
		"fewer than none":        {spec: `{replicas: -1}`, want: "spec.replicas"},
		"too many":               {spec: `{replicas: 101}`, want: "spec.replicas"},
		"too young":              {spec: `{maxAgeSeconds: 59}`, want: "spec.maxAgeSeconds"},
		"too old":                {spec: `{maxAgeSeconds: 86401}`, want: "spec.maxAgeSeconds"},
		"a class without a name": {spec: `{runtimeClassName: ""}`, want: "spec.runtimeClassName"},
		"no CPU":                 {spec: `{resources: {cpu: "0"}}`, want: "spec.resources.cpu"},
		"no memory":              {spec: `{resources: {memory: "0"}}`, want: "spec.resources.memory"},
		"a negative workspace":   {spec: `{resources: {workspace: "-1Gi"}}`, want: "spec.resources.workspace"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := testContext(t)
			o := runYAML(t, ns, "warm", tt.spec)
			o.SetKind("SandboxPool")
			if tt.name != "" {
				o.SetName(tt.name)
			}
			err := admin.Create(ctx, o, client.DryRunAll)
			if tt.want == "" {
				must(t, err)
				return
			}
			wantRefused(t, err, tt.want)
		})
	}
}

func TestSandboxPoolHasDefaults(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	// With a typed client too, the unset replicas are not the none of somebody who asks for none.
	for name, pool := range map[string]*v1alpha1.SandboxPool{
		"unset": {},
		"none":  {Spec: v1alpha1.SandboxPoolSpec{Replicas: ptr.To[int32](0)}},
	} {
		pool.ObjectMeta = meta(ns, name)
		want := map[string]int32{"unset": 1, "none": 0}[name]
		must(t, admin.Create(ctx, pool))
		if pool.Spec.Replicas == nil || *pool.Spec.Replicas != want || pool.Spec.MaxAgeSeconds != 3600 {
			t.Errorf("%s: the spec is %+v, want %d replicas for an hour", name, pool.Spec, want)
		}
	}
	bare := fromYAML(t, ns, "apiVersion: motorcortex.dev/v1alpha1\nkind: SandboxPool\nmetadata: {name: bare}\nspec: {}\n")
	must(t, admin.Create(ctx, bare))
	if got := fmt.Sprint(bare.Object["spec"]); got != "map[maxAgeSeconds:3600 replicas:1]" {
		t.Errorf("an empty spec becomes %s", got)
	}
}

// kubectl scale and a HorizontalPodAutoscaler know a pool by its scale alone.
func TestScaleOfASandboxPool(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	pool := &v1alpha1.SandboxPool{ObjectMeta: meta(ns, "warm"), Spec: v1alpha1.SandboxPoolSpec{Replicas: ptr.To[int32](3)}}
	must(t, admin.Create(ctx, pool))
	base := pool.DeepCopy()
	pool.Status = v1alpha1.SandboxPoolStatus{Replicas: 2, ReadyReplicas: 1, Selector: "motorcortex.dev/component=sandbox,motorcortex.dev/pool=warm"}
	must(t, manager.Status().Patch(ctx, pool, client.MergeFrom(base)))

	scale := &autoscalingv1.Scale{}
	must(t, admin.SubResource("scale").Get(ctx, pool, scale))
	if scale.Spec.Replicas != 3 || scale.Status.Replicas != 2 || scale.Status.Selector != pool.Status.Selector {
		t.Errorf("the scale is %+v, %+v", scale.Spec, scale.Status)
	}
	scale.Spec.Replicas = 5
	must(t, admin.SubResource("scale").Update(ctx, pool, client.WithSubResourceBody(scale)))
	must(t, admin.Get(ctx, client.ObjectKeyFromObject(pool), pool))
	if *pool.Spec.Replicas != 5 || pool.Status.Replicas != 2 {
		t.Errorf("scaled to 5, the pool is %d, and its status %+v", *pool.Spec.Replicas, pool.Status)
	}
	scale.ResourceVersion, scale.Spec.Replicas = "", 101
	wantRefused(t, admin.SubResource("scale").Update(ctx, pool, client.WithSubResourceBody(scale)), "spec.replicas")
}

// The status is the operator's, and no user's patch of the spec takes it along.
func TestStatusOfASandboxPoolIsASubresource(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	pool := &v1alpha1.SandboxPool{ObjectMeta: metav1.ObjectMeta{Namespace: newNamespace(ctx, t), Name: "warm"}}
	pool.Status.ReadyReplicas = 7
	must(t, admin.Create(ctx, pool))
	must(t, mergePatch(ctx, pool, `{"spec":{"replicas":4},"status":{"readyReplicas":7}}`))
	if pool.Status.ReadyReplicas != 0 || *pool.Spec.Replicas != 4 {
		t.Errorf("the pool is %+v, %+v", pool.Spec, pool.Status)
	}
}
