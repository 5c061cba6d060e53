// SPDX-License-Identifier: Apache-2.0

// Package connection writes what leaves through the egress proxy, and what it refuses, as events of OCSF.
package connection

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"motorcortex.dev/motorcortex/internal/audit/ocsf"
)

// message is that of the audit lines of the proxy.
const message = "egress"

// proxyName is the Service of the proxy, which a client without a known destination was refused by.
const proxyName = "motorcortex-egressproxy"

// Handler is a handler of the log of the proxy. It writes the audit lines to a log of OCSF, and passes all others on.
type Handler struct {
	next    slog.Handler
	to      *ocsf.Log
	version string
	with    []slog.Attr
	lost    *lost
}

// lost is what a handler, and those that are made of it, could not write.
type lost struct {
	count atomic.Int64
	// told is true if the log says so, until a line is written again.
	told atomic.Bool
}

// New returns a handler. version is that of the proxy.
func New(next slog.Handler, to *ocsf.Log, version string) *Handler {
	return &Handler{next: next, to: to, version: version, lost: &lost{}}
}

// Lost returns how many lines could not be written.
func (h *Handler) Lost() int64 { return h.lost.count.Load() }

// Enabled implements slog.Handler.
func (h *Handler) Enabled(ctx context.Context, level slog.Level) bool {
	return level == slog.LevelInfo || h.next.Enabled(ctx, level)
}

// WithAttrs implements slog.Handler.
func (h *Handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &Handler{next: h.next.WithAttrs(attrs), to: h.to, version: h.version, with: slices.Concat(h.with, attrs), lost: h.lost}
}

// WithGroup implements slog.Handler. The audit lines have no groups.
func (h *Handler) WithGroup(name string) slog.Handler { return h.next.WithGroup(name) }

// Handle implements slog.Handler.
func (h *Handler) Handle(ctx context.Context, r slog.Record) error {
	if r.Message != message {
		if !h.next.Enabled(ctx, r.Level) {
			return nil
		}
		return h.next.Handle(ctx, r)
	}
	l := line{}
	for _, a := range h.with {
		l.add(a)
	}
	r.Attrs(func(a slog.Attr) bool {
		l.add(a)
		return true
	})
	err := h.to.Write(l.event(r.Time, h.version))
	if err == nil {
		h.lost.told.Store(false)
		return nil
	}
	// A logger drops the error of its handler. A full disk makes one for each line, so the log has the first alone.
	h.lost.count.Add(1)
	if h.lost.told.Swap(true) || !h.next.Enabled(ctx, slog.LevelError) {
		return err
	}
	told := slog.NewRecord(r.Time, slog.LevelError, "a line of the audit is lost, and perhaps further ones are: motorcortex_egress_audit_lost_total counts them", 0)
	told.AddAttrs(slog.Any("error", err))
	return errors.Join(err, h.next.Handle(ctx, told))
}

// line is an audit line of the proxy: docs/reference/egress-proxy.md has its fields.
type line struct {
	verdict, reason              string
	run, namespace, pod, uid     string
	source, host, address, class string
	rule                         string
	port, omitted                int
	sent, received, ms           int64
	credentials                  []string
}

func (l *line) add(a slog.Attr) {
	v := a.Value.Resolve()
	texts := map[string]*string{
		"verdict": &l.verdict, "reason": &l.reason, "run": &l.run, "namespace": &l.namespace, "pod": &l.pod, "uid": &l.uid, "source": &l.source, "host": &l.host,
		"address": &l.address, "class": &l.class, "rule": &l.rule,
	}
	numbers := map[string]*int64{"sent": &l.sent, "received": &l.received, "ms": &l.ms}
	switch {
	case texts[a.Key] != nil:
		*texts[a.Key] = v.String()
	case numbers[a.Key] != nil && v.Kind() == slog.KindInt64:
		*numbers[a.Key] = v.Int64()
	case a.Key == "port" && v.Kind() == slog.KindInt64:
		l.port = int(v.Int64())
	case a.Key == "omitted" && v.Kind() == slog.KindInt64:
		l.omitted = int(v.Int64())
	case a.Key == "credentials":
		l.credentials, _ = v.Any().([]string)
	}
}

// event returns the line as an event of the class Network Activity.
func (l *line) event(at time.Time, version string) *ocsf.Event {
	var e *ocsf.Event
	switch l.verdict {
	case "allow":
		e = ocsf.Network(ocsf.ActivityOpen, at)
		e.Decided(ocsf.Allowed)
		e.Status = ocsf.Success
	case "end":
		e = ocsf.Network(ocsf.ActivityClose, at)
		e.Decided(ocsf.Allowed)
		e.Status, e.Duration, e.Traffic = ocsf.Success, new(l.ms), &ocsf.Traffic{Out: l.sent, In: l.received}
	default:
		e = ocsf.Network(ocsf.ActivityRefuse, at)
		e.Decided(ocsf.Denied)
		e.Status, e.Severity, e.Count = ocsf.Failure, ocsf.Low, l.omitted
		if len(l.credentials) > 0 {
			// A credential was sent to where it must not go.
			e.Severity = ocsf.High
		}
	}
	e.StatusDetail, e.Connection = l.reason, ocsf.Outbound()
	e.Metadata.Product = ocsf.Product{Name: proxyName, VendorName: ocsf.Vendor, Version: version}
	e.Metadata.CorrelationUID, e.Metadata.LogName = l.uid, message
	if l.source != "" || l.pod != "" {
		e.Source = &ocsf.Endpoint{IP: l.source, Name: l.pod}
	}
	e.Destination = &ocsf.Endpoint{Hostname: l.host, Port: l.port, IP: l.address}
	if l.host == "" && l.address == "" {
		e.Destination = &ocsf.Endpoint{Service: proxyName}
	}
	if l.rule != "" {
		e.FirewallRule = &ocsf.Named{Name: l.rule}
	}
	e.Unmapped = map[string]any{}
	for name, value := range map[string]string{"run": l.run, "namespace": l.namespace, "address_class": l.class} {
		if value != "" {
			e.Unmapped[name] = value
		}
	}
	if len(l.credentials) > 0 {
		e.Unmapped["credentials"] = l.credentials
	}
	return e
}
