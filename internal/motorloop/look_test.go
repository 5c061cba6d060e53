// SPDX-License-Identifier: Apache-2.0

package motorloop

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"motorcortex.dev/motorcortex/internal/motorloop/config"
	"motorcortex.dev/motorcortex/internal/motorloop/outcome"
	"motorcortex.dev/motorcortex/internal/motorloop/result"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

func TestClaimedFiles(t *testing.T) {
	t.Parallel()
	for summary, want := range map[string]string{
		"It is in artifacts/report.md.":                   "artifacts/report.md",
		"See ./artifacts/a/b_1.csv, artifacts/c-2.tar.gz": "./artifacts/a/b_1.csv artifacts/c-2.tar.gz",
		"(artifacts/report.md)":                           "artifacts/report.md",
		"`artifacts/report final.md` and 'artifacts/run'": "artifacts/report final.md artifacts/run",
		"artifacts/données.csv is there":                  "artifacts/données.csv",
		"artifacts/report final.md":                       "",
		"artifacts/2026-*.csv and `artifacts/*.md`":       "",
		"artifacts/report(1).pdf, artifacts/a+b.csv":      "",
		"artifacts/out=1.txt":                             "",
		"Files are in artifacts/ and artifacts":           "",
		"myartifacts/a.md is none":                        "",
	} {
		if got := strings.Join(claimedFiles(summary), " "); got != want {
			t.Errorf("%q claims %q, want %q", summary, got, want)
		}
	}
	if n := len(claimedFiles(strings.Repeat("artifacts/a.md ", 100))); n != maxClaimed {
		t.Errorf("%d files are looked for", n)
	}
}

// A demanded file counts as present only if it was seen: an inconclusive look is repeated, and decides nothing.
func TestDemandsAreSeen(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]string{
		toolapi.CodeNotFound: result.CodeNotAccepted, toolapi.CodeOutsideWorkspace: result.CodeNotAccepted, toolapi.CodeInvalidArguments: result.CodeNotAccepted,
		toolapi.CodePermission: result.CodeNotAccepted, toolapi.CodeNotDirectory: result.CodeNotAccepted,
		toolapi.CodeOutcomeUnknown: result.CodeNotFinished, toolapi.CodeCancelled: result.CodeNotFinished, toolapi.CodeKilled: result.CodeNotFinished,
		toolapi.CodeDiskFull: result.CodeNotFinished, toolapi.CodeInternal: result.CodeNotFinished, toolapi.CodeUnknownTool: result.CodeNotFinished, toolapi.CodeTimeout: result.CodeNotFinished,
	} {
		for _, file := range []string{"artifacts/report.md", "dist/*.whl"} {
			w := newCallingWorld(t, config.Config{Accept: config.Acceptance{Files: []string{file}}}, func(toolapi.Call) toolapi.Result { return toolapi.Result{ErrorCode: code} },
				says("", finish(toolapi.FinishSucceeded, "Done.")), says("", finish(toolapi.FinishFailed, "No.")))
			mustRun(t, w, nil)
			if got := w.journal.load()[0].Results[0]; got.ErrorCode != want {
				t.Errorf("%s, where the sandbox says %s: %+v", file, code, got)
			}
		}
	}
}

// A file with the name of a folder contains nothing.
func TestNothingIsBelowAFile(t *testing.T) {
	t.Parallel()
	w := newCallingWorld(t, config.Config{Accept: config.Acceptance{Files: []string{"artifacts/report.md"}}}, inWorkspace("artifacts"),
		says("", finish(toolapi.FinishSucceeded, "Done.", "artifacts")), says("", finish(toolapi.FinishPartial, "Half.", "artifacts/a/b")), says("", finish(toolapi.FinishFailed, "No.")))
	mustRun(t, w, nil)
	for i, turn := range w.journal.load()[:2] {
		if got := turn.Results[0]; got.ErrorCode != result.CodeNotAccepted {
			t.Errorf("call %d came to %+v", i, got)
		}
	}
}

func TestLooksAreMadeAgain(t *testing.T) {
	t.Parallel()
	n := 0
	w := newCallingWorld(t, config.Config{Tools: []string{}}, func(c toolapi.Call) toolapi.Result {
		if n++; n < 3 {
			return toolapi.Result{ErrorCode: toolapi.CodeCancelled}
		}
		var args toolapi.ListArgs
		if err := json.Unmarshal(c.Arguments, &args); err != nil || args.Path != "a" {
			return toolapi.Result{ErrorCode: toolapi.CodeNotFound}
		}
		return toolapi.Result{OK: true}
	}, says("", finish(toolapi.FinishSucceeded, "Done.", "a")))
	if out := mustRun(t, w, nil); out.Kind != outcome.Completed {
		t.Errorf("got %+v", out)
	}
	if d := cmp.Diff([]string{"a1-s1-c0-f0", "a1-s1-c0-f0-r1", "a1-s1-c0-f0-r2"}, w.sandbox.executedIDs()); d != "" {
		t.Error(d)
	}
}
