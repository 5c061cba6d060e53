// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/engine"
	"motorcortex.dev/motorcortex/internal/motorloop/chat"
	"motorcortex.dev/motorcortex/internal/motorloop/outcome"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

func TestEngineCarriesARunToItsEnd(t *testing.T) {
	r := newEngineRig(t, &stubModel{answers: []chat.Answer{
		says("reading", call("read", `{"path":"in/a.txt"}`), call("bash", `{"command":"wc -w in/a.txt | tee out.txt"}`)),
		says("It has three words."),
	}}, func(run *v1alpha1.MotorRun) {
		run.Spec.Files = []v1alpha1.InputFile{{Path: "in/a.txt", Content: new("one two three\n")}}
	})
	r.startEngine("worker-1", nil)
	steps := r.steps(journalEnded)

	if len(steps) != 2 || !steps[1].Spec.Final {
		t.Fatalf("the journal is %+v", steps)
	}
	first := steps[0]
	if first.Status.Phase != v1alpha1.StepSettled || first.Status.OK != "2/2" || first.Spec.Tools != "read,bash" {
		t.Errorf("the first step is %+v", first)
	}
	if sb := first.Spec.Sandbox; sb == nil || sb.PodUID != r.podUID || !strings.HasPrefix(sb.ServerKey, "sha256:") || sb.IsolationTries < 3 {
		t.Errorf("the first step names the sandbox %+v", first.Spec.Sandbox)
	}
	if got, err := os.ReadFile(filepath.Join(r.workspace, "out.txt")); err != nil || !strings.HasPrefix(string(got), "3 ") {
		t.Errorf("the tool left %q (%v)", got, err)
	}
}

func TestEngineWaitsForAPersonWithoutALoop(t *testing.T) {
	r := newEngineRig(t, &stubModel{answers: []chat.Answer{
		says("", call("ask_user", `{"question":"Which colour?"}`)),
		says("Thanks."),
	}})
	r.startEngine("worker-1", nil)
	pending := r.pending()
	if asked := r.model.asked.Load(); asked != 1 {
		t.Errorf("the model was asked %d times before the answer", asked)
	}
	respond(r.ctx, t, r.run, pending.ID, "blue")

	steps := r.ended(1)
	if res := steps[0].Status.Results; len(res) != 1 || res[0].Output != "The person replied: blue" || res[0].Provenance != "User" {
		t.Errorf("the question's result is %+v", res)
	}
	if asked := r.model.asked.Load(); asked != 2 {
		t.Errorf("the model was asked %d times", asked)
	}
}

// A tool server that has run nothing since its isolation was proved is not proved again after an answer. One that was started again is.
func TestEngineProvesAnUnusedSandboxOnce(t *testing.T) {
	for name, restart := range map[string]bool{"the same tool server": false, "started again": true} {
		t.Run(name, func(t *testing.T) {
			r := newEngineRig(t, &stubModel{answers: []chat.Answer{
				says("", call("ask_user", `{"question":"Which colour?"}`)), says("", call("bash", `{"command":"true"}`)), says("done"),
			}})
			probes := r.countProbes()
			r.startEngine("worker-1", nil)
			pending := r.pending()
			before := probes()
			if before == 0 {
				t.Fatal("the sandbox was not probed")
			}
			if restart {
				r.killSandbox()
				r.restartSandbox()
			}
			respond(r.ctx, t, r.run, pending.ID, "blue")
			steps := r.ended(2)
			if again := probes() > before; again != restart {
				t.Errorf("probed again: %t", again)
			}
			if sb := steps[1].Spec.Sandbox; sb == nil || sb.IsolationTries < 3 {
				t.Errorf("the second step names the sandbox %+v", sb)
			}
		})
	}
}

// countProbes adds an address that never answers to those that are probed, and returns how often it was tried.
func (r *engineRig) countProbes() func() int32 {
	r.t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	must(r.t, err)
	r.t.Cleanup(func() { _ = conn.Close() })
	var count atomic.Int32
	go func() {
		for buf := make([]byte, 512); ; count.Add(1) {
			if _, _, err := conn.ReadFrom(buf); err != nil {
				return
			}
		}
	}()
	r.forbidden = append(r.forbidden, toolapi.ProbeTarget{Name: "silent", Network: "udp", Address: conn.LocalAddr().String()})
	return count.Load
}

func TestEngineLeavesOtherRunsAlone(t *testing.T) {
	r := newEngineRig(t, &stubModel{answers: []chat.Answer{says("done")}})
	r.giveTo("worker-2", 1)
	r.startEngine("worker-1", nil)
	stopOther := r.startEngine("worker-2", nil)
	steps := r.ended(1)
	stopOther()
	if steps[0].Spec.Worker != "worker-2" || r.model.asked.Load() != 1 {
		t.Errorf("the step is %s's, the model was asked %d times", steps[0].Spec.Worker, r.model.asked.Load())
	}
}

// slowSideEffect adds a line to a file, then takes its time: long enough for the engine to be stopped meanwhile.
const slowSideEffect = `{"command":"echo effect >> effects; until [ -e go-on ]; do sleep 0.05; done"}`

func waitForFile(ctx context.Context, t *testing.T, path string) {
	t.Helper()
	must(t, wait.PollUntilContextCancel(ctx, 10*time.Millisecond, true, func(context.Context) (bool, error) {
		_, err := os.Stat(path)
		return err == nil, nil
	}))
}

func TestEngineThatFollowsAnotherRepeatsNothing(t *testing.T) {
	r := newEngineRig(t, &stubModel{answers: []chat.Answer{says("", call("bash", slowSideEffect)), says("done")}})
	stop := r.startEngine("worker-1", nil)
	effects := filepath.Join(r.workspace, "effects")
	waitForFile(r.ctx, t, effects)
	stop()

	r.giveTo("worker-2", 2)
	r.startEngine("worker-2", nil)
	must(t, os.WriteFile(filepath.Join(r.workspace, "go-on"), nil, 0o600))
	steps := r.ended(2)
	if got, err := os.ReadFile(effects); err != nil || string(got) != "effect\n" {
		t.Errorf("the side effects are %q (%v)", got, err)
	}
	if steps[0].Spec.Epoch != 1 || steps[1].Spec.Epoch != 2 || steps[0].Status.OK != "1/1" {
		t.Errorf("the journal is %+v", steps)
	}
	if asked := r.model.asked.Load(); asked != 2 {
		t.Errorf("the model was asked %d times", asked)
	}
}

func TestEngineWithALowerEpochIsRefusedByTheSandbox(t *testing.T) {
	r := newEngineRig(t, &stubModel{answers: []chat.Answer{says("", call("bash", `{"command":"echo x >> effects"}`)), says("done")}})
	r.giveTo("worker-2", 2)
	r.startEngine("worker-2", nil)
	r.steps(journalEnded)

	// A former worker whose view of the run is old starts a loop of its own; the journal stops it.
	stale := &stubModel{answers: r.model.answers}
	r.model = stale
	r.giveTo("worker-1", 1)
	r.startEngine("worker-1", nil)
	steps := r.steps(journalEnded)
	if got, _ := os.ReadFile(filepath.Join(r.workspace, "effects")); string(got) != "x\n" || len(steps) != 2 {
		t.Errorf("the side effects are %q after %d steps", got, len(steps))
	}
}

func TestEngineTriesAgainAfterTheAPIFailed(t *testing.T) {
	t.Parallel()
	for _, committed := range []bool{false, true} {
		t.Run(map[bool]string{false: "write refused", true: "write committed without answer"}[committed], func(t *testing.T) {
			r := newEngineRig(t, &stubModel{answers: []chat.Answer{
				says("", call("bash", `{"command":"echo effect >> effects"}`)), says("done"),
			}})
			var failures atomic.Int32
			fail := func(write func() error) error {
				if failures.Add(1) > 2 {
					return write()
				}
				if committed {
					if err := write(); err != nil {
						return err
					}
				}
				return apierrors.NewTimeoutError("no answer", 0)
			}
			r.startEngine("worker-1", func(c client.Client) client.Client { return createsThrough{c, fail} })
			steps := r.steps(journalEnded)
			if got, _ := os.ReadFile(filepath.Join(r.workspace, "effects")); string(got) != "effect\n" || len(steps) != 2 {
				t.Errorf("the side effects are %q after %d steps", got, len(steps))
			}
		})
	}
}

// createsThrough lets every create be decided by a function.
type createsThrough struct {
	client.Client
	decide func(create func() error) error
}

func (c createsThrough) Create(ctx context.Context, o client.Object, opts ...client.CreateOption) error {
	return c.decide(func() error { return c.Client.Create(ctx, o, opts...) })
}

func TestEngineRefusesASandboxThatIsNotClosed(t *testing.T) {
	r := newEngineRig(t, &stubModel{answers: []chat.Answer{says("", call("bash", `{"command":"touch ran"}`)), says("done")}})
	open, err := (&net.ListenConfig{}).Listen(r.ctx, "tcp", "127.0.0.1:0")
	must(t, err)
	defer open.Close()
	r.forbidden = []toolapi.ProbeTarget{{Name: "the bank", Network: "tcp", Address: open.Addr().String()}}
	r.startEngine("worker-1", nil)
	steps := r.steps(journalEnded)
	o := steps[0].Spec.Outcome
	if len(steps) != 1 || o == nil || o.Reason != v1alpha1.ReasonIsolationRefused || !strings.Contains(o.Message, "the bank") {
		t.Errorf("the journal is %+v", steps)
	}
	if _, err := os.Stat(filepath.Join(r.workspace, "ran")); !errors.Is(err, os.ErrNotExist) {
		t.Error("a tool ran in it")
	}
}

func TestEngineNoticesAnotherPodAtTheAddress(t *testing.T) {
	r := newEngineRig(t, &stubModel{answers: []chat.Answer{says("done")}})
	r.changeStatus(func(st *v1alpha1.MotorRunStatus) { st.Sandbox.PodUID = "another" })
	r.startEngine("worker-1", nil)
	steps := r.ended(1)
	if o := steps[0].Spec.Outcome; o == nil || o.Reason != outcome.ReasonSandboxLost {
		t.Errorf("the journal is %+v", steps)
	}
}

func TestEngineEndsTheLoopOfACancelledRun(t *testing.T) {
	model := &stubModel{answers: []chat.Answer{says("done")}, hold: make(chan struct{})}
	r := newEngineRig(t, model)
	stop := r.startEngine("worker-1", nil)
	must(t, wait.PollUntilContextCancel(r.ctx, 10*time.Millisecond, true, func(context.Context) (bool, error) {
		return model.asked.Load() == 1, nil
	}))
	must(t, mergePatch(r.ctx, r.run, `{"spec":{"cancel":true}}`))
	// The model never answers: only the end of its loop lets the engine stop.
	stop()
	if steps := r.steps(func([]v1alpha1.MotorStep) bool { return true }); len(steps) != 0 {
		t.Errorf("the journal is %+v", steps)
	}
}

// What a run is given is read before the model is asked: an answer that cannot be used would be paid for, and counted nowhere.
func TestEngineAsksNothingWithoutItsInputs(t *testing.T) {
	model := &stubModel{answers: []chat.Answer{says("done")}}
	r := newEngineRig(t, model, func(run *v1alpha1.MotorRun) {
		run.Spec.Files = []v1alpha1.InputFile{{Path: "a", ConfigMapKeyRef: &v1alpha1.ConfigMapKeyRef{Name: "given", Key: "a"}}}
	})
	var tries, early atomic.Int32
	recorder := events.NewFakeRecorder(10)
	r.startEngineWith("worker-1", func(e *engine.Engine) {
		e.Recorder = recorder
		e.Live = givenLate{e.Live, func() bool {
			early.Add(model.asked.Load())
			return tries.Add(1) >= 3
		}}
	})
	steps := r.steps(func(steps []v1alpha1.MotorStep) bool { return len(steps) > 0 })
	if early.Load() != 0 || model.asked.Load() != 1 || tries.Load() != 3 {
		t.Errorf("after %d tries the model was asked %d times, %d of them without the file: %+v", tries.Load(), model.asked.Load(), early.Load(), steps)
	}
	select {
	case event := <-recorder.Events:
		if !strings.Contains(event, "Warning Missing") || !strings.Contains(event, "given") || len(recorder.Events) > 0 {
			t.Errorf("the Event is %q, and there are %d more", event, len(recorder.Events))
		}
	default:
		t.Error("no Event says what the run waited for")
	}
}

// givenLate has a ConfigMap given as soon as is says so.
type givenLate struct {
	client.Reader
	is func() bool
}

func (g givenLate) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	cm, ok := o.(*corev1.ConfigMap)
	switch {
	case !ok || key.Name != "given":
		return g.Reader.Get(ctx, key, o, opts...)
	case !g.is():
		return apierrors.NewNotFound(corev1.Resource("configmaps"), key.Name)
	}
	cm.Data = map[string]string{"a": "here"}
	return nil
}

func TestEngineReportsAFileThatCannotBePut(t *testing.T) {
	r := newEngineRig(t, &stubModel{answers: []chat.Answer{says("done")}}, func(run *v1alpha1.MotorRun) {
		run.Spec.Files = []v1alpha1.InputFile{{Path: "a", Content: new("")}, {Path: "a/b", Content: new("")}}
	})
	r.startEngine("worker-1", nil)
	steps := r.ended(1)
	if o := steps[0].Spec.Outcome; o == nil || o.Reason != outcome.ReasonInputFile || !strings.Contains(o.Message, "spec.files[1]") {
		t.Errorf("the journal is %+v", steps)
	}
}
