// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e_test

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// startSample starts the run of a sample, whose model plays the script of that name.
func startSample(t *testing.T, name string, change ...func(*v1alpha1.MotorRun)) *v1alpha1.MotorRun {
	t.Helper()
	var sample v1alpha1.MotorRun
	readSample(t, name, &sample)
	run := newRun(name, func(r *v1alpha1.MotorRun) {
		model := r.Spec.Model
		r.Spec = *sample.Spec.DeepCopy()
		r.Spec.MaxAttempts = 1
		if r.Spec.Mode != v1alpha1.ModeOneshot {
			r.Spec.Model = model
		}
	})
	for _, c := range change {
		c(run)
	}
	must(t, suite.client.Create(t.Context(), run))
	watchOver(t, run)
	return run
}

// readSample reads the object of a sample.
func readSample(t *testing.T, name string, into any) {
	t.Helper()
	must(t, yaml.UnmarshalStrict([]byte(readFile(t, filepath.Join(samples, name+".yaml"))), into))
}

// codesOf returns the error codes of all calls of a run but those of finish, "" for those that succeeded.
func codesOf(journal []v1alpha1.MotorStep) []string {
	var codes []string
	for _, s := range journal {
		for _, r := range s.Status.Results {
			ends := func(c v1alpha1.ToolCall) bool { return c.ID == r.CallID && c.Tool == toolapi.ToolFinish }
			if !slices.ContainsFunc(s.Spec.ToolCalls, ends) {
				codes = append(codes, r.ErrorCode)
			}
		}
	}
	return codes
}

func TestSampleProgramming(t *testing.T) {
	t.Parallel()
	done := wantCompleted(t, startSample(t, "programming"), soon)
	journal := wantWholeJournal(t, done)
	want := []string{"", "exit_1", "", "", "", "", "", toolapi.CodeCommandNotAllowed, "", ""}
	// The two checks.
	want = append(want, "", "")
	if got := codesOf(journal); !slices.Equal(got, want) {
		t.Errorf("codes %q, want %q", got, want)
	}
	if checks := journal[len(journal)-2]; !checks.Spec.Checks || !strings.Contains(checks.Status.Results[0].Output, "Ran 3 tests") {
		t.Errorf("the checks are %+v", checks)
	}
	if !strings.Contains(done.Status.Result.Summary, "2 files changed") {
		t.Errorf("summary %q", done.Status.Result.Summary)
	}
	wantArtifact(t, done, "artifacts/report.md", "The loop assigned each price instead of adding it.\n")
	if seen := journal[1].Status.Results[0].Output; !strings.Contains(seen, "result") || !strings.Contains(seen, "cart.py") {
		t.Errorf("grep shows %q", seen)
	}
}

func TestSampleOneshot(t *testing.T) {
	t.Parallel()
	done := wantCompleted(t, startSample(t, "oneshot"), soon)
	if got, want := done.Status.Result.Value, `{"ok":true,"value":{"capital":1357.02},"console":"compounding yearly\n"}`; regexp.MustCompile(`,"durationMs":[0-9]+`).ReplaceAllString(got, "") != want {
		t.Errorf("value %s, want %s", got, want)
	}
	if done.Status.Model != "" || done.Status.Usage.TotalTokens != 0 {
		t.Errorf("a model was asked: %s, %+v", done.Status.Model, done.Status.Usage)
	}
}

func TestSampleMCP(t *testing.T) {
	t.Parallel()
	done := wantCompleted(t, startSample(t, "mcp"), soon)
	if got := done.Status.Result.Summary; got != "160.934 km" {
		t.Errorf("summary %q", got)
	}
	journal := wantWholeJournal(t, done)
	if r := journal[0].Status.Results[0]; r.Provenance != "Web" {
		t.Errorf("the result of an MCP server counts as %s", r.Provenance)
	}
	if pins := journal[0].Spec.Sandbox.MCP; len(pins) != 1 || pins[0].Server != "units" || !strings.HasPrefix(pins[0].Digest, "sha256:") {
		t.Errorf("pins %+v", pins)
	}
}

func TestSampleRetry(t *testing.T) {
	t.Parallel()
	var sample v1alpha1.MotorRun
	readSample(t, "retry", &sample)
	run := startRun(t, "fails", func(r *v1alpha1.MotorRun) {
		model := r.Spec.Model
		r.Spec = *sample.Spec.DeepCopy()
		r.Spec.Model, r.Spec.Task = model, "fails"
	})
	asked := wantRetryQuestion(t, run, 1)
	if got, want := asked.Status.Pending().ExpirationTime.Sub(attemptAt(t, asked, 1).CompletionTime.Time), 30*time.Minute; got < want || got > want+soon {
		t.Errorf("the run waits for %s, want %s", got, want)
	}
	retry(t, run, 1, "use port 8080")
	if s := wantCompleted(t, run, soon).Status.Result.Summary; s != "It worked. I was told: use port 8080" {
		t.Errorf("summary %q", s)
	}
}
