// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/pkg/client/clientset/versioned/fake"
	"motorcortex.dev/motorcortex/pkg/client/motor"
)

// asking is a server with a run that asks a question, and the cluster of both.
func asking(life context.Context, t *testing.T, consent bool) (*Server, *fake.Clientset) {
	t.Helper()
	cluster := fake.NewSimpleClientset(&v1alpha1.MotorRun{
		ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "ns", UID: "uid"},
		Spec:       v1alpha1.MotorRunSpec{Task: "count", Responses: []v1alpha1.Response{{ID: "earlier", Answer: "x"}}},
		Status:     v1alpha1.MotorRunStatus{Phase: v1alpha1.PhaseAwaitingInput, PendingInputs: []v1alpha1.PendingInput{{ID: "q", Kind: v1alpha1.InputQuestion, Question: "Which?"}}},
	})
	client, err := motor.NewFor(motor.Clients{Motor: cluster}, "ns")
	if err != nil {
		t.Fatal(err)
	}
	return New(life, client, consent, Bounds{}), cluster
}

// by connects a program of a version of the protocol that has these forms, nil for one without.
func by(t *testing.T, s *Server, version string, forms func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error)) *mcp.ClientSession {
	t.Helper()
	here, there := mcp.NewInMemoryTransports()
	if _, err := s.Connect(t.Context(), here, nil); err != nil {
		t.Fatal(err)
	}
	program := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, &mcp.ClientOptions{ElicitationHandler: forms})
	session, err := program.Connect(t.Context(), there, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return session
}

// responses are those of the run, but for the one that it had.
func responses(t *testing.T, cluster *fake.Clientset) []v1alpha1.Response {
	t.Helper()
	run, err := cluster.MotorCortexV1alpha1().MotorRuns("ns").Get(t.Context(), "a", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return run.Spec.Responses[1:]
}

const decides = `{"action":"answer","runId":"a","runUid":"uid","askId":"q","answer":"red"}`

func accepts(answer string) func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	return func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"answer": answer}}, nil
	}
}

// unasked are forms that no person must be shown.
func unasked(t *testing.T) func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	t.Helper()
	return func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		t.Errorf("a person is asked: %s", r.Params.Message)
		return &mcp.ElicitResult{Action: "cancel"}, nil
	}
}

// Where the program can ask a person, the person decides, by both kinds of the protocol. Where it cannot, nothing is changed.
func TestAPersonDecidesInAForm(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"2025-06-18", "2025-11-25", statelessVersion} {
		for name, tt := range map[string]struct {
			tool, arguments string
			consent         bool
			forms           func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error)
			want            string // the answer that is sent
			says            string // a part of the error
		}{
			"another answer":    {motor.ToolDecide, decides, true, accepts("blue"), "blue", ""},
			"by core_task":      {motor.ToolTask, `{"action":"respond","runId":"a","askId":"q","answer":"red"}`, true, accepts("blue"), "blue", ""},
			"the program asks":  {motor.ToolDecide, `{"action":"ask","runId":"a","runUid":"uid","askId":"q"}`, true, accepts("blue"), "blue", ""},
			"no forms":          {motor.ToolDecide, decides, true, nil, "red", ""},
			"no forms to ask":   {motor.ToolDecide, `{"action":"ask","runId":"a","runUid":"uid","askId":"q"}`, true, nil, "", "cannot ask a person"},
			"no consent":        {motor.ToolDecide, decides, false, unasked(t), "", "--allow-consent"},
			"nothing to decide": {motor.ToolTask, `{"action":"retry","runId":"a"}`, true, unasked(t), "", "does not ask that"},
			"another run":       {motor.ToolDecide, strings.Replace(decides, `"uid"`, `"former"`, 1), true, accepts("blue"), "", "another one of its name"},
			"another ask":       {motor.ToolDecide, strings.Replace(decides, `"q"`, `"r"`, 1), true, accepts("blue"), "", "does not ask anything under the id"},
			"an unknown word":   {motor.ToolDecide, strings.Replace(decides, `"answer":"red"`, `"answer":"red","once":true`, 1), true, unasked(t), "", "once"},
			"no UID":            {motor.ToolDecide, strings.Replace(decides, `"runUid":"uid",`, "", 1), true, unasked(t), "", "needs [runUid]"},
			"another action's":  {motor.ToolDecide, strings.Replace(decides, `"answer":"red"`, `"answer":"red","wholeRun":true`, 1), true, unasked(t), "", "takes no wholeRun"},
			"no id of an ask":   {motor.ToolTask, `{"action":"respond","runId":"a","answer":"red"}`, true, unasked(t), "", "needs [askId]"},
			"no retry is asked": {motor.ToolTask, `{"action":"retry","runId":"a","domains":["example.org"]}`, true, unasked(t), "", "does not ask whether to try again"},
			"the person declines": {motor.ToolDecide, decides, true, func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				return &mcp.ElicitResult{Action: "decline"}, nil
			}, "", "did not decide"},
			"the form is closed": {motor.ToolDecide, decides, true, func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				return &mcp.ElicitResult{Action: "cancel"}, nil
			}, "", "did not decide"},
		} {
			t.Run(version+" "+name, func(t *testing.T) {
				t.Parallel()
				s, cluster := asking(t.Context(), t, tt.consent)
				result, err := by(t, s, version, tt.forms).CallTool(t.Context(), &mcp.CallToolParams{Name: tt.tool, Arguments: json.RawMessage(tt.arguments)})
				if err != nil {
					t.Fatal(err)
				}
				said := result.Content[0].(*mcp.TextContent).Text
				if result.IsError != (tt.says != "") || !strings.Contains(said, tt.says) {
					t.Errorf("got %s, want %q", said, tt.says)
				}
				sent := responses(t, cluster)
				if tt.want == "" && len(sent) != 0 || tt.want != "" && (len(sent) != 1 || sent[0].Answer != tt.want || sent[0].ID != "q") {
					t.Errorf("sent %+v, want %q", sent, tt.want)
				}
			})
		}
	}
}

// The ask that the person is shown is the one of the cluster, and an answer to a form is none to another form.
func TestAFormThatIsNotTheOneShownDecidesNothing(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"2025-11-25", statelessVersion} {
		s, cluster := asking(t.Context(), t, true)
		changes := func(ctx context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			if !strings.Contains(r.Params.Message, "Question:\n| Which?") {
				t.Errorf("the form says %s", r.Params.Message)
			}
			run, err := cluster.MotorCortexV1alpha1().MotorRuns("ns").Get(ctx, "a", metav1.GetOptions{})
			if err != nil {
				return nil, err
			}
			run.Status.PendingInputs[0].ID, run.Status.PendingInputs[0].Question = "q2", "Delete all of it?"
			if _, err := cluster.MotorCortexV1alpha1().MotorRuns("ns").Update(ctx, run, metav1.UpdateOptions{}); err != nil {
				return nil, err
			}
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"answer": "yes"}}, nil
		}
		result, err := by(t, s, version, changes).CallTool(t.Context(), &mcp.CallToolParams{Name: motor.ToolDecide, Arguments: json.RawMessage(decides)})
		if err != nil || !result.IsError || len(responses(t, cluster)) != 0 {
			t.Errorf("%s: %+v, %v", version, result, err)
		}
	}
}

// A retry leads the run to hosts that the model names. A person decides about these in a form, as about a domain that the run asks for.
func TestAPersonDecidesAboutTheDomainsOfARetry(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"2025-11-25", statelessVersion} {
		for chosen, want := range map[string][]v1alpha1.Domain{
			"": nil, "try again without them": nil, "try again with these domains": {"evil.example.org"},
		} {
			s, cluster := asking(t.Context(), t, true)
			runs := cluster.MotorCortexV1alpha1().MotorRuns("ns")
			run, err := runs.Get(t.Context(), "a", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			run.Status.PendingInputs = []v1alpha1.PendingInput{{ID: "retry-1", Kind: v1alpha1.InputRetry}}
			if _, err := runs.Update(t.Context(), run, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
			shown := ""
			result, err := by(t, s, version, func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				shown = r.Params.Message
				if chosen == "" {
					return &mcp.ElicitResult{Action: "decline"}, nil
				}
				return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": chosen}}, nil
			}).CallTool(t.Context(), &mcp.CallToolParams{
				Name: motor.ToolTask, Arguments: json.RawMessage(`{"action":"retry","runId":"a","guidance":"Use the mirror.","domains":["evil.example.org"]}`),
			})
			if err != nil || result.IsError != (chosen == "") {
				t.Errorf("%s %q: %+v, %v", version, chosen, result, err)
			}
			if !strings.Contains(shown, "\n| evil.example.org\n") || !strings.Contains(shown, "\n| Use the mirror.\n") {
				t.Errorf("%s %q: the form says %q", version, chosen, shown)
			}
			sent := responses(t, cluster)
			if chosen == "" && len(sent) == 0 {
				continue
			}
			if chosen == "" || len(sent) != 1 || sent[0].ID != "retry-1" || sent[0].Decision != v1alpha1.DecisionRetry || sent[0].Guidance != "Use the mirror." ||
				!slices.Equal(sent[0].AddDomains, want) {
				t.Errorf("%s %q: sent %+v", version, chosen, sent)
			}
		}
	}
}

// Another run can have the name by the time that the form comes back, and ask the same.
func TestAFormOfARunThatIsGoneDecidesNothing(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"2025-11-25", statelessVersion} {
		s, cluster := asking(t.Context(), t, true)
		runs := cluster.MotorCortexV1alpha1().MotorRuns("ns")
		again := func(ctx context.Context, _ *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			run, err := runs.Get(ctx, "a", metav1.GetOptions{})
			if err != nil {
				return nil, err
			}
			if err := runs.Delete(ctx, "a", metav1.DeleteOptions{}); err != nil {
				return nil, err
			}
			run.UID = "later"
			if _, err := runs.Create(ctx, run, metav1.CreateOptions{}); err != nil {
				return nil, err
			}
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"answer": "yes"}}, nil
		}
		result, err := by(t, s, version, again).CallTool(t.Context(), &mcp.CallToolParams{
			Name: motor.ToolTask, Arguments: json.RawMessage(`{"action":"respond","runId":"a","askId":"q","answer":"no"}`),
		})
		if sent := responses(t, cluster); err != nil || !result.IsError || len(sent) != 0 {
			t.Errorf("%s: %+v, %v, sent %+v", version, result, err, sent)
		}
	}
}

// bearer sends the token of a program.
type bearer struct{}

func (bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer right")
	return http.DefaultTransport.RoundTrip(r)
}

// The forms of a program of the cluster come by HTTP: within the stream of the call, or as its result.
func TestAPersonDecidesInAFormByHTTP(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"2025-11-25", statelessVersion} {
		s, cluster := asking(t.Context(), t, true)
		there := httptest.NewServer(HTTP(t.Context(), Handler(func(context.Context, string, *http.Request) (*auth.TokenInfo, error) {
			return &auth.TokenInfo{UserID: "a"}, nil
		}, func(http.ResponseWriter, *http.Request) *Server { return s })).Handler)
		program := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, &mcp.ClientOptions{ElicitationHandler: accepts("blue")})
		session, err := program.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: there.URL, HTTPClient: &http.Client{Transport: bearer{}}},
			&mcp.ClientSessionOptions{ProtocolVersion: version})
		if err != nil {
			t.Fatal(err)
		}
		result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: motor.ToolDecide, Arguments: json.RawMessage(decides)})
		if sent := responses(t, cluster); err != nil || result.IsError || len(sent) != 1 || sent[0].Answer != "blue" {
			t.Errorf("%s: %+v, %v, sent %+v", version, result, err, sent)
		}
		_ = session.Close()
		there.CloseClientConnections()
		there.Close()
	}
}

// What a person said of one form is nothing about another one.
func TestAnAnswerIsOneToTheFormThatWasShown(t *testing.T) {
	t.Parallel()
	s, cluster := asking(t.Context(), t, true)
	session := by(t, s, statelessVersion, accepts("blue"))
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{
		Name: motor.ToolDecide, Arguments: json.RawMessage(decides), RequestState: "of another form",
		InputResponses: mcp.InputResponseMap{formID: &mcp.ElicitResult{Action: "accept", Content: map[string]any{"answer": "blue"}}},
	})
	if err != nil || !result.IsError || !strings.Contains(result.Content[0].(*mcp.TextContent).Text, "is not the one that the person saw") || len(responses(t, cluster)) != 0 {
		t.Errorf("%+v, %v", result, err)
	}
}

// A form that a person leaves open ends with the server, as every call does.
func TestAFormEndsWithTheServer(t *testing.T) {
	t.Parallel()
	life, stop := context.WithCancel(t.Context())
	s, cluster := asking(life, t, true)
	shown, leave := make(chan struct{}), make(chan struct{})
	defer close(leave)
	session := by(t, s, "2025-11-25", func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		close(shown)
		<-leave
		return &mcp.ElicitResult{Action: "cancel"}, nil
	})
	ended := make(chan *mcp.CallToolResult, 1)
	go func() {
		result, _ := session.CallTool(t.Context(), &mcp.CallToolParams{Name: motor.ToolDecide, Arguments: json.RawMessage(decides)})
		ended <- result
	}()
	<-shown
	stop()
	select {
	case result := <-ended:
		if result != nil && !result.IsError {
			t.Errorf("got %+v", result)
		}
	case <-time.After(time.Minute):
		t.Fatal("the call goes on")
	}
	if len(responses(t, cluster)) != 0 {
		t.Error("something was sent")
	}
}
