// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"motorcortex.dev/motorcortex/test/modelserver/script"
)

// modelPrefix may stand before a script's name in a request's model.
const modelPrefix = "scripted/"

// charsPerToken is the usual rule of thumb for English text.
const charsPerToken = 4

// server plays scripts over HTTP.
type server struct {
	scripts map[string]*script.Script
	key     string // Empty lets everybody in.
	log     *callLog
	effects *effects
	faults  *counters
	now     func() time.Time
	wait    waiter
}

func newServer(scripts map[string]*script.Script, key string) *server {
	return &server{
		scripts: scripts, key: key,
		log:     &callLog{size: logSize},
		effects: &effects{counts: map[string]int{}, size: maxEffects},
		faults:  &counters{seen: map[string]int{}},
		now:     time.Now, wait: waitTimer,
	}
}

func (s *server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", s.complete)
	mux.HandleFunc("GET /v1/models", s.models)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("ok\n"))
	})
	mux.HandleFunc("GET /log", func(w http.ResponseWriter, r *http.Request) {
		send(r.Context(), w, jsonReply(http.StatusOK, append(mustJSON(s.log.list()), '\n')))
	})
	mux.HandleFunc("POST /effects", s.addEffect)
	mux.HandleFunc("GET /effects", s.listEffects)
	mux.HandleFunc("POST /reset", func(w http.ResponseWriter, _ *http.Request) {
		s.log.reset()
		s.faults.reset()
		s.effects.reset()
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		send(r.Context(), w, errorReply(invalid(http.StatusNotFound, "", "",
			fmt.Sprintf("Invalid URL (%s %s)", r.Method, r.URL.Path))))
	})
	return mux
}

// send writes a reply of which nobody needs to know whether it arrived.
func send(ctx context.Context, w http.ResponseWriter, r reply) { _ = r.write(ctx, w, waitTimer) }

func (s *server) authorized(r *http.Request) bool {
	if s.key == "" {
		return true
	}
	given := r.Header.Get("Authorization")
	return subtle.ConstantTimeCompare([]byte(given), []byte("Bearer "+s.key)) == 1
}

func badKey() *apiError {
	return invalid(http.StatusUnauthorized, "", "invalid_api_key", "Incorrect API key provided.")
}

func (s *server) models(w http.ResponseWriter, r *http.Request) {
	if !s.authorized(r) {
		send(r.Context(), w, errorReply(badKey()))
		return
	}
	type model struct {
		ID      string `json:"id"`
		Object  string `json:"object"`
		Created int64  `json:"created"`
		OwnedBy string `json:"owned_by"`
	}
	list := struct {
		Object string  `json:"object"`
		Data   []model `json:"data"`
	}{Object: "list", Data: []model{}}
	for _, name := range slices.Sorted(maps.Keys(s.scripts)) {
		list.Data = append(list.Data, model{ID: modelPrefix + name, Object: "model", OwnedBy: "modelserver"})
	}
	send(r.Context(), w, jsonReply(http.StatusOK, mustJSON(list)))
}

// complete answers one completion request: decide, log, send.
func (s *server) complete(w http.ResponseWriter, r *http.Request) {
	e := entry{Time: s.now().UTC(), Kind: kindOther, Turn: -1, Outcome: outcomeWaiting}
	rep := s.decide(w, r, &e)
	e.Status = rep.status
	if rep.header != nil {
		rep.header["X-Request-Id"] = "req_" + e.RequestSHA256[:min(16, len(e.RequestSHA256))]
	}
	// The read deadline has done its work with the body. Left standing it would
	// end a slow answer as if the client had gone. Not every writer has one.
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	seq := s.log.add(e)
	if rep.deliver(w, r, s.wait, func(outcome string) { s.log.setOutcome(seq, outcome) }) {
		panic(http.ErrAbortHandler) // The server's way to break a connection.
	}
}

// decide finds the reply, and fills the log entry with what it learns on the way.
func (s *server) decide(w http.ResponseWriter, r *http.Request, e *entry) reply {
	fail := func(err *apiError) reply {
		e.Answered = "error: " + err.Message
		return errorReply(err)
	}
	if !s.authorized(r) {
		return fail(badKey())
	}
	body, apiErr := readBody(w, r)
	if apiErr != nil {
		return fail(apiErr)
	}
	sum := sha256.Sum256(body)
	e.RequestSHA256 = hex.EncodeToString(sum[:])
	req, apiErr := parseRequest(body)
	if apiErr != nil {
		return fail(apiErr)
	}
	e.Model, e.Stream, e.Messages, e.PromptTokens = req.Model, req.Stream, len(req.Messages), tokens(req.promptChars())
	sc, ok := s.scripts[strings.TrimPrefix(req.Model, modelPrefix)]
	if !ok {
		return fail(modelNotFound(req.Model))
	}
	if sc.Window > 0 && e.PromptTokens > sc.Window {
		e.Script = sc.Name
		return fail(tooLong(sc.Window, e.PromptTokens))
	}
	var play *script.Play
	var err error
	if aside := req.aside(); aside != "" {
		e.Kind, play = string(aside), aside.Play(req.conversation())
	} else {
		e.Kind = kindTurn
		play, err = sc.Play(req.conversation())
		if err == nil && req.offers("finish") {
			play = play.WithFinish()
		}
	}
	e.Script, e.Turn, e.TurnName, e.Conversation = sc.Name, play.Turn, play.TurnName, play.Conversation
	if err != nil {
		return fail(playError(err))
	}
	e.Answered = summary(play)
	return s.answer(req, play, e)
}

// answer makes the reply of a play, with the fault that is due, if one is.
func (s *server) answer(req *chatRequest, play *script.Play, e *entry) reply {
	words := said{
		id: "chatcmpl-" + e.RequestSHA256[:24], model: req.Model, play: play,
		usage:        used(req, play),
		includeUsage: req.StreamOptions != nil && req.StreamOptions.IncludeUsage,
	}
	if len(play.Faults) > 0 {
		key := fmt.Sprintf("%s %d %s", e.Script, play.Turn, play.Conversation)
		if fault, due := play.Faults.At(s.faults.next(key)); due {
			e.Fault = string(fault.Kind)
			return words.broken(fault, req.Stream)
		}
	}
	return words.whole(req.Stream, true)
}

func playError(err error) *apiError {
	switch {
	case errors.Is(err, script.ErrPastEnd):
		return scriptError("script_past_end", err)
	case errors.Is(err, script.ErrNoMatch):
		return scriptError("script_no_match", err)
	}
	return scriptError("script_template", err)
}

// used estimates from the lengths what was used.
func used(req *chatRequest, play *script.Play) usage {
	chars := len(play.Content)
	for _, call := range play.ToolCalls {
		chars += len(call.Name) + len(call.Arguments)
	}
	prompt, completion := tokens(req.promptChars()), tokens(chars)
	return usage{PromptTokens: prompt, CompletionTokens: completion, TotalTokens: prompt + completion}
}

func tokens(chars int) int { return (chars + charsPerToken - 1) / charsPerToken }

// summary says what an answer is in a line of the log.
func summary(play *script.Play) string {
	if len(play.ToolCalls) > 0 {
		names := make([]string, len(play.ToolCalls))
		for i, call := range play.ToolCalls {
			names[i] = call.Name
		}
		return "calls: " + strings.Join(names, ", ")
	}
	const most = 200
	text := play.Content
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return "text: " + text
}
