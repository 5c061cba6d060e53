// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// shapes of metadata.managedFields: the entries that have so many names.
var shapes = map[string]func(names int) []metav1.ManagedFieldsEntry{
	"beside each other":  func(names int) []metav1.ManagedFieldsEntry { return one(beside(names, "f:%04s")) },
	"nine deep":          func(names int) []metav1.ManagedFieldsEntry { return one(below(9, beside(names, "f:%04s"))) },
	"the shortest, deep": func(names int) []metav1.ManagedFieldsEntry { return one(below(9, beside(names, "f:%s"))) },
	"in chains":          func(names int) []metav1.ManagedFieldsEntry { return one(chains(names / 9)) },
	"with escapes, deep": func(names int) []metav1.ManagedFieldsEntry { return one(below(9, beside(names, "f:<<<<%s"))) },
	"of as many as managers": func(names int) []metav1.ManagedFieldsEntry {
		var entries []metav1.ManagedFieldsEntry
		for i := range names {
			e := entryOf(`{"f:a":{}}`)
			e.Manager = strconv.Itoa(i)
			entries = append(entries, e)
		}
		return entries
	},
}

func one(fields string) []metav1.ManagedFieldsEntry {
	return []metav1.ManagedFieldsEntry{entryOf(fields)}
}

func beside(names int, format string) string {
	var s strings.Builder
	for i := range names {
		fmt.Fprintf(&s, `,"`+format+`":{}`, strconv.FormatInt(int64(i), 36))
	}
	return "{" + strings.TrimPrefix(s.String(), ",") + "}"
}

func below(depth int, fields string) string {
	return strings.Repeat(`{"f:a":`, depth) + fields + strings.Repeat("}", depth)
}

func chains(n int) string {
	return strings.ReplaceAll(beside(n, "f:%04s"), "{}", below(8, "{}"))
}

// Who may only answer or approve writes the most of each shape that the API server takes. Who may steer still does, with nothing more in
// the patch, and so do the manager and who deletes.
func TestManagedFieldsAreInTheWayOfNoSteering(t *testing.T) {
	t.Parallel()
	steers := map[string][]string{
		"MotorRun": {`{"spec":{"suspend":true}}`, `{"spec":{"ttlSecondsAfterFinished":60}}`, `{"spec":{"cancel":true}}`},
		"Skill":    {`{"spec":{"policy":{"domains":["example.org"]}}}`, `{"spec":{"source":{"files":[{"path":"SKILL.md","content":"x"}]}}}`},
	}
	for kind, patches := range steers {
		for shape, entries := range shapes {
			// What a Skill may have is counted by the same words.
			if kind == "Skill" && shape != "nine deep" {
				continue
			}
			t.Run(kind+" "+shape, func(t *testing.T) {
				t.Parallel()
				ctx := testContext(t)
				ns := newNamespace(ctx, t)
				weak := person(ctx, t, ns, "weak@"+ns, rights{"get,patch,respond,approve motorruns", "get,patch,approve skills"})
				strong := person(ctx, t, ns, "strong@"+ns, rights{"get,patch,update motorruns", "get,patch,update skills"})
				var o client.Object
				if kind == "Skill" {
					o = skillOf(ns, "managed", func(*v1alpha1.Skill) {})
					must(t, admin.Create(ctx, o))
				} else {
					o = createRun(ctx, t, ns)
				}
				write := func(names int, options ...client.PatchOption) error {
					patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"managedFields": entries(names)}})
					must(t, err)
					return weak.Patch(ctx, o.DeepCopyObject().(client.Object), client.RawPatch(types.MergePatchType, patch), options...)
				}
				most, refused := 0, 16384
				if strings.HasSuffix(shape, "managers") {
					refused = 2048
				}
				for refused-most > 4 {
					if names := (most + refused) / 2; write(names, client.DryRunAll) == nil {
						most = names
					} else {
						refused = names
					}
				}
				t.Log(most, "names")
				// The bound on bytes, and not that on what an expression may cost, is in the way, and its message names the way out.
				wantRefused(t, write(refused, client.DryRunAll), "metadata.managedFields would have", "/metadata/managedFields")
				if most < 200 {
					t.Errorf("%d names are too many", refused)
				}
				must(t, write(most))
				for _, patch := range append([]string{`{"metadata":{"labels":{"team":"a"}}}`, `{"metadata":{"finalizers":["example.org/keep"]}}`}, patches...) {
					if err := strong.Patch(ctx, o.DeepCopyObject().(client.Object), mergePatchOf("%s", patch)); err != nil {
						t.Errorf("%d names, %s: %.300v", most, patch, err)
					}
				}
				must(t, manager.Status().Patch(ctx, o.DeepCopyObject().(client.Object), mergePatchOf(`{"status":{"conditions":[{"type":"Tried","status":"True","reason":"Tried","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`)))
				must(t, admin.Delete(ctx, o.DeepCopyObject().(client.Object), client.PropagationPolicy(metav1.DeletePropagationForeground)))
				must(t, strong.Patch(ctx, o.DeepCopyObject().(client.Object), mergePatchOf(`{"metadata":{"finalizers":null}}`)))
			})
		}
	}
}
