// SPDX-License-Identifier: Apache-2.0

package span

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	commonv1 "go.opentelemetry.io/proto/otlp/common/v1"
	resourcev1 "go.opentelemetry.io/proto/otlp/resource/v1"
	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/text"
)

// maxContent bounds a piece of content in a span, in bytes.
const maxContent = 8 << 10

// Flags of spans in OTLP: the lowest byte is that of the W3C Trace Context, and two more bits say whether the parent is of another process.
const (
	flagSampled   = uint32(tracev1.SpanFlags_SPAN_FLAGS_TRACE_FLAGS_MASK) & 1
	flagHasRemote = uint32(tracev1.SpanFlags_SPAN_FLAGS_CONTEXT_HAS_IS_REMOTE_MASK)
	flagRemote    = uint32(tracev1.SpanFlags_SPAN_FLAGS_CONTEXT_IS_REMOTE_MASK)
)

// Resource is what emits spans.
type Resource struct {
	// Service is the name of the service, "" for the usual one.
	Service, Version string
	// More are further attributes.
	More map[string]string
	// Content adds what models and tools said to the spans.
	Content bool
}

// OTLP returns those of the spans of a run that have ended in the form of the protocol.
func (r *Resource) OTLP(run *v1alpha1.MotorRun, spans []Span) (*tracev1.ResourceSpans, error) {
	scope := &tracev1.ScopeSpans{Scope: &commonv1.InstrumentationScope{Name: scopeName, Version: r.Version}}
	for i := range spans {
		s := &spans[i]
		if !s.Ended() {
			continue
		}
		to, err := s.otlp(run, r.Content)
		if err != nil {
			return nil, err
		}
		scope.Spans = append(scope.Spans, to)
	}
	of := attributes{}
	for name, value := range r.More {
		if name != attrServiceName && name != attrServiceVersion && name != attrNamespace && name != attrRun {
			of = of.text(name, value)
		}
	}
	service := r.Service
	if service == "" {
		service = serviceName
	}
	of = of.text(attrServiceName, service).text(attrServiceVersion, r.Version).text(attrNamespace, run.Namespace).text(attrRun, run.Name)
	return &tracev1.ResourceSpans{Resource: &resourcev1.Resource{Attributes: of}, ScopeSpans: []*tracev1.ScopeSpans{scope}}, nil
}

// Ended reports whether a span has a beginning and an end.
func (s *Span) Ended() bool { return !s.StartTime.IsZero() && s.DurationMilliseconds != nil }

// JSON returns spans as OTLP/JSON in one line. It takes the spans over: their ids are others after that.
func JSON(of *tracev1.ResourceSpans) ([]byte, error) {
	for _, scope := range of.GetScopeSpans() {
		for _, s := range scope.GetSpans() {
			// OTLP/JSON has ids in hexadecimal, and protojson writes bytes in base64: the bytes whose base64 is the id come out as the id.
			for _, id := range []*[]byte{&s.TraceId, &s.SpanId, &s.ParentSpanId} {
				var err error
				if *id, err = base64.StdEncoding.DecodeString(hex.EncodeToString(*id)); err != nil {
					return nil, fmt.Errorf("write OTLP: %w", err)
				}
			}
		}
	}
	data, err := protojson.MarshalOptions{UseEnumNumbers: true}.Marshal(&tracev1.TracesData{ResourceSpans: []*tracev1.ResourceSpans{of}})
	if err != nil {
		return nil, fmt.Errorf("write OTLP: %w", err)
	}
	// protojson puts spaces between some fields, and others in the next build.
	var line bytes.Buffer
	if err := json.Compact(&line, data); err != nil {
		return nil, fmt.Errorf("write OTLP: %w", err)
	}
	return line.Bytes(), nil
}

// otlp returns the span as one of the protocol.
func (s *Span) otlp(run *v1alpha1.MotorRun, content bool) (*tracev1.Span, error) {
	to := &tracev1.Span{
		Name: s.Name, Kind: tracev1.Span_SPAN_KIND_INTERNAL, Flags: flagSampled | flagHasRemote,
		StartTimeUnixNano: uint64(s.StartTime.UnixNano()),
		EndTimeUnixNano:   uint64(s.StartTime.Add(time.Duration(*s.DurationMilliseconds) * time.Millisecond).UnixNano()),
	}
	for id, out := range map[string]*[]byte{s.TraceID: &to.TraceId, s.SpanID: &to.SpanId, s.ParentSpanID: &to.ParentSpanId} {
		var err error
		if *out, err = hex.DecodeString(id); err != nil {
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
		of = of.text(attrOperation, operationAgent).text(attrProvider, provider).text(attrAgentName, s.Name)
		if s.ParentSpanID != "" {
			to.Flags |= flagRemote
		}
	case KindModel:
		to.Name, to.Kind = operationChat+" "+s.Name, tracev1.Span_SPAN_KIND_CLIENT
		of = s.model(of, run, content)
	case KindTool:
		to.Name = operationTool + " " + s.Name
		of = of.text(attrOperation, operationTool).text(attrToolName, s.Name).text(attrToolCallID, s.CallID)
		if content {
			of = of.content(attrToolArguments, s.Arguments).content(attrToolResult, s.Output)
		}
	case KindAttempt, KindStep, KindOutage, KindAsk:
	}
	if s.OK != nil && !*s.OK {
		to.Status = &tracev1.Status{Code: tracev1.Status_STATUS_CODE_ERROR}
		of = of.text(attrErrorType, s.Result)
	}
	to.Attributes = of
	return to, nil
}

// model adds the attributes of a model call.
func (s *Span) model(of attributes, run *v1alpha1.MotorRun, content bool) attributes {
	of = of.text(attrOperation, operationChat).text(attrProvider, provider).text(attrResponseModel, s.Name)
	if run.Status.Model != "" {
		of = of.text(attrRequestModel, run.Status.Model)
	}
	of = of.number(attrInputTokens, s.Tokens.PromptTokens).number(attrOutputTokens, s.Tokens.CompletionTokens)
	if s.Tokens.CachedTokens > 0 {
		of = of.number(attrCachedTokens, s.Tokens.CachedTokens)
	}
	if content && s.Output != "" {
		message := outputMessage{Role: "assistant", Parts: []messagePart{{Type: "text", Content: text.CutBytes(s.Output, maxContent)}}}
		if said, err := json.Marshal([]outputMessage{message}); err == nil {
			of = of.text(attrOutputMessages, string(said))
		}
	}
	return of
}

// attributes are those of a span or a resource.
type attributes []*commonv1.KeyValue

func (a attributes) text(key, value string) attributes {
	return append(a, &commonv1.KeyValue{Key: key, Value: &commonv1.AnyValue{Value: &commonv1.AnyValue_StringValue{StringValue: value}}})
}

// content adds the beginning of what a model or a tool said, if it said anything.
func (a attributes) content(key, value string) attributes {
	if value == "" {
		return a
	}
	return a.text(key, text.CutBytes(value, maxContent))
}

func (a attributes) number(key string, value int64) attributes {
	return append(a, &commonv1.KeyValue{Key: key, Value: &commonv1.AnyValue{Value: &commonv1.AnyValue_IntValue{IntValue: value}}})
}
