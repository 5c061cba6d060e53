// SPDX-License-Identifier: Apache-2.0

package box

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/egress/grant"
	"motorcortex.dev/motorcortex/internal/engine/enginetest"
	"motorcortex.dev/motorcortex/internal/engine/redacting"
	"motorcortex.dev/motorcortex/internal/engine/runenv"
	"motorcortex.dev/motorcortex/internal/motorloop"
	"motorcortex.dev/motorcortex/internal/motorloop/chat"
	"motorcortex.dev/motorcortex/internal/motorloop/config"
	"motorcortex.dev/motorcortex/internal/motorloop/outcome"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/secret"
	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolclient"
)

const firstRead, secondRead = "a1-s2-c0", "a1-s2-c1"

// restartingSandbox is a tool server that is killed when it has all the reads of an answer, and replaced by a new one. The end of
// the first read was not seen; the new tool server makes the others when the client knows that.
type restartingSandbox struct {
	mu sync.Mutex
	// events are the requests, but those for the programs in the background.
	events            []string
	reads             int
	killed            chan struct{}
	used, egress, mcp bool
	// known is closed when the client has the result of the first read.
	known chan struct{}
}

func (s *restartingSandbox) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var answer any
	id, isCall := strings.CutPrefix(r.URL.Path, toolapi.PathCalls)
	switch {
	case isCall && r.Method == http.MethodPut:
		answer = s.call(id)
	case r.URL.Path == toolapi.PathProbe:
		answer = toolapi.ProbeResponse{Confinement: &toolapi.Confinement{Families: []string{toolapi.FamilyIPv4}}}
		s.note("probe", func() {})
	case r.URL.Path == toolapi.PathEgress:
		answer = toolapi.EgressResponse{Ready: true}
		s.note("egress", func() { s.egress = true })
	case r.URL.Path == toolapi.PathMCP:
		answer = toolapi.MCPResponse{Servers: []toolapi.MCPServerState{{Name: "one"}}}
		s.note("mcp", func() { s.mcp = true })
	case r.URL.Path == toolapi.PathBackground:
		answer = toolapi.BackgroundResponse{}
	default:
		hello := toolapi.Hello{PodUID: "pod", APIVersion: toolapi.APIVersion, Features: toolapi.Features(), Tools: []string{toolapi.ToolRead, toolapi.ToolBash}}
		s.note("hello", func() { hello.Used, hello.Egress, hello.MCP = s.used, s.egress, s.mcp })
		answer = hello
	}
	_ = json.NewEncoder(w).Encode(answer)
}

func (s *restartingSandbox) note(event string, and func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, event)
	and()
}

func (s *restartingSandbox) call(id string) toolapi.Result {
	s.note(id, func() {
		s.used = true
		if s.reads++; s.reads == toolapi.MaxReads {
			s.used, s.egress, s.mcp = false, false, false
			close(s.killed)
		}
	})
	<-s.killed
	if id == firstRead {
		return toolapi.Result{ErrorCode: toolapi.CodeOutcomeUnknown, Provenance: toolapi.ProvenanceInternal}
	}
	<-s.known
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used = true
	return toolapi.Result{OK: true, Output: "of " + id, Provenance: toolapi.ProvenanceInternal}
}

// orderedLoop has a loop see the end of the second read after that of the first, and before it decides about the first.
type orderedLoop struct {
	motorloop.Tools
	motorloop.Journal
	first, second chan struct{}
}

func (o orderedLoop) Call(ctx context.Context, c toolapi.Call) (toolapi.Result, error) {
	r, err := o.Tools.Call(ctx, c)
	switch c.ID {
	case firstRead:
		close(o.first)
	case secondRead:
		close(o.second)
	}
	return r, err
}

func (o orderedLoop) Settle(ctx context.Context, t *turn.Turn) error {
	if len(t.Unknown) > 0 {
		<-o.second
	}
	return o.Journal.Settle(ctx, t)
}

// scriptedModel returns one answer after the other.
type scriptedModel struct{ answers []chat.Answer }

func (m *scriptedModel) Complete(context.Context, chat.Request) (chat.Answer, error) {
	if len(m.answers) == 0 {
		return chat.Answer{}, errors.New("no more answers")
	}
	a := m.answers[0]
	m.answers = m.answers[1:]
	return a, nil
}

func readingModel() *scriptedModel {
	var reads []turn.Call
	for i := range toolapi.MaxReads {
		reads = append(reads, turn.Call{ModelID: fmt.Sprint("r", i), Tool: toolapi.ToolRead, Arguments: fmt.Sprintf(`{"path":"f%d"}`, i)})
	}
	bash := turn.Call{ModelID: "b", Tool: toolapi.ToolBash, Arguments: `{"command":"true"}`}
	return &scriptedModel{[]chat.Answer{{Calls: reads}, {Calls: []turn.Call{bash}}, {Content: "done"}}}
}

// readingBox is the sandbox of a run, with a way out, a credential and an MCP server if it has all of them.
func readingBox(t *testing.T, everything bool) (*Box, *redacting.Secrets) {
	t.Helper()
	box, c := allowedBox(t, func(run *v1alpha1.MotorRun) {
		run.Spec.Responses[0].Decision = v1alpha1.DecisionAllowRun
		if everything {
			run.Status.Egress.Proxy = "10.0.0.2:3128"
			run.Spec.Credentials = []v1alpha1.Credential{{Name: "api_key"}}
			run.Spec.MCPServers = mcpRun("one").Spec.MCPServers
		}
	}, nil)
	// The sandbox is asked for its background programs after each call.
	box.left = true
	known := box.Env.Known
	if !everything {
		return box, known
	}
	box.config.EgressKey, box.config.GrantNamespace = []byte("key"), "motor"
	uid := string(box.Env.Run.UID)
	data, err := (&grant.Grant{
		RunUID: uid, PodUID: "pod", TokenHash: grant.HashToken(grant.Token([]byte("key"), uid, "pod", 1)), ExpiresAt: time.Now().Add(time.Hour),
		Credentials: []grant.Credential{{Name: "api_key", Handle: "mch-abc", Slot: "Bearer", Value: secret.New([]byte("a-secret-value"))}},
	}).Encode()
	if err != nil {
		t.Fatal(err)
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "motor", Name: grant.SecretName(uid)}, Type: grant.SecretType, Data: data}
	if err := c.Create(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	if box.WayOut, err = OpenWayOut(t.Context(), box.Env, box.config); err != nil {
		t.Fatal(err)
	}
	box.MCP = NewMCPServers(box.Env.Run, nil, known)
	return box, known
}

// A tool server that was killed with the reads of an answer is proved to be isolated before it gets another call, also when it has ended
// some of those reads meanwhile. The reads run concurrently, and the sandbox is prepared once for all of them.
func TestReadsSideBySideWithARestart(t *testing.T) {
	t.Parallel()
	for name, everything := range map[string]bool{"bare": false, "with a way out, a credential and an MCP server": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			box, known := readingBox(t, everything)
			first := make(chan struct{})
			sandbox := &restartingSandbox{killed: make(chan struct{}), known: first}
			box.Client = enginetest.ToolsAt(t, sandbox)
			ordered := orderedLoop{box, Journal{Journal: box.Env.Entries, Box: box}, first, make(chan struct{})}
			loop := &motorloop.Loop{
				Config:  config.Config{Attempt: 1, Task: "t", Tools: []string{toolapi.ToolRead, toolapi.ToolBash}, MaxIterations: 9, TextEnds: true},
				Model:   readingModel(),
				Tools:   redacting.Tools{Tools: ordered, Secrets: known, Refresh: box.WayOut.Refresh},
				Journal: ordered,
			}
			if out, err := loop.Run(ctx, box.Env.Entries.Turns()); err != nil || out.Kind != outcome.Completed {
				t.Fatalf("%+v, %v", out, err)
			}
			checkRestart(t, sandbox.events, everything)
		})
	}
}

func checkRestart(t *testing.T, events []string, everything bool) {
	t.Helper()
	again := slices.Index(events, firstRead+"-r1")
	last := 0
	for i := range toolapi.MaxReads {
		last = max(last, slices.Index(events, fmt.Sprintf("a1-s2-c%d", i)))
	}
	if again < 0 || !slices.Contains(events, "a1-s3-c0") {
		t.Fatalf("not all calls were made: %v", events)
	}
	between := events[last+1 : again]
	if hello, probe := slices.Index(between, "hello"), slices.Index(between, "probe"); hello < 0 || probe < hello {
		t.Errorf("the next call was made without a new proof: %v", events)
	}
	// The client greets the server once by itself.
	before, want := events[:last+1], map[string]int{"hello": 1}
	if everything {
		want = map[string]int{"hello": 2, "egress": 1, "mcp": 1}
		if !slices.Contains(between, "egress") || !slices.Contains(between, "mcp") {
			t.Errorf("the new tool server was not told of everything: %v", events)
		}
	}
	for _, event := range []string{"hello", "egress", "mcp"} {
		n := len(slices.DeleteFunc(slices.Clone(before), func(e string) bool { return e != event }))
		if n > want[event] {
			t.Errorf("%d times %s before the reads, want %d: %v", n, event, want[event], events)
		}
	}
}

// Calls that find the sandbox gone do not wait for it one after the other.
func TestCallsGiveASandboxUpTogether(t *testing.T) {
	t.Parallel()
	box, _ := readingBox(t, true)
	address, cert := enginetest.ServeTools(t, http.NotFoundHandler())
	const patience = time.Second
	gone, err := toolclient.New(toolclient.Config{Address: address + "0", PodUID: "pod", ClientCert: cert, Unreachable: patience})
	if err != nil {
		t.Fatal(err)
	}
	box.Client = gone
	began := time.Now()
	var calls sync.WaitGroup
	for i := range toolapi.MaxReads {
		calls.Go(func() {
			c := toolapi.Call{ID: fmt.Sprintf("a1-s2-c%d", i), Tool: toolapi.ToolRead, Arguments: json.RawMessage(`{"path":"f"}`)}
			if _, err := box.Call(t.Context(), c); !errors.Is(err, runenv.ErrMissing) {
				t.Error(err)
			}
		})
	}
	calls.Wait()
	if took := time.Since(began); took > toolapi.MaxReads/2*patience {
		t.Errorf("took %s", took)
	}
}
