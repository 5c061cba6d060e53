// SPDX-License-Identifier: Apache-2.0

package connection

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"motorcortex.dev/motorcortex/internal/audit/ocsf"
	"motorcortex.dev/motorcortex/internal/audit/ocsf/ocsftest"
)

// written returns what a log writes with the handler: the lines of the audit, and the rest.
func written(t *testing.T, write func(*slog.Logger)) (audit, rest string) {
	t.Helper()
	var events, log bytes.Buffer
	plain := slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn})
	write(slog.New(New(plain, ocsf.NewLog(&events), "1.2.3")))
	return events.String(), log.String()
}

var of = []any{"run", "portfolio", "namespace", "agents", "pod", "portfolio-sandbox", "uid", "u1"}

func TestLinesOfTheProxyAreEventsOfTheSchema(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		line []any
		want map[string]any
	}{
		"let through": {
			append(of[:8:8], "source", "10.0.0.1", "host", "example.org", "port", 443, "rule", "*.org", "address", "93.184.215.14", "verdict", "allow"),
			map[string]any{"type_uid": 400101.0, "action_id": 1.0, "severity_id": 1.0, "src_endpoint": map[string]any{"ip": "10.0.0.1", "name": "portfolio-sandbox"},
				"dst_endpoint": map[string]any{"hostname": "example.org", "port": 443.0, "ip": "93.184.215.14"}, "firewall_rule": map[string]any{"name": "*.org"},
				"unmapped": map[string]any{"run": "portfolio", "namespace": "agents"}},
		},
		"ended": {
			append(of[:8:8], "source", "10.0.0.1", "host", "example.org", "port", 443, "verdict", "end", "reason", "closed", "sent", int64(7), "received", int64(9), "ms", int64(12), "credentials", []string{"key"}),
			map[string]any{"type_uid": 400102.0, "action_id": 1.0, "severity_id": 1.0, "status_detail": "closed", "duration": 12.0,
				"traffic": map[string]any{"bytes_out": 7.0, "bytes_in": 9.0}, "unmapped": map[string]any{"run": "portfolio", "namespace": "agents", "credentials": []any{"key"}}},
		},
		"refused": {
			append(of[:8:8], "source", "10.0.0.1", "host", "evil.test", "port", 443, "verdict", "deny", "reason", "domain_not_allowed"),
			map[string]any{"type_uid": 400105.0, "action_id": 2.0, "disposition_id": 2.0, "severity_id": 2.0, "status_id": 2.0, "status_detail": "domain_not_allowed"},
		},
		"a credential for another host": {
			append(of[:8:8], "source", "10.0.0.1", "host", "evil.test", "port", 443, "verdict", "deny", "reason", "credential_misuse", "credentials", []string{"key"}),
			map[string]any{"type_uid": 400105.0, "severity_id": 4.0},
		},
		"a client without a token": {
			[]any{"source", "10.0.0.9", "verdict", "deny", "reason", "no_token"},
			map[string]any{"type_uid": 400105.0, "src_endpoint": map[string]any{"ip": "10.0.0.9"}, "dst_endpoint": map[string]any{"svc_name": "motorcortex-egressproxy"}},
		},
		"lines that were omitted": {
			[]any{"verdict", "deny", "reason", "no_token", "omitted", 12},
			map[string]any{"type_uid": 400105.0, "count": 12.0},
		},
	} {
		audit, rest := written(t, func(log *slog.Logger) { log.Info("egress", tt.line...) })
		if err := ocsftest.Check([]byte(audit)); err != nil || strings.Count(audit, "\n") != 1 || rest != "" {
			t.Errorf("%s: %v in %s, beside %s", name, err, audit, rest)
		}
		var got map[string]any
		if err := json.Unmarshal([]byte(audit), &got); err != nil {
			t.Fatal(err)
		}
		some := map[string]any{}
		for key := range tt.want {
			some[key] = got[key]
		}
		if diff := cmp.Diff(tt.want, some); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if at := time.UnixMilli(int64(got["time"].(float64))); time.Since(at) > time.Hour {
			t.Errorf("%s: the time is %s", name, at)
		}
	}
}

// Lines of the log that are none of the audit stay in the log, with the level of the log. What a logger has of itself counts too.
func TestOtherLinesAreOfTheLog(t *testing.T) {
	t.Parallel()
	audit, rest := written(t, func(log *slog.Logger) {
		log.Info("the egress proxy listens")
		log.Warn("a client could not be accepted")
		log.With(of...).Info("egress", "verdict", "deny", "reason", "rate_limited", "omitted", 3)
		log.WithGroup("g").Info("egress")
	})
	if err := ocsftest.Check([]byte(audit)); err != nil || !strings.Contains(audit, `"correlation_uid":"u1"`) || strings.Count(audit, "\n") != 1 {
		t.Errorf("%v in %s", err, audit)
	}
	if strings.Count(rest, "\n") != 1 || !strings.Contains(rest, "could not be accepted") {
		t.Errorf("the log is %s", rest)
	}
}

// full is a disk that has no space for a while.
type full struct {
	bytes.Buffer
	is bool
}

func (f *full) Write(b []byte) (int, error) {
	if f.is {
		return 0, errors.New("no space")
	}
	return f.Buffer.Write(b)
}

// A logger drops what its handler returns, so nothing else would show that lines are missing.
func TestLostLinesAreCountedAndToldOnce(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	to := &full{is: true}
	h := New(slog.NewJSONHandler(&log, nil), ocsf.NewLog(to), "1")
	l := slog.New(h)
	refuse := func(l *slog.Logger) { l.Info("egress", "verdict", "deny", "reason", "no_token") }
	refuse(l)
	refuse(l.With("run", "r"))
	if h.Lost() != 2 || strings.Count(log.String(), "no space") != 1 || !strings.Contains(log.String(), `"level":"ERROR"`) {
		t.Errorf("lost are %d, and the log is %s", h.Lost(), &log)
	}
	to.is = false
	refuse(l)
	if h.Lost() != 2 || strings.Count(to.String(), "\n") != 1 {
		t.Errorf("lost are %d, and written is %s", h.Lost(), to)
	}
	to.is = true
	refuse(l)
	if h.Lost() != 3 || strings.Count(log.String(), "no space") != 2 {
		t.Errorf("lost are %d, and the log is %s", h.Lost(), &log)
	}
}
