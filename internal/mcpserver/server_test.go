// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"context"
	"encoding/json"
	"maps"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/runpolicy/calls"
	"motorcortex.dev/motorcortex/pkg/client/clientset/versioned/fake"
	"motorcortex.dev/motorcortex/pkg/client/motor"
)

// connected is a program that is served, and the server.
func connected(t *testing.T, consent bool) (*mcp.ClientSession, *Server) {
	t.Helper()
	s := serving(t.Context(), t, consent, nil)
	return connect(t, s), s
}

// begun is a server whose life is the context's, and a program that it serves.
func begun(ctx context.Context, t *testing.T, enter Enter) (*Server, *mcp.ClientSession) {
	t.Helper()
	s := serving(ctx, t, false, enter)
	return s, connect(t, s) //nolint:contextcheck // The program outlives the server.
}

func serving(ctx context.Context, t *testing.T, consent bool, enter Enter) *Server {
	t.Helper()
	run := &v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "ns", UID: "uid"}, Spec: v1alpha1.MotorRunSpec{Task: "count"}}
	skill := &v1alpha1.Skill{ObjectMeta: metav1.ObjectMeta{Name: "mail", Namespace: "ns"}, Status: v1alpha1.SkillStatus{State: v1alpha1.SkillApproved}}
	client, err := motor.NewFor(motor.Clients{Motor: fake.NewSimpleClientset(run, skill)}, "ns")
	if err != nil {
		t.Fatal(err)
	}
	return New(ctx, client, consent, Bounds{Enter: enter})
}

func connect(t *testing.T, s *Server) *mcp.ClientSession {
	t.Helper()
	here, there := mcp.NewInMemoryTransports()
	if _, err := s.Connect(t.Context(), here, nil); err != nil {
		t.Fatal(err)
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, nil).Connect(t.Context(), there, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return session
}

// An error of a tool is a result, which a model reads. An error of the protocol is not shown to it.
func TestErrorsAreResults(t *testing.T) {
	t.Parallel()
	for consent, says := range map[bool]string{false: "--allow-consent", true: "it asks nothing now"} {
		session, _ := connected(t, consent)
		result, err := session.CallTool(t.Context(), &mcp.CallToolParams{
			Name: motor.ToolTask, Arguments: json.RawMessage(`{"action":"respond","runId":"a","askId":"q","answer":"yes"}`),
		})
		if err != nil || !result.IsError || !strings.Contains(result.Content[0].(*mcp.TextContent).Text, says) {
			t.Errorf("%+v, %v, want %s", result, err, says)
		}
	}
}

func TestResources(t *testing.T) {
	t.Parallel()
	session, s := connected(t, false)
	for uri, want := range map[string]string{
		"motor://skills":   `"name":"mail","state":"Approved","usable":true`,
		"motor://runs/a":   `"id":"a","status":"Created"`,
		"motor://runs/b":   "",
		"motor://runs/a/b": "",
		"motor://runs/":    "",
		"motor://other":    "",
	} {
		result, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
		if (err == nil) != (want != "") || err == nil && !strings.Contains(result.Contents[0].Text, want) {
			t.Errorf("%s: %+v, %v", uri, result, err)
		}
	}
	if err := s.subscribe(nil, "motor://skills"); err == nil {
		t.Error("the catalogue can be subscribed to")
	}
	// A program of a newer protocol does not wait until it is subscribed.
	if err := session.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "motor://runs/a"}); err != nil {
		t.Fatal(err)
	}
	become(t, s.watches, 1)
	if err := session.Unsubscribe(t.Context(), &mcp.UnsubscribeParams{URI: "motor://runs/a"}); err != nil {
		t.Fatal(err)
	}
	become(t, s.watches, 0)
}

// A resource is for the context of a model, as a result is.
func TestAResourceHasABound(t *testing.T) {
	t.Parallel()
	if _, err := resource("motor://runs/a", strings.Repeat("x", maxResult-2), nil); err != nil {
		t.Error(err)
	}
	if _, err := resource("motor://runs/a", strings.Repeat("x", maxResult-1), nil); err == nil || !strings.Contains(err.Error(), "at most 524288") {
		t.Errorf("%v", err)
	}
	result, err := written(strings.Repeat("x", maxResult))
	if err == nil || result != nil {
		t.Errorf("a result has %d bytes, %v", len(result), err)
	}
}

// A host asks the person before a tool that can destroy something, unless the annotations say that it reads only.
func TestToolsAreAnnotated(t *testing.T) {
	t.Parallel()
	session, _ := connected(t, false)
	list, err := session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for _, tool := range list.Tools {
		if a := tool.Annotations; a == nil || a.ReadOnlyHint || a.DestructiveHint == nil {
			t.Errorf("%s: %+v", tool.Name, a)
		} else {
			got[tool.Name] = *a.DestructiveHint
		}
	}
	want := map[string]bool{motor.ToolAct: true, motor.ToolTask: true, motor.ToolDecide: true, motor.ToolSkill: true, motor.ToolCredential: true, motor.ToolConsolidate: false}
	if !maps.Equal(got, want) {
		t.Errorf("destructive: %v, want %v", got, want)
	}
}

// The client computes the digest of a call itself. It must be the operator's, or no call could be approved.
func TestTheDigestsOfClientAndOperatorAgree(t *testing.T) {
	t.Parallel()
	for _, arguments := range []string{
		`{}`, `{"command":"git push"}`, `{"b":1.0,"a":[1e400,true,null,{"d":{},"c":[]}]}`, `{"n":12345678901234567890}`, `{"a":"<&>\u2028\u00e9é😀"}`,
		"{\"a\":\"\u202e\"}", `{"a":"\ud800"}`, "{\"a\":\"\xff\"}", `{"a":1,"a":2}`, `{"a":{"b":1,"b":2}}`, `{} {}`, `[]`, `"x"`, `{"a":`, ``, " { \"a\" :\n1 } ",
		`{"a":` + strings.Repeat("[", 998) + strings.Repeat("]", 998) + `}`, `{"a":` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + `}`,
	} {
		digest := calls.ArgsDigest("bash", arguments)
		run := &v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "ns", UID: "uid"}, Status: v1alpha1.MotorRunStatus{
			PendingInputs: []v1alpha1.PendingInput{{ID: "p", Kind: v1alpha1.InputApproval, StepName: "step", Action: &v1alpha1.PendingAction{
				Tool: "bash", Arguments: calls.DisplayArguments(arguments), ArgsDigest: digest,
			}}},
		}}
		step := &v1alpha1.MotorStep{
			ObjectMeta: metav1.ObjectMeta{Name: "step", Namespace: "ns"},
			Spec:       v1alpha1.MotorStepSpec{ToolCalls: []v1alpha1.ToolCall{{ID: "c", Arguments: arguments}}},
			Status:     v1alpha1.MotorStepStatus{Asks: []v1alpha1.StepAsk{{ID: "p", CallID: "c"}}},
		}
		client, err := motor.NewFor(motor.Clients{Motor: fake.NewSimpleClientset(run, step)}, "ns")
		if err != nil {
			t.Fatal(err)
		}
		details, err := client.Describe(t.Context(), "a")
		if err != nil || len(details.Asks) != 1 || details.Asks[0].Action.Shortened {
			t.Errorf("%.100q is not shown whole: %+v, %v", arguments, details, err)
		}
	}
}

// become waits until there are so many watches.
func become(t *testing.T, w *watches, n int) {
	t.Helper()
	for end := time.Now().Add(time.Minute); w.count() != n; {
		if time.Now().After(end) {
			t.Fatalf("there are %d watches, want %d", w.count(), n)
		}
		runtime.Gosched()
	}
}

func TestDescribed(t *testing.T) {
	t.Parallel()
	run := &v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Status: v1alpha1.MotorRunStatus{Phase: "Running", Reason: "Running", Steps: 3, Message: "the model's"}}
	ask := &v1alpha1.PendingInput{Kind: v1alpha1.InputQuestion, Question: "the model's"}
	for want, e := range map[string]motor.Event{
		"run a: Running (Running), step 3": {Type: motor.EventChanged, Run: run},
		"run a asks (Question)":            {Type: motor.EventAsked, Run: run, Ask: ask},
		"run a asks no more (Question)":    {Type: motor.EventAnswered, Run: run, Ask: ask},
	} {
		if got := described(e); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
