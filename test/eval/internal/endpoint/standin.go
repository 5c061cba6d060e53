// SPDX-License-Identifier: Apache-2.0

package endpoint

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Wait is how long a request waits for a reader. It is less than the two minutes of silence that the runs are told to bear.
const Wait = 110 * time.Second

const look = 100 * time.Millisecond

// standin has requests answered by whoever writes a file: DIR/MODEL/req-NNN.json is asked, DIR/MODEL/resp-NNN.json is the answer.
type standin struct {
	dir  string
	wait time.Duration

	mu    sync.Mutex
	asked map[string]*numbered
}

// numbered is the newest request of a model. It is served when its answer was sent: one that was written too late, between two tries,
// is for the next try.
type numbered struct {
	number int
	body   []byte
	served bool
}

// NewStandin returns an endpoint whose model is played by readers of the folder.
func NewStandin(dir string, wait time.Duration) *Recorder {
	return &Recorder{answers: &standin{dir: dir, wait: wait, asked: map[string]*numbered{}}, runs: map[string]*recorded{}}
}

func requestFile(n int) string  { return fmt.Sprintf("req-%03d.json", n) }
func responseFile(n int) string { return fmt.Sprintf("resp-%03d.json", n) }

// Reply is what a reader writes.
type Reply struct {
	// Content is the text of the answer; null without one.
	Content   *string `json:"content"`
	ToolCalls []struct {
		Name string `json:"name"`
		// Arguments is an object, or a text that is sent as it is, to try what becomes of a bad one.
		Arguments json.RawMessage `json:"arguments"`
	} `json:"tool_calls"`
}

func (s *standin) answer(w http.ResponseWriter, r *http.Request, req request, body []byte) ([]byte, error) {
	n, err := s.open(req.Model, body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return nil, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), s.wait)
	defer cancel()
	reply, err := awaitReply(ctx, filepath.Join(s.dir, req.Model, responseFile(n)))
	if err != nil {
		// The client asks again, and the answer that a slow reader still writes is for that.
		http.Error(w, "nobody has answered: "+err.Error(), http.StatusServiceUnavailable)
		return nil, err
	}
	response, err := completion(req, n, reply)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return nil, err
	}
	s.mu.Lock()
	s.asked[req.Model].served = true
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	_, err = w.Write(response)
	return response, err
}

// open writes the request down and returns its number. One that is made again, because nobody had answered, keeps its number.
func (s *standin) open(model string, body []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	dir := filepath.Join(s.dir, model)
	last := s.asked[model]
	if last == nil {
		// A folder that is there already belongs to an earlier try: numbers go on after it.
		found, err := filepath.Glob(filepath.Join(dir, "req-*.json"))
		if err != nil {
			return 0, err
		}
		last = &numbered{number: len(found)}
		s.asked[model] = last
	} else if bytes.Equal(last.body, body) && !last.served {
		return last.number, nil
	}
	last.number++
	last.body, last.served = body, false
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return 0, err
	}
	return last.number, writeWhole(filepath.Join(dir, requestFile(last.number)), body)
}

// writeWhole writes a file that no reader sees half.
func writeWhole(path string, content []byte) error {
	if err := os.WriteFile(path+".part", content, 0o644); err != nil {
		return err
	}
	return os.Rename(path+".part", path)
}

// awaitReply reads a reply when it is there. A file that is no reply yet may be half written, and is read again.
func awaitReply(ctx context.Context, path string) (Reply, error) {
	ticker := time.NewTicker(look)
	defer ticker.Stop()
	why := errors.New("there is no " + path)
	for {
		content, err := os.ReadFile(path)
		if err == nil {
			var reply Reply
			if err = json.Unmarshal(content, &reply); err == nil {
				return reply, nil
			}
			why = fmt.Errorf("%s is no reply: %w", path, err)
		}
		select {
		case <-ctx.Done():
			return Reply{}, why
		case <-ticker.C:
		}
	}
}

// completion is the answer as Chat Completions has it. Tokens are a quarter of the bytes.
func completion(req request, n int, reply Reply) ([]byte, error) {
	message := map[string]any{"role": "assistant", "content": reply.Content}
	reason := "stop"
	var calls []any
	size := 0
	if reply.Content != nil {
		size = len(*reply.Content)
	}
	for i, c := range reply.ToolCalls {
		arguments := string(c.Arguments)
		var text string
		if json.Unmarshal(c.Arguments, &text) == nil {
			arguments = text
		}
		size += len(c.Name) + len(arguments)
		calls = append(calls, map[string]any{
			"id": fmt.Sprintf("c%d_%d", n, i), "type": "function", "function": map[string]any{"name": c.Name, "arguments": arguments},
		})
	}
	if len(calls) > 0 {
		message["tool_calls"], reason = calls, "tool_calls"
	}
	prompt, made := len(req.prompt())/4, size/4+1
	return json.Marshal(map[string]any{
		"id": fmt.Sprintf("standin-%d", n), "object": "chat.completion", "created": time.Now().Unix(), "model": req.Model,
		"choices": []any{map[string]any{"index": 0, "message": message, "finish_reason": reason}},
		"usage":   map[string]any{"prompt_tokens": prompt, "completion_tokens": made, "total_tokens": prompt + made},
	})
}
