// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/skill"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// The sandbox is told what the packages need of the namespace's sources, and nothing that was not there when the run was made.
func TestInstallArgs(t *testing.T) {
	t.Parallel()
	const apt = "https://deb.example.org stable main"
	sources := v1alpha1.PackageSources{NPM: "https://npm.example.org", Apt: apt, AptKeyring: "a key", CABundle: "an authority"}
	otherKey := sources
	otherKey.AptKeyring = "another key"
	for name, tt := range map[string]struct {
		deps    v1alpha1.SkillDependencies
		now     v1alpha1.PackageSources
		want    toolapi.InstallArgs
		refused string
	}{
		"apt": {
			deps: v1alpha1.SkillDependencies{Apt: []string{"jq=1.7"}}, now: sources,
			want: toolapi.InstallArgs{Apt: []string{"jq=1.7"}, AptSource: apt, AptKeyring: "a key", CABundle: "an authority"},
		},
		"npm": {
			deps: v1alpha1.SkillDependencies{NPM: []string{"tiny@1.0.0"}}, now: sources,
			want: toolapi.InstallArgs{NPM: []string{"tiny@1.0.0"}, NPMRegistry: "https://npm.example.org", CABundle: "an authority"},
		},
		"another key": {deps: v1alpha1.SkillDependencies{Apt: []string{"jq=1.7"}}, now: otherKey, refused: "has changed since the run was made"},
	} {
		scheme := runtime.NewScheme()
		if err := v1alpha1.AddToScheme(scheme); err != nil {
			t.Fatal(err)
		}
		cortex := &v1alpha1.MotorCortex{
			ObjectMeta: metav1.ObjectMeta{Namespace: "agents", Name: v1alpha1.CortexName}, Spec: v1alpha1.MotorCortexSpec{Packages: &tt.now},
		}
		e := &Engine{Live: fake.NewClientBuilder().WithScheme(scheme).WithObjects(cortex).Build()}
		hash := strings.TrimPrefix(skill.PackagesHash(&tt.deps, &sources), "sha256:")
		run := &v1alpha1.MotorRun{
			ObjectMeta: metav1.ObjectMeta{Namespace: "agents", Name: "send-packages-" + hash[:12]}, Spec: v1alpha1.MotorRunSpec{Dependencies: &tt.deps},
		}
		args, refused, err := e.installArgs(t.Context(), run)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, args); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if (refused != nil) != (tt.refused != "") || refused != nil && !strings.Contains(refused.Output, tt.refused) {
			t.Errorf("%s is refused with %+v", name, refused)
		}
	}
}
