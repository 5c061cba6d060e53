// SPDX-License-Identifier: Apache-2.0

package loglevel

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestALevelChangesWhileTheLogIsWritten(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	level := &slog.LevelVar{}
	h, err := Handler(&out, "json", level)
	if err != nil {
		t.Fatal(err)
	}
	// A logger that was derived before the change follows it too.
	log := slog.New(h).With("a", "b")
	s := Server{level, slog.New(h)}
	for _, tt := range []struct {
		method, body string
		status       int
		answer       string
		debug, info  bool
	}{
		{http.MethodGet, "", 200, "info\n", false, true},
		{http.MethodPut, "debug\n", 200, "debug\n", true, true},
		{http.MethodPut, "ERROR", 200, "error\n", false, false},
		{http.MethodPut, "loud", 400, "\"loud\" is no level of the log: it must be debug, info, warn or error\n", false, false},
		{http.MethodPut, strings.Repeat(" ", maxBody) + "debug", 400, "the body cannot be read, or is too long for a level of the log\n", false, false},
		{http.MethodPut, "", 400, "\"\" is no level of the log: it must be debug, info, warn or error\n", false, false},
		{http.MethodPost, "debug", 405, "Method Not Allowed\n", false, false},
		{http.MethodPut, "info", 200, "info\n", false, true},
	} {
		out.Reset()
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest(tt.method, Path, strings.NewReader(tt.body)))
		if w.Code != tt.status || w.Body.String() != tt.answer {
			t.Errorf("%s %q: %d %q, want %d %q", tt.method, tt.body, w.Code, w.Body, tt.status, tt.answer)
		}
		if changed := tt.method == http.MethodPut && tt.status == 200; strings.Contains(out.String(), "the level of the log was changed") != changed {
			t.Errorf("%s %q: the log has %q", tt.method, tt.body, &out)
		}
		out.Reset()
		log.Debug("x")
		if (out.Len() > 0) != tt.debug {
			t.Errorf("after %s %q: a line of debug is %q", tt.method, tt.body, &out)
		}
		out.Reset()
		log.Info("x")
		if (out.Len() > 0) != tt.info {
			t.Errorf("after %s %q: a line of info is %q", tt.method, tt.body, &out)
		}
	}
}

func TestALogHasTheFormatThatWasAskedFor(t *testing.T) {
	t.Parallel()
	for format, want := range map[string]string{"json": `"msg":"x"`, "text": "msg=x"} {
		var out bytes.Buffer
		h, err := Handler(&out, format, slog.LevelInfo)
		if err != nil {
			t.Fatal(err)
		}
		slog.New(h).Info("x")
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s: %s", format, &out)
		}
	}
	if _, err := Handler(&bytes.Buffer{}, "xml", slog.LevelInfo); err == nil || !strings.Contains(err.Error(), "json or text") {
		t.Errorf("another format is taken, or its error says nothing: %v", err)
	}
}
