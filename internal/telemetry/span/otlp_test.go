// SPDX-License-Identifier: Apache-2.0

package span

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/telemetry/span/spantest"
)

// otlp is OTLP/JSON, as its specification has it.
type otlp struct {
	ResourceSpans []struct {
		Resource   struct{ Attributes otlpAttributes }
		ScopeSpans []struct {
			Scope struct{ Name, Version string }
			Spans []otlpSpan
		}
	}
}

type otlpSpan struct {
	TraceID, SpanID, ParentSpanID string
	Name                          string
	Kind                          int
	Flags                         int
	StartTimeUnixNano             int64 `json:",string"`
	EndTimeUnixNano               int64 `json:",string"`
	Attributes                    otlpAttributes
	Status                        struct{ Code int }
}

type otlpAttributes []struct {
	Key   string
	Value struct {
		StringValue *string
		IntValue    *int64 `json:",string"`
	}
}

// all returns the attributes as texts, numbers with a # before them.
func (a otlpAttributes) all() map[string]string {
	of := map[string]string{}
	for _, kv := range a {
		switch {
		case kv.Value.StringValue != nil:
			of[kv.Key] = *kv.Value.StringValue
		case kv.Value.IntValue != nil:
			of[kv.Key] = fmt.Sprintf("#%d", *kv.Value.IntValue)
		}
	}
	return of
}

// written returns the spans as OTLP/JSON, and as a program reads that.
func written(t *testing.T, of *Resource, run *v1alpha1.MotorRun, steps []v1alpha1.MotorStep) (string, otlp) {
	t.Helper()
	spans, err := of.OTLP(run, Of(run, steps))
	if err != nil {
		t.Fatal(err)
	}
	line, err := JSON(spans)
	if err != nil {
		t.Fatal(err)
	}
	var traces otlp
	d := json.NewDecoder(strings.NewReader(string(line)))
	d.DisallowUnknownFields()
	if err := d.Decode(&traces); err != nil {
		t.Fatal(err)
	}
	return string(line), traces
}

// The form is that of the specification of OTLP: ids in hexadecimal, enums as numbers, 64 bits as texts, and no field that it does not have.
func TestOTLP(t *testing.T) {
	t.Parallel()
	run, steps := spantest.Lived()
	line, traces := written(t, &Resource{Version: "1.2.3"}, run, steps)
	if strings.Contains(line, "\n") || strings.Contains(line, "push") || !strings.HasPrefix(line, `{"resourceSpans":[{"resource":{"attributes":[{"key":`) {
		t.Errorf("it is %s", line)
	}
	resource := traces.ResourceSpans[0]
	if diff := cmp.Diff(map[string]string{
		"service.name": "motorcortex", "service.version": "1.2.3", "k8s.namespace.name": "agents", "motorcortex.run.name": "portfolio",
	}, resource.Resource.Attributes.all()); diff != "" {
		t.Errorf("the resource (-want +got):\n%s", diff)
	}
	spans := resource.ScopeSpans[0].Spans
	found := map[string]otlpSpan{}
	id := regexp.MustCompile(`^[0-9a-f]{16}$`)
	for _, s := range spans {
		found[s.Name] = s
		if s.TraceID != strings.ReplaceAll(spantest.UID, "-", "") || !id.MatchString(s.SpanID) || s.ParentSpanID != "" && !id.MatchString(s.ParentSpanID) {
			t.Errorf("ids of %+v", s)
		}
	}
	if _, running := found["invoke_agent portfolio"]; running || len(spans) != 9 {
		t.Errorf("%d spans, those that have not ended among them: %t", len(spans), running)
	}
	model := found["chat a-2026"]
	if diff := cmp.Diff(map[string]string{
		"gen_ai.conversation.id": spantest.UID, "gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai", "gen_ai.request.model": "scripted/a", "gen_ai.response.model": "a-2026",
		"gen_ai.usage.input_tokens": "#100", "gen_ai.usage.output_tokens": "#20", "gen_ai.usage.cache_read.input_tokens": "#5",
		"motorcortex.attempt": "#1", "motorcortex.step": "#1",
	}, model.Attributes.all()); diff != "" || model.Kind != 3 {
		t.Errorf("the model call is of the kind %d (-want +got):\n%s", model.Kind, diff)
	}
	if end := time.Unix(0, model.EndTimeUnixNano); model.EndTimeUnixNano-model.StartTimeUnixNano != int64(2500*time.Millisecond) || !end.Equal(spantest.At(33).Time) {
		t.Errorf("the model call took from %d until %s", model.StartTimeUnixNano, end)
	}
	tool := found["execute_tool bash"]
	if tool.Status.Code != 2 || tool.Attributes.all()["error.type"] != "exit_1" || found["approval"].ParentSpanID != tool.SpanID || tool.Kind != 1 {
		t.Errorf("the call is %+v", tool)
	}
}

// Content is hostile and private: it is there only where it was asked for, and has a bound.
func TestContentIsThereIfItWasAskedFor(t *testing.T) {
	t.Parallel()
	run, steps := spantest.Lived()
	steps[0].Spec.Content, steps[0].Status.Results[1].Output = "what I do \x1b[2J", strings.Repeat("long ", 10000)
	without, _ := written(t, &Resource{}, run, steps)
	for _, said := range []string{"push", "what I do", "long"} {
		if strings.Contains(without, said) {
			t.Errorf("%q is in the spans, and was not asked for", said)
		}
	}
	with, traces := written(t, &Resource{Content: true}, run, steps)
	for _, s := range traces.ResourceSpans[0].ScopeSpans[0].Spans {
		of := s.Attributes.all()
		switch s.Name {
		case "execute_tool bash":
			if of["gen_ai.tool.call.arguments"] != `{"command":"push"}` || !strings.HasPrefix(of["gen_ai.tool.call.result"], "long long") {
				t.Errorf("the call has %v", of)
			}
		case "chat a-2026":
			if of["gen_ai.output.messages"] != `[{"role":"assistant","parts":[{"type":"text","content":"what I do \u001b[2J"}]}]` {
				t.Errorf("the model call has %v", of)
			}
		}
	}
	if len(with) > len(without)+2*maxContent {
		t.Errorf("with content it has %d bytes, and %d without", len(with), len(without))
	}
}

// The names and attributes of the service are those that the environment gives, but for those that are of the run.
func TestResourceIsThatOfTheEnvironment(t *testing.T) {
	t.Parallel()
	run, steps := spantest.Lived()
	_, traces := written(t, &Resource{Service: "agents-eu", Version: "1", More: map[string]string{"deployment.environment.name": "eu", attrNamespace: "another"}}, run, steps)
	of := traces.ResourceSpans[0].Resource.Attributes.all()
	if of[attrServiceName] != "agents-eu" || of["deployment.environment.name"] != "eu" || of[attrNamespace] != "agents" {
		t.Errorf("the resource has %v", of)
	}
}
