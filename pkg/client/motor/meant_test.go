// SPDX-License-Identifier: Apache-2.0

package motor

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	k8stesting "k8s.io/client-go/testing"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// An answer refers to what the person can see when they give it, and to nothing that is put in its place.
func TestAnAnswerMeansWhatIsThere(t *testing.T) {
	t.Parallel()
	ofKey := func(name, key, digest string) v1alpha1.ResponseFile {
		return v1alpha1.ResponseFile{Path: "f", ConfigMapKeyRef: &v1alpha1.ConfigMapKeyRef{Name: name, Key: key, Digest: digest}}
	}
	ofRun := func(name, path string) v1alpha1.ResponseFile {
		return v1alpha1.ResponseFile{Path: "f", ArtifactRef: &v1alpha1.ArtifactRef{RunName: name, Path: path}}
	}
	earlier := aRun("earlier", ended(true), func(run *v1alpha1.MotorRun) {
		run.Status.Artifacts = []v1alpha1.Artifact{{Path: "r", SHA256: "former"}}
		run.Status.Result = &v1alpha1.RunResult{Artifacts: []v1alpha1.Artifact{{Path: "r", SHA256: "0f"}, {Path: "skipped"}}}
	})
	for name, tt := range map[string]struct {
		file v1alpha1.ResponseFile
		want string
	}{
		"text":                   {ofKey("given", "text", ""), digestOf("a")},
		"other bytes":            {ofKey("given", "binary", ""), digestOf("\xff")},
		"no such key":            {ofKey("given", "none", ""), ""},
		"no such ConfigMap":      {ofKey("gone", "text", ""), ""},
		"what is meant was said": {ofKey("given", "text", "sha256:said"), "sha256:said"},
		"an artifact":            {ofRun("earlier", "r"), "sha256:0f"},
		"one that was not kept":  {ofRun("earlier", "skipped"), ""},
		"of another run":         {ofRun("gone", "r"), ""},
		"content":                {v1alpha1.ResponseFile{Path: "f", Content: new("x")}, ""},
	} {
		r := newRig(t, aRun("a", asking(asked...)), earlier)
		if err := r.core.Tracker().Add(&corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "given"}, Data: map[string]string{"text": "a"}, BinaryData: map[string][]byte{"binary": {0xff}},
		}); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Respond(t.Context(), to("a", "q"), "here", tt.file); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := r.run("a").Spec.Responses[1].Files[0]
		switch {
		case got.ConfigMapKeyRef != nil && got.ConfigMapKeyRef.Digest != tt.want, got.ArtifactRef != nil && got.ArtifactRef.Digest != tt.want:
			t.Errorf("%s: %+v %+v, want %q", name, got.ConfigMapKeyRef, got.ArtifactRef, tt.want)
		}
		if ref := tt.file.ConfigMapKeyRef; ref != nil && ref.Digest == digestOf("a") {
			t.Errorf("%s: the caller's own file was changed", name)
		}
	}
}

// An API server that does not say what is there is asked again by the caller. One that lets the account not look decides about the answer itself.
func TestAnAnswerWhoseContentCannotBeSeen(t *testing.T) {
	t.Parallel()
	file := v1alpha1.ResponseFile{Path: "f", ConfigMapKeyRef: &v1alpha1.ConfigMapKeyRef{Name: "given", Key: "k"}}
	away := errors.New("away")
	for name, tt := range map[string]struct{ err, want error }{
		"forbidden": {apierrors.NewForbidden(corev1.Resource("configmaps"), "given", away), nil}, "away": {away, away},
	} {
		r := newRig(t, aRun("a", asking(asked...)))
		r.core.PrependReactor("get", "configmaps", func(k8stesting.Action) (bool, runtime.Object, error) { return true, nil, tt.err })
		if _, err := r.Respond(t.Context(), to("a", "q"), "here", file); !errors.Is(err, tt.want) || (err == nil) != (tt.want == nil) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func digestOf(content string) string {
	sum := sha256.Sum256([]byte(content))
	return "sha256:" + hex.EncodeToString(sum[:])
}
