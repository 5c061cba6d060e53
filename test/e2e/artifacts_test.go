// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e_test

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// wantArtifact fails unless the run left a file with that content behind.
func wantArtifact(t *testing.T, run *v1alpha1.MotorRun, path, content string) {
	t.Helper()
	a := artifact(run.Status.Result.Artifacts, path)
	if a == nil || a.ConfigMapName == "" {
		t.Fatalf("%s is not kept: %+v", path, run.Status.Result.Artifacts)
	}
	var cm corev1.ConfigMap
	must(t, suite.client.Get(t.Context(), types.NamespacedName{Namespace: run.Namespace, Name: a.ConfigMapName}, &cm))
	sum := sha256.Sum256([]byte(content))
	// Text is data, and other content binaryData.
	kept := cm.Data["content"] + string(cm.BinaryData["content"])
	if kept != content || a.SHA256 != hex.EncodeToString(sum[:]) || a.Size != int64(len(content)) {
		t.Errorf("%s is kept as %q, listed as %+v", path, kept, a)
	}
	if len(cm.OwnerReferences) != 1 || cm.OwnerReferences[0].UID != run.UID {
		t.Errorf("ConfigMap %s goes not with the run: %+v", cm.Name, cm.OwnerReferences)
	}
}

func artifact(list []v1alpha1.Artifact, path string) *v1alpha1.Artifact {
	if i := slices.IndexFunc(list, func(a v1alpha1.Artifact) bool { return a.Path == path }); i >= 0 {
		return &list[i]
	}
	return nil
}

func TestArtifactsAreKeptAndGivenToALaterRun(t *testing.T) {
	t.Parallel()
	run := startRun(t, "artifacts", func(r *v1alpha1.MotorRun) { r.Spec.Tools = append(r.Spec.Tools, toolapi.ToolSaveArtifact) })
	asked := awaitRun(t, run, soon, "its artifacts at the pause", func(r *v1alpha1.MotorRun) bool {
		return r.Status.Pending() != nil && len(r.Status.Artifacts) > 0
	})
	if a := artifact(asked.Status.Artifacts, "artifacts/one.txt"); a == nil || a.Size != 4 || a.ConfigMapName == "" {
		t.Errorf("at the pause there is %+v", asked.Status.Artifacts)
	}
	respond(t, run, asked.Status.Pending().ID, "yes")
	done := wantCompleted(t, run, soon)
	if got := codesOf(wantWholeJournal(t, done)); !slices.Equal(got, []string{"", "", toolapi.CodeSecretFound, "", ""}) {
		t.Errorf("codes %q", got)
	}
	wantArtifact(t, done, "artifacts/one.txt", "two\n")
	wantArtifact(t, done, "artifacts/sub/picture.png", "\x89PNG\r\n\x1a\n")
	wantArtifact(t, done, "result.csv", "extra\n")
	if a := artifact(done.Status.Result.Artifacts, "artifacts/sub/picture.png"); a.MediaType != "image/png" {
		t.Errorf("media type %s", a.MediaType)
	}
	for path, why := range map[string]v1alpha1.ArtifactSkipped{
		"artifacts/link": v1alpha1.SkippedNotRegular, "artifacts/pipe": v1alpha1.SkippedNotRegular, "artifacts/big.bin": v1alpha1.SkippedTooLarge,
		"artifacts/leak.txt": v1alpha1.SkippedSecretFound,
	} {
		a := artifact(done.Status.Result.Artifacts, path)
		if a == nil || a.Skipped != why || a.ConfigMapName != "" || strings.Contains(a.Message, "AKIA") {
			t.Errorf("%s: %+v, want %s", path, a, why)
		}
	}
	later := startRun(t, "inputs", func(r *v1alpha1.MotorRun) {
		r.Spec.Files = []v1alpha1.InputFile{{Path: "input.txt", ArtifactRef: &v1alpha1.ArtifactRef{RunName: run.Name, Path: "artifacts/one.txt"}}}
	})
	if s := wantCompleted(t, later, soon).Status.Result.Summary; !strings.Contains(s, "two") {
		t.Errorf("the later run read %q", s)
	}
}

func TestBackgroundProcessesStayUntilTheyAreEnded(t *testing.T) {
	t.Parallel()
	done := wantCompleted(t, startRun(t, "background"), soon)
	journal := wantWholeJournal(t, done)
	if out := journal[1].Status.Results[0].Output; out != "served\n" {
		t.Errorf("the server of the call before gives %q", out)
	}
	if out := journal[2].Status.Results[0].Output; !strings.HasPrefix(out, "0\n[background: process ") || !strings.Contains(out, "http.server") {
		t.Errorf("after its end: %q", out)
	}
}
