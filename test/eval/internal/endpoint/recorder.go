// SPDX-License-Identifier: Apache-2.0

// Package endpoint is what the evaluation's runs ask: it records every request, and has it answered by a model behind it or by a
// reader who plays one. The name of the model in a request is the name of the run: that is how requests are told apart.
package endpoint

import (
	"bytes"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
)

const maxRequest = 32 << 20

var validModel = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{0,80}$`)

// Usage is what the requests of one run came to.
type Usage struct {
	// Requests counts those that were answered.
	Requests int `json:"requests"`
	// PromptTokens and CompletionTokens are as the model counts them, or a quarter of the bytes if it does not.
	PromptTokens     int `json:"promptTokens"`
	CompletionTokens int `json:"completionTokens"`
	// PromptBytes is the size of all prompts, and CacheableBytes what of each was at the beginning of an earlier one.
	PromptBytes    int `json:"promptBytes"`
	CacheableBytes int `json:"cacheableBytes"`
	// EarlierBytes is the size of the prompts that CacheableBytes were found in. Both are the same if no prompt changed what was there.
	EarlierBytes int `json:"earlierBytes"`
}

// Cacheable returns the share of the prompts that was at the beginning of the prompt before, from 0 to 1.
func (u Usage) Cacheable() float64 { return share(u.CacheableBytes, u.PromptBytes) }

// Kept returns the share of the earlier prompts that the later ones began with, from 0 to 1. It is 1 where conversations only grow.
func (u Usage) Kept() float64 { return share(u.CacheableBytes, u.EarlierBytes) }

func share(part, whole int) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

// answerer answers a recorded request. What it returns is sent as it is.
type answerer interface {
	answer(w http.ResponseWriter, r *http.Request, req request, body []byte) (response []byte, err error)
}

// Recorder serves Chat Completions.
type Recorder struct {
	// Token must come with every request as its bearer token, unless it is empty. Without it, whoever reaches the endpoint could ask the
	// model behind it at our cost.
	Token string

	answers answerer

	mu   sync.Mutex
	runs map[string]*recorded
}

type recorded struct {
	usage    Usage
	prefixes prefixes
}

// Usage returns what the requests of a run came to so far.
func (s *Recorder) Usage(model string) Usage {
	s.mu.Lock()
	defer s.mu.Unlock()
	if run := s.runs[model]; run != nil {
		return run.usage
	}
	return Usage{}
}

// Forget drops what is known of a run, for one that is made again.
func (s *Recorder) Forget(model string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.runs, model)
}

// errNotAnswered says that the answerer sent the client a refusal.
var errNotAnswered = errors.New("not answered")

func (s *Recorder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/chat/completions") {
		http.NotFound(w, r)
		return
	}
	if s.Token != "" && subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), []byte("Bearer "+s.Token)) != 1 {
		http.Error(w, "the endpoint of an evaluation is for its own runs", http.StatusUnauthorized)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	if err != nil {
		http.Error(w, "the request is too large", http.StatusRequestEntityTooLarge)
		return
	}
	req, err := parse(body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	response, err := s.answers.answer(w, r, req, body)
	if err == nil {
		s.record(req, response)
	}
}

// record counts requests that were answered: what was asked again because nobody answered is no part of the conversation.
func (s *Recorder) record(req request, response []byte) {
	prompt := req.prompt()
	used := readUsage(response)
	if used.PromptTokens == 0 {
		used.PromptTokens = len(prompt) / 4
	}
	if used.CompletionTokens == 0 {
		used.CompletionTokens = len(response) / 4
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	run := s.runs[req.Model]
	if run == nil {
		run = &recorded{}
		s.runs[req.Model] = run
	}
	common, before := run.prefixes.add(prompt)
	run.usage.Requests++
	run.usage.PromptTokens += used.PromptTokens
	run.usage.CompletionTokens += used.CompletionTokens
	run.usage.PromptBytes += len(prompt)
	run.usage.CacheableBytes += common
	run.usage.EarlierBytes += before
}

// tokens is the usage that an answer has.
type tokens struct {
	PromptTokens     int `json:"prompt_tokens"`
	CompletionTokens int `json:"completion_tokens"`
}

// readUsage finds the usage in an answer, or in the last part of a stream that has one.
func readUsage(response []byte) tokens {
	var found struct {
		Usage *tokens `json:"usage"`
	}
	if json.Unmarshal(response, &found) == nil && found.Usage != nil {
		return *found.Usage
	}
	var last tokens
	for line := range bytes.Lines(response) {
		data, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("data:"))
		found.Usage = nil
		if ok && json.Unmarshal(bytes.TrimSpace(data), &found) == nil && found.Usage != nil {
			last = *found.Usage
		}
	}
	return last
}
