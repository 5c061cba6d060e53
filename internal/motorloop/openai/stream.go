// SPDX-License-Identifier: Apache-2.0

package openai

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	openaigo "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/ssestream"

	"motorcortex.dev/motorcortex/internal/jsonbound"
	"motorcortex.dev/motorcortex/internal/motorloop/chat"
	"motorcortex.dev/motorcortex/internal/motorloop/openai/breaker"
	"motorcortex.dev/motorcortex/internal/motorloop/outcome"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
)

// try sends the request once and reads the answer in the form in which it comes: as a stream, or whole from an endpoint that does not stream.
func (c *Client) try(parent context.Context, params openaigo.ChatCompletionNewParams, facts breaker.Facts) (chat.Answer, error) {
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	whole := time.AfterFunc(c.opts.RequestTimeout, func() {
		cancel(c.tooSlow(fmt.Sprintf("was not done with its answer within %s", c.opts.RequestTimeout)))
	})
	defer whole.Stop()
	silence := c.firstByte(facts)
	x := &exchange{client: c, sent: time.Now(), first: silence, idle: c.opts.IdleTimeout}
	x.silent = time.AfterFunc(silence, func() {
		if !x.begun.Load() {
			c.shared.Learn(func(f *breaker.Facts) { f.WasSilent(facts) })
			cancel(c.tooSlow(fmt.Sprintf("sent nothing for %s", silence)))
			return
		}
		cancel(c.tooSlow(fmt.Sprintf("sent nothing more for %s in the middle of its answer", c.opts.IdleTimeout)))
	})
	defer x.silent.Stop()
	answer, err := c.send(ctx, x, params, facts)
	if x.begun.Load() && !facts.NoStream {
		c.shared.Learn(func(f *breaker.Facts) { f.Began(c.doublings(x.took), x.body == nil) })
	}
	if err != nil {
		return chat.Answer{}, c.classify(parent, ctx, err)
	}
	return answer, nil
}

// maxFirstByte bounds how long a stream may take to begin, unless IdleTimeout is longer. A loop must detect a hanging endpoint
// before the time for an outage is over.
const maxFirstByte = 10 * time.Minute

// firstByte returns how long an answer may take to begin.
func (c *Client) firstByte(f breaker.Facts) time.Duration {
	if f.NoStream {
		return c.opts.RequestTimeout
	}
	idle := c.opts.IdleTimeout
	return min(idle<<f.SilentFor, max(maxFirstByte, idle), max(c.opts.RequestTimeout, idle))
}

// doublings is how often IdleTimeout must be doubled to be as long as an answer took to begin.
func (c *Client) doublings(took time.Duration) int {
	n := 0
	for n < breaker.MaxDoublings && c.opts.IdleTimeout<<n < took {
		n++
	}
	return n
}

func (c *Client) send(
	ctx context.Context, x *exchange, params openaigo.ChatCompletionNewParams, facts breaker.Facts,
) (chat.Answer, error) {
	through := option.WithMiddleware(x.carry)
	if facts.NoStream {
		if _, err := c.completions.New(ctx, params, through); err != nil {
			return chat.Answer{}, err
		}
		return c.parseAnswer(x.body)
	}
	if !facts.NoUsage {
		params.StreamOptions.IncludeUsage = openaigo.Bool(true)
	}
	stream := c.completions.NewStreaming(ctx, params, through)
	defer func() { _ = stream.Close() }()
	if err := stream.Err(); err != nil {
		return chat.Answer{}, err
	}
	if x.body != nil {
		return c.parseAnswer(x.body)
	}
	return c.collect(ssestream.NewStream[openaigo.ChatCompletionChunk](noErrors{ssestream.NewDecoder(x.stream)}, nil))
}

// noErrors removes null "error" fields from the events of a stream. Some endpoints send the field in every part of an answer, and
// openai-go takes any field of that name for the end of the stream.
type noErrors struct{ ssestream.Decoder }

// Event returns the event that was read last.
func (d noErrors) Event() ssestream.Event {
	e := d.Decoder.Event()
	if !bytes.Contains(e.Data, []byte(`"error"`)) {
		return e
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(e.Data, &fields) != nil || string(fields["error"]) != "null" {
		return e
	}
	delete(fields, "error")
	if data, err := json.Marshal(fields); err == nil {
		e.Data = data
	}
	return e
}

// exchange is one request and its answer.
type exchange struct {
	client *Client
	// silent ends the try. It restarts with the headers, for as long as the body may take to begin, and with each byte.
	silent      *time.Timer
	first, idle time.Duration
	// sent is when the request was made. took is how long its first byte took, valid once begun is true.
	sent time.Time
	took time.Duration
	// begun is true if a byte of the answer has come.
	begun atomic.Bool
	// stream is the answer of an endpoint that streams.
	stream *http.Response
	// body is the whole answer of an endpoint that did not stream.
	body []byte
}

// carry sends a request and determines the kind of the answer. Foreign errors enter here: carry returns a
// *tryError, the context's error, or a good answer. openai-go's own reading of error bodies loses the status of an
// answer that is no JSON, such as the page of a proxy.
func (x *exchange) carry(
	req *http.Request, next func(*http.Request) (*http.Response, error),
) (*http.Response, error) {
	res, err := next(req)
	if err != nil {
		return nil, err
	}
	if res.StatusCode < 200 || res.StatusCode > 299 {
		defer func() { _ = res.Body.Close() }()
		// The status alone decides; a body that cannot be read only makes the message shorter.
		body, _ := io.ReadAll(io.LimitReader(res.Body, maxErrorBytes))
		return nil, x.client.statusError(res, body)
	}
	x.silent.Reset(x.first)
	watched := &watchedBody{ReadCloser: res.Body, exchange: x}
	head := bufio.NewReader(watched)
	if isStream(res.Header, head) {
		watched.stream = true
		res.Body = readCloser{head, watched}
		x.stream = res
		return res, nil
	}
	defer func() { _ = watched.Close() }()
	body, err := io.ReadAll(io.LimitReader(head, maxResponseBytes+1))
	switch {
	case err != nil && req.Context().Err() != nil:
		return nil, context.Cause(req.Context())
	case err != nil:
		return nil, malformed("broke off in the middle of its answer")
	case len(body) > maxResponseBytes:
		return nil, malformed(fmt.Sprintf("answered with more than %d MiB", maxResponseBytes>>20))
	}
	x.body = body
	res.Body = io.NopCloser(bytes.NewReader(body))
	return res, nil
}

// isStream reports whether the answer comes in parts, by its header or, because some endpoints omit that, by its beginning.
func isStream(h http.Header, body *bufio.Reader) bool {
	if strings.HasPrefix(strings.ToLower(h.Get("Content-Type")), "text/event-stream") {
		return true
	}
	begin, _ := body.Peek(len("data:"))
	return string(begin) == "data:"
}

// readCloser combines a reader with a separate closer.
type readCloser struct {
	io.Reader
	io.Closer
}

// watchedBody bounds the body of an answer, and extends the try as long as bytes come.
type watchedBody struct {
	io.ReadCloser
	exchange *exchange
	// stream is true if the body is a stream: then lines and the whole are bounded here.
	stream      bool
	total, line int
	events      eventBounds
}

var (
	errLongLine   = malformed(fmt.Sprintf("sent a part of more than %d MiB", maxResponseBytes>>20))
	errLongStream = malformed(fmt.Sprintf("streamed more than %d MiB", maxStreamBytes>>20))
)

// Read implements io.Reader.
func (b *watchedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		if !b.exchange.begun.Load() {
			b.exchange.took = time.Since(b.exchange.sent)
			b.exchange.begun.Store(true)
		}
		b.exchange.silent.Reset(b.exchange.idle)
	}
	if !b.stream {
		return n, err
	}
	b.total += n
	if i := bytes.LastIndexByte(p[:n], '\n'); i >= 0 {
		b.line = n - i - 1
	} else {
		b.line += n
	}
	switch {
	case b.line > maxResponseBytes:
		return 0, errLongLine
	case b.total > maxStreamBytes:
		return 0, errLongStream
	}
	if many := b.events.add(p[:n]); many != nil {
		return 0, malformed("streamed what is not read: " + many.Error())
	}
	return n, err
}

// eventBounds bounds the JSON of each event of a stream. All lines up to an empty one are one event, and read as one text.
type eventBounds struct {
	counter jsonbound.Counter
	// filled is true if the line is not empty.
	filled bool
}

func (e *eventBounds) add(part []byte) error {
	if e.counter.Limits == (jsonbound.Limits{}) {
		e.counter.Limits = answerLimits
	}
	for len(part) > 0 {
		line, rest, ended := bytes.Cut(part, []byte("\n"))
		if err := e.counter.Add(line); err != nil {
			return err
		}
		e.filled = e.filled || len(bytes.TrimRight(line, "\r")) > 0
		if ended {
			if !e.filled {
				e.counter = jsonbound.Counter{Limits: answerLimits}
			}
			e.filled = false
		}
		part = rest
	}
	return nil
}

// collect puts an answer together from its parts.
func (c *Client) collect(stream *ssestream.Stream[openaigo.ChatCompletionChunk]) (chat.Answer, error) {
	var p parts
	for stream.Next() {
		chunk := stream.Current()
		if err := p.add(&chunk); err != nil {
			return chat.Answer{}, err
		}
	}
	if err := stream.Err(); err != nil {
		return chat.Answer{}, c.broken(err, p.usage)
	}
	if !p.chosen {
		return chat.Answer{}, withUsage(malformed("answered without any choices"), p.usage)
	}
	if p.finish == "" {
		return chat.Answer{}, withUsage(malformed("broke off in the middle of its answer"), p.usage)
	}
	return p.answer(c.endpoint.Model), nil
}

// broken classifies the end of a stream.
func (c *Client) broken(err error, usage turn.Usage) error {
	if e, ok := errors.AsType[*tryError](err); ok {
		return e
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	said, ok := errors.AsType[*ssestream.StreamError](err)
	if !ok {
		return withUsage(malformed("broke off in the middle of its answer"), usage)
	}
	// An endpoint that has begun to answer has sent its status already.
	r := errorBody(said.Event.Data)
	e := malformed("broke off its answer: " + cmp.Or(c.detail(r.text), "an error"))
	switch {
	case r.isTooLong():
		c.refused(e, r)
		e.transient = false
	case isQuota(r.code):
		e.reason, e.transient, e.mustAct = outcome.ReasonModelQuota, false, true
	default:
		e.reason, e.advice = outcome.ReasonModelUnavailable, ""
	}
	return withUsage(e, usage)
}

func withUsage(e *tryError, u turn.Usage) *tryError {
	e.usage = u
	return e
}

// parts are the received parts of an answer.
type parts struct {
	model, finish    string
	content, refusal strings.Builder
	calls            []*partialCall
	usage            turn.Usage
	chosen           bool
	size             int
}

type partialCall struct {
	index     int64
	id, name  string
	arguments strings.Builder
}

// maxParts bounds the calls of one answer, of which far fewer are recorded.
const maxParts = 256

func (p *parts) add(chunk *openaigo.ChatCompletionChunk) error {
	p.model = cmp.Or(p.model, chunk.Model)
	if u := chunk.Usage; u.PromptTokens > 0 || u.CompletionTokens > 0 {
		p.usage = turn.Usage{
			PromptTokens: u.PromptTokens, CompletionTokens: u.CompletionTokens, CachedTokens: u.PromptTokensDetails.CachedTokens,
		}
	}
	for i := range chunk.Choices {
		choice := &chunk.Choices[i]
		if choice.Index != 0 {
			continue
		}
		p.chosen = true
		p.finish = cmp.Or(choice.FinishReason, p.finish)
		p.content.WriteString(choice.Delta.Content)
		p.refusal.WriteString(choice.Delta.Refusal)
		p.size += len(choice.Delta.Content) + len(choice.Delta.Refusal)
		for n := range choice.Delta.ToolCalls {
			p.addCall(&choice.Delta.ToolCalls[n])
		}
	}
	switch {
	case p.size > maxResponseBytes:
		return malformed(fmt.Sprintf("answered with more than %d MiB", maxResponseBytes>>20))
	case len(p.calls) > maxParts:
		return malformed(fmt.Sprintf("answered with more than %d calls", maxParts))
	}
	return nil
}

// addCall adds a part of a tool call. Some endpoints give every call the same index: then a new id begins a new one.
func (p *parts) addCall(d *openaigo.ChatCompletionChunkChoiceDeltaToolCall) {
	p.size += len(d.ID) + len(d.Function.Name) + len(d.Function.Arguments)
	var call *partialCall
	for _, known := range p.calls {
		if known.index == d.Index {
			call = known // The last one of that index.
		}
	}
	if call == nil || d.ID != "" && call.id != "" && d.ID != call.id {
		call = &partialCall{index: d.Index}
		p.calls = append(p.calls, call)
	}
	call.id, call.name = cmp.Or(call.id, d.ID), cmp.Or(call.name, d.Function.Name)
	call.arguments.WriteString(d.Function.Arguments)
}

func (p *parts) answer(model string) chat.Answer {
	a := chat.Answer{
		Model: cmp.Or(p.model, model), Content: cmp.Or(p.content.String(), p.refusal.String()), Usage: p.usage, Truncated: p.finish == "length",
	}
	for _, call := range p.calls {
		a.Calls = append(a.Calls, turn.Call{ModelID: call.id, Tool: call.name, Arguments: call.arguments.String()})
	}
	return a
}
