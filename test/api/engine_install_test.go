// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/engine"
	"motorcortex.dev/motorcortex/internal/engine/attempt"
	"motorcortex.dev/motorcortex/internal/runpolicy"
	"motorcortex.dev/motorcortex/internal/skill"
	skillstore "motorcortex.dev/motorcortex/internal/skill/store"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// installing makes a run that installs packages for a skill.
func installing(sk *v1alpha1.Skill) func(*v1alpha1.MotorRun) {
	return func(run *v1alpha1.MotorRun) {
		hash := skill.PackagesHash(&v1alpha1.SkillDependencies{NPM: []string{"tiny@1.0.0"}}, &v1alpha1.PackageSources{NPM: "https://npm.example.org/"})
		run.Name = "send-packages-" + strings.TrimPrefix(hash, "sha256:")[:12]
		run.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(sk, v1alpha1.GroupVersion.WithKind("Skill"))}
		run.Spec = v1alpha1.MotorRunSpec{
			Mode: v1alpha1.ModeInstall, Dependencies: &v1alpha1.SkillDependencies{NPM: []string{"tiny@1.0.0"}}, Domains: []v1alpha1.Domain{"npm.example.org"},
			MaxAttempts: 1, Limits: v1alpha1.RunLimits{ActiveDeadlineSeconds: 600},
		}
	}
}

// npmSays is a program in npm's place, which installs one file or fails.
const npmSays = `#!/bin/bash
env > "$(dirname "$0")/environment"
[ -e "$(dirname "$0")/fails" ] && { echo "npm error 404 Not Found"; exit 1; }
while [ "$1" != --prefix ]; do shift; done
mkdir -p "$2/node_modules/tiny"
echo "module.exports = 42" > "$2/node_modules/tiny/index.js"
`

// installRig is an engine rig with a run of mode Install, whose npm is a stand-in.
func installRig(t *testing.T) *engineRig {
	t.Helper()
	r := newEngineRig(t, &stubModel{})
	must(t, admin.Delete(r.ctx, r.run))
	ns := r.run.Namespace
	r.killSandbox()
	r.path = t.TempDir()
	must(t, os.WriteFile(filepath.Join(r.path, "npm"), []byte(npmSays), 0o755))
	r.restartSandbox()
	sk := &v1alpha1.Skill{ObjectMeta: meta(ns, "send")}
	must(t, admin.Create(r.ctx, sk))
	must(t, admin.Create(r.ctx, &v1alpha1.MotorCortex{ObjectMeta: meta(ns, v1alpha1.CortexName), Spec: v1alpha1.MotorCortexSpec{
		Packages: &v1alpha1.PackageSources{NPM: "https://npm.example.org/"},
	}}))
	r.run = newRun(ns, installing(sk))
	must(t, manager.Create(r.ctx, r.run))
	r.giveTo("worker-1", 1)
	proxy := newStubProxy(r)
	r.writeGrant(r.grantOf(1))
	r.showEgress(proxy.address, 1, "npm.example.org")
	return r
}

func (r *engineRig) wantPackages(p runpolicy.Progress) {
	r.t.Helper()
	if p.Packages == nil || p.Failure != nil || p.Final == nil {
		r.t.Fatalf("packages %+v, failure %+v", p.Packages, p.Failure)
	}
	for _, name := range p.Packages.ConfigMapNames {
		cm := &corev1.ConfigMap{}
		must(r.t, admin.Get(r.ctx, client.ObjectKey{Namespace: r.run.Namespace, Name: name}, cm))
		owner := metav1.GetControllerOf(cm)
		if !strings.HasPrefix(name, "send-packages-") || owner == nil || owner.Kind != "Skill" || owner.Name != "send" || cm.Labels[v1alpha1.LabelComponent] != v1alpha1.ComponentPackages {
			r.t.Errorf("%s has the owner %+v and the labels %v", name, owner, cm.Labels)
		}
	}
	content, err := skillstore.ReadChunks(r.ctx, admin, r.run.Namespace, p.Packages.ConfigMapNames, metav1.GetControllerOf(r.run).UID)
	must(r.t, err)
	own, err := os.ReadFile(filepath.Join(r.workspace, toolapi.InstallArchive))
	must(r.t, err)
	if !bytes.Equal(content, own) || int64(len(own)) != p.Packages.Size {
		r.t.Errorf("%d bytes are stored, and the sandbox has %d", len(content), len(own))
	}
}

func TestEngineInstallsPackages(t *testing.T) {
	r := installRig(t)
	log, _ := r.startEgressEngine("worker-1")
	p, step := r.came()
	r.wantPackages(p)
	if c := step.Spec.ToolCalls; len(c) != 1 || c[0].Arguments != `{"npm":["tiny@1.0.0"],"npmRegistry":"https://npm.example.org/"}` || step.Spec.Tools != "install" {
		t.Errorf("the step is %+v", step.Spec)
	}
	if step.Spec.Sandbox == nil || step.Spec.Sandbox.IsolationTries < 3 {
		t.Errorf("the sandbox is %+v", step.Spec.Sandbox)
	}
	var done toolapi.Installed
	must(t, json.Unmarshal([]byte(resultIn(t, step.Status.Results, 0).Output), &done))
	want := toolapi.Installed{ConfigMaps: p.Packages.ConfigMapNames, SHA256: p.Packages.SHA256, Size: p.Packages.Size}
	if diff := cmp.Diff(want, done); diff != "" {
		t.Errorf("recorded (-want +got):\n%s", diff)
	}
	env, err := os.ReadFile(filepath.Join(r.path, "environment"))
	if err != nil || !strings.Contains(string(env), "HTTPS_PROXY=http://127.0.0.1:") || strings.Contains(string(env), r.token(1)) {
		t.Errorf("npm was not told of the relay, or of the token (%v)", err)
	}
	if strings.Contains(log.String(), r.token(1)) {
		t.Error("the log has the token")
	}
}

func TestEngineDoesNotInstall(t *testing.T) {
	tests := map[string]struct {
		change func(*engineRig)
		says   string
	}{
		"npm fails": {func(r *engineRig) { must(r.t, os.WriteFile(filepath.Join(r.path, "fails"), nil, 0o600)) }, "npm error 404 Not Found"},
		"other sources": {func(r *engineRig) {
			must(r.t, mergePatch(r.ctx, &v1alpha1.MotorCortex{ObjectMeta: meta(r.run.Namespace, v1alpha1.CortexName)}, `{"spec":{"packages":null}}`))
		}, "spec.packages of the namespace's MotorCortex has changed since the run was made"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := installRig(t)
			tt.change(r)
			r.startEgressEngine("worker-1")
			p, _ := r.came()
			if p.Packages != nil || p.Failure == nil || p.Failure.Reason != v1alpha1.ReasonInstallFailed || !strings.Contains(p.Failure.Message, tt.says) {
				t.Errorf("packages %+v, failure %+v", p.Packages, p.Failure)
			}
		})
	}
}

// Wherever the holder of the run is killed, the next one stores the same, once.
func TestEngineKilledWhileItInstalls(t *testing.T) {
	t.Parallel()
	for _, point := range []attempt.FaultPoint{attempt.AfterIntent, attempt.AfterResult, attempt.AfterSettle} {
		t.Run(string(point), func(t *testing.T) {
			r := installRig(t)
			r.await(r.startDoomed("worker-1", point, 1, func(e *engine.Engine) { e.Config.Sandbox.EgressKey = egressKey }))
			r.giveTo("worker-2", 2)
			r.startEgressEngine("worker-2")
			p, step := r.came()
			r.wantPackages(p)
			var all corev1.ConfigMapList
			must(t, admin.List(r.ctx, &all, client.InNamespace(r.run.Namespace), client.MatchingLabels{v1alpha1.LabelComponent: v1alpha1.ComponentPackages}))
			var names []string
			for i := range all.Items {
				names = append(names, all.Items[i].Name)
			}
			if slices.Sort(names); !slices.Equal(names, p.Packages.ConfigMapNames) || len(step.Status.Unknown) > 0 {
				t.Errorf("there are %v, and the run has %v; unknown %v", names, p.Packages.ConfigMapNames, step.Status.Unknown)
			}
		})
	}
}
