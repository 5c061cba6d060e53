// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// stand makes an object as one was made before the sums were checked, in a namespace that checks them from then on.
func stand(t *testing.T, ns string, objects ...client.Object) {
	t.Helper()
	ctx := testContext(t)
	for _, o := range objects {
		must(t, admin.Create(ctx, o))
	}
	space := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}
	must(t, admin.Patch(ctx, space, mergePatchOf(`{"metadata":{"labels":{%q:null}}}`, withoutChecks)))
	forged := newRun(ns, func(run *v1alpha1.MotorRun) {
		run.Name, run.Labels = "forged", map[string]string{v1alpha1.LabelRun: "x"}
	})
	rejected := skillOf(ns, "forged", func(s *v1alpha1.Skill) {
		none := "sha256:" + strings.Repeat("0", 64)
		s.Spec.Approval = &v1alpha1.SkillApproval{ContentHash: none, PolicyHash: none}
	})
	must(t, wait.PollUntilContextCancel(ctx, 20*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		run, skill := admin.Create(ctx, forged.DeepCopy(), client.DryRunAll), admin.Create(ctx, rejected.DeepCopy(), client.DryRunAll)
		return run != nil && strings.Contains(run.Error(), "'motorcortex-runs'") && skill != nil && strings.Contains(skill.Error(), "'motorcortex-skills'"), nil
	}))
}

// An object that is larger than the sums, because it is older than they are, can be made smaller, and changed otherwise.
func TestOlderObjectsCanBeMadeSmaller(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t, withoutChecks, "true")
	owner := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "o", UID: "1"}
	fat := func(m *metav1.ObjectMeta) {
		m.Annotations = map[string]string{"a": strings.Repeat("x", 200<<10), "b": "short"}
		m.Labels, m.Finalizers, m.OwnerReferences = map[string]string{"team": "a"}, []string{"example.org/keep"}, []metav1.OwnerReference{owner}
	}
	run := newRun(ns, func(run *v1alpha1.MotorRun) {
		for i := range 4 {
			run.Spec.Files = append(run.Spec.Files, v1alpha1.InputFile{Path: fmt.Sprint("f", i), Content: new(strings.Repeat("x", 256<<10-1))})
		}
		fat(&run.ObjectMeta)
	})
	skill := skillOf(ns, "old", func(s *v1alpha1.Skill) {
		s.Spec.Source = &v1alpha1.SkillSource{Files: []v1alpha1.SkillFile{{Path: "SKILL.md", Content: strings.Repeat("x", 1<<20)}}}
		fat(&s.ObjectMeta)
	})
	stand(t, ns, run, skill)
	for _, o := range []client.Object{run, skill} {
		for name, patch := range map[string]string{
			"another annotation": `{"metadata":{"annotations":{"c":"x"}}}`, "a longer one": `{"metadata":{"annotations":{"b":"longer"}}}`,
			"one of as many characters": `{"metadata":{"annotations":{"b":"short<"}}}`, "one that has more bytes": `{"metadata":{"annotations":{"b":"shor<"}}}`,
			"a label":                `{"metadata":{"labels":{"other":"x"}}}`,
			"another finalizer":      `{"metadata":{"finalizers":["example.org/keep","example.org/more"]}}`,
			"a longer finalizer":     `{"metadata":{"finalizers":["example.org/keep-longer"]}}`,
			"an owner":               `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"o","uid":"1"},{"apiVersion":"v1","kind":"ConfigMap","name":"p","uid":"2"}]}}`,
			"an owner's longer name": `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"longer","uid":"1"}]}}`,
		} {
			err := admin.Patch(ctx, o.DeepCopyObject().(client.Object), mergePatchOf("%s", patch))
			if err == nil || !strings.Contains(err.Error(), "bytes together") {
				t.Errorf("%T, %s: %v", o, name, err)
			}
		}
		for _, patch := range []string{
			`{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"o","uid":"1","blockOwnerDeletion":true}]}}`,
			`{"metadata":{"annotations":{"b":"other"}}}`, `{"metadata":{"annotations":{"b":null}}}`, `{"metadata":{"labels":null}}`,
			`{"metadata":{"finalizers":null}}`, `{"metadata":{"ownerReferences":null}}`, `{"metadata":{"annotations":{"a":null}}}`,
		} {
			if err := admin.Patch(ctx, o, mergePatchOf("%s", patch)); err != nil {
				t.Errorf("%T, %s: %v", o, patch, err)
			}
		}
	}
	must(t, admin.Patch(ctx, run, mergePatchOf(`{"spec":{"cancel":true}}`)))
	must(t, admin.Patch(ctx, skill, mergePatchOf(`{"spec":{"source":{"files":[{"path":"SKILL.md","content":"x"}]}}}`)))
}

// The policy of a Skill counts: its inputs alone could have more than is stored.
func TestThePolicyOfASkillCounts(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	// inputs have so many bytes in their options, each of which counts twice.
	inputs := func(bytes int) *v1alpha1.SkillPolicy {
		p := &v1alpha1.SkillPolicy{}
		for i := 0; bytes > 0; i++ {
			in := v1alpha1.SkillInput{Name: "n"}
			in.Name = string(rune('a' + i))
			bytes--
			for o := 0; o < 32 && bytes > 0; o++ {
				n := min(256, bytes/2/6)
				if n < 3 {
					in.Description = strings.Repeat("x", bytes)
					bytes = 0
					break
				}
				in.Options = append(in.Options, strings.Repeat("<", n-2)+fmt.Sprintf("%02d", o))
				bytes -= 2 * (6*(n-2) + 2)
			}
			p.Inputs = append(p.Inputs, in)
		}
		return p
	}
	of := func(name string, policy, files int) *v1alpha1.Skill {
		return skillOf(ns, name, func(s *v1alpha1.Skill) {
			s.Spec.Policy = *inputs(policy)
			s.Spec.Source = &v1alpha1.SkillSource{Files: []v1alpha1.SkillFile{{Path: "f", Content: strings.Repeat("x", files-2)}}}
		})
	}
	const policy, most = 300 << 10, 1 << 20
	wantRefused(t, admin.Create(ctx, of("more", policy, most-policy+1)), "have 1048577 bytes together", "spec.policy")
	skill := of("most", policy, most-policy)
	must(t, admin.Create(ctx, skill))
	longer := skill.DeepCopy()
	longer.Spec.Policy.Inputs[0].Description += "x"
	wantRefused(t, admin.Update(ctx, longer), "have 1048577 bytes together", "spec.policy")
	shorter := skill.DeepCopy()
	shorter.Spec.Policy.Inputs = shorter.Spec.Policy.Inputs[1:]
	must(t, admin.Update(ctx, shorter))
	for field, change := range map[string]func(*v1alpha1.SkillPolicy){
		"domains": func(p *v1alpha1.SkillPolicy) { p.Domains = []v1alpha1.Domain{"example.org"} },
		"credentials": func(p *v1alpha1.SkillPolicy) {
			p.Credentials = []v1alpha1.SkillCredential{{Name: "key", Hosts: []v1alpha1.Domain{"example.org"}}}
			p.Domains = p.Credentials[0].Hosts
		},
		"dependencies": func(p *v1alpha1.SkillPolicy) { p.Dependencies = &v1alpha1.SkillDependencies{Pip: []string{"a==1.0"}} },
		"defaults":     func(p *v1alpha1.SkillPolicy) { p.Inputs[0].Default = new(p.Inputs[0].Options[0]) },
		"commands": func(p *v1alpha1.SkillPolicy) {
			p.Bash = &v1alpha1.BashRules{AllowedCommands: []v1alpha1.CommandPattern{"ls *"}}
		},
		"approval": func(p *v1alpha1.SkillPolicy) { p.Approval = &v1alpha1.RunApproval{MCPTools: []string{"m/t"}} },
	} {
		full := of("field", policy, most-policy)
		change(&full.Spec.Policy)
		if err := admin.Create(ctx, full, client.DryRunAll); err == nil || !strings.Contains(err.Error(), "bytes together") {
			t.Errorf("%s: %v", field, err)
		}
	}
}

// What stands in metadata.managedFields once more is counted twice.
func TestKeysCountTwice(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	for name, change := range map[string]func(*metav1.ObjectMeta){
		"labels": func(m *metav1.ObjectMeta) {
			m.Labels = map[string]string{}
			for i := range 4500 {
				m.Labels[fmt.Sprintf("%s%06d.example.org/k", strings.Repeat("x", 100), i)] = ""
			}
		},
		"finalizers": func(m *metav1.ObjectMeta) {
			for i := range 4500 {
				m.Finalizers = append(m.Finalizers, fmt.Sprintf("%s%06d.example.org/k", strings.Repeat("x", 100), i))
			}
		},
		"owners": func(m *metav1.ObjectMeta) {
			for i := range 5000 {
				m.OwnerReferences = append(m.OwnerReferences, metav1.OwnerReference{APIVersion: "v1", Kind: "X", Name: "x", UID: types.UID(fmt.Sprintf("%s%06d", strings.Repeat("x", 100), i))})
			}
		},
	} {
		run := newRun(ns, func(run *v1alpha1.MotorRun) { change(&run.ObjectMeta) })
		if err := admin.Create(ctx, run, client.DryRunAll); err == nil || !strings.Contains(err.Error(), "bytes together") {
			t.Errorf("a run, %s: %.300v", name, err)
		}
		skill := skillOf(ns, "s", func(s *v1alpha1.Skill) {
			change(&s.ObjectMeta)
			s.Spec.Source = &v1alpha1.SkillSource{Files: []v1alpha1.SkillFile{{Path: "f", Content: strings.Repeat("x", 300<<10)}}}
		})
		if err := admin.Create(ctx, skill, client.DryRunAll); err == nil || !strings.Contains(err.Error(), "bytes together") {
			t.Errorf("a skill, %s: %.300v", name, err)
		}
	}
}
