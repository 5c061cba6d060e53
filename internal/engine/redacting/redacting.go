// SPDX-License-Identifier: Apache-2.0

// Package redacting removes the secret values that a loop knows from everything that leaves it: requests to models, their answers,
// results of tools, errors and log lines.
package redacting

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"

	"motorcortex.dev/motorcortex/internal/motorloop"
	"motorcortex.dev/motorcortex/internal/motorloop/chat"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// Model hides secret values from a model, and removes them from its answers.
type Model struct {
	chat.Model
	Secrets *Secrets
}

// Complete asks the model.
func (m Model) Complete(ctx context.Context, r chat.Request) (chat.Answer, error) {
	a, err := m.Model.Complete(ctx, m.request(r))
	if err != nil {
		return chat.Answer{}, m.Secrets.HideError(err)
	}
	hide := m.Secrets.Hide
	if a.Truncated {
		hide = m.Secrets.hideBroken
	}
	a.Model, a.Content = m.Secrets.Hide(a.Model), hide(a.Content)
	a.Calls = slices.Clone(a.Calls)
	for i := range a.Calls {
		c := &a.Calls[i]
		c.ModelID, c.Tool = m.Secrets.Hide(c.ModelID), m.Secrets.Hide(c.Tool)
		if json.Valid([]byte(c.Arguments)) {
			// The arguments are whole, also if the answer was cut off after them.
			c.Arguments = m.Secrets.Hide(c.Arguments)
		} else {
			c.Arguments = hide(c.Arguments)
		}
	}
	return a, nil
}

// request hides the values in a request. The task, or a person's text about a retry, can contain one.
func (m Model) request(r chat.Request) chat.Request {
	if m.Secrets.current() == nil {
		return r
	}
	r.Messages = slices.Clone(r.Messages)
	for i := range r.Messages {
		msg := &r.Messages[i]
		msg.Content = m.Secrets.Hide(msg.Content)
		msg.Calls = slices.Clone(msg.Calls)
		for n := range msg.Calls {
			msg.Calls[n].Arguments = m.Secrets.Hide(msg.Calls[n].Arguments)
		}
	}
	return r
}

// Tools removes secret values from the results of tools.
type Tools struct {
	motorloop.Tools
	Secrets *Secrets
	// Refresh learns values that replaced others while the call ran.
	Refresh func(context.Context) error
}

// Call runs one tool call.
func (t Tools) Call(ctx context.Context, c toolapi.Call) (toolapi.Result, error) {
	r, err := t.Tools.Call(ctx, c)
	if err == nil {
		err = t.Refresh(ctx)
	}
	if err != nil {
		return toolapi.Result{}, t.Secrets.HideError(err)
	}
	return t.Secrets.HideResult(r), nil
}

// Handler hides secret values in log records.
type Handler struct {
	slog.Handler
	Secrets *Secrets
}

// Handle logs a record.
func (h Handler) Handle(ctx context.Context, r slog.Record) error {
	clean := slog.NewRecord(r.Time, r.Level, h.Secrets.Hide(r.Message), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		clean.AddAttrs(h.attr(a))
		return true
	})
	return h.Handler.Handle(ctx, clean)
}

// WithAttrs returns a handler whose records have further attributes.
func (h Handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	clean := make([]slog.Attr, 0, len(attrs))
	for _, a := range attrs {
		clean = append(clean, h.attr(a))
	}
	return Handler{Handler: h.Handler.WithAttrs(clean), Secrets: h.Secrets}
}

// WithGroup returns a handler whose attributes are in a group.
func (h Handler) WithGroup(name string) slog.Handler {
	return Handler{Handler: h.Handler.WithGroup(name), Secrets: h.Secrets}
}

func (h Handler) attr(a slog.Attr) slog.Attr {
	switch v := a.Value.Resolve(); v.Kind() {
	case slog.KindString:
		a.Value = slog.StringValue(h.Secrets.Hide(v.String()))
	case slog.KindGroup:
		group := make([]slog.Attr, 0, len(v.Group()))
		for _, inner := range v.Group() {
			group = append(group, h.attr(inner))
		}
		a.Value = slog.GroupValue(group...)
	case slog.KindAny:
		if text := fmt.Sprint(v.Any()); h.Secrets.Hide(text) != text {
			a.Value = slog.StringValue(h.Secrets.Hide(text))
		}
	default:
		// A number, a time or a boolean is no secret.
	}
	return a
}
