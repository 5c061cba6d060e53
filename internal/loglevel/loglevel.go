// SPDX-License-Identifier: Apache-2.0

// Package loglevel has the level of a log that can change while the process runs.
package loglevel

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
)

// Path is where a Level is served.
const Path = "/loglevel"

// maxBody is more than any level has, in bytes.
const maxBody = 64

// Parse returns the level of a name: debug, info, warn or error.
func Parse(name string) (slog.Level, error) {
	for _, l := range []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError} {
		if strings.EqualFold(name, l.String()) {
			return l, nil
		}
	}
	return 0, fmt.Errorf("%.20q is no level of the log: it must be debug, info, warn or error", name)
}

// Handler returns a handler that writes what is at the level or above it, in the format json or text.
func Handler(to io.Writer, format string, level slog.Leveler) (slog.Handler, error) {
	options := &slog.HandlerOptions{Level: level}
	switch format {
	case "json":
		return slog.NewJSONHandler(to, options), nil
	case "text":
		return slog.NewTextHandler(to, options), nil
	}
	return nil, fmt.Errorf("%.20q is no format of the log: it must be json or text", format)
}

// Server shows and changes a level by HTTP: GET answers its name, PUT takes one as the body. It must be behind a filter that knows who may do so.
type Server struct {
	Level *slog.LevelVar
	Log   *slog.Logger
}

// ServeHTTP answers the level that holds after the request.
func (s Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodGet:
	case http.MethodPut:
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		if err != nil {
			http.Error(w, "the body cannot be read, or is too long for a level of the log", http.StatusBadRequest)
			return
		}
		to, err := Parse(strings.TrimSpace(string(body)))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		from := s.Level.Level()
		s.Level.Set(to)
		// The line has the level that just began to hold: an account that turns the log off must be seen too.
		s.Log.Log(r.Context(), max(to, slog.LevelInfo), "the level of the log was changed", "from", name(from), "to", name(to))
	default:
		w.Header().Set("Allow", "GET, PUT")
		http.Error(w, http.StatusText(http.StatusMethodNotAllowed), http.StatusMethodNotAllowed)
		return
	}
	_, _ = fmt.Fprintln(w, name(s.Level.Level()))
}

func name(l slog.Level) string { return strings.ToLower(l.String()) }
