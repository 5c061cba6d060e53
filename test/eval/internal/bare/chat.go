// SPDX-License-Identifier: Apache-2.0

package bare

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
)

const maxAnswer = 16 << 20

// Chat is a model behind Chat Completions.
type Chat struct {
	// URL is everything before /chat/completions. Model is the name that is asked for.
	URL, Model string
	// Token is the bearer token of the endpoint; empty without one.
	Token string
	// Pause is how long it waits before it asks again what was not answered.
	Pause time.Duration
}

// Answer asks until there is an answer, the request is refused, or ctx is over: a reader who plays the model may be slow.
func (c Chat) Answer(ctx context.Context, messages []Message, tools json.RawMessage) (Message, error) {
	body, err := json.Marshal(map[string]any{"model": c.Model, "messages": messages, "tools": tools})
	if err != nil {
		return Message{}, err
	}
	for {
		answer, again, err := c.try(ctx, body)
		if err == nil || !again {
			return answer, err
		}
		select {
		case <-ctx.Done():
			return Message{}, context.Cause(ctx)
		case <-time.After(c.Pause):
		}
	}
}

func (c Chat) try(ctx context.Context, body []byte) (answer Message, again bool, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL+"/chat/completions", bytes.NewReader(body))
	if err != nil {
		return Message{}, false, err
	}
	req.Header.Set("Content-Type", "application/json")
	if c.Token != "" {
		req.Header.Set("Authorization", "Bearer "+c.Token)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return Message{}, true, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return Message{}, true, err
	}
	switch {
	case res.StatusCode == http.StatusTooManyRequests || res.StatusCode >= 500:
		return Message{}, true, fmt.Errorf("%s: %.200s", res.Status, text)
	case res.StatusCode != http.StatusOK:
		return Message{}, false, fmt.Errorf("%w: %s: %.200s", ErrRefused, res.Status, text)
	}
	var completion struct {
		Choices []struct {
			Message Message `json:"message"`
		} `json:"choices"`
	}
	if err := json.Unmarshal(text, &completion); err != nil || len(completion.Choices) == 0 {
		return Message{}, false, fmt.Errorf("%w: the answer has no choices: %.200s", ErrRefused, text)
	}
	return completion.Choices[0].Message, false, nil
}
