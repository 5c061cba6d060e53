// SPDX-License-Identifier: Apache-2.0

//go:build linux

package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolserver/fetch"
	"motorcortex.dev/motorcortex/internal/toolserver/output"
	"motorcortex.dev/motorcortex/internal/toolserver/plaintext"
	"motorcortex.dev/motorcortex/internal/toolserver/tool"
	"motorcortex.dev/motorcortex/internal/toolserver/wayout"
)

// presetCallTimeout is the default of callTimeout.
const presetCallTimeout = 60 * time.Second

// Call calls a tool of a server. It returns a result within the time of a call, whatever the server does.
func (m *Servers) Call(ctx context.Context, j tool.Job, server, name string) toolapi.Result {
	var args map[string]json.RawMessage
	if err := json.Unmarshal(j.Args, &args); err != nil || args == nil {
		return tool.Failure(toolapi.CodeInvalidArguments, "The arguments must be a JSON object.")
	}
	srv := m.find(server)
	if srv == nil || !slices.Contains(srv.words.Tools, name) {
		return tool.Failure(toolapi.CodeToolNotGranted, "No tool %q of an MCP server %q may be called here.", plaintext.Bound(name, 64), plaintext.Bound(server, 64))
	}
	m.enter(srv)
	defer m.leave(ctx, srv)
	return m.ask(ctx, j, srv, name)
}

// ask has a server carry out a call.
func (m *Servers) ask(ctx context.Context, j tool.Job, srv *server, name string) (result toolapi.Result) {
	ctx, cancel := context.WithTimeout(ctx, m.callTimeout)
	defer cancel()
	params := &mcp.CallToolParams{Name: name, Arguments: json.RawMessage(j.Args)}
	if j.Key != "" {
		params.Meta = mcp.Meta{toolapi.MetaIdempotencyKey: j.Key}
	}
	sent := false
	for tries := 1; ; tries++ {
		session, err := srv.ready(ctx)
		if err != nil {
			return srv.failure(ctx, err, sent)
		}
		if note := srv.takeNote(ctx); note != "" {
			j.Limit = max(j.Limit-len(note), j.Limit/2)
			defer func() { result.Note(note) }()
		}
		session.traffic.refill()
		sent = true
		res, err := session.client.CallTool(ctx, params)
		switch {
		case err == nil:
			return m.result(j, res)
		case errors.Is(err, mcp.ErrSessionMissing) && tries == 1:
			// The server has forgotten the session, and did not look at the call.
			sent = false
			srv.forget(session)
			continue
		}
		return srv.failure(ctx, err, sent)
	}
}

// codeRejected is the code of an error that the library makes for a message that it could not send.
const codeRejected = -32005

const outcomeOpen = "Whether it did its work is not known: look before you call it again."

// failure is the envelope of a call that has no result. sent is true if the server may have begun with it.
func (s *server) failure(ctx context.Context, err error, sent bool) toolapi.Result {
	var open string
	if sent {
		open = " " + outcomeOpen
	}
	name, reason := s.words.Name, oneLine(s.reason(ctx, err))
	refused, isRefused := errors.AsType[*wayout.ProxyRefusal](err)
	said, isSaid := errors.AsType[*jsonrpc.Error](err)
	isSaid = isSaid && said.Code != codeRejected
	switch {
	case errors.Is(err, errChanged):
		return tool.Failure(toolapi.CodeMCPChanged, "The MCP server %s describes its tools otherwise than when you were told of them, so none of them is called any more.", name)
	case errors.Is(context.Cause(ctx), tool.ErrCancelled), errors.Is(context.Cause(ctx), tool.ErrStopped):
		r := tool.Interrupted(ctx, "before the MCP server had answered")
		r.SetParts("", r.Output+open)
		return r
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return tool.Failure(toolapi.CodeTimeout, "The MCP server %s did not answer within %s.%s", name, s.all.callTimeout, open)
	case isRefused:
		return tool.ForeignFailure(toolapi.CodeEgressDenied, "The MCP server %s was not reached: %s.", name, refused.Error())
	case isSaid:
		return tool.ForeignFailure(toolapi.CodeMCPError, "The MCP server %s answered with error %d: %s", name, said.Code, oneLine(said.Message))
	case !sent:
		return tool.ForeignFailure(toolapi.CodeMCPError, "The MCP server %s cannot be used: %s.", name, reason)
	}
	return tool.ForeignFailure(toolapi.CodeMCPError, "The MCP server %s did not answer: %s.%s", name, reason, open)
}

// result makes the envelope of an answer. Text is included, and any other content is described.
func (m *Servers) result(j tool.Job, res *mcp.CallToolResult) toolapi.Result {
	if res.NeedsInput() || res.InputRequests != nil {
		return tool.Failure(toolapi.CodeMCPError, "The MCP server asks for further input in a way that is not offered here.")
	}
	file := toolapi.OutputPath(j.ID)
	out := output.NewCollector(j.Limit, m.processes.Outputs.Spill(file, false))
	text := &plaintext.Writer{To: out}
	writeContent(text, res)
	_ = text.Close() // A collector does not fail.
	var result toolapi.Result
	output.Finish(m.processes.Workspace, &result, out, &text.Seen, file, "", "")
	result.OK = !res.IsError
	if res.IsError {
		result.ErrorCode = toolapi.CodeMCPError
	}
	return result
}

// writeContent writes the parts of an answer, each on lines of its own. Structured content of a server is written only if the answer has no
// text.
func writeContent(to io.Writer, res *mcp.CallToolResult) {
	hasText := false
	for _, c := range res.Content {
		text, shown := contentText(c)
		hasText = hasText || shown
		_, _ = io.WriteString(to, plaintext.EndLine(text)) // A collector does not fail.
	}
	if hasText || res.StructuredContent == nil {
		return
	}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(res.StructuredContent); err != nil {
		_, _ = io.WriteString(to, "[a structured result that cannot be shown]\n")
		return
	}
	// Laid out only where that cannot grow beyond measure: values that are nested deep have more indentation than text.
	_, _ = io.WriteString(to, plaintext.EndLine(fetch.PrettyJSON(text.String())))
}

// contentText is one part of an answer; shown is true if it is the server's text and not a description of something else.
func contentText(c mcp.Content) (text string, shown bool) {
	switch c := c.(type) {
	case *mcp.TextContent:
		return c.Text, true
	case *mcp.ImageContent:
		return described("image", c.MIMEType, len(c.Data)), false
	case *mcp.AudioContent:
		return described("audio", c.MIMEType, len(c.Data)), false
	case *mcp.ResourceLink:
		return fmt.Sprintf("[link to the resource %s %s]", quoteShort(c.URI), quoteShort(c.Name)), false
	case *mcp.EmbeddedResource:
		r := c.Resource
		if r == nil {
			return "[an empty resource]", false
		}
		if len(r.Blob) > 0 {
			return described("resource "+quoteShort(r.URI), r.MIMEType, len(r.Blob)), false
		}
		return fmt.Sprintf("[resource %s]\n%s", quoteShort(r.URI), r.Text), true
	default:
		return "[content of another kind, not shown]", false
	}
}

func described(what, mediaType string, size int) string {
	return fmt.Sprintf("[%s, %s, %d bytes, not shown]", what, quoteShort(mediaType), size)
}

func quoteShort(s string) string {
	const most = 200
	return fmt.Sprintf("%q", plaintext.First(strings.ToValidUTF8(s, "\uFFFD"), most))
}
