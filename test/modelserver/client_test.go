// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/openai/openai-go/v3"
)

const conversation = `
turns:
- content: Two things at once.
  toolCalls:
  - {name: read, arguments: {path: ü.csv}}
  - {name: code, arguments: {language: python, source: "print('a long enough source to come in several pieces')"}}
- toolCalls:
  - {name: ask_user, arguments: {question: 'Is it {{ .Tool "code" | trim }}?'}}
- content: 'The person says {{ .Last }}, the file {{ .Tool "read" }}.'
`

// ask is one request by the real client, streamed or not.
type ask func(*testing.T, *openai.Client, openai.ChatCompletionNewParams) *openai.ChatCompletion

func whole(t *testing.T, c *openai.Client, params openai.ChatCompletionNewParams) *openai.ChatCompletion {
	t.Helper()
	res, err := c.Chat.Completions.New(t.Context(), params)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func streamed(t *testing.T, c *openai.Client, params openai.ChatCompletionNewParams) *openai.ChatCompletion {
	t.Helper()
	params.StreamOptions.IncludeUsage = openai.Bool(true)
	stream := c.Chat.Completions.NewStreaming(t.Context(), params)
	var acc openai.ChatCompletionAccumulator
	for stream.Next() {
		if !acc.AddChunk(stream.Current()) {
			t.Fatalf("chunk does not fit: %s", stream.Current().RawJSON())
		}
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	return &acc.ChatCompletion
}

// The real client carries a whole conversation with tools, and a stream says the
// same as a plain body.
func TestRealClient(t *testing.T) {
	for name, ask := range map[string]ask{"whole": whole, "streamed": streamed} {
		t.Run(name, func(t *testing.T) {
			client := newRig(t, conversation).client("any")
			params := openai.ChatCompletionNewParams{
				Model:    "scripted/play",
				Messages: []openai.ChatCompletionMessageParamUnion{openai.SystemMessage("be good"), openai.UserMessage("do it")},
			}
			outputs := map[string]string{"read": "a,b", "code": "42\n", "ask_user": "yes"}
			var heard []string
			for range 3 {
				res := ask(t, &client, params)
				if len(res.Choices) != 1 || res.Usage.TotalTokens != res.Usage.PromptTokens+res.Usage.CompletionTokens || res.Usage.PromptTokens == 0 {
					t.Fatalf("answer = %+v", res)
				}
				m := res.Choices[0].Message
				heard = append(heard, m.Content+" / "+res.Choices[0].FinishReason)
				params.Messages = append(params.Messages, m.ToParam())
				for _, call := range m.ToolCalls {
					heard = append(heard, call.ID+" "+call.Function.Name+" "+call.Function.Arguments)
					params.Messages = append(params.Messages, openai.ToolMessage(outputs[call.Function.Name], call.ID))
				}
			}
			want := []string{
				"Two things at once. / tool_calls",
				`call_0_0 read {"path":"ü.csv"}`,
				`call_0_1 code {"language":"python","source":"print('a long enough source to come in several pieces')"}`,
				" / tool_calls",
				`call_1_0 ask_user {"question":"Is it 42?"}`,
				"The person says yes, the file a,b. / stop",
			}
			if diff := cmp.Diff(want, heard); diff != "" {
				t.Errorf("heard (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRealClientErrors(t *testing.T) {
	r := newRig(t, conversation)
	r.key = "right"
	for name, tc := range map[string]struct {
		key, model string
		status     int
		code       string
	}{
		"key":   {"wrong", "play", 401, "invalid_api_key"},
		"model": {"right", "other", 404, "model_not_found"},
	} {
		t.Run(name, func(t *testing.T) {
			client := r.client(tc.key)
			_, err := client.Chat.Completions.New(t.Context(), openai.ChatCompletionNewParams{
				Model: tc.model, Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("hi")},
			})
			var apiErr *openai.Error
			if !errors.As(err, &apiErr) || apiErr.StatusCode != tc.status || apiErr.Code != tc.code {
				t.Errorf("err = %+v", apiErr)
			}
		})
	}
}

func TestRealClientListsModels(t *testing.T) {
	client := newRig(t, conversation).client("any")
	page, err := client.Models.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(page.Data) != 1 || page.Data[0].ID != "scripted/play" {
		t.Errorf("models = %+v", page.Data)
	}
}
