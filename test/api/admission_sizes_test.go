// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// inJSON is how many bytes a text is taken to have where the API server stores it. The separators of Unicode, which have six there,
// are counted as eight.
func inJSON(t *testing.T, s string) int {
	t.Helper()
	b, err := json.Marshal(s)
	must(t, err)
	return len(b) - len(`""`) + 2*strings.Count(s, "\u2028")
}

// filled is a text of c that has exactly so many bytes in JSON.
func filled(t *testing.T, c string, bytes int) string {
	t.Helper()
	each := inJSON(t, c)
	return strings.Repeat(c, bytes/each) + strings.Repeat("x", bytes%each)
}

// longDomains are as long as a host's name may be.
func longDomains(from, to int) (list []v1alpha1.Domain) {
	a := strings.Repeat("a", 60)
	for i := from; i < to; i++ {
		list = append(list, v1alpha1.Domain(fmt.Sprintf("%s.%s.%s.d%03d.%s.org", a, a, a, i, strings.Repeat("e", 55))))
	}
	return list
}

// escapes are texts of each size that a character can have in JSON.
var escapes = map[string]string{
	"plain": "x", "three bytes": "字", "four bytes": "😀", "quotes": `"`, "backslashes": `\`, "lines": "\n", "tabs": "\t", "tags": "<", "and": "&",
	"control characters": "\u0001", "bells": "\a", "line separators": "\u2028",
}

// The largest run that is admitted leaves room for the largest status, whatever its texts have in JSON: a run that has begun can be
// ended.
func TestLargestRunCanBeEnded(t *testing.T) {
	t.Parallel()
	ns := newNamespace(testContext(t), t)
	const filesMost, answersMost, textsMost, statusMost = 512 << 10, 256 << 10, 768 << 10, 96 << 10
	for name, c := range escapes {
		ctx := testContext(t)
		// withFiles gives a run files of so many bytes.
		withFiles := func(bytes int) func(*v1alpha1.MotorRun) {
			return func(run *v1alpha1.MotorRun) {
				const parts = 16
				for i := range parts {
					text := filled(t, c, filesMost/parts+(bytes-filesMost)*(i/(parts-1)))
					run.Spec.Files = append(run.Spec.Files, v1alpha1.InputFile{Path: fmt.Sprintf("f%02d", i), Content: &text})
				}
			}
		}
		wantRefused(t, admin.Create(ctx, newRun(ns, withFiles(filesMost+1))), "spec.files have 524289 bytes together", "may have 524288", "configMapKeyRef")

		// largest is a run that has everything, and so many bytes of text.
		largest := func(bytes int) func(*v1alpha1.MotorRun) {
			return func(run *v1alpha1.MotorRun) {
				withFiles(filesMost)(run)
				left := bytes - filesMost
				for _, f := range run.Spec.Files {
					left -= 2 * len(f.Path)
				}
				run.Spec.Task = "s" + filled(t, c, 32767)
				run.Spec.Inputs = []v1alpha1.RunInput{{Name: "i", Value: filled(t, c, 8192)}}
				run.Spec.SkillRef = &v1alpha1.SkillRef{Name: "some"}
				run.Spec.MCPServers = []v1alpha1.MCPServer{{Name: "m", Command: []string{filled(t, c, 1024)}, Tools: []string{"t"}}}
				run.Spec.Accept = &v1alpha1.RunAcceptance{Files: []string{"f"}, ValueSchema: `{}`}
				for range 8 {
					run.Spec.Accept.Commands = append(run.Spec.Accept.Commands, v1alpha1.AcceptCommand{Command: filled(t, c, 2047) + "c"})
				}
				run.Labels = map[string]string{"team": "a"}
				left -= 1 + len(run.Spec.Accept.ValueSchema) + 8*2048
				left -= 1 + 32767 + 8192 + 1024 + 2*len("team") + len("a") + 2*len("note")
				run.Annotations = map[string]string{"note": filled(t, c, left)}
				run.Spec.Domains = longDomains(0, 64)
				for i := range 16 {
					run.Spec.Credentials = append(run.Spec.Credentials, v1alpha1.Credential{
						Name: fmt.Sprintf("c%d", i), SecretRef: v1alpha1.SecretKeyRef{Name: "s", Key: "k"}, Hosts: longDomains(4*i, 4*i+4),
					})
				}
			}
		}
		wantRefused(t, admin.Create(ctx, newRun(ns, largest(textsMost+1))), "have 786433 bytes together", "may have 786432")
		run := createRun(ctx, t, ns, largest(textsMost))
		wantRefused(t, admin.Patch(ctx, run.DeepCopy(), mergePatchOf(`{"metadata":{"annotations":{"more":"x"}}}`)), "have 786441 bytes together")

		// As many responses as there can be, and as many bytes of answers.
		const each = answersMost / 16
		for i := range 247 {
			r := v1alpha1.Response{ID: fmt.Sprintf("a1-s%d-c0", i), Decision: v1alpha1.DecisionApproveOnce, Digest: "sha256:" + strings.Repeat("0", 64)}
			if i < 15 {
				r = v1alpha1.Response{ID: r.ID, Answer: filled(t, c, each)}
			}
			run.Spec.Responses = append(run.Spec.Responses, r)
		}
		for i := range 9 {
			retry := v1alpha1.Response{ID: fmt.Sprintf("retry-%d", i+1), Decision: v1alpha1.DecisionRetry, AddDomains: longDomains(100*(i+1), 100*(i+1)+12)}
			if i < 4 {
				retry.Guidance = filled(t, c, each/4)
			}
			run.Spec.Responses = append(run.Spec.Responses, retry)
		}
		more := run.DeepCopy()
		more.Spec.Responses[255].Guidance = "g"
		wantRefused(t, admin.Update(ctx, more), "have 262145 bytes together", "may have 262144")
		more.Spec.Responses[255].Guidance, more.Spec.Responses[246].Reason = "", "r"
		wantRefused(t, admin.Update(ctx, more), "have 262145 bytes together", "may have 262144")
		must(t, admin.Update(ctx, run))

		before := run.DeepCopy()
		run.Status.Phase = v1alpha1.PhaseRunning
		run.Status.Egress = &v1alpha1.EgressStatus{Domains: longDomains(0, 80)}
		for i := range 10 {
			run.Status.Attempts = append(run.Status.Attempts, v1alpha1.AttemptStatus{
				Index: int32(i) + 1, Cause: v1alpha1.CauseRetry, RecoveryContext: filled(t, c, (statusMost-24<<10)/10),
			})
		}
		if b, err := json.Marshal(run.Status); err != nil || len(b) < statusMost*3/4 {
			t.Fatalf("%s: the status has %d bytes: %v", name, len(b), err)
		}
		must(t, manager.Status().Patch(ctx, run, client.MergeFrom(before)))
		must(t, admin.Patch(ctx, run, mergePatchOf(`{"spec":{"cancel":true}}`)))
		before = run.DeepCopy()
		run.Status.Phase = v1alpha1.PhaseFailed
		run.Status.Message = filled(t, c, 1000)
		must(t, manager.Status().Patch(ctx, run, client.MergeFrom(before)))
		must(t, admin.Delete(ctx, run))
		t.Logf("%s: %d bytes are left", name, 1536<<10-stored(t, run))
	}
}

// stored is how many bytes the API server keeps of an object.
func stored(t *testing.T, o any) int {
	t.Helper()
	b, err := json.Marshal(o)
	must(t, err)
	return len(b)
}

// The same of a Skill with its files in it.
func TestLargestSkillHasItsStatus(t *testing.T) {
	t.Parallel()
	ns := newNamespace(testContext(t), t)
	const most = 1 << 20
	for name, c := range escapes {
		ctx := testContext(t)
		largest := func(bytes int) func(*v1alpha1.Skill) {
			return func(skill *v1alpha1.Skill) {
				const path = "references/a.md"
				skill.Annotations, skill.Spec.Policy = map[string]string{"note": filled(t, c, 40000)}, v1alpha1.SkillPolicy{}
				left := bytes - 2*len("note") - 40000 - 2*len(path)
				skill.Spec.Source = &v1alpha1.SkillSource{Files: []v1alpha1.SkillFile{{Path: path, Content: filled(t, c, left)}}}
			}
		}
		object := "s" + strings.ReplaceAll(name, " ", "-")
		wantRefused(t, admin.Create(ctx, skillOf(ns, object, largest(most+1))), "have 1048577 bytes together", "may have 1048576", "spec.source.configMaps")
		skill := skillOf(ns, object, largest(most))
		must(t, admin.Create(ctx, skill))
		wantRefused(t, admin.Patch(ctx, skill.DeepCopy(), mergePatchOf(`{"metadata":{"annotations":{"more":"x"}}}`)), "have 1048585 bytes together")
		must(t, admin.Patch(ctx, skill, mergePatchOf(`{"metadata":{"annotations":null}}`)))
		must(t, admin.Delete(ctx, skill))
	}
}
