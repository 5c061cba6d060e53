// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/motorloop/chat"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

const askExample = `{"domain":"example.org","reason":"the task names it"}`

func mayAsk(run *v1alpha1.MotorRun) {
	run.Spec.Tools = append(run.Spec.Tools, v1alpha1.ToolName(toolapi.ToolRequestDomain))
}

func TestEngineGoesOnWhenTheDomainIsGranted(t *testing.T) {
	t.Parallel()
	for _, decision := range []v1alpha1.Decision{v1alpha1.DecisionAllowOnce, v1alpha1.DecisionAllowRun} {
		t.Run(string(decision), func(t *testing.T) {
			r := newEngineRig(t, &stubModel{answers: []chat.Answer{
				says("", call("request_domain", askExample)),
				says("", call("bash", `{"command":"echo ${HTTPS_PROXY:+there is a way}"}`)),
				says("done"),
			}}, mayAsk)
			proxy := newStubProxy(r)
			r.startEgressEngine("worker-1")
			asked := r.pending()
			if asked.Kind != v1alpha1.InputDomainRequest || asked.Domain != "example.org" {
				t.Fatalf("the run asks %+v", asked)
			}
			r.decide(asked.ID, decision)
			// The proxy does not know yet: a loop that went on would answer the request by now.
			never(r, 700*time.Millisecond, func(s []v1alpha1.MotorStep) bool { return len(s[0].Status.Results) > 0 })
			r.writeGrant(r.grantOf(1))
			r.showEgress(proxy.address, 1, "example.org")
			steps := r.ended(2)
			if res := resultAt(t, steps, 0, 0); !res.OK || !strings.Contains(res.Output, "example.org") {
				t.Errorf("the request's result is %+v", res)
			}
			if res := resultAt(t, steps, 1, 0); res.Output != "there is a way\n" {
				t.Errorf("the call after it found %q", res.Output)
			}
			if asked := r.model.asked.Load(); asked != 3 {
				t.Errorf("the model was asked %d times", asked)
			}
		})
	}
}

func TestEngineTellsTheModelThatAPersonSaidNo(t *testing.T) {
	r := newEngineRig(t, &stubModel{answers: []chat.Answer{says("", call("request_domain", askExample)), says("done")}}, mayAsk)
	r.startEgressEngine("worker-1")
	must(t, add(r.ctx, admin, r.run, "responses", withReason(decision(r.pending().ID, v1alpha1.DecisionDeny, ""), "use the mirror")))
	r.inEffect()
	res := resultAt(t, r.ended(1), 0, 0)
	if res.OK || res.ErrorCode != toolapi.CodeDomainDenied || res.Provenance != "User" || res.Output != "the person said no: go on without example.org, and do not ask for it again\nThe person says: use the mirror" {
		t.Errorf("the request's result is %+v", res)
	}
}

func TestEngineAsksNobodyInVain(t *testing.T) {
	r := newEngineRig(t, &stubModel{answers: []chat.Answer{
		says("", call("request_domain", `{"domain":"sub.example.org","reason":"have it"}`),
			call("request_domain", `{"domain":"example.com","reason":"never"}`),
			call("request_domain", `{"domain":"com","reason":"nonsense"}`)),
		says("done"),
	}}, mayReach("*.example.org"))
	cortex := &v1alpha1.MotorCortex{
		ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.CortexName, Namespace: r.run.Namespace},
		Spec:       v1alpha1.MotorCortexSpec{Egress: &v1alpha1.EgressBounds{AllowedDomains: []v1alpha1.Domain{"*.example.org"}}},
	}
	must(t, admin.Create(r.ctx, cortex))
	proxy := newStubProxy(r)
	r.writeGrant(r.grantOf(1))
	r.showEgress(proxy.address, 1, "*.example.org")
	r.startEgressEngine("worker-1")
	res := r.ended(1)[0].Status.Results
	if !res[0].OK || res[1].ErrorCode != toolapi.CodeDomainNotAllowed || res[2].ErrorCode != toolapi.CodeInvalidArguments {
		t.Errorf("the results are %+v", res)
	}
}

// never fails if the journal fulfils a condition within the time.
func never(r *engineRig, within time.Duration, bad func([]v1alpha1.MotorStep) bool) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.ctx, within)
	defer cancel()
	_ = wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(context.Context) (bool, error) {
		if s := r.steps(func([]v1alpha1.MotorStep) bool { return true }); bad(s) {
			r.t.Fatalf("the journal is %+v", s)
		}
		return false, nil
	})
}

// What was allowed once is for one call: the next one is not made before the proxy has taken it back, and what ran in the background
// before, or is left there, has no use of it.
func TestEngineAllowOnceIsForOneCall(t *testing.T) {
	r := newEngineRig(t, &stubModel{answers: []chat.Answer{
		says("", call("bash", ticking), call("request_domain", askExample)),
		says("", call("bash", `{"command":"echo first"}`), call("bash", `{"command":"echo second > second"}`)),
		says("done"),
	}}, mayAsk)
	proxy := newStubProxy(r)
	r.startEgressEngine("worker-1")
	r.decide(r.pending().ID, v1alpha1.DecisionAllowOnce)
	r.writeGrant(r.grantOf(1))
	r.showEgress(proxy.address, 1, "example.org")
	r.steps(func(s []v1alpha1.MotorStep) bool { return len(s) > 1 && len(s[1].Status.Results) == 1 })
	if p := r.programIn(0, v1alpha1.ProgramStopped); p.Reason != toolapi.StoppedWayOut || len(r.ticks()) > 0 {
		t.Errorf("what ran in the background before: %+v, and %q run", p, r.ticks())
	}
	never(r, 500*time.Millisecond, func(s []v1alpha1.MotorStep) bool { return len(s[1].Status.Results) > 1 })
	if _, err := os.Stat(filepath.Join(r.workspace, "second")); err == nil {
		t.Error("the second call was made while the proxy let it out")
	}
	r.showEgress(proxy.address, 1)
	if res := r.ended(3)[1].Status.Results; len(res) != 2 || !res[1].OK {
		t.Errorf("the results are %+v", res)
	}
}

// A person who gives a run its first way out gives it to the calls that follow: what was in the background before is ended, however long the
// domain is allowed. Where the run had a way already, what runs there goes on.
func TestEngineFirstWayOutIsNotForTheBackground(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		before []v1alpha1.Domain
		want   v1alpha1.ProgramState
	}{"the first way": {nil, v1alpha1.ProgramStopped}, "one domain more": {[]v1alpha1.Domain{"api.example.net"}, v1alpha1.ProgramRunning}} {
		t.Run(name, func(t *testing.T) {
			r := newEngineRig(t, &stubModel{answers: []chat.Answer{
				says("", call("bash", ticking), call("request_domain", askExample)),
				says("", call("ask_user", `{"question":"Go on?"}`)),
				says("done"),
			}}, mayAsk, mayReach(tt.before...))
			proxy := newStubProxy(r)
			show := func(domains ...v1alpha1.Domain) {
				r.writeGrant(r.grantOf(1))
				r.showEgress(proxy.address, 1, domains...)
			}
			if len(tt.before) > 0 {
				show(tt.before...)
			}
			r.startEgressEngine("worker-1")
			r.decide(r.pending().ID, v1alpha1.DecisionAllowRun)
			show(append(tt.before, "example.org")...)
			r.steps(func(s []v1alpha1.MotorStep) bool { return len(s) > 1 && len(s[0].Status.Results) == 2 })
			p := r.programIn(0, tt.want)
			if running := len(r.ticks()) > 0; running != (tt.want == v1alpha1.ProgramRunning) || !running && p.Reason != toolapi.StoppedWayOut {
				t.Errorf("the record is %+v, and the program runs: %t", p, running)
			}
		})
	}
}
