// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/motorloop/chat"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// ticking is a program that goes on until it is ended, or has been told to end.
const ticking = `{"command":"until [ -e go ]; do echo tick >> ticks; sleep 0.05; done","background":true}`

// lastMessage is what the model reads last.
func lastMessage(req chat.Request) string { return req.Messages[len(req.Messages)-1].Content }

// programIn waits until a step's program is in a state, and gives it.
func (r *engineRig) programIn(step int, state v1alpha1.ProgramState) v1alpha1.StepProgram {
	r.t.Helper()
	steps := r.steps(func(steps []v1alpha1.MotorStep) bool {
		return len(steps) > step && len(steps[step].Status.Background) == 1 && steps[step].Status.Background[0].State == state
	})
	return steps[step].Status.Background[0]
}

// ticks returns the processes of the test's program that run.
func (r *engineRig) ticks() (pids []string) {
	r.t.Helper()
	entries, err := os.ReadDir("/proc")
	must(r.t, err)
	for _, e := range entries {
		cwd, err := os.Readlink("/proc/" + e.Name() + "/cwd")
		line, lineErr := os.ReadFile("/proc/" + e.Name() + "/cmdline")
		if err == nil && lineErr == nil && cwd == r.workspace && strings.Contains(string(line), "ticks") {
			pids = append(pids, e.Name())
		}
	}
	return pids
}

// The server ends between two calls, and with it what runs in the background.
func TestEngineTellsOfAProgramThatWasLost(t *testing.T) {
	var r *engineRig
	var told []string
	model := &stubModel{}
	model.reply = func(req chat.Request) chat.Answer {
		told = append(told, lastMessage(req))
		switch len(told) {
		case 1:
			return says("", call("bash", ticking))
		case 2:
			r.killSandbox()
			r.restartSandbox()
			return says("", call("bash", `{"command":"true"}`))
		}
		return says("done")
	}
	r = newEngineRig(t, model)
	r.startEngine("worker-1", nil)
	steps := r.ended(3)
	p := steps[0].Status.Background
	if len(p) != 1 || p[0].State != v1alpha1.ProgramLost || p[0].CallID != "a1-s1-c0" || p[0].FoundIn != 2 || p[0].CompletionTime != nil {
		t.Errorf("the record of the program is %+v", p)
	}
	if strings.Contains(told[1], "does not run any more") || !strings.Contains(told[2], "what call a1-s1-c0 left in the background does not run any more: it is lost") {
		t.Errorf("the model was told %q", told)
	}
}

// The server ends while the run waits for a person, and the request that follows the answer says so.
func TestEngineTellsOfAProgramThatWasLostWhileItWaited(t *testing.T) {
	var told []string
	model := &stubModel{}
	model.reply = func(req chat.Request) chat.Answer {
		told = append(told, lastMessage(req))
		if len(told) == 1 {
			return says("", call("bash", ticking), call("ask_user", `{"question":"Go on?"}`))
		}
		return says("done")
	}
	r := newEngineRig(t, model)
	r.startEngine("worker-1", nil)
	pending := r.pending()
	if p := r.programIn(0, v1alpha1.ProgramRunning); p.Execution != "a1-s1-c0" || p.StartTime.IsZero() {
		t.Errorf("%+v", p)
	}
	if len(r.ticks()) == 0 {
		t.Error("the program does not run while the run waits")
	}
	r.killSandbox()
	r.restartSandbox()
	respond(r.ctx, t, r.run, pending.ID, "yes")
	steps := r.ended(2)
	if p := at(t, steps[0].Status.Background, 0); p.State != v1alpha1.ProgramLost || p.FoundIn != 1 {
		t.Errorf("%+v", p)
	}
	if !strings.Contains(told[1], "it is lost") {
		t.Errorf("the model was told %q", told)
	}
}

// A run that is done ends what it left in the background, and its journal says so.
func TestEngineEndsProgramsWithTheAttempt(t *testing.T) {
	for name, last := range map[string]chat.Answer{
		"succeeds": says("done"),
		"fails":    says("", call("bash", `{"command":"false"}`)),
	} {
		t.Run(name, func(t *testing.T) {
			answers := []chat.Answer{says("", call("bash", ticking)), last}
			r := newEngineRig(t, &stubModel{answers: answers}, func(run *v1alpha1.MotorRun) { run.Spec.Limits.MaxIterations = 2 })
			r.startEngine("worker-1", nil)
			steps := r.ended(2)
			p := steps[0].Status.Background
			if len(p) != 1 || p[0].State != v1alpha1.ProgramStopped || p[0].Reason != toolapi.StoppedFinished || p[0].CompletionTime == nil {
				t.Fatalf("%+v", p)
			}
			if left := r.ticks(); len(left) > 0 {
				t.Errorf("the processes %q go on", left)
			}
		})
	}
}

// A key counts when what was started under it has ended well.
func TestEngineKeyOfAProgram(t *testing.T) {
	var r *engineRig
	keyed := call("bash", `{"command":"echo run >> runs; until [ -e go ]; do sleep 0.05; done","background":true,"idempotencyKey":"k"}`)
	model := &stubModel{}
	var n int
	model.reply = func(chat.Request) chat.Answer {
		switch n++; n {
		case 1, 2:
			return says("", keyed)
		case 3:
			must(r.t, os.WriteFile(filepath.Join(r.workspace, "go"), nil, 0o600))
			return says("", call("bash", `{"command":"sleep 1"}`))
		case 4:
			return says("", keyed)
		}
		return says("done")
	}
	r = newEngineRig(t, model)
	r.startEngine("worker-1", nil)
	steps := r.ended(5)
	if code := resultAt(t, steps, 1, 0).ErrorCode; code != toolapi.CodeStillRunning {
		t.Errorf("while it ran: %q", code)
	}
	if code := resultAt(t, steps, 3, 0).ErrorCode; code != toolapi.CodeAlreadyDone {
		t.Errorf("when it had ended well: %q", code)
	}
	if p := at(t, steps[0].Status.Background, 0); p.State != v1alpha1.ProgramSucceeded {
		t.Errorf("%+v", p)
	}
}

// What runs in the background ends when the run is suspended, and when it waits for longer than it may take itself.
func TestEngineEndsProgramsOfARunThatStandsStill(t *testing.T) {
	for name, tt := range map[string]struct {
		reason, told string
	}{
		"suspended": {toolapi.StoppedSuspended, "it was ended when the run was suspended"},
		"waits":     {toolapi.StoppedAwaitingInput, "it was ended because the run waited long for a person"},
	} {
		t.Run(name, func(t *testing.T) {
			var told []string
			model := &stubModel{}
			model.reply = func(req chat.Request) chat.Answer {
				told = append(told, lastMessage(req))
				if len(told) == 1 {
					return says("", call("bash", ticking), call("ask_user", `{"question":"Go on?"}`))
				}
				return says("done")
			}
			r := newEngineRig(t, model)
			r.startEngine("worker-1", nil)
			pending := r.pending()
			if r.programIn(0, v1alpha1.ProgramRunning); len(r.ticks()) == 0 {
				t.Error("the program does not run while the run waits")
			}
			if tt.reason == toolapi.StoppedSuspended {
				must(t, jsonPatch(r.ctx, r.run.DeepCopy(), `[{"op":"add","path":"/spec/suspend","value":true}]`))
			} else {
				r.skipped.Store(int64(time.Duration(r.run.Spec.Limits.ActiveDeadlineSeconds) * time.Second))
				r.changeStatus(func(st *v1alpha1.MotorRunStatus) { st.Message = "The clock was set." })
			}
			p := r.programIn(0, v1alpha1.ProgramStopped)
			if p.Reason != tt.reason || p.FoundIn != 1 || len(r.ticks()) > 0 {
				t.Errorf("%+v, and the processes %q run", p, r.ticks())
			}
			if tt.reason == toolapi.StoppedSuspended {
				must(t, jsonPatch(r.ctx, r.run.DeepCopy(), `[{"op":"add","path":"/spec/suspend","value":false}]`))
			}
			respond(r.ctx, t, r.run, pending.ID, "yes")
			r.ended(2)
			if !strings.Contains(told[1], tt.told) {
				t.Errorf("the model was told %q", told[1])
			}
		})
	}
}
