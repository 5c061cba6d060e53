// SPDX-License-Identifier: Apache-2.0

package trace

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"time"

	commonv1 "go.opentelemetry.io/proto/otlp/common/v1"
	resourcev1 "go.opentelemetry.io/proto/otlp/resource/v1"
	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// Names of the semantic conventions of OpenTelemetry.
const (
	attrServiceName    = "service.name"
	attrServiceVersion = "service.version"
	attrNamespace      = "k8s.namespace.name"
	attrErrorType      = "error.type"
	attrConversation   = "gen_ai.conversation.id"
	attrOperation      = "gen_ai.operation.name"
	attrAgentName      = "gen_ai.agent.name"
	attrRequestModel   = "gen_ai.request.model"
	attrResponseModel  = "gen_ai.response.model"
	attrInputTokens    = "gen_ai.usage.input_tokens"
	attrOutputTokens   = "gen_ai.usage.output_tokens"
	attrCachedTokens   = "gen_ai.usage.cache_read.input_tokens"
	attrToolName       = "gen_ai.tool.name"
	attrToolCallID     = "gen_ai.tool.call.id"

	operationAgent = "invoke_agent"
	operationChat  = "chat"
	operationTool  = "execute_tool"
)

// Names of this project's own.
const (
	attrRun     = "motorcortex.run.name"
	attrAttempt = "motorcortex.attempt"
	attrStep    = "motorcortex.step"
	serviceName = "motorcortex"
)

// writeOTLP writes the spans that have ended as OTLP/JSON in one line.
func writeOTLP(w io.Writer, run *v1alpha1.MotorRun, spans []Span, version string) error {
	scope := &tracev1.ScopeSpans{Scope: &commonv1.InstrumentationScope{Name: "motorcortex.dev/motorcortex/internal/cli/trace"}}
	for i := range spans {
		s := &spans[i]
		if s.StartTime.IsZero() || s.DurationMilliseconds == nil {
			continue
		}
		span, err := s.otlp(run)
		if err != nil {
			return err
		}
		scope.Spans = append(scope.Spans, span)
	}
	of := attributes{}.text(attrServiceName, serviceName).text(attrServiceVersion, version).text(attrNamespace, run.Namespace).text(attrRun, run.Name)
	traces := &tracev1.TracesData{ResourceSpans: []*tracev1.ResourceSpans{{Resource: &resourcev1.Resource{Attributes: of}, ScopeSpans: []*tracev1.ScopeSpans{scope}}}}
	data, err := protojson.MarshalOptions{UseEnumNumbers: true}.Marshal(traces)
	if err != nil {
		return fmt.Errorf("write OTLP: %w", err)
	}
	// protojson puts spaces between some fields, and others in the next build.
	var line bytes.Buffer
	if err := json.Compact(&line, data); err != nil {
		return fmt.Errorf("write OTLP: %w", err)
	}
	_, err = fmt.Fprintln(w, &line)
	return err
}

// otlp returns the span as one of the protocol.
func (s *Span) otlp(run *v1alpha1.MotorRun) (*tracev1.Span, error) {
	to := &tracev1.Span{
		Name: s.Name, Kind: tracev1.Span_SPAN_KIND_INTERNAL,
		StartTimeUnixNano: uint64(s.StartTime.UnixNano()),
		EndTimeUnixNano:   uint64(s.StartTime.Add(time.Duration(*s.DurationMilliseconds) * time.Millisecond).UnixNano()),
	}
	for id, out := range map[string]*[]byte{s.TraceID: &to.TraceId, s.SpanID: &to.SpanId, s.ParentSpanID: &to.ParentSpanId} {
		var err error
		// OTLP/JSON has ids in hexadecimal, and protojson writes bytes in base64: the bytes whose base64 is the id come out as the id.
		if *out, err = base64.StdEncoding.DecodeString(id); err != nil {
			return nil, fmt.Errorf("the id %q of a span: %w", id, err)
		}
	}
	of := attributes{}.text(attrConversation, string(run.UID))
	if s.Attempt > 0 {
		of = of.number(attrAttempt, int64(s.Attempt))
	}
	if s.Step > 0 {
		of = of.number(attrStep, int64(s.Step))
	}
	switch s.Kind {
	case KindRun:
		to.Name = operationAgent + " " + s.Name
		of = of.text(attrOperation, operationAgent).text(attrAgentName, s.Name)
	case KindModel:
		to.Name, to.Kind = operationChat+" "+s.Name, tracev1.Span_SPAN_KIND_CLIENT
		of = of.text(attrOperation, operationChat).text(attrResponseModel, s.Name)
		if run.Status.Model != "" {
			of = of.text(attrRequestModel, run.Status.Model)
		}
		of = of.number(attrInputTokens, s.Tokens.PromptTokens).number(attrOutputTokens, s.Tokens.CompletionTokens)
		if s.Tokens.CachedTokens > 0 {
			of = of.number(attrCachedTokens, s.Tokens.CachedTokens)
		}
	case KindTool:
		to.Name = operationTool + " " + s.Name
		of = of.text(attrOperation, operationTool).text(attrToolName, s.Name).text(attrToolCallID, s.CallID)
	case KindAttempt, KindStep, KindOutage, KindAsk:
	}
	if s.OK != nil && !*s.OK {
		to.Status = &tracev1.Status{Code: tracev1.Status_STATUS_CODE_ERROR}
		of = of.text(attrErrorType, s.Result)
	}
	to.Attributes = of
	return to, nil
}

// attributes are those of a span or a resource.
type attributes []*commonv1.KeyValue

func (a attributes) text(key, value string) attributes {
	return append(a, &commonv1.KeyValue{Key: key, Value: &commonv1.AnyValue{Value: &commonv1.AnyValue_StringValue{StringValue: value}}})
}

func (a attributes) number(key string, value int64) attributes {
	return append(a, &commonv1.KeyValue{Key: key, Value: &commonv1.AnyValue{Value: &commonv1.AnyValue_IntValue{IntValue: value}}})
}
