// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/verb"
	"motorcortex.dev/motorcortex/internal/runpolicy/calls"
)

const (
	mayAct    = "get,list,watch,create,patch,update,delete motorruns"
	mayCortex = "get motorcortices"
)

// agent is a program with an agent that has started `kubectl motor mcp`, and speaks with it by the SDK's own client.
type agent struct {
	t       *testing.T
	ctx     context.Context
	session *mcp.ClientSession
	// told are the URIs of resources that changed, and progress the messages of calls.
	told, progress chan string
	// ended has the exit code of the verb, and said what it printed beside the protocol by then.
	ended chan int
	said  string
}

// starts has a person start the verb for an agent.
func (p *terminal) starts(flags ...string) *agent {
	p.t.Helper()
	ctx := testContext(p.t)
	a := &agent{t: p.t, ctx: ctx, told: make(chan string, 100), progress: make(chan string, 100), ended: make(chan int, 1)}
	fromServer, toAgent := io.Pipe()
	fromAgent, toServer := io.Pipe()
	var errs bytes.Buffer
	go func() {
		code := plugIn(p.t, verb.Streams{In: fromAgent, Out: toAgent, Err: &errs}, append([]string{"mcp", "--kubeconfig", p.config}, flags...)...)
		_ = toAgent.Close()
		a.said = errs.String()
		a.ended <- code
	}()
	c := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, &mcp.ClientOptions{
		ResourceUpdatedHandler:      func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) { a.told <- r.Params.URI },
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { a.progress <- r.Params.Message },
	})
	session, err := c.Connect(ctx, &mcp.IOTransport{Reader: fromServer, Writer: toServer}, nil)
	must(p.t, err)
	a.session = session
	closing := sync.OnceFunc(func() {
		_ = session.Close()
		_ = toServer.Close()
	})
	p.t.Cleanup(closing)
	return a
}

// calls has the agent call a tool, and returns the text of the result.
func (a *agent) calls(tool, arguments string) (text string, failed bool) {
	a.t.Helper()
	params := &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(arguments)}
	params.SetProgressToken("p")
	result, err := a.session.CallTool(a.ctx, params)
	must(a.t, err)
	if len(result.Content) != 1 {
		a.t.Fatalf("%s %s: %d contents", tool, arguments, len(result.Content))
	}
	return result.Content[0].(*mcp.TextContent).Text, result.IsError
}

// gets is calls of a call that succeeds, and reads its result.
func (a *agent) gets(tool, arguments string) map[string]any {
	a.t.Helper()
	text, failed := a.calls(tool, arguments)
	if failed {
		a.t.Fatalf("%s %s: %s", tool, arguments, text)
	}
	var value map[string]any
	must(a.t, json.Unmarshal([]byte(text), &value))
	return value
}

// wantRefused is calls of a call that fails, and says all of these.
func (a *agent) wantRefused(tool, arguments string, parts ...string) {
	a.t.Helper()
	text, failed := a.calls(tool, arguments)
	if !failed {
		a.t.Errorf("%s %s was carried out: %s", tool, arguments, text)
	}
	for _, part := range parts {
		if !strings.Contains(text, part) {
			a.t.Errorf("%s %s does not say %q, but %s", tool, arguments, part, text)
		}
	}
}

// awaits returns when a channel had a text with that part.
func (a *agent) awaits(from chan string, part string) {
	a.t.Helper()
	for {
		select {
		case s := <-from:
			if strings.Contains(s, part) {
				return
			}
		case <-a.ctx.Done():
			a.t.Fatalf("nothing with %q came", part)
		}
	}
}

// An agent starts a run, is told what it asks, and passes on what a person decided where a person lets it.
func TestAnAgentHasARunCarriedOut(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t, withQuestions, "true")
	user := "dana@" + ns
	person(ctx, t, ns, user, []string{mayAct, mayCortex, "respond motorruns"})
	dana := &terminal{t: t, config: kubeconfig(t, ns, user)}
	a := dana.starts()

	tools, err := a.session.ListTools(ctx, nil)
	must(t, err)
	var names []string
	for _, tool := range tools.Tools {
		names = append(names, tool.Name)
	}
	if diff := cmp.Diff([]string{"core_act", "core_consolidate", "core_credential", "core_decide", "core_skill", "core_task"}, names); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
	acted := a.gets("core_act", `{"mode":"agentic","task":"count the words","tools":["read"],"approvalRequired":true,"maxIterations":7,"timeout":120000}`)
	name, _ := acted["runId"].(string)
	if acted["status"] != "created" || name == "" {
		t.Fatalf("the result is %v", acted)
	}
	run := &v1alpha1.MotorRun{}
	must(t, admin.Get(ctx, client.ObjectKey{Namespace: ns, Name: name}, run))
	spec := run.Spec
	if spec.Task != "count the words" || spec.Limits.MaxIterations != 7 || spec.Limits.ActiveDeadlineSeconds != 120 || spec.Approval.Required != v1alpha1.ApprovalIrreversible ||
		spec.Requester.Username != user {
		t.Errorf("the run is %+v", spec)
	}
	must(t, a.session.Subscribe(ctx, &mcp.SubscribeParams{URI: "motor://runs/" + name}))
	a.awaits(a.told, name)
	asking(ctx, t, run, 1, &v1alpha1.PendingInput{ID: "q1", Kind: v1alpha1.InputQuestion, Question: "Which of them?", Options: []string{"a", "b"}})
	a.awaits(a.told, name)
	waited := a.gets("core_task", `{"action":"wait","runId":"`+name+`","timeoutSeconds":60}`)
	a.awaits(a.progress, "asks (Question)")
	asked := waited["asks"].([]any)[0].(map[string]any)
	if asked["id"] != "q1" || asked["question"] != "Which of them?" || asked["answerWith"] != "core_decide answer" || waited["timeIsOver"] != false {
		t.Errorf("the wait returned %v", waited)
	}
	answer := `{"action":"respond","runId":"` + name + `","askId":"q1","answer":"b"}`
	a.wantRefused("core_task", answer, "--allow-consent")
	a.wantRefused("core_decide", `{"action":"answer","runId":"`+name+`","runUid":"`+string(run.UID)+`","askId":"q1","answer":"b"}`, "--allow-consent")
	must(t, admin.Get(ctx, client.ObjectKeyFromObject(run), run))
	if len(run.Spec.Responses) != 0 {
		t.Fatalf("without consent there is a response: %+v", run.Spec.Responses)
	}
	// The program that started the verb closes it.
	must(t, a.session.Close())
	select {
	case code := <-a.ended:
		if code != verb.ExitOK {
			t.Errorf("exit code %d: %s", code, a.said)
		}
	case <-time.After(time.Minute):
		t.Fatal("the verb goes on after its program has gone")
	}

	a = dana.starts("--allow-consent")
	a.wantRefused("core_task", `{"action":"respond","runId":"`+name+`","askId":"other","answer":"b"}`, "it asks Question under the id q1")
	a.gets("core_task", answer)
	must(t, admin.Get(ctx, client.ObjectKeyFromObject(run), run))
	want := []v1alpha1.Response{{ID: "q1", Answer: "b", RespondedBy: user}}
	if diff := cmp.Diff(want, run.Spec.Responses); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	a.wantRefused("core_task", answer, "has this very answer already, by "+user)
	cancelled := a.gets("core_task", `{"action":"cancel","runId":"`+name+`"}`)
	if cancelled["runId"] != name {
		t.Errorf("the cancellation returned %v", cancelled)
	}
	list := a.gets("core_task", `{"action":"list"}`)
	if list["total"] != float64(1) {
		t.Errorf("the list is %v", list)
	}
}

// Consent is not a right: who may not approve does not approve by an agent either.
func TestAnAgentHasNoRightsOfItsOwn(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t, withQuestions, "true")
	run := createRun(ctx, t, ns)
	digest := calls.ArgsDigest("bash", `{"command":"git push"}`)
	asking(ctx, t, run, 1, &v1alpha1.PendingInput{
		ID: "p1", Kind: v1alpha1.InputApproval, Question: "Approve?",
		Action: &v1alpha1.PendingAction{Tool: "bash", Arguments: `{"command":"git push"}`, ArgsDigest: digest},
	})
	person(ctx, t, ns, "dana@"+ns, []string{"get,list,watch,patch,respond motorruns"})
	person(ctx, t, ns, "anna@"+ns, []string{"get,list,watch,patch,approve motorruns"})
	dana := (&terminal{t: t, config: kubeconfig(t, ns, "dana@"+ns)}).starts("--allow-consent")
	anna := (&terminal{t: t, config: kubeconfig(t, ns, "anna@"+ns)}).starts("--allow-consent")
	dana.wantRefused("core_act", `{"mode":"agentic","task":"x"}`, "motorcortex-editor", ns)
	approve := `{"action":"approve","runId":"run","askId":"p1","digest":"` + digest + `"}`
	dana.wantRefused("core_task", approve, "dana@"+ns+" may not", "motorcortex-approver")
	dana.wantRefused("core_credential", `{"action":"list"}`, "on Secrets")
	dana.wantRefused("core_skill", `{"action":"list"}`, "motorcortex-viewer")
	dana.wantRefused("core_task", `{"action":"log","runId":"run"}`, "motorcortex-viewer")
	anna.wantRefused("core_task", `{"action":"approve","runId":"run","askId":"p1"}`, "has the digest "+digest, "nothing was decided")
	anna.wantRefused("core_task", `{"action":"approve","runId":"run","digest":"`+digest+`"}`, "needs [askId]")
	status := anna.gets("core_task", `{"action":"status","runId":"run"}`)
	action := status["asks"].([]any)[0].(map[string]any)["action"].(map[string]any)
	if action["argsDigest"] != digest || action["arguments"] != `{"command":"git push"}` || action["shortened"] != nil {
		t.Errorf("the action is %v", action)
	}
	anna.gets("core_task", approve)
	must(t, admin.Get(ctx, client.ObjectKeyFromObject(run), run))
	want := []v1alpha1.Response{{ID: "p1", Decision: v1alpha1.DecisionApproveOnce, Digest: digest}}
	if diff := cmp.Diff(want, run.Spec.Responses, cmpopts.IgnoreFields(v1alpha1.Response{}, "RespondedBy")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// An agent writes a skill out of a run that succeeded. A person's decision names what the person saw, and only an approver's is taken.
func TestAnAgentProposesASkill(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t, withQuestions, "true")
	createRun(ctx, t, ns)
	ends(ctx, t, ns, "run")
	writes, approves := "get,list,create,update,patch skills", "get,list,patch,approve skills"
	person(ctx, t, ns, "will@"+ns, []string{"get,list,watch motorruns", writes})
	person(ctx, t, ns, "anna@"+ns, []string{approves})
	will := (&terminal{t: t, config: kubeconfig(t, ns, "will@"+ns)}).starts("--allow-consent")
	anna := (&terminal{t: t, config: kubeconfig(t, ns, "anna@"+ns)}).starts("--allow-consent")
	files := `[{"path":"SKILL.md","content":"---\nname: count\ndescription: Counts words.\n---\nCount."}]`
	made := will.gets("core_consolidate", `{"name":"count","runs":["run"],"files":`+files+`,"tools":["read"],"inputs":[{"name":"file","required":true}]}`)
	if evidence := made["evidence"].(map[string]any); evidence["successRatePercent"] != float64(100) {
		t.Errorf("the evidence is %v", evidence)
	}
	skill := &v1alpha1.Skill{}
	must(t, admin.Get(ctx, client.ObjectKey{Namespace: ns, Name: "count"}, skill))
	if skill.Spec.Approval != nil || skill.Spec.Policy.Inputs[0].Name != "file" || skill.Spec.Source.Files[0].Path != "SKILL.md" {
		t.Errorf("the skill is %+v", skill.Spec)
	}
	content, policy := "sha256:"+strings.Repeat("c", 64), "sha256:"+strings.Repeat("d", 64)
	approve := `{"action":"approve","name":"count","contentHash":"` + content + `","policyHash":"` + policy + `"}`
	anna.wantRefused("core_skill", approve, "has not looked at the newest change")
	before := skill.DeepCopy()
	skill.Status = v1alpha1.SkillStatus{
		ObservedGeneration: skill.Generation, State: v1alpha1.SkillAwaitingApproval, RevisionName: "count-1", ContentHash: content, PolicyHash: policy,
		Revisions: []v1alpha1.RevisionSummary{{Name: "count-1", ContentHash: content}},
	}
	must(t, manager.Status().Patch(ctx, skill, client.MergeFrom(before)))
	will.wantRefused("core_skill", approve, "motorcortex-skill-approver")
	anna.wantRefused("core_skill", strings.Replace(approve, policy, content, 1), "look at it, and approve what you saw")
	anna.gets("core_skill", approve)
	must(t, admin.Get(ctx, client.ObjectKeyFromObject(skill), skill))
	if a := skill.Spec.Approval; a == nil || a.ContentHash != content || a.PolicyHash != policy || a.ApprovedBy != "anna@"+ns || a.Account != "anna@"+ns {
		t.Errorf("the approval is %+v", a)
	}
	will.gets("core_skill", `{"action":"update","name":"count","tools":["read","list"]}`)
	anna.gets("core_skill", `{"action":"revoke","name":"count","note":"enough"}`)
	must(t, admin.Get(ctx, client.ObjectKeyFromObject(skill), skill))
	if len(skill.Spec.Policy.Tools) != 2 || skill.Spec.Approval.Decision != v1alpha1.SkillDecisionRevoked {
		t.Errorf("the skill is %+v", skill.Spec)
	}
}

func TestAnAgentStoresACredential(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	person(ctx, t, ns, "dana@"+ns, []string{"get,list,create,patch,delete secrets"})
	a := (&terminal{t: t, config: kubeconfig(t, ns, "dana@"+ns)}).starts("--allow-consent")
	for _, value := range []string{"first", "second"} {
		a.gets("core_credential", `{"action":"set","secret":"key","value":"`+value+`","hosts":["api.example.org"]}`)
		secret := &corev1.Secret{}
		must(t, admin.Get(ctx, client.ObjectKey{Namespace: ns, Name: "key"}, secret))
		if string(secret.Data["value"]) != value || secret.Annotations["motorcortex.dev/hosts"] != "api.example.org" {
			t.Errorf("the Secret is %+v", secret)
		}
	}
	text, failed := a.calls("core_credential", `{"action":"list"}`)
	if failed || text != `{"credentials":[{"secret":"key","key":"value","hosts":["api.example.org"]}]}` {
		t.Errorf("the list is %s", text)
	}
	a.gets("core_credential", `{"action":"delete","secret":"key"}`)
	a.wantRefused("core_credential", `{"action":"delete","secret":"key"}`, "there is no credential key")
}

// One run at a time, where a MotorCortex says so. Its name is in the refusal.
func TestAnAgentIsToldWhichRunIsInTheWay(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t, withQuestions, "true")
	must(t, admin.Create(ctx, &v1alpha1.MotorCortex{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.CortexName, Namespace: ns}, Spec: v1alpha1.MotorCortexSpec{Concurrency: &v1alpha1.Concurrency{}}}))
	person(ctx, t, ns, "dana@"+ns, []string{mayAct, mayCortex})
	a := (&terminal{t: t, config: kubeconfig(t, ns, "dana@"+ns)}).starts()
	first := a.gets("core_act", `{"mode":"agentic","task":"x"}`)["runId"].(string)
	a.wantRefused("core_act", `{"mode":"agentic","task":"y"}`, "Motor Cortex is busy", first)
	if second := a.gets("core_act", `{"mode":"agentic","task":"y","queue":true}`)["runId"]; second == first || second == "" {
		t.Errorf("the second run is %v", second)
	}
	ends(ctx, t, ns, first)
	list := a.gets("core_task", `{"action":"list","status":"Completed"}`)
	if runs := list["runs"].([]any); len(runs) != 1 || runs[0].(map[string]any)["id"] != first {
		t.Errorf("the list is %v", list)
	}
}
