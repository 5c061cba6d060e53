// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"

	"motorcortex.dev/motorcortex/internal/motorloop"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// discreetModel shows a model no secret value, and lets none out of its answers.
type discreetModel struct {
	motorloop.Model
	secrets *secrets
}

// Complete asks the model.
func (m discreetModel) Complete(ctx context.Context, r motorloop.Request) (motorloop.Answer, error) {
	a, err := m.Model.Complete(ctx, m.request(r))
	if err != nil {
		return motorloop.Answer{}, m.secrets.hideError(err)
	}
	hide := m.secrets.hide
	if a.Truncated {
		hide = m.secrets.hideBroken
	}
	a.Model, a.Content = m.secrets.hide(a.Model), hide(a.Content)
	a.Calls = slices.Clone(a.Calls)
	for i := range a.Calls {
		c := &a.Calls[i]
		c.ModelID, c.Tool = m.secrets.hide(c.ModelID), m.secrets.hide(c.Tool)
		if json.Valid([]byte(c.Arguments)) {
			// They are whole, also where the answer ended after them.
			c.Arguments = m.secrets.hide(c.Arguments)
		} else {
			c.Arguments = hide(c.Arguments)
		}
	}
	return a, nil
}

// request hides the values in a request. The task, or what a person wrote about a retry, can hold one.
func (m discreetModel) request(r motorloop.Request) motorloop.Request {
	if m.secrets.current() == nil {
		return r
	}
	r.Messages = slices.Clone(r.Messages)
	for i := range r.Messages {
		msg := &r.Messages[i]
		msg.Content = m.secrets.hide(msg.Content)
		msg.Calls = slices.Clone(msg.Calls)
		for n := range msg.Calls {
			msg.Calls[n].Arguments = m.secrets.hide(msg.Calls[n].Arguments)
		}
	}
	return r
}

// discreetTools lets no secret value out of the results of tools.
type discreetTools struct {
	motorloop.Tools
	secrets *secrets
	// refresh learns of values that took the place of others while the call ran.
	refresh func(context.Context) error
}

// Call runs one tool call.
func (t discreetTools) Call(ctx context.Context, c toolapi.Call) (toolapi.Result, error) {
	r, err := t.Tools.Call(ctx, c)
	if err == nil {
		err = t.refresh(ctx)
	}
	if err != nil {
		return toolapi.Result{}, t.secrets.hideError(err)
	}
	return t.secrets.hideResult(r), nil
}

// discreetHandler hides secret values in what is logged.
type discreetHandler struct {
	slog.Handler
	secrets *secrets
}

// Handle logs a record.
func (h discreetHandler) Handle(ctx context.Context, r slog.Record) error {
	clean := slog.NewRecord(r.Time, r.Level, h.secrets.hide(r.Message), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		clean.AddAttrs(h.attr(a))
		return true
	})
	return h.Handler.Handle(ctx, clean)
}

// WithAttrs gives a handler whose records have further attributes.
func (h discreetHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	clean := make([]slog.Attr, 0, len(attrs))
	for _, a := range attrs {
		clean = append(clean, h.attr(a))
	}
	return discreetHandler{h.Handler.WithAttrs(clean), h.secrets}
}

// WithGroup gives a handler whose attributes are in a group.
func (h discreetHandler) WithGroup(name string) slog.Handler {
	return discreetHandler{h.Handler.WithGroup(name), h.secrets}
}

func (h discreetHandler) attr(a slog.Attr) slog.Attr {
	switch v := a.Value.Resolve(); v.Kind() {
	case slog.KindString:
		a.Value = slog.StringValue(h.secrets.hide(v.String()))
	case slog.KindGroup:
		group := make([]slog.Attr, 0, len(v.Group()))
		for _, inner := range v.Group() {
			group = append(group, h.attr(inner))
		}
		a.Value = slog.GroupValue(group...)
	case slog.KindAny:
		if text := fmt.Sprint(v.Any()); h.secrets.hide(text) != text {
			a.Value = slog.StringValue(h.secrets.hide(text))
		}
	default:
		// A number, a time or a truth value is no secret.
	}
	return a
}
