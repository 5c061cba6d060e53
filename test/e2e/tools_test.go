// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

func TestOutputsAreBoundedAndPathsStayInTheWorkspace(t *testing.T) {
	t.Parallel()
	journal := wantWholeJournal(t, wantCompleted(t, startRun(t, "outputs"), soon))
	if got := answersIn(journal); got != 6 {
		t.Fatalf("the run has %d answers, want 6", got)
	}

	printed := journal[0].Status.Results[0]
	if !printed.OK || len(printed.Output) > toolapi.MaxBashOutputBytes || len(printed.Output) < toolapi.MaxBashOutputBytes/2 ||
		!strings.HasPrefix(printed.OutputFile, toolapi.OutputDir+"/") || !strings.Contains(printed.Output, printed.OutputFile) {
		t.Errorf("1 MB of bash came as %d bytes with the file %q (ok %t)", len(printed.Output), printed.OutputFile, printed.OK)
	}
	data := printed.Output[:len(printed.Output)-int(printed.NoteBytes)]
	if !strings.HasPrefix(data, "100000000\n100000001\n") || !strings.HasSuffix(strings.TrimSpace(data), "\n100111110") {
		t.Errorf("the cut output has not both ends: %.60q … %.60q", data, data[max(0, len(data)-60):])
	}
	if read := journal[1].Status.Results[0]; !read.OK || !strings.HasPrefix(lineNumber.ReplaceAllString(read.Output, ""), "100055554\n100055555\n") {
		t.Errorf("the kept output reads as %.200q (%s)", read.Output, read.ErrorCode)
	}

	coded := journal[2].Status.Results[0]
	if !coded.OK || len(coded.Output) > toolapi.MaxOutputBytes || len(coded.Output) <= toolapi.MaxBashOutputBytes || coded.OutputFile == "" {
		t.Errorf("200 kB of code came as %d bytes with the file %q", len(coded.Output), coded.OutputFile)
	}

	var codes []string
	for _, s := range journal[3:5] {
		for _, r := range s.Status.Results {
			codes = append(codes, r.ErrorCode)
			if strings.Contains(r.Output, "root:") {
				t.Errorf("%s: a file outside of the workspace was read: %s", s.Name, r.Output)
			}
		}
	}
	out := toolapi.CodeOutsideWorkspace
	if diff := cmp.Diff([]string{out, out, out, out, out, "", out, out, ""}, codes); diff != "" {
		t.Errorf("codes of what leads out of the workspace (-want +got):\n%s", diff)
	}
	looked := journal[4].Status.Results[3]
	if !looked.OK || strings.Contains(looked.Output, "out") {
		t.Errorf("something was written outside of the workspace: %s", looked.Output)
	}
}

// What a conversation does not show any more can still be read.
func TestShortenedOutputsAreInFiles(t *testing.T) {
	t.Parallel()
	// The prompt and the first output fill 60 % of such a window, so the first output is cut, and later the second.
	ns := newNamespace(t, "kept")
	must(t, createCortex(t.Context(), ns, v1alpha1.ModelEndpoint{Model: "scripted/kept", BaseURL: modelURL(modelServer), ContextTokens: 9000}))
	run := startRun(t, "kept", inNamespace(ns))
	done := wantCompleted(t, run, soon)
	journal := wantWholeJournal(t, done)
	cut, whole := journal[0].Status.Results[0], journal[1].Status.Results[0]
	if cut.OutputFile == "" || cut.KeptFile != "" || len(cut.Output) > toolapi.MaxBashOutputBytes {
		t.Errorf("200 kB came as %d bytes with the files %q and %q", len(cut.Output), cut.OutputFile, cut.KeptFile)
	}
	if whole.OutputFile != "" || whole.KeptFile != toolapi.OutputPath(whole.CallID) || len(whole.Output) != 8000 {
		t.Errorf("8 kB came as %d bytes with the files %q and %q", len(whole.Output), whole.OutputFile, whole.KeptFile)
	}
	read := journal[5].Status.Results
	if text := lineNumber.ReplaceAllString(read[0].Output, ""); !strings.HasPrefix(text, "1799\n1800\n") {
		t.Errorf("what was shortened reads as %q (%s)", read[0].Output, read[0].ErrorCode)
	}
	if read[1].Output != "23334:33333\n" {
		t.Errorf("in what was cut, grep finds %q (%s)", read[1].Output, read[1].ErrorCode)
	}
	if s := done.Status.Result.Summary; !strings.Contains(s, " of 8000 bytes. All of it is in the workspace file ") || !strings.Contains(s, whole.KeptFile) {
		t.Errorf("the model was shown %q", s)
	}
}

func TestNothingOfAToolOutlivesItsTimeLimit(t *testing.T) {
	t.Parallel()
	done := wantCompleted(t, startRun(t, "timeout"), soon)
	journal := wantWholeJournal(t, done)
	r := journal[0].Status.Results[0]
	if r.OK || r.ErrorCode != toolapi.CodeTimeout || !strings.Contains(r.Output, "before: 2") {
		t.Errorf("the command that takes too long gave %+v", r)
	}
	if r.DurationMilliseconds < 3000 || r.DurationMilliseconds > 8000 {
		t.Errorf("a time limit of 3 s took %d ms", r.DurationMilliseconds)
	}
	if done.Status.Result.Summary != "after: 0" {
		t.Errorf("processes of a call go on after its time limit: %s", done.Status.Result.Summary)
	}
}

func TestAToolThatWasNotGrantedIsRefused(t *testing.T) {
	t.Parallel()
	run := startRun(t, "answer", func(r *v1alpha1.MotorRun) { r.Spec.Tools = []v1alpha1.ToolName{"read"} })
	journal := wantWholeJournal(t, wantCompleted(t, run, soon))
	if r := journal[0].Status.Results[0]; r.OK || r.ErrorCode != toolapi.CodeToolNotGranted {
		t.Errorf("bash was not granted and gave %+v", r)
	}
}
