// SPDX-License-Identifier: Apache-2.0

package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"motorcortex.dev/motorcortex/internal/motorloop/catalog"
	"motorcortex.dev/motorcortex/internal/motorloop/chat"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/secret"
)

func TestBaseURL(t *testing.T) {
	cases := map[string]string{
		"http://h.test":             "http://h.test/chat/completions",
		"http://h.test/":            "http://h.test/chat/completions",
		"http://h.test/v1":          "http://h.test/v1/chat/completions",
		"http://h.test/v1/":         "http://h.test/v1/chat/completions",
		"https://h.test:8443/a/b/":  "https://h.test:8443/a/b/chat/completions",
		"":                          DefaultBaseURL + "/chat/completions",
		"http://u:p@h.test/v1":      "error",
		"http://h.test/v1?key=x":    "error",
		"h.test/v1":                 "error",
		"ftp://h.test":              "error",
		"http://":                   "error",
		"http://h.test/%zz/s3cr3t":  "error",
		"http://h.test/v1#fragment": "error",
	}
	// The manager's environment must not reach an endpoint that another party named.
	t.Setenv("OPENAI_BASE_URL", "http://other.test/v1")
	t.Setenv("OPENAI_API_KEY", testKey)
	t.Setenv("OPENAI_ORG_ID", "org")
	for base, want := range cases {
		got := ""
		c, err := New(Endpoint{BaseURL: base, Model: "m"}, Options{HTTPClient: &http.Client{
			Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
				got = r.URL.String()
				if r.Header.Get("Authorization") != "" || r.Header.Get("OpenAI-Organization") != "" {
					t.Errorf("%q: headers from the environment: %v", base, r.Header)
				}
				return response(200, http.Header{}, okBody), nil
			}),
		}})
		if want == "error" {
			if err == nil || strings.Contains(err.Error(), "p@") || strings.Contains(err.Error(), "s3cr3t") {
				t.Errorf("%q: got %v", base, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", base, err)
			continue
		}
		if _, err := ask(t.Context(), c); err != nil || got != want {
			t.Errorf("%q asks %q, want %q (%v)", base, got, want, err)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	if _, err := New(Endpoint{}, Options{}); err == nil {
		t.Error("no model: accepted")
	}
	if _, err := New(Endpoint{Model: "m", APIKey: secret.New(testKey + "\nmore")}, Options{}); err == nil {
		t.Error("key of two lines: accepted")
	} else {
		checkNoKey(t, err.Error())
	}
}

func TestEndpointDoesNotPrintItsKey(t *testing.T) {
	e := Endpoint{BaseURL: "http://h.test", APIKey: secret.New(testKey), Model: "m"}
	var logged bytes.Buffer
	slog.New(slog.NewTextHandler(&logged, nil)).Info("x", "e", e)
	checkNoKey(t, fmt.Sprintf("%v %+v %#v %s %q", e, e, e, e, e)+logged.String())
}

func TestMapping(t *testing.T) {
	const answer = `{"model":"m-2026","choices":[{"index":0,"finish_reason":"length","message":{"role":"assistant","content":null,
		"refusal":"I would rather not","tool_calls":[
		{"id":"same","type":"function","function":{"name":"bash","arguments":"{\"command\":\"ls\"}"}},
		{"id":"same","type":"function","function":{"name":"read","arguments":""}}]}}],
		"usage":{"prompt_tokens":7,"completion_tokens":3,"total_tokens":10,"prompt_tokens_details":{"cached_tokens":5}}}`
	var sent json.RawMessage
	c, _ := serve(t, quick(), func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("Authorization"); got != "Bearer "+testKey {
			t.Errorf("Authorization %q", got)
		}
		sent, _ = io.ReadAll(r.Body)
		reply(w, 200, answer)
	})
	got, err := c.Complete(t.Context(), chat.Request{
		Messages: []chat.Message{
			{Role: chat.RoleSystem, Content: "rules"},
			{Role: chat.RoleUser, Content: "task"},
			{Role: chat.RoleAssistant, Calls: []turn.Call{{ID: "a1-s1-c0", ModelID: "x1", Tool: "list", Arguments: "{}"}}},
			{Role: chat.RoleTool, ToolCallID: "x1", Content: "a.txt"},
			{Role: chat.RoleAssistant, Content: "hm"},
		},
		Tools: []catalog.ToolDefinition{{Name: "list", Description: "Lists.", Parameters: json.RawMessage(`{"type":"object","properties":{"z":{},"a":{}}}`)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := chat.Answer{
		Model: "m-2026", Content: "I would rather not", Truncated: true,
		Calls: []turn.Call{
			{ModelID: "same", Tool: "bash", Arguments: `{"command":"ls"}`},
			{ModelID: "same", Tool: "read"},
		},
		Usage: turn.Usage{PromptTokens: 7, CompletionTokens: 3, CachedTokens: 5},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	const wantSent = `{"model":"m","messages":[
		{"role":"system","content":"rules"},
		{"role":"user","content":"task"},
		{"role":"assistant","tool_calls":[{"id":"x1","type":"function","function":{"name":"list","arguments":"{}"}}]},
		{"role":"tool","tool_call_id":"x1","content":"a.txt"},
		{"role":"assistant","content":"hm"}],
		"tools":[{"type":"function","function":{"name":"list","description":"Lists.","parameters":{"type":"object","properties":{"z":{},"a":{}}}}}],
		"stream":true,"stream_options":{"include_usage":true}}`
	if d := cmp.Diff(parse(t, []byte(wantSent)), parse(t, sent)); d != "" {
		t.Error(d)
	}
	if !strings.Contains(string(sent), `"properties":{"z":{},"a":{}}`) {
		t.Errorf("the properties lost their order: %s", sent)
	}
}

func parse(t *testing.T, b []byte) (v any) {
	t.Helper()
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatal(err)
	}
	return v
}
