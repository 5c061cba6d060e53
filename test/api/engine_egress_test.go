// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	egressgrant "motorcortex.dev/motorcortex/internal/egress/grant"
	"motorcortex.dev/motorcortex/internal/engine"
	"motorcortex.dev/motorcortex/internal/motorloop/chat"
	"motorcortex.dev/motorcortex/internal/secret"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

func mayReach(domains ...v1alpha1.Domain) func(*v1alpha1.MotorRun) {
	return func(run *v1alpha1.MotorRun) { run.Spec.Domains = domains }
}

func TestEngineOpensTheWayBeforeTheFirstCall(t *testing.T) {
	r := newEngineRig(t, &stubModel{answers: []chat.Answer{
		says("", call("bash", `{"command":"printf %s \"$HTTPS_PROXY\" > proxy"}`)), says("done"),
	}}, mayReach("example.org"))
	proxy := newStubProxy(r)
	proxy.closed.Store(true)
	r.writeGrant(r.grantOf(1))
	r.showEgress(proxy.address, 1, "example.org")
	log, _ := r.startEgressEngine("worker-1")
	// The way is closed for longer than one start of the loop waits.
	must(t, wait.PollUntilContextCancel(r.ctx, 10*time.Millisecond, true, func(context.Context) (bool, error) {
		return strings.Contains(log.String(), "open the way to the egress proxy"), nil
	}))
	if steps := r.steps(func([]v1alpha1.MotorStep) bool { return true }); len(steps) != 0 {
		t.Fatalf("a step was taken before: %+v", steps)
	}
	proxy.closed.Store(false)
	steps := r.ended(1)
	if steps[0].Status.OK != "1/1" {
		t.Errorf("the first step is %+v", steps[0].Status)
	}
	want := "http://motor:" + r.token(1) + "@" + proxy.address
	if got, err := os.ReadFile(filepath.Join(r.workspace, "proxy")); err != nil || string(got) != want {
		t.Errorf("the tool was not told of the proxy (%v)", err)
	}
	if strings.Contains(log.String(), r.token(1)) {
		t.Error("the log has the token")
	}
}

func TestEngineWaitsForTheGrantOfThisAttempt(t *testing.T) {
	r := newEngineRig(t, &stubModel{answers: []chat.Answer{says("done")}}, mayReach("example.org"))
	proxy := newStubProxy(r)
	r.showEgress(proxy.address, 1, "example.org")
	other := r.grantOf(1)
	other.PodUID = "another"
	r.writeGrant(other)
	log, _ := r.startEgressEngine("worker-1")
	tried := func(times int) {
		must(t, wait.PollUntilContextCancel(r.ctx, 10*time.Millisecond, true, func(context.Context) (bool, error) {
			return strings.Count(log.String(), "another sandbox or attempt") >= times, nil
		}))
	}
	tried(1)
	r.writeGrant(r.grantOf(2))
	tried(2)
	if asked := r.model.asked.Load(); asked != 0 {
		t.Errorf("the model was asked %d times in vain", asked)
	}
	r.writeGrant(r.grantOf(1))
	r.steps(journalEnded)
	if got := proxy.shown(); !slices.Equal(got, []string{r.token(1)}) {
		t.Errorf("%d tokens were shown", len(got))
	}
}

// Nothing but the engine looks at the end of a grant without domains. What it exposes must be what the Secret has when the run goes on.
func TestEngineWaitsForAGrantThatHasEnded(t *testing.T) {
	r := newEngineRig(t, &stubModel{answers: []chat.Answer{says("", call("bash", `{"command":"printenv DB_PASSWORD > got"}`)), says("done")}},
		func(run *v1alpha1.MotorRun) {
			run.Spec.Credentials = []v1alpha1.Credential{{Name: "db_password", SecretRef: v1alpha1.SecretKeyRef{Name: "s", Key: "k"}, ExposeToSandbox: true}}
		})
	grantWith := func(value string, ends time.Time) *egressgrant.Grant {
		g := r.grantOf(1, egressgrant.Credential{Name: "db_password", Exposed: true, Value: secret.New([]byte(value))})
		g.ExpiresAt = ends
		return g
	}
	r.writeGrant(grantWith("the-former-value", time.Now().Add(-time.Second)))
	r.showEgress("", 1)
	log, _ := r.startEgressEngine("worker-1")
	must(t, wait.PollUntilContextCancel(r.ctx, 10*time.Millisecond, true, func(context.Context) (bool, error) {
		return strings.Contains(log.String(), "its grant has ended"), nil
	}))
	if asked := r.model.asked.Load(); asked != 0 {
		t.Errorf("the model was asked %d times in vain", asked)
	}
	r.writeGrant(grantWith("the-present-value", time.Now().Add(time.Hour)))
	r.ended(1)
	if got, err := os.ReadFile(filepath.Join(r.workspace, "got")); err != nil || string(got) != "the-present-value\n" {
		t.Errorf("the sandbox has %q, %v", got, err)
	}
}

func TestEngineGivesUpWithoutAGrant(t *testing.T) {
	r := newEngineRig(t, &stubModel{answers: []chat.Answer{says("done")}}, mayReach("example.org"))
	r.showEgress("127.0.0.1:1", 1, "example.org")
	log, _ := r.startEgressEngine("worker-1", holdsItsLease)
	must(t, wait.PollUntilContextCancel(r.ctx, 10*time.Millisecond, true, func(context.Context) (bool, error) {
		return strings.Contains(log.String(), "was not told of it yet"), nil
	}))
	r.skipped.Store(int64(2 * time.Minute))
	steps := r.ended(1)
	if o := steps[0].Spec.Outcome; o == nil || o.Reason != v1alpha1.ReasonEgressUnavailable || o.Category != v1alpha1.CategoryInfraFailure {
		t.Errorf("the journal is %+v", steps)
	}
}

func TestEngineShowsTheTokenOfTheRetry(t *testing.T) {
	r := newEngineRig(t, &stubModel{
		answers: []chat.Answer{says("", call("bash", `{"command":"true"}`))},
		retry:   []chat.Answer{says("", call("bash", `{"command":"printf %s \"$https_proxy\" > proxy"}`)), says("done")},
	}, mayReach("example.org"), func(run *v1alpha1.MotorRun) { run.Spec.Limits.MaxIterations = 1 })
	proxy := newStubProxy(r)
	r.writeGrant(r.grantOf(1))
	r.showEgress(proxy.address, 1, "example.org")
	r.startEgressEngine("worker-1")
	r.steps(journalEnded)

	r.changeStatus(func(st *v1alpha1.MotorRunStatus) {
		st.Attempts = append(st.Attempts, v1alpha1.AttemptStatus{Index: 2, Cause: v1alpha1.CauseRetry, RecoveryContext: "it failed"})
	})
	r.writeGrant(r.grantOf(2))
	r.showEgress(proxy.address, 2, "example.org")
	r.steps(func(s []v1alpha1.MotorStep) bool { return journalEnded(s) && s[len(s)-1].Spec.Attempt == 2 })
	if got := proxy.shown(); !slices.Equal(got, []string{r.token(1), r.token(2)}) {
		t.Errorf("%d tokens were shown, or others", len(got))
	}
	want := "http://motor:" + r.token(2) + "@" + proxy.address
	if got, err := os.ReadFile(filepath.Join(r.workspace, "proxy")); err != nil || string(got) != want {
		t.Errorf("the retry was not given its own token (%v)", err)
	}
}

func TestEngineTellsARestartedToolServerOfTheWay(t *testing.T) {
	restarted := make(chan struct{})
	r := newEngineRig(t, &stubModel{reply: func(req chat.Request) chat.Answer {
		switch len(req.Messages) {
		case 2:
			return says("", call("bash", `{"command":"true"}`))
		case 4:
			<-restarted
			return says("", call("bash", `{"command":"printf %s \"$https_proxy\" > proxy"}`))
		default:
			return says("done")
		}
	}}, mayReach("example.org"))
	proxy := newStubProxy(r)
	r.writeGrant(r.grantOf(1))
	r.showEgress(proxy.address, 1, "example.org")
	r.startEgressEngine("worker-1")
	r.steps(func(s []v1alpha1.MotorStep) bool { return len(s) == 1 && s[0].Status.OK == "1/1" })
	// Between two calls, so that no call of unknown outcome gives it away.
	r.killSandbox()
	r.restartSandbox()
	close(restarted)
	r.steps(journalEnded)
	if got, err := os.ReadFile(filepath.Join(r.workspace, "proxy")); err != nil || !strings.Contains(string(got), proxy.address) {
		t.Errorf("the second call had no way out (%v)", err)
	}
}

func TestEngineProvesAgainWhatWasLost(t *testing.T) {
	r := newEngineRig(t, &stubModel{answers: []chat.Answer{
		says("", call("bash", slowSideEffect)), says("", call("bash", `{"command":"true"}`)), says("done"),
	}})
	r.startEgressEngine("worker-1")
	waitForFile(r.ctx, t, filepath.Join(r.workspace, "effects"))
	lost := metav1.NewTime(time.Now().Add(time.Minute).Truncate(time.Second))
	r.changeStatus(func(st *v1alpha1.MotorRunStatus) { st.Sandbox.IsolationLossTime = &lost })
	// Nothing lets the call go on: what ends it is the hole.
	steps := r.ended(2)
	if res := steps[0].Status.Results; len(res) != 1 || res[0].ErrorCode != toolapi.CodeCancelled {
		t.Errorf("the call that ran when the walls fell has %+v", res)
	}
	first, second := steps[0].Spec.Sandbox, steps[1].Spec.Sandbox
	if first.ProofTime == nil || first.ProofTime.After(lost.Time) {
		t.Errorf("the first proof is of %v", first.ProofTime)
	}
	// The clock of who found it lost is ahead by a minute.
	if second.ProofTime == nil || !second.ProofTime.After(lost.Time) || second.IsolationTries < 3 {
		t.Errorf("the second step has the proof %+v, after a loss at %v", second, lost)
	}
	if got, _ := os.ReadFile(filepath.Join(r.workspace, "effects")); string(got) != "effect\n" {
		t.Errorf("the side effects are %q", got)
	}
}

// A hole is no smaller because the run waits for a person: what runs in the background is ended at once, and not with the answer.
func TestEngineHaltsASandboxWhoseRunWaits(t *testing.T) {
	r := newEngineRig(t, &stubModel{answers: []chat.Answer{
		says("", call("bash", `{"background":true,"command":"while :; do echo alive >> beats; sleep 0.02; done"}`)),
		says("", call("ask_user", `{"question":"Go on?"}`)), says("done"),
	}})
	r.startEgressEngine("worker-1")
	waitForFile(r.ctx, t, filepath.Join(r.workspace, "beats"))
	r.loseIsolation(r.pending())
	r.wantNoBeat()
}

// loseIsolation plays the controller: it says that the walls were gone, while the run waits for that answer.
func (r *engineRig) loseIsolation(asked *v1alpha1.PendingInput) {
	r.t.Helper()
	lost := metav1.NewTime(time.Now().Add(time.Minute).Truncate(time.Second))
	r.changeStatus(func(st *v1alpha1.MotorRunStatus) {
		st.Sandbox.IsolationLossTime, st.PendingInputs = &lost, v1alpha1.PendingList(asked)
		apimeta.SetStatusCondition(&st.Conditions, metav1.Condition{
			Type: v1alpha1.ConditionIsolationVerified, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonIsolationLost, Message: "lost",
		})
	})
}

// wantNoBeat waits until nothing writes to the file "beats" any more. It is written to every 20 ms: two looks half a second apart that see
// the same size are those of a program that has ended.
func (r *engineRig) wantNoBeat() {
	r.t.Helper()
	beats := func() int64 {
		info, err := os.Stat(filepath.Join(r.workspace, "beats"))
		must(r.t, err)
		return info.Size()
	}
	for deadline := time.Now().Add(2 * time.Minute); ; {
		before := beats()
		select {
		case <-time.After(500 * time.Millisecond):
		case <-r.ctx.Done():
			r.t.Fatal(r.ctx.Err())
		}
		if beats() == before {
			return
		}
		if time.Now().After(deadline) {
			r.t.Fatal("the program goes on although the sandbox had a hole")
		}
	}
}

func TestEngineGoesOnUnenforcedIfToldTo(t *testing.T) {
	r := newEngineRig(t, &stubModel{answers: []chat.Answer{says("", call("bash", `{"command":"true"}`)), says("done")}})
	open := listen(r)
	r.forbidden = append(r.forbidden, target(strings.Repeat("é", 100), open))
	for range 20 {
		r.forbidden = append(r.forbidden, target("the bank", open))
	}
	r.startEgressEngine("worker-1", func(e *engine.Engine) { e.Config.Sandbox.AllowUnenforced = true })
	steps := r.ended(1)
	sb := steps[0].Spec.Sandbox
	if sb == nil || len(sb.Open) != 16 || sb.Open[0] != strings.Repeat("é", 64) || sb.IsolationTries != 0 || steps[0].Status.OK != "1/1" {
		t.Errorf("the first step is %+v in %+v", steps[0].Status, sb)
	}
}

func TestEngineResolvesCredentials(t *testing.T) {
	exposed := `pa"ss\word<&>`
	r := newEngineRig(t, &stubModel{answers: []chat.Answer{
		says("", call("bash", `{"command":"cat > got <<'END'\n<credential:api_key> <credential:db_password> <credential:other>\nEND\nenv > environment; cat got"}`)),
		says("done"),
	}}, mayReach("example.org"), func(run *v1alpha1.MotorRun) {
		run.Spec.Credentials = []v1alpha1.Credential{
			{Name: "api_key", SecretRef: v1alpha1.SecretKeyRef{Name: "s", Key: "k"}, Hosts: []v1alpha1.Domain{"example.org"}},
			{Name: "db_password", SecretRef: v1alpha1.SecretKeyRef{Name: "s", Key: "k"}, ExposeToSandbox: true},
		}
	})
	proxy := newStubProxy(r)
	r.writeGrant(r.grantOf(1,
		egressgrant.Credential{Name: "api_key", Hosts: []string{"example.org"}, Slot: "Bearer", Value: secret.New([]byte("sk-0123456789abcdef"))},
		egressgrant.Credential{Name: "db_password", Value: secret.New([]byte(exposed))}))
	r.showEgress(proxy.address, 1, "example.org")
	r.startEgressEngine("worker-1")
	steps := r.ended(1)
	want := r.handle("api_key") + " " + exposed + " <credential:other>\n"
	if got, err := os.ReadFile(filepath.Join(r.workspace, "got")); err != nil || string(got) != want {
		t.Errorf("the tool was given other arguments (%v)", err)
	}
	env, err := os.ReadFile(filepath.Join(r.workspace, "environment"))
	must(t, err)
	for _, line := range []string{"API_KEY=" + r.handle("api_key"), "DB_PASSWORD=" + exposed} {
		if !slices.Contains(strings.Split(string(env), "\n"), line) {
			t.Errorf("the environment lacks %s", strings.Split(line, "=")[0])
		}
	}
	if c := steps[0].Spec.ToolCalls[0]; !strings.Contains(c.Arguments, "<credential:api_key> <credential:db_password>") {
		t.Errorf("the journal has the arguments %s", c.Arguments)
	}
	if res := resultAt(t, steps, 0, 0); res.Output != "<credential:api_key> <credential:db_password> <credential:other>\n" {
		t.Errorf("the journal has the output %q", res.Output)
	}
}
