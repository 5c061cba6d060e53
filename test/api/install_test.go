// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cortex"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/text"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// newInstallRig is a rig with a run that installs packages, and a proxy.
func newInstallRig(t *testing.T) *rig {
	t.Helper()
	r := emptyRig(t)
	r.proxy()
	sk := &v1alpha1.Skill{ObjectMeta: meta(r.ns, "send")}
	must(t, admin.Create(r.ctx, sk))
	r.create(manager, installing(sk), func(run *v1alpha1.MotorRun) { run.Name = "run" })
	// It needs no model.
	r.rec.Models = cortex.Resolver{Cortex: manager, Secrets: manager}
	return r
}

// installed has the engine install the packages, or begin with it if there is no result.
func (r *rig) installed(res *toolapi.Result) {
	r.t.Helper()
	attempts := r.run().Status.Attempts
	id := turn.CallID(attempts[len(attempts)-1].Index, 1, 0)
	r.said(&turn.Turn{
		Index: 1, Calls: []turn.Call{{ID: id, ModelID: id, Tool: toolapi.ToolInstall, Arguments: `{}`}}, Results: []*toolapi.Result{res},
	})
}

func TestInstallRun(t *testing.T) {
	archive := &v1alpha1.PackageArchive{ConfigMapNames: []string{"send-packages-0123456789ab-0"}, SHA256: strings.Repeat("0a", 32), Size: 100}
	done := text.JSON(toolapi.Installed{ConfigMaps: archive.ConfigMapNames, SHA256: archive.SHA256, Size: archive.Size, Packages: []string{"npm tiny@1.0.0"}})
	failed := func(code, output string) *toolapi.Result {
		return &toolapi.Result{ErrorCode: code, Output: output, Provenance: toolapi.ProvenanceWeb, DurationMs: 7}
	}
	tests := map[string]struct {
		result   *toolapi.Result
		phase    v1alpha1.RunPhase
		reason   string
		packages *v1alpha1.PackageArchive
		says     string
	}{
		"installed": {okResult(done, 7), v1alpha1.PhaseCompleted, "Completed", archive, "The packages are installed."},
		"failed": {
			failed(toolapi.CodeInstallFailed, "npm ended with status 1:\nnpm error \x1b[31m404"), v1alpha1.PhaseFailed, "InstallFailed", nil,
			"The packages could not be installed: npm ended with status 1: npm error \uFFFD[31m404",
		},
		"too large": {failed(toolapi.CodeInstallTooLarge, "more than 20 MiB"), v1alpha1.PhaseFailed, "InstallFailed", nil, "more than 20 MiB"},
		"unknown":   {failed(toolapi.CodeOutcomeUnknown, ""), v1alpha1.PhaseFailed, "InstallFailed", nil, "more memory"},
		"no record": {okResult("{}", 7), v1alpha1.PhaseFailed, "InstallFailed", nil, "does not say where they are"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := newInstallRig(t)
			r.ready()
			r.want(v1alpha1.PhaseRunning, "Accepted True Accepted", "EgressReady True Granted", "AwaitingInput False NothingAsked")
			if m := r.run().Status.Message; m != "Installing the packages." {
				t.Errorf("message %q", m)
			}
			if r.domains() != "npm.example.org" {
				t.Errorf("domains %s", r.domains())
			}
			r.installed(tt.result)
			r.now = r.now.Truncate(time.Second)
			r.step()
			run := r.wantEnd(tt.phase, tt.reason)
			if diff := cmp.Diff(tt.packages, run.Status.Result.Packages); diff != "" {
				t.Errorf("packages (-want +got):\n%s", diff)
			}
			if !strings.Contains(run.Status.Result.Summary, tt.says) {
				t.Errorf("summary %q", run.Status.Result.Summary)
			}
			if n := len(run.Status.Attempts); n != 1 {
				t.Errorf("%d attempts", n)
			}
			if wait := r.once().RequeueAfter.Round(time.Second); wait != time.Hour {
				t.Errorf("looks again after %s", wait)
			}
		})
	}
}

// The bounds of the namespace hold for it too, and nobody's place is taken by it.
func TestInstallRunInItsNamespace(t *testing.T) {
	r := newInstallRig(t)
	must(t, admin.Create(r.ctx, &v1alpha1.MotorCortex{ObjectMeta: meta(r.ns, v1alpha1.CortexName), Spec: v1alpha1.MotorCortexSpec{
		Egress: &v1alpha1.EgressBounds{AllowedDomains: []v1alpha1.Domain{"other.example.org"}}, Concurrency: &v1alpha1.Concurrency{MaxActive: 1, WhenBusy: v1alpha1.BusyReject},
	}}))
	r.wantBlocked("Accepted", "DomainNotAllowed", "npm.example.org is not within spec.egress.allowedDomains")
	must(t, mergePatch(r.ctx, &v1alpha1.MotorCortex{ObjectMeta: meta(r.ns, v1alpha1.CortexName)}, `{"spec":{"egress":null}}`))
	install := r.key
	r.create(admin, func(run *v1alpha1.MotorRun) { run.Name = "first" })
	r.rec.Models = cortex.Resolver{Cortex: manager, Secrets: manager, Default: cortex.Endpoint{BaseURL: "http://model.example.org/v1", Model: "model-0"}}
	r.once()
	r.want(v1alpha1.PhaseCreated, "Accepted True Accepted")
	r.key = install
	r.once()
	r.want(v1alpha1.PhaseCreated, "Accepted True Accepted")
}

// A run that has packages of a skill has them in its Pod, and the API server takes it.
func TestSandboxWithPackages(t *testing.T) {
	r := newRig(t)
	before := r.run()
	run := before.DeepCopy()
	run.Status.Skill = &v1alpha1.RunSkill{Name: "send", RevisionName: "send-0", ContentHash: "sha256:0", Packages: &v1alpha1.PackageArchive{
		ConfigMapNames: []string{"send-packages-0123456789ab-0", "send-packages-0123456789ab-1"}, SHA256: strings.Repeat("0a", 32), Size: 100,
	}}
	must(t, manager.Status().Patch(r.ctx, run, client.MergeFrom(before)))
	r.ready()
	pod := r.pod()
	if len(pod.Spec.InitContainers) != 1 || pod.Spec.Volumes[len(pod.Spec.Volumes)-1].Projected == nil {
		t.Errorf("the Pod is %+v", pod.Spec)
	}
	// Another leader finds the Pod that it would make.
	r.want(v1alpha1.PhaseRunning, "SandboxReady True SandboxReady")
	must(t, client.IgnoreNotFound(admin.Get(r.ctx, client.ObjectKeyFromObject(pod), &corev1.Pod{})))
}
