// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// awaitProgram waits until the journal says so of what the first call of the run left in the background.
func awaitProgram(t *testing.T, run *v1alpha1.MotorRun, state v1alpha1.ProgramState) v1alpha1.StepProgram {
	t.Helper()
	var found v1alpha1.StepProgram
	watched := []client.ListOption{client.InNamespace(run.Namespace), client.MatchingLabels{v1alpha1.LabelRun: run.Name}}
	err := await(t.Context(), soon, &v1alpha1.MotorStepList{}, watched, func(ctx context.Context) (bool, error) {
		list, err := steps(ctx, run)
		for i := range list {
			if p := list[i].Status.Background; len(p) == 1 && p[0].State == state {
				found = p[0]
				return true, nil
			}
		}
		return false, err
	})
	if err != nil {
		t.Fatalf("the program in the background does not become %s: %v", state, err)
	}
	return found
}

// A run that is suspended has nothing in its background, and its model is told so when it goes on.
func TestASuspendedRunHasNothingInItsBackground(t *testing.T) {
	t.Parallel()
	run := startRun(t, "background-ask")
	asked := awaitQuestion(t, run)
	awaitCommand(t, asked)
	awaitProgram(t, run, v1alpha1.ProgramRunning)
	suspend(t, run)
	if p := awaitProgram(t, run, v1alpha1.ProgramStopped); p.Reason != toolapi.StoppedSuspended || p.CompletionTime == nil {
		t.Errorf("the program was ended as %+v", p)
	}
	ticks := "wc -l < /workspace/ticks"
	before := inSandbox(t, asked, ticks)
	// Five times what lies between two ticks.
	if after := inSandbox(t, asked, "sleep 1; "+ticks); after != before || strings.TrimSpace(before) == "0" {
		t.Errorf("while the run was suspended, %s ticks became %s", before, after)
	}
	resume(t, run)
	respond(t, run, asked.Status.Pending().ID, "yes")
	done := wantCompleted(t, run, soon)
	if s := done.Status.Result.Summary; !strings.Contains(s, "yes") || !strings.Contains(s, "does not run any more: it was ended when the run was suspended") {
		t.Errorf("the model was told %q", s)
	}
	wantWholeJournal(t, done)
}

// Programs of MCP servers run between calls, too.
func TestASuspendedRunHasNoProgramsOfMCPServers(t *testing.T) {
	t.Parallel()
	run := startRun(t, "mcp-ask", func(r *v1alpha1.MotorRun) {
		r.Spec.Tools = []v1alpha1.ToolName{toolapi.ToolRead}
		r.Spec.MCPServers = []v1alpha1.MCPServer{{Name: "beats", Command: []string{"python3", "beats.py"}, Tools: []string{"count"}}}
		r.Spec.Files = []v1alpha1.InputFile{{Path: "beats.py", Content: new(beatingServer)}}
	})
	asked := awaitQuestion(t, run)
	size := "stat -c %s /workspace/beats"
	inSandbox(t, asked, "a=$("+size+"); until [ $("+size+") -gt $a ]; do sleep 0.05; done")
	suspend(t, run)
	// It is written to every 50 ms.
	inSandbox(t, asked, "for i in $(seq 60); do a=$("+size+"); sleep 1; [ $("+size+") = $a ] && exit 0; done; exit 1")
	resume(t, run)
	respond(t, run, asked.Status.Pending().ID, "yes")
	done := wantCompleted(t, run, soon)
	if s := done.Status.Result.Summary; !strings.Contains(s, "the MCP server beats was ended when the run was suspended") || !strings.Contains(s, "counted 1\n") {
		t.Errorf("the model was told %q", s)
	}
	wantWholeJournal(t, done)
}

// beatingServer is an MCP server that counts its calls in memory, and writes to a file for as long as it lives.
const beatingServer = `
import json, sys, threading, time

def beat():
    while True:
        with open("beats", "a") as f:
            f.write("x")
        time.sleep(0.05)

threading.Thread(target=beat, daemon=True).start()
calls = 0

def answer(method, params):
    global calls
    if method == "initialize":
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "beats", "version": "1"}}
    if method == "tools/list":
        return {"tools": [{"name": "count", "description": "Counts.", "inputSchema": {"type": "object"}}]}
    if method == "tools/call":
        calls += 1
        return {"content": [{"type": "text", "text": "counted %d" % calls}]}
    return {}

for line in sys.stdin:
    request = json.loads(line)
    if "id" in request:
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": answer(request["method"], request.get("params", {}))}), flush=True)
`

// A program in the background that is lost with its Pod is an open effect: another attempt begins when a person asks for it.
func TestAProgramThatIsLostWithItsSandbox(t *testing.T) {
	t.Parallel()
	run := startRun(t, "background-ask", withAttempts(2))
	awaitCommand(t, awaitQuestion(t, run))
	awaitProgram(t, run, v1alpha1.ProgramRunning)
	deleteSandbox(t, run)
	asked := wantRetryQuestion(t, run, 1)
	if q := asked.Status.Pending().Question; !strings.Contains(q, "bash") || !strings.Contains(q, "touch started") {
		t.Errorf("the question does not say what was lost: %s", q)
	}
	if f := attemptAt(t, asked, 1).Failure; f == nil || f.Reason != v1alpha1.ReasonSandboxLost {
		t.Errorf("the attempt ended with %+v", f)
	}
	retry(t, run, 1, "")
	again := awaitRun(t, run, soon, "the question of another attempt", func(r *v1alpha1.MotorRun) bool {
		return r.Status.Pending() != nil && r.Status.Pending().Kind == v1alpha1.InputQuestion && strings.HasPrefix(r.Status.Pending().ID, "a2-")
	})
	respond(t, run, again.Status.Pending().ID, "yes")
	done := wantCompleted(t, run, soon)
	if c := attemptAt(t, done, 2); c.Cause != v1alpha1.CauseRetry || !strings.Contains(c.RecoveryContext, "bash") {
		t.Errorf("the second attempt is %+v", c)
	}
	journal, err := steps(t.Context(), done)
	must(t, err)
	if !slices.ContainsFunc(journal, func(s v1alpha1.MotorStep) bool { return s.Spec.Attempt == 1 && len(s.Status.Background) == 1 }) {
		t.Error("the journal does not have the program of the first attempt any more")
	}
	podIsGone(t, run, soon)
}
