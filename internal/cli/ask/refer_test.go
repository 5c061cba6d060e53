// SPDX-License-Identifier: Apache-2.0

package ask

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/verb"
)

// A file that is in the cluster goes with an answer by its digest: the person means what they can read now.
func TestAnswerWithReferences(t *testing.T) {
	t.Parallel()
	const ofA = "sha256:ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"
	for name, tt := range map[string]struct {
		line string
		code int
		says string
		want v1alpha1.ResponseFile
	}{
		"a ConfigMap": {"answer run yes --config-map given/a.csv", verb.ExitOK, "answered: yes, with a.csv",
			v1alpha1.ResponseFile{Path: "a.csv", ConfigMapKeyRef: &v1alpha1.ConfigMapKeyRef{Name: "given", Key: "a.csv", Digest: ofA}}},
		"under a name": {"answer run --config-map given/a.csv=in/b.csv", verb.ExitOK, "answered: Here: in/b.csv",
			v1alpha1.ResponseFile{Path: "in/b.csv", ConfigMapKeyRef: &v1alpha1.ConfigMapKeyRef{Name: "given", Key: "a.csv", Digest: ofA}}},
		"an artifact": {"answer run yes --artifact earlier/artifacts/r.md", verb.ExitOK, "with r.md",
			v1alpha1.ResponseFile{Path: "r.md", ArtifactRef: &v1alpha1.ArtifactRef{RunName: "earlier", Path: "artifacts/r.md", Digest: "sha256:0f"}}},
		"no such key":       {"answer run yes --config-map given/b.csv", verb.ExitFailed, `the ConfigMap given has no key "b.csv"`, v1alpha1.ResponseFile{}},
		"no such ConfigMap": {"answer run yes --config-map gone/b.csv", verb.ExitFailed, `"gone" not found`, v1alpha1.ResponseFile{}},
		"no such artifact":  {"answer run yes --artifact earlier/gone", verb.ExitFailed, `the run earlier has kept no artifact "gone"`, v1alpha1.ResponseFile{}},
		"one that is gone":  {"answer run yes --artifact earlier/skipped", verb.ExitFailed, `has kept no artifact "skipped"`, v1alpha1.ResponseFile{}},
		"no such run":       {"answer run yes --artifact gone/r", verb.ExitFailed, `"gone" not found`, v1alpha1.ResponseFile{}},
		"no key":            {"answer run yes --config-map given", verb.ExitMisused, "is NAME/KEY, or NAME/KEY=FILE", v1alpha1.ResponseFile{}},
		"a hidden name":     {"answer run yes --config-map given/a.csv=.a", verb.ExitMisused, "cannot be its name", v1alpha1.ResponseFile{}},
		"twice":             {"answer run yes --config-map given/a.csv --artifact earlier/artifacts/r.md=a.csv", verb.ExitMisused, `two files have the name "a.csv"`, v1alpha1.ResponseFile{}},
		"more than eight":   {"answer run yes" + strings.Repeat(" --config-map given/a.csv", 20), verb.ExitMisused, "at most 8 files", v1alpha1.ResponseFile{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, question("q"))
			earlier := &v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "earlier"}, Status: v1alpha1.MotorRunStatus{Result: &v1alpha1.RunResult{
				Artifacts: []v1alpha1.Artifact{{Path: "artifacts/r.md", SHA256: "0f"}, {Path: "skipped", SHA256: "1f", Skipped: v1alpha1.SkippedSecretFound}},
			}}}
			for _, o := range []client.Object{earlier, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "given"}, Data: map[string]string{"a.csv": "a"}}} {
				if err := r.Create(t.Context(), o); err != nil {
					t.Fatal(err)
				}
			}
			r.want(tt.code, tt.line, tt.says)
			run := &v1alpha1.MotorRun{}
			if err := r.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "run"}, run); err != nil {
				t.Fatal(err)
			}
			if tt.code != verb.ExitOK {
				if len(run.Spec.Responses) != 1 {
					t.Errorf("sent is %+v", run.Spec.Responses[1:])
				}
				return
			}
			got := run.Spec.Responses[1].Files
			if len(got) != 1 || got[0].Path != tt.want.Path || tt.want.ConfigMapKeyRef != nil && *got[0].ConfigMapKeyRef != *tt.want.ConfigMapKeyRef ||
				tt.want.ArtifactRef != nil && *got[0].ArtifactRef != *tt.want.ArtifactRef {
				t.Errorf("sent is %+v, want %+v", got, tt.want)
			}
		})
	}
}
