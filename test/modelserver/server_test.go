// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const twoTurns = `
turns:
- content: I look.
  toolCalls: [{name: read, arguments: {path: a.csv}}]
- content: 'It says {{ .Last | json }}.'
`

func TestBody(t *testing.T) {
	const talk = `{"role": "system", "content": "s"}, {"role": "user", "content": [{"type": "text", "text": "he"}, {"type": "text", "text": "llo"}]}`
	const ran = `{"role": "assistant", "content": null, "tool_calls": [{"id": "call_0_0", "type": "function", "function": {"name": "read", "arguments": "{}"}}]},
		{"role": "tool", "tool_call_id": "call_0_0", "content": "<b>"}`
	for name, tc := range map[string]struct{ request, want string }{
		"calls": {
			`{"model": "scripted/play", "messages": [` + talk + `]}`,
			`{"id":"ID","object":"chat.completion","created":0,"model":"scripted/play","choices":[{"index":0,` +
				`"message":{"role":"assistant","content":"I look.","refusal":null,"tool_calls":[{"id":"call_0_0","type":"function",` +
				`"function":{"name":"read","arguments":"{\"path\":\"a.csv\"}"}}]},"logprobs":null,"finish_reason":"tool_calls"}],` +
				`"usage":{"prompt_tokens":4,"completion_tokens":7,"total_tokens":11},"system_fingerprint":"fp_scripted"}`,
		},
		"text": {
			`{"model": "play", "messages": [` + talk + `, ` + ran + `]}`,
			`{"id":"ID","object":"chat.completion","created":0,"model":"play","choices":[{"index":0,` +
				`"message":{"role":"assistant","content":"It says \"<b>\".","refusal":null},"logprobs":null,"finish_reason":"stop"}],` +
				`"usage":{"prompt_tokens":10,"completion_tokens":4,"total_tokens":14},"system_fingerprint":"fp_scripted"}`,
		},
		"stream of calls": {
			`{"model": "play", "stream": true, "stream_options": {"include_usage": true}, "messages": [` + talk + `]}`,
			`data: {HEAD,"choices":[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}],"usage":null}` + "\n\n" +
				`data: {HEAD,"choices":[{"index":0,"delta":{"content":"I look."},"logprobs":null,"finish_reason":null}],"usage":null}` + "\n\n" +
				`data: {HEAD,"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_0_0","type":"function","function":{"name":"read","arguments":""}}]},"logprobs":null,"finish_reason":null}],"usage":null}` + "\n\n" +
				`data: {HEAD,"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"path\":\"a.csv\"}"}}]},"logprobs":null,"finish_reason":null}],"usage":null}` + "\n\n" +
				`data: {HEAD,"choices":[{"index":0,"delta":{},"logprobs":null,"finish_reason":"tool_calls"}],"usage":null}` + "\n\n" +
				`data: {HEAD,"choices":[],"usage":{"prompt_tokens":4,"completion_tokens":7,"total_tokens":11}}` + "\n\n" +
				"data: [DONE]\n\n",
		},
		"stream of text": {
			`{"model": "play", "stream": true, "messages": [` + talk + `, ` + ran + `]}`,
			`data: {HEAD,"choices":[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]}` + "\n\n" +
				`data: {HEAD,"choices":[{"index":0,"delta":{"content":"It says \"<b>\"."},"logprobs":null,"finish_reason":null}]}` + "\n\n" +
				`data: {HEAD,"choices":[{"index":0,"delta":{},"logprobs":null,"finish_reason":"stop"}]}` + "\n\n" +
				"data: [DONE]\n\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, twoTurns)
			first := r.complete(t, tc.request)
			if first.status != http.StatusOK || first.err != nil {
				t.Fatalf("status %d, %v: %s", first.status, first.err, first.body)
			}
			id := "chatcmpl-" + r.entries(t)[0].RequestSHA256[:24]
			head := fmt.Sprintf(`"id":%q,"object":"chat.completion.chunk","created":0,"model":"play","system_fingerprint":"fp_scripted"`, id)
			want := strings.ReplaceAll(strings.ReplaceAll(tc.want, "HEAD", head), `"id":"ID"`, `"id":"`+id+`"`)
			if diff := cmp.Diff(want, first.body); diff != "" {
				t.Errorf("body (-want +got):\n%s", diff)
			}
			// Another process gives the same bytes: there is nothing to remember.
			if again := newRig(t, twoTurns).complete(t, tc.request); again.body != first.body {
				t.Errorf("a new server answers differently:\n%s", cmp.Diff(first.body, again.body))
			}
		})
	}
}

func TestRefused(t *testing.T) {
	const tool = `{"role": "tool", "tool_call_id": "a", "content": ""}`
	const call = `{"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "f", "arguments": ""}}, {"id": "a", "function": {"name": "g", "arguments": ""}}]}`
	messages := func(list ...string) string {
		return `{"model": "play", "messages": [` + strings.Join(list, ",") + `]}`
	}
	for name, tc := range map[string]struct {
		body        string
		status      int
		param, code string
		message     string
	}{
		"not JSON":         {`{`, 400, "", "", "We could not parse the JSON body of your request: unexpected end of JSON input"},
		"no model":         {`{"messages": [{"role": "user", "content": ""}]}`, 400, "", "", "you must provide a model parameter"},
		"no messages":      {`{"model": "play"}`, 400, "messages", "empty_array", "Invalid 'messages': empty array. Expected an array with minimum length 1."},
		"unknown model":    {`{"model": "gpt", "messages": [{"role": "user", "content": ""}]}`, 404, "model", "model_not_found", "The model `gpt` does not exist or you do not have access to it."},
		"two choices":      {`{"model": "play", "n": 2, "messages": [{"role": "user"}]}`, 400, "n", "unsupported_value", "Only n = 1 is supported here."},
		"stray options":    {`{"model": "play", "stream_options": {}, "messages": [{"role": "user"}]}`, 400, "stream_options", "", "The 'stream_options' parameter is only allowed when 'stream' is enabled."},
		"bad content":      {messages(`{"role": "user", "content": 7}`), 400, "", "", "We could not parse the JSON body of your request: content has to be a string or a list of parts"},
		"unknown role":     {messages(`{"role": "boss"}`), 400, "messages[0].role", "invalid_value", "Invalid value: 'boss'."},
		"tool for nothing": {messages(`{"role": "user"}`, tool), 400, "messages.[1].role", "", "Invalid parameter: messages with role 'tool' must be a response to a preceding message with 'tool_calls'."},
		"call unanswered":  {messages(call), 400, "messages.[1].role", "", "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'."},
		"answered late":    {messages(call, `{"role": "user"}`, tool), 400, "messages.[1].role", "", "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'."},
		"past the end":     {messages(`{"role": "assistant", "content": "x"}`, `{"role": "assistant", "content": "x"}`), 500, "", "script_past_end", `script "play", turn 2: the conversation went past the script's end after 2 turns`},
		"too large":        {messages(`{"role": "user", "content": "` + strings.Repeat("x", maxRequest) + `"}`), 413, "", "request_too_large", "The request body is larger than 16777216 bytes."},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, twoTurns)
			if name == "too large" {
				tc.body = tc.body[:maxRequest+1] // One byte too many, so that the server reads all of it.
			}
			res := r.complete(t, tc.body)
			if res.status != tc.status || res.err != nil {
				t.Fatalf("status %d, %v: %s", res.status, res.err, res.body)
			}
			var body struct {
				Error struct{ Message, Type, Param, Code string }
			}
			if err := json.Unmarshal([]byte(res.body), &body); err != nil {
				t.Fatalf("%v: %s", err, res.body)
			}
			e := body.Error
			if e.Message != tc.message || e.Param != tc.param || e.Code != tc.code || e.Type == "" {
				t.Errorf("error = %s", res.body)
			}
			log := r.entries(t)
			if len(log) != 1 || log[0].Status != tc.status || log[0].Answered != "error: "+tc.message {
				t.Errorf("log = %+v", log)
			}
		})
	}
}

func TestScriptErrors(t *testing.T) {
	for name, tc := range map[string]struct{ script, code string }{
		"no alternative": {"turns: [{content: a, when: {lastTool: x}}]", "script_no_match"},
		"bad template":   {"turns: [{content: '{{ .LastJSON.a }}'}]", "script_template"},
	} {
		t.Run(name, func(t *testing.T) {
			res := newRig(t, tc.script).complete(t, hello)
			if res.status != 500 || !strings.Contains(res.body, `"code":"`+tc.code+`"`) {
				t.Errorf("status %d: %s", res.status, res.body)
			}
			if res.header.Get("X-Should-Retry") != "false" {
				t.Error("a client would hide the script's mistake behind its backoff")
			}
		})
	}
}

func TestOtherPaths(t *testing.T) {
	r := newRig(t, twoTurns)
	for path, want := range map[string]string{
		"/healthz":        "ok\n",
		"/v1/models":      `{"object":"list","data":[{"id":"scripted/play","object":"model","created":0,"owned_by":"modelserver"}]}`,
		"/log":            "[]\n",
		"/v1/completions": `{"error":{"message":"Invalid URL (GET /v1/completions)","type":"invalid_request_error","param":null,"code":null}}`,
	} {
		if res := r.send(t, http.MethodGet, path, ""); res.body != want {
			t.Errorf("%s: %s", path, res.body)
		}
	}
}

func TestRequireKey(t *testing.T) {
	r := newRig(t, twoTurns)
	r.key = "right"
	for key, want := range map[string]int{"": 401, "right": 401, "Bearer wrong": 401, "Bearer right": 200} {
		for path, method := range map[string]string{"/v1/chat/completions": http.MethodPost, "/v1/models": http.MethodGet} {
			req, err := http.NewRequestWithContext(t.Context(), method, r.http.URL+path, strings.NewReader(hello))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Authorization", key)
			res, err := r.http.Client().Do(req)
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
			if res.StatusCode != want {
				t.Errorf("%s with %q: status %d, want %d", path, key, res.StatusCode, want)
			}
		}
	}
}

func TestLog(t *testing.T) {
	r := newRig(t, "turns: [{name: first, content: hi}]")
	r.complete(t, helloStream)
	want := []entry{{
		Seq: 1, Time: epoch, Kind: "turn", PromptTokens: 3, Script: "play", Turn: 0, TurnName: "first", Model: "play", Stream: true, Messages: 1,
		Status: 200, Answered: "text: hi", Outcome: outcomeSent,
	}}
	list := r.entries(t)
	if len(list) != 1 || len(list[0].Conversation) != 64 || len(list[0].RequestSHA256) != 64 {
		t.Fatalf("log = %+v", list)
	}
	want[0].Conversation, want[0].RequestSHA256 = list[0].Conversation, list[0].RequestSHA256
	if diff := cmp.Diff(want, list); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
	if res := r.send(t, http.MethodPost, "/reset", ""); res.status != http.StatusNoContent {
		t.Errorf("reset: status %d", res.status)
	}
	if list := r.entries(t); len(list) != 0 {
		t.Errorf("log after reset = %+v", list)
	}
	r.complete(t, hello)
	if list := r.entries(t); len(list) != 1 || list[0].Seq != 2 {
		t.Errorf("log = %+v, want one entry that counts on", list)
	}
}

func TestLogIsBounded(t *testing.T) {
	l := &callLog{size: 3}
	for range 5 {
		l.add(entry{})
	}
	for seq := int64(1); seq <= 6; seq++ {
		l.setOutcome(seq, outcomeSent) // 1, 2 are forgotten, 6 never was.
	}
	var got []int64
	for _, e := range l.list() {
		if e.Outcome != outcomeSent {
			t.Errorf("entry %d has outcome %q", e.Seq, e.Outcome)
		}
		got = append(got, e.Seq)
	}
	if diff := cmp.Diff([]int64{3, 4, 5}, got); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
	l.reset()
	l.setOutcome(5, outcomeCut)
}

func TestCountersAreBounded(t *testing.T) {
	c := &counters{seen: map[string]int{}}
	for i := range maxCounters + 1 {
		c.next(fmt.Sprint(i))
	}
	if len(c.seen) != maxCounters || len(c.order) != maxCounters {
		t.Errorf("%d counters, %d keys", len(c.seen), len(c.order))
	}
	if n := c.next("0"); n != 0 {
		t.Errorf("the oldest counter is still at %d", n)
	}
	if n := c.next(fmt.Sprint(maxCounters)); n != 1 {
		t.Errorf("the newest counter is at %d, want 1", n)
	}
}

func TestPieces(t *testing.T) {
	for name, text := range map[string]string{
		"empty": "", "short": "abc", "wide": strings.Repeat("äß€😀", 500), "long": strings.Repeat("x", 1<<20),
	} {
		t.Run(name, func(t *testing.T) {
			parts := pieces(text)
			if strings.Join(parts, "") != text || len(parts) > 80 {
				t.Errorf("%d pieces do not make the text again", len(parts))
			}
			for _, part := range parts {
				if strings.ToValidUTF8(part, "") != part {
					t.Errorf("piece %q breaks a character", part)
				}
			}
		})
	}
}
