// SPDX-License-Identifier: Apache-2.0

package runpolicy

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/text"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

func installMode(run *v1alpha1.MotorRun) { run.Spec.Mode = v1alpha1.ModeInstall }

func installRun(causes ...v1alpha1.AttemptCause) *v1alpha1.MotorRun {
	run := withAttempts(testRun(), causes...)
	run.Spec.MaxAttempts = 3 // It counts for nothing.
	installMode(run)
	return run
}

// installed adds the result of the call.
func installed(code, output string) stepOption {
	return func(s *v1alpha1.MotorStep) {
		done(toolapi.ToolInstall, code == "", 5, output)(s)
		s.Status.Results[0].ErrorCode = code
	}
}

func TestInstallEnds(t *testing.T) {
	t.Parallel()
	archive := &v1alpha1.PackageArchive{ConfigMapNames: []string{"a-0", "a-1"}, SHA256: strings.Repeat("0a", 32), Size: 7}
	tests := map[string]struct {
		step            v1alpha1.MotorStep
		phase           v1alpha1.RunPhase
		reason, message string
		packages        *v1alpha1.PackageArchive
	}{
		"installed": {
			testStep(1, 1, installed("", text.JSON(toolapi.Installed{ConfigMaps: archive.ConfigMapNames, SHA256: archive.SHA256, Size: 7, Packages: []string{"npm a@1"}}))),
			v1alpha1.PhaseCompleted, "Completed", "The packages are installed.", archive,
		},
		"failed": {
			testStep(1, 1, installed("install_failed", "npm ended with status 1:\nnpm error 404\x07")),
			v1alpha1.PhaseFailed, "InstallFailed", "The packages could not be installed: npm ended with status 1: npm error 404\uFFFD", nil,
		},
		"a long story": {
			testStep(1, 1, installed("install_failed", strings.Repeat("<", 5000))),
			v1alpha1.PhaseFailed, "InstallFailed", "The packages could not be installed: " + strings.Repeat("<", 132) + "…", nil,
		},
		"nothing stored": {
			testStep(1, 1, installed("", `{"sha256":"00"}`)),
			v1alpha1.PhaseFailed, "InstallFailed", "The packages could not be installed: the record of the call does not say where they are.", nil,
		},
		"nobody knows": {
			testStep(1, 1, installed("outcome_unknown", "")), v1alpha1.PhaseFailed, "InstallFailed",
			"The packages could not be installed: the sandbox's tool server ended meanwhile, each time that it was started. They may need more memory than the sandbox has.", nil,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := installRun(v1alpha1.CauseFirst)
			p := ReadJournal(run, []v1alpha1.MotorStep{tt.step})
			if diff := cmp.Diff(tt.packages, p.Packages); diff != "" {
				t.Errorf("packages (-want +got):\n%s", diff)
			}
			d := Decide(Observation{Run: run, Progress: p}, after(20*time.Second))
			if d.End == nil || d.End.Phase != tt.phase || d.End.Reason != tt.reason || d.End.Message != tt.message {
				t.Errorf("the end is %+v", d.End)
			}
		})
	}
}

// A run without a result goes on, and if its sandbox is lost, in another one: no person is asked.
func TestInstallInFlight(t *testing.T) {
	t.Parallel()
	run := installRun(v1alpha1.CauseFirst)
	p := ReadJournal(run, []v1alpha1.MotorStep{testStep(1, 1, call(toolapi.ToolInstall, `{}`))})
	if d := Decide(Observation{Run: run, Progress: p}, after(20*time.Second)); d.End != nil || p.Pending != nil || len(p.Unknown) > 0 {
		t.Errorf("decision %+v, progress %+v", d, p)
	}
	d := Decide(Observation{Run: run, Progress: p, SandboxGone: true}, after(20*time.Second))
	if d.Next == nil || d.Next.Cause != v1alpha1.CauseInfrastructure || !d.Next.NewSandbox {
		t.Errorf("decision %+v", d)
	}
	if why := reasonOf(&v1alpha1.MotorRun{Spec: v1alpha1.MotorRunSpec{Mode: v1alpha1.ModeInstall, Approval: &v1alpha1.RunApproval{Required: v1alpha1.ApprovalAlways}}}, toolapi.ToolInstall, "{}"); why != "" {
		t.Errorf("a person is asked: %s", why)
	}
}

func TestInstallIsNobodysTurn(t *testing.T) {
	t.Parallel()
	other := queueRun("a", 0, accepted)
	if turn := TakeTurn(new(queueRun("me", time.Second, installMode)), bound(1, v1alpha1.BusyReject), []v1alpha1.MotorRun{other}, t0, after(time.Second)); turn.Verdict != Admit {
		t.Errorf("it is told %+v", turn)
	}
	holder := queueRun("b", 0, accepted, installMode)
	if HoldsPlace(&holder) || WaitsForPlace(new(queueRun("c", 0, installMode))) {
		t.Error("it takes a place")
	}
}

func TestInstallIsKeptForAnHour(t *testing.T) {
	t.Parallel()
	keep := v1alpha1.Retention{FailedSeconds: new(int32(9)), SucceededSeconds: new(int32(9)), MaxFailed: new(int32(0)), MaxSucceeded: new(int32(0))}
	for name, tt := range map[string]struct {
		options []runOption
		want    time.Duration
	}{
		"succeeded": {[]runOption{succeeded}, time.Hour}, "failed": {nil, time.Hour}, "says itself": {[]runOption{ttl(7)}, 7 * time.Second},
	} {
		run := endedRun("r", time.Second, append(tt.options, installMode)...)
		if got := RemoveAt(&run, keep, []v1alpha1.MotorRun{run}, Archiving{}).Sub(after(time.Second)); got != tt.want {
			t.Errorf("%s: kept for %s", name, got)
		}
	}
}
