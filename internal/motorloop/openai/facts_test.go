// SPDX-License-Identifier: Apache-2.0

package openai

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"motorcortex.dev/motorcortex/internal/motorloop/openai/breaker"
)

// Endpoints that refuse a field are called without it. Later requests omit it at once, if the refusal named the field as such.
func TestEndpointsThatDoNotTakeAStream(t *testing.T) {
	t.Parallel()
	const named, quoted = `{"error":{"message":"Unknown field.","param":%q}}`, `{"error":{"message":"Unknown field: %s"}}`
	for name, tt := range map[string]struct {
		refuses []string
		says    string
		// again is how many requests it takes the second time.
		again int
	}{
		"stream_options": {[]string{"stream_options"}, named, 1}, "stream": {[]string{"stream_options", "stream"}, named, 1},
		"stream_options in words": {[]string{"stream_options"}, quoted, 2}, "stream in words": {[]string{"stream_options", "stream"}, quoted, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int32
			c, _ := serve(t, quick(), func(w http.ResponseWriter, r *http.Request) {
				asked.Add(1)
				body, _ := io.ReadAll(r.Body)
				for _, field := range tt.refuses {
					if strings.Contains(string(body), `"`+field+`"`) {
						reply(w, 400, fmt.Sprintf(tt.says, field))
						return
					}
				}
				reply(w, 200, okBody)
			})
			for _, want := range []int{len(tt.refuses) + 1, tt.again} {
				asked.Store(0)
				if a, err := ask(t.Context(), c); err != nil || a.Content != "done" {
					t.Fatalf("got %+v, %v", a, err)
				}
				if got := int(asked.Load()); got != want {
					t.Errorf("asked %d times, want %d", got, want)
				}
			}
		})
	}
}

// A request that is refused in every form ends with the refusal.
func TestRefusedInEveryForm(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	c, _ := serve(t, quick(), func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		reply(w, 400, `{"error":{"message":"The tool's property 'stream' is not known."}}`)
	})
	_, err := ask(t.Context(), c)
	failureOf(t, err, refusal)
	if n := asked.Load(); n != 2 {
		t.Errorf("asked %d times", n)
	}
}

// An error body that would be costly to read is ignored.
func TestErrorBodyIsBounded(t *testing.T) {
	t.Parallel()
	for name, beside := range map[string]string{
		"deep":  strings.Repeat("[", 64) + strings.Repeat("]", 64),
		"broad": "[" + strings.Repeat("{},", 4096) + "{}]",
	} {
		body := func(beside string) []byte { return []byte(`{"error":{"message":"why"},"beside":` + beside + "}") }
		if got := errorBody(body(beside)); got != (apiError{}) {
			t.Errorf("%s: %+v", name, got)
		}
		if got := errorBody(body("[]")); got.text != "why" {
			t.Errorf("without it: %+v", got)
		}
	}
}

func TestWindowsInErrors(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		"This model's maximum context length is 16385 tokens. However, your messages resulted in 20012 tokens.": 16385,
		"This endpoint's maximum context length is 128000 tokens. However, you requested about 200000 tokens.":  128000,
		"prompt is too long: 210000 tokens > 200000 maximum":                                                    200000,
		"the request exceeds the available context size (4096 tokens), try increasing it":                       4096,
		"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).":               1048576,
		"This model's maximum context length is 131,072 tokens, and 1,000 more is not possible.":                131072,
		"This model's maximum context length is 1.048.576 tokens.":                                              1048576,
		"This model's maximum context length is 200k tokens.":                                                   200000,
		"This model's maximum context length is 16385,20012 were requested.":                                    16385,
		"This model's maximum context length is 999,999,999,999,999,999,999 tokens.":                            0,
		"The prompt (140,000 tokens) exceeds the context window of 131_072 tokens.":                             131072,
		"This model's maximum context length is 100 tokens.":                                                    0,
		"Please reduce the length of the messages.":                                                             0,
	} {
		r, f := apiError{text: text}, breaker.Facts{}
		if r.teach(&f); !r.isTooLong() || f.Window != want {
			t.Errorf("%q: too long %t, window %d, want %d", text, r.isTooLong(), f.Window, want)
		}
	}
	f := breaker.Facts{Fitted: 20_000}
	for _, tt := range []struct{ says, want int64 }{{16385, 0}, {20_000, 20_000}} {
		(apiError{text: fmt.Sprintf("This model's maximum context length is %d tokens.", tt.says)}).teach(&f)
		if f.Window != tt.want {
			t.Errorf("20000 tokens were answered, %d are said to fit, %d are learnt", tt.says, f.Window)
		}
	}
	for _, text := range []string{"content filter", "Unknown field: stream", "temperature is too high"} {
		if (apiError{text: text}).isTooLong() {
			t.Errorf("%q is not about the length", text)
		}
	}
}

// A text that an endpoint quotes from one request does not change the state for the requests of others.
func TestQuotedTextTeachesNothing(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		`{"error":{"message":"Invalid schema for function 'mcp__x__y': property 'maximum context length is 5000 tokens' is not valid.","code":"invalid_function_parameters","param":"tools[0].function.parameters"}}`,
		`{"error":{"message":"Invalid schema: 'This model's maximum context length is 5000 tokens' is not valid.","type":"invalid_request_error"}}`,
		`{"error":{"message":"Invalid schema: property 'stream' is not valid.","type":"invalid_request_error"}}`,
		`{"error":{"message":"Invalid schema: property 'stream_options' is not valid."}}`,
		`{"error":"unknown: max_model_len 5000, include_usage, streaming"}`,
		`{"error":{"message":"Too long.","code":"context_length_exceeded","param":"stream"}}`,
		`{"error":{"message":"maximum context length is 3999 tokens","code":"context_length_exceeded"}}`,
	} {
		c, _ := serve(t, quick(), func(w http.ResponseWriter, _ *http.Request) { reply(w, 400, body) })
		if _, err := ask(t.Context(), c); err == nil {
			t.Errorf("%s: no error", body)
		}
		if f := c.shared.Facts(); f != (breaker.Facts{}) {
			t.Errorf("%s teaches %+v", body, f)
		}
	}
}
