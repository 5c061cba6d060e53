// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/engine"
	"motorcortex.dev/motorcortex/internal/engine/attempt"
	"motorcortex.dev/motorcortex/internal/journal"
	"motorcortex.dev/motorcortex/internal/motorloop"
	"motorcortex.dev/motorcortex/internal/motorloop/chat"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolclient"
)

// effects returns what the tools of the run did.
func (r *engineRig) effects() string {
	r.t.Helper()
	got, err := os.ReadFile(filepath.Join(r.workspace, "effects"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		r.t.Fatal(err)
	}
	return string(got)
}

// startDoomed starts an engine that is gone at a point of a step, as if its process had been killed there: it does not
// get to write another word. The channel is closed when it is there.
func (r *engineRig) startDoomed(worker string, point attempt.FaultPoint, step int32, change ...func(*engine.Engine)) (reached <-chan struct{}) {
	r.t.Helper()
	at := make(chan struct{})
	var once sync.Once
	var stop func()
	started := make(chan struct{})
	uid := r.run.UID // What the rig knows of the run changes while the engine runs.
	stop = r.startEngineWith(worker, func(e *engine.Engine) {
		for _, c := range change {
			c(e)
		}
		e.Config.Fault = func(ctx context.Context, p attempt.FaultPoint, run *v1alpha1.MotorRun, s int32) {
			if p != point || s != step || run.UID != uid {
				return
			}
			once.Do(func() {
				<-started
				go stop()
				<-ctx.Done()
				close(at)
			})
			// A call that is on its way to the sandbox comes here after the point at which everything ends.
			<-ctx.Done()
		}
	})
	close(started)
	return at
}

func (r *engineRig) await(reached <-chan struct{}) {
	r.t.Helper()
	select {
	case <-reached:
	case <-r.ctx.Done():
		r.t.Fatal("the engine never came to the point at which it is to be gone")
	}
}

// Wherever the holder of a run is killed, the next one does nothing a second time, and asks the model again only for
// what was not recorded.
func TestEngineKilledAtEveryPoint(t *testing.T) {
	t.Parallel()
	for _, point := range []attempt.FaultPoint{attempt.BeforeIntent, attempt.AfterIntent, attempt.AfterDispatch, attempt.AfterResult, attempt.AfterSettle} {
		for step := int32(1); step <= 3; step++ {
			if step == 3 && point != attempt.BeforeIntent && point != attempt.AfterIntent {
				continue // It has no calls.
			}
			t.Run(fmt.Sprintf("%s of step %d", point, step), func(t *testing.T) {
				r := newEngineRig(t, &stubModel{answers: []chat.Answer{
					says("", call("bash", `{"command":"echo one >> effects"}`), call("bash", `{"command":"sleep 0.1; echo two >> effects"}`)),
					says("", call("bash", `{"command":"sleep 0.1; echo three >> effects"}`)),
					says("done"),
				}})
				r.await(r.startDoomed("worker-1", point, step))
				r.giveTo("worker-2", 2)
				r.startEngine("worker-2", nil)
				steps := r.steps(journalEnded)

				if got := r.effects(); got != "one\ntwo\nthree\n" {
					t.Errorf("the side effects are %q", got)
				}
				if len(steps) != 3 || steps[0].Status.OK != "2/2" || steps[1].Status.OK != "1/1" || !steps[2].Spec.Final {
					t.Errorf("the journal has %d steps", len(steps))
				}
				want := int32(3)
				if point == attempt.BeforeIntent {
					want++
				}
				most := want
				if point == attempt.AfterSettle && step == 2 {
					// The results of all steps but the first are written while the model is asked for the next one.
					most++
				}
				if asked := r.model.asked.Load(); asked < want || asked > most {
					t.Errorf("the model was asked %d times, want %d to %d", asked, want, most)
				}
			})
		}
	}
}

// oldClient is the tool server's client of a holder of an earlier epoch.
func (r *engineRig) oldClient(epoch int64) *toolclient.Client {
	r.t.Helper()
	c, err := toolclient.New(toolclient.Config{
		Address: net.JoinHostPort(r.ip, strconv.Itoa(toolapi.Port)), PodUID: r.podUID, ClientCert: r.cert.ClientCert, Epoch: epoch, Unreachable: time.Minute,
	})
	must(r.t, err)
	r.t.Cleanup(c.Close)
	return c
}

// The former holder was frozen when the model had answered it, and thaws when the next one has said hello to the sandbox
// and not yet written anything: its step counts, and it is the next one that carries it out.
func TestEngineGoesOnFromTheStepOfAFrozenHolder(t *testing.T) {
	r := newEngineRig(t, &stubModel{answers: []chat.Answer{says("never recorded", call("bash", `{"command":"echo second >> effects"}`)), says("done")}})
	old := loadLog(r.ctx, t, manager, r.run, claim1)
	old.UseSandbox(v1alpha1.StepSandbox{PodUID: r.podUID})
	oldTools := r.oldClient(1)
	_, err := oldTools.Hello(r.ctx)
	must(t, err)

	r.giveTo("worker-2", 2)
	reached, thaw := make(chan struct{}), make(chan struct{})
	var once sync.Once
	r.startEngineWith("worker-2", func(e *engine.Engine) {
		e.Config.Fault = func(ctx context.Context, p attempt.FaultPoint, _ *v1alpha1.MotorRun, _ int32) {
			if p == attempt.BeforeIntent {
				once.Do(func() {
					close(reached)
					select {
					case <-thaw:
					case <-ctx.Done():
					}
				})
			}
		}
	})
	r.await(reached)
	must(t, old.Append(r.ctx, turnAt(1, "the first one's", `bash:{"command":"echo first >> effects"}`)))
	_, err = oldTools.Call(r.ctx, toolapi.Call{ID: turn.CallID(1, 1, 0), Tool: "bash", Arguments: []byte(`{"command":"echo first >> effects"}`)})
	if !errors.Is(err, toolclient.ErrStaleEpoch) {
		t.Errorf("the sandbox's answer to the former holder: %v", err)
	}
	if got := r.effects(); got != "" {
		t.Errorf("the former holder has done %q", got)
	}
	close(thaw)
	steps := r.steps(journalEnded)
	if got := r.effects(); got != "first\n" || len(steps) != 2 || steps[0].Spec.Content != "the first one's" || steps[0].Status.OK != "1/1" {
		t.Errorf("the side effects are %q after %d steps", got, len(steps))
	}
	if steps[0].Spec.Epoch != 1 || steps[1].Spec.Epoch != 2 {
		t.Errorf("the epochs are %d and %d", steps[0].Spec.Epoch, steps[1].Spec.Epoch)
	}
	// What the former one could still write counts for nothing.
	if _, err := journal.Load(r.ctx, manager, manager, r.run, 1, claim1, time.Now); !errors.Is(err, motorloop.ErrStale) {
		t.Errorf("the former holder loads the journal: %v", err)
	}
}

// The same worker gets the run again under a new epoch, in the middle of a call.
func TestEngineKeepsARunUnderANewEpoch(t *testing.T) {
	r := newEngineRig(t, &stubModel{answers: []chat.Answer{says("", call("bash", slowSideEffect)), says("done")}})
	r.startEngine("worker-1", nil)
	waitForFile(r.ctx, t, filepath.Join(r.workspace, "effects"))
	r.giveTo("worker-1", 2)
	old := r.oldClient(1)
	r.waitFor(func() bool {
		_, err := old.State(r.ctx, turn.CallID(1, 1, 0))
		return errors.Is(err, toolclient.ErrStaleEpoch)
	})
	must(t, os.WriteFile(filepath.Join(r.workspace, "go-on"), nil, 0o600))
	steps := r.steps(journalEnded)
	if r.effects() != "effect\n" || len(steps) != 2 || steps[1].Spec.Epoch != 2 || r.model.asked.Load() != 2 {
		t.Errorf("the side effects are %q, the model was asked %d times", r.effects(), r.model.asked.Load())
	}
}
