// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/engine"
	"motorcortex.dev/motorcortex/internal/engine/attempt"
	"motorcortex.dev/motorcortex/internal/motorloop/chat"
	"motorcortex.dev/motorcortex/internal/runpolicy"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// crashSandbox ends the tool server while the first call of the run is at work, and starts it again.
func (r *engineRig) crashSandbox() {
	r.t.Helper()
	waitForFile(r.ctx, r.t, filepath.Join(r.workspace, "effects"))
	r.killSandbox()
	// What the call has started does not end with the tool server here. In a Pod it does.
	must(r.t, os.WriteFile(filepath.Join(r.workspace, "go-on"), nil, 0o600))
	r.restartSandbox()
}

// pending waits for what the run asks a person, and shows it in the status as the controller does.
func (r *engineRig) pending() *v1alpha1.PendingInput {
	r.t.Helper()
	var pending *v1alpha1.PendingInput
	r.steps(func(steps []v1alpha1.MotorStep) bool {
		pending = runpolicy.ReadJournal(r.run, steps).Pending
		return pending != nil
	})
	r.changeStatus(func(st *v1alpha1.MotorRunStatus) { st.PendingInputs = v1alpha1.PendingList(pending) })
	return pending
}

// inEffect has the response to what the run asks counted, as the controller does when the domain that it allows can be reached.
func (r *engineRig) inEffect() {
	r.t.Helper()
	r.changeStatus(func(st *v1alpha1.MotorRunStatus) { st.Pending().Answered = true })
}

func TestEngineAsksAboutAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		decision v1alpha1.Decision
		effects  string
		result   v1alpha1.ToolResult
	}{
		"made again":      {v1alpha1.DecisionRetry, "effect\neffect\n", v1alpha1.ToolResult{OK: true, Provenance: "Internal"}},
		"it was done":     {v1alpha1.DecisionDone, "effect\n", v1alpha1.ToolResult{OK: true, Provenance: "User"}},
		"left out":        {v1alpha1.DecisionSkip, "effect\n", v1alpha1.ToolResult{ErrorCode: toolapi.CodeSkipped, Provenance: "User"}},
		"something else":  {"The file is there, use it.", "effect\n", v1alpha1.ToolResult{ErrorCode: toolapi.CodeSkipped, Provenance: "User", Output: "The file is there, use it."}},
		"by a new holder": {v1alpha1.DecisionRetry, "effect\neffect\n", v1alpha1.ToolResult{OK: true, Provenance: "Internal"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newEngineRig(t, &stubModel{answers: []chat.Answer{
				says("", call("bash", slowSideEffect), call("bash", `{"command":"echo after > after"}`)), says("done"),
			}})
			if name == "by a new holder" {
				reached := r.startDoomed("worker-1", attempt.AfterSettle, 1)
				r.crashSandbox()
				r.await(reached)
				r.giveTo("worker-2", 2)
				r.startEngine("worker-2", nil)
			} else {
				r.startEngine("worker-1", nil)
				r.crashSandbox()
			}
			pending := r.pending()
			if pending.Kind != v1alpha1.InputOutcomeUnknown || !strings.HasPrefix(pending.ID, "a1-s1-c0-") {
				t.Fatalf("it asks %+v", pending)
			}
			if _, err := os.Stat(filepath.Join(r.workspace, "after")); err == nil {
				t.Error("the call after it did not wait")
			}
			decideUnknown(r.ctx, t, r.run, pending.ID, tt.decision)

			first := r.ended(1)[0].Status
			got := resultIn(t, first.Results, 0)
			if got.OK != tt.result.OK || got.ErrorCode != tt.result.ErrorCode || got.Provenance != tt.result.Provenance || tt.result.Output != "" && got.Output != tt.result.Output {
				t.Errorf("the call's result is %+v", got)
			}
			if r.effects() != tt.effects {
				t.Errorf("the side effects are %q", r.effects())
			}
			if first.Phase != v1alpha1.StepSettled || len(first.Unknown) != 1 || first.Unknown[0].Execution != "a1-s1-c0" || !resultIn(t, first.Results, 1).OK {
				t.Errorf("the step's status is %+v", first)
			}
			if asked := r.model.asked.Load(); asked != 2 {
				t.Errorf("the model was asked %d times", asked)
			}
		})
	}
}

func TestEngineTellsTheModelOfAnUnknownOutcome(t *testing.T) {
	r := newEngineRig(t, &stubModel{answers: []chat.Answer{says("", call("bash", slowSideEffect)), says("done")}}, func(run *v1alpha1.MotorRun) {
		run.Spec.Approval = &v1alpha1.RunApproval{OnUnknown: v1alpha1.UnknownTellModel}
	})
	r.startEngine("worker-1", nil)
	r.crashSandbox()
	st := r.ended(1)[0].Status
	if len(st.Unknown) != 1 || st.Unknown[0].Policy != "Model" || resultIn(t, st.Results, 0).ErrorCode != toolapi.CodeOutcomeUnknown || r.effects() != "effect\n" {
		t.Errorf("the step's status is %+v, the side effects are %q", st, r.effects())
	}
}

// A tool server that is started again, before anybody has seen that it was gone, runs nothing before it is proved to be
// closed: not even the next call of the same turn.
func TestEngineProvesARestartedSandboxAgain(t *testing.T) {
	r := newEngineRig(t, &stubModel{answers: []chat.Answer{says("", call("bash", slowSideEffect), call("bash", `{"command":"touch ran"}`)), says("done")}}, func(run *v1alpha1.MotorRun) {
		run.Spec.Approval = &v1alpha1.RunApproval{OnUnknown: v1alpha1.UnknownTellModel}
	})
	bank, err := (&net.ListenConfig{}).Listen(r.ctx, "tcp", r.ip+":0")
	must(t, err)
	address := bank.Addr().String()
	must(t, bank.Close())
	r.forbidden = []toolapi.ProbeTarget{{Name: "the bank", Network: "tcp", Address: address}}
	r.startEngine("worker-1", nil)
	waitForFile(r.ctx, t, filepath.Join(r.workspace, "effects"))
	bank, err = (&net.ListenConfig{}).Listen(r.ctx, "tcp", address)
	must(t, err)
	defer bank.Close()
	r.crashSandbox()
	steps := r.steps(journalEnded)
	if o := steps[len(steps)-1].Spec.Outcome; o == nil || o.Reason != v1alpha1.ReasonIsolationRefused {
		t.Errorf("the journal ends with %+v", o)
	}
	if _, err := os.Stat(filepath.Join(r.workspace, "ran")); err == nil {
		t.Error("a call ran in a sandbox that is not closed")
	}
}

// The tool server cannot be had for longer than its client tries: the loop waits without asking the model in vain.
func TestEngineWaitsForASandboxThatComesBack(t *testing.T) {
	r := newEngineRig(t, &stubModel{answers: []chat.Answer{says("", call("bash", `{"command":"echo effect >> effects"}`)), says("done")}})
	r.killSandbox()
	r.startEngineWith("worker-1", func(e *engine.Engine) { e.Config.Sandbox.ConnectTimeout = 2500 * time.Millisecond })
	r.waitFor(func() bool { return r.model.asked.Load() == 1 })
	wait := time.After(3 * time.Second)
	select {
	case <-wait:
	case <-r.ctx.Done():
	}
	r.restartSandbox()
	r.steps(journalEnded)
	if asked := r.model.asked.Load(); r.effects() != "effect\n" || asked != 2 {
		t.Errorf("the side effects are %q, the model was asked %d times", r.effects(), asked)
	}
}

// A call that only reads is made again without asking anybody. It ends too fast to be broken off, so its beginning is
// put into the ledger of the tool server.
func TestEngineReadsAgain(t *testing.T) {
	r := newEngineRig(t, &stubModel{answers: []chat.Answer{says("", call("read", `{"path":"a.txt"}`)), says("done")}})
	must(t, os.WriteFile(filepath.Join(r.workspace, "a.txt"), []byte("content\n"), 0o600))
	r.waitFor(func() bool { _, err := os.Stat(filepath.Join(r.state, "ledger")); return err == nil })
	r.killSandbox()
	what, err := json.Marshal([]any{"read", map[string]string{"path": "a.txt"}})
	must(t, err)
	sum := sha256.Sum256(what)
	ledger, err := os.OpenFile(filepath.Join(r.state, "ledger"), os.O_APPEND|os.O_WRONLY, 0)
	must(t, err)
	_, err = fmt.Fprintf(ledger, `{"kind":"started","id":"a1-s1-c0","digest":"sha256:%s","epoch":1,"time":"2026-01-01T00:00:00Z"}`+"\n", hex.EncodeToString(sum[:]))
	must(t, err)
	must(t, ledger.Close())
	r.restartSandbox()
	r.startEngine("worker-1", nil)
	st := r.ended(1)[0].Status
	if len(st.Unknown) != 1 || st.Unknown[0].Policy != "Redo" || !resultIn(t, st.Results, 0).OK || !strings.Contains(resultIn(t, st.Results, 0).Output, "content") {
		t.Errorf("the step's status is %+v", st)
	}
}
