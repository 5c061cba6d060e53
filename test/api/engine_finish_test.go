// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cortex"
	"motorcortex.dev/motorcortex/internal/engine"
	"motorcortex.dev/motorcortex/internal/motorloop/chat"
	"motorcortex.dev/motorcortex/internal/motorloop/result"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/runpolicy"
)

// callsFinish makes an engine whose model ends its runs with a call of finish.
func callsFinish(e *engine.Engine) {
	e.Models = cortex.Resolver{Cortex: manager, Secrets: manager, Default: cortex.Endpoint{BaseURL: "http://model.example.org/v1", Model: "model-0"}}
}

func TestEngineEndsWithFinish(t *testing.T) {
	r := newEngineRig(t, &stubModel{answers: []chat.Answer{
		says("It is in artifacts/sum.txt."),
		says("", call("finish", `{"status":"Succeeded","summary":"It is 4.","files":["artifacts/sum.txt"]}`)),
		says("", call("bash", `{"command":"mkdir artifacts; echo 4 > artifacts/sum.txt"}`), turn.Call{ModelID: "other", Tool: "finish", Arguments: `{"status":"Succeeded","summary":"It is 4.","files":["artifacts/sum.txt"]}`}),
	}})
	r.startEngineWith("worker-1", callsFinish)
	steps := r.ended(4)
	if res := steps[1].Status.Results; len(res) != 1 || res[0].ErrorCode != result.CodeNotAccepted || !strings.Contains(res[0].Output, `"artifacts/sum.txt"`) {
		t.Errorf("the claim came to %+v", res)
	}
	last := steps[3]
	if !last.Spec.Final || last.Spec.Content != "It is 4." || last.Spec.Usage.TotalTokens != 0 || len(last.Spec.ToolCalls) != 0 {
		t.Errorf("the end is %+v", last.Spec)
	}
	p := runpolicy.ReadJournal(r.run, steps)
	if p.Turns != 3 || p.Iterations != 3 || p.Final == nil || *p.Final != "It is 4." || p.Artifacts == nil || len(p.Artifacts.Files) != 1 {
		t.Errorf("the journal says %+v", p)
	}
}

// An end that was accepted is recorded by another replica, though the model is away by then: none is asked any more.
func TestEngineRecordsAnAcceptedEndWithoutItsModel(t *testing.T) {
	r := newEngineRig(t, &stubModel{answers: []chat.Answer{says("", call("bash", `{"command":"expr 2 + 2"}`), turn.Call{ModelID: "other", Tool: "finish", Arguments: `{"status":"Succeeded","summary":"It is 4."}`})}})
	stop := r.startEngineWith("worker-1", func(e *engine.Engine) {
		callsFinish(e)
		e.Client = closesNothing{e.Client}
	})
	r.steps(func(s []v1alpha1.MotorStep) bool {
		return len(s) == 1 && len(s[0].Status.Results) == 2 && s[0].Status.Results[1].OK
	})
	stop()
	r.giveTo("worker-2", 2)
	r.startEngineWith("worker-2", func(e *engine.Engine) {
		callsFinish(e)
		e.NewModel = func(cortex.Endpoint) (chat.Model, error) { return awayModel{r.model}, nil }
	})
	if last := r.ended(2)[1]; !last.Spec.Final || last.Spec.Content != "It is 4." {
		t.Errorf("the end is %+v", last.Spec)
	}
}

// closesNothing does not take the step that records the end.
type closesNothing struct{ client.Client }

func (c closesNothing) Create(ctx context.Context, o client.Object, opts ...client.CreateOption) error {
	if s, ok := o.(*v1alpha1.MotorStep); ok && s.Spec.Final {
		return errors.New("etcd is away")
	}
	return c.Client.Create(ctx, o, opts...)
}

func TestEngineFinishesPartly(t *testing.T) {
	r := newEngineRig(t, &stubModel{answers: []chat.Answer{
		says("", call("bash", `{"command":"mkdir artifacts; echo one > artifacts/one.txt"}`)),
		says("", call("finish", `{"status":"Partial","summary":"One of two is there.","files":["artifacts"]}`)),
	}})
	r.startEngineWith("worker-1", callsFinish)
	steps := r.ended(3)
	last := steps[2]
	if o := last.Spec.Outcome; o == nil || o.Reason != v1alpha1.ReasonPartial || o.Category != v1alpha1.CategoryIncomplete || !o.Retryable ||
		!strings.Contains(o.Message, "One of two is there.") || last.Spec.Content != "One of two is there." {
		t.Errorf("the end is %+v", last.Spec)
	}
	if a := last.Status.Artifacts; a == nil || len(a.Files) != 1 {
		t.Errorf("the artifacts are %+v", a)
	}
}

// The person is asked when all other calls of the turn have results, and a call of finish is one of them.
func TestEngineAsksBesideFinish(t *testing.T) {
	r := newEngineRig(t, &stubModel{answers: []chat.Answer{
		says("", call("ask_user", `{"question":"Which colour?"}`), turn.Call{ModelID: "other", Tool: "finish", Arguments: `{"status":"Succeeded","summary":"Red."}`}),
		says("", call("finish", `{"status":"Succeeded","summary":"Blue."}`)),
	}})
	r.startEngineWith("worker-1", callsFinish)
	steps := r.steps(func(s []v1alpha1.MotorStep) bool {
		return len(s) == 1 && runpolicy.ReadJournal(r.run, s).Pending != nil
	})
	respond(r.ctx, t, r.run, runpolicy.ReadJournal(r.run, steps).Pending.ID, "blue")
	steps = r.ended(3)
	if got := steps[2].Spec.Content; got != "Blue." {
		t.Errorf("the result is %q", got)
	}
}
