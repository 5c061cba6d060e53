// SPDX-License-Identifier: Apache-2.0

package attempt

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/engine/enginetest"
	"motorcortex.dev/motorcortex/internal/engine/runenv"
	"motorcortex.dev/motorcortex/internal/skill"
	"motorcortex.dev/motorcortex/internal/text"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// The sandbox gets the sources of the namespace that the packages need, and none that did not exist when the run was made.
func TestInstallArgs(t *testing.T) {
	t.Parallel()
	apt := v1alpha1.AptSource{URL: "https://deb.example.org", Suite: "stable", Components: []string{"main"}, Keyring: "a key"}
	sources := v1alpha1.PackageSources{NPM: "https://npm.example.org", Apt: &apt, CABundle: "an authority"}
	otherKey := *sources.DeepCopy()
	otherKey.Apt.Keyring = "another key"
	for name, tt := range map[string]struct {
		deps    v1alpha1.SkillDependencies
		now     v1alpha1.PackageSources
		want    toolapi.InstallArgs
		refused string
	}{
		"apt": {
			deps: v1alpha1.SkillDependencies{Apt: []string{"jq=1.7"}}, now: sources,
			want: toolapi.InstallArgs{Apt: []string{"jq=1.7"}, AptSource: "https://deb.example.org stable main", AptKeyring: "a key", CABundle: "an authority"},
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
		live := fake.NewClientBuilder().WithScheme(scheme).WithObjects(cortex).Build()
		hash := strings.TrimPrefix(skill.PackagesHash(&tt.deps, &sources), "sha256:")
		run := &v1alpha1.MotorRun{
			ObjectMeta: metav1.ObjectMeta{Namespace: "agents", Name: "send-packages-" + hash[:12]}, Spec: v1alpha1.MotorRunSpec{Dependencies: &tt.deps},
		}
		args, refused, err := installArgs(t.Context(), live, run)
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

// archiveSandbox is a tool server whose only file is the archive of what it installed.
type archiveSandbox struct{ content string }

func (s archiveSandbox) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer := any(toolapi.Hello{PodUID: "pod", APIVersion: toolapi.APIVersion, Features: toolapi.Features()})
	if strings.HasPrefix(r.URL.Path, toolapi.PathArtifacts+"/") {
		answer = toolapi.Chunk{Content: []byte(s.content), Size: int64(len(s.content))}
	}
	_ = json.NewEncoder(w).Encode(answer)
}

// A loop stores packages only with a permit and the Lease, and has a bounded time for it.
func TestLoopsWaitToStorePackages(t *testing.T) {
	t.Parallel()
	const content = "an archive"
	run := enginetest.ReadyRun()
	run.OwnerReferences = []metav1.OwnerReference{
		*metav1.NewControllerRef(&v1alpha1.Skill{ObjectMeta: metav1.ObjectMeta{Name: "mail", UID: "skill-uid"}}, v1alpha1.GroupVersion.WithKind("Skill")),
	}
	var last time.Duration
	c := interceptor.NewClient(fake.NewClientBuilder().WithScheme(enginetest.Scheme(t)).Build(), interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			until, ok := ctx.Deadline()
			if !ok {
				until = time.Now().Add(24 * time.Hour)
			}
			last = max(last, time.Until(until))
			return c.Create(ctx, o, opts...)
		},
	})
	env, lease := enginetest.Env(t, c, run, time.Now), &enginetest.Lease{}
	env.Lease = lease
	tools := installTools{env: env, client: enginetest.ToolsAt(t, archiveSandbox{content})}
	store := func(ctx context.Context) error {
		said := toolapi.InstallResult{SHA256: toolapi.SHA256([]byte(content)), Size: int64(len(content))}
		got, err := tools.store(ctx, toolapi.Result{OK: true, Output: text.JSON(said)})
		if err == nil && !got.OK {
			err = errors.New(got.Output)
		}
		return err
	}
	stored := func() bool {
		var parts corev1.ConfigMapList
		if err := c.List(t.Context(), &parts, client.MatchingLabels{v1alpha1.LabelComponent: v1alpha1.ComponentPackages}); err != nil {
			t.Fatal(err)
		}
		return len(parts.Items) > 0
	}
	s := &env.Limits.Collecting
	release := enginetest.Fill(t, s, runenv.MaxCollecting)

	why := errors.New("the run is over")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	if err := store(ctx); !errors.Is(err, why) || stored() {
		t.Errorf("without a permit: %v", err)
	}
	wait := func(then func()) error {
		return enginetest.WhileWaiting(s, runenv.MaxCollecting, func() error { return store(t.Context()) }, then)
	}
	if err := wait(func() { lease.Lose(true); release() }); !errors.Is(err, runenv.ErrNoLease) || stored() {
		t.Errorf("without the Lease: %v", err)
	}
	lease.Lose(false)
	release, err := s.Acquire(t.Context(), "last", runenv.MaxCollecting)
	if err != nil {
		t.Fatal(err)
	}
	if err := wait(release); err != nil || !stored() {
		t.Errorf("with a permit: %v", err)
	}
	if last <= 0 || last > time.Minute {
		t.Errorf("it may keep its permit for %v", last)
	}
	if n := s.Len(); n != runenv.MaxCollecting-1 {
		t.Errorf("of %d others %d are left", runenv.MaxCollecting-1, n)
	}
}
