// SPDX-License-Identifier: Apache-2.0

package openai

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/internal/motorloop/turn"
)

// asked notes what an Observer is told.
type asked struct{ said []string }

func (a *asked) ModelAsked(model, outcome string, took time.Duration, usage turn.Usage) {
	a.said = append(a.said, fmt.Sprintf("%s %s %d/%d/%d %t", model, outcome, usage.PromptTokens, usage.CompletionTokens, usage.CachedTokens, took > 0))
}

func TestRequestsAreObserved(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		answers []int
		want    string
	}{
		"an answer":                     {[]int{http.StatusOK}, "m Answered 7/3/5 true"},
		"an answer to the second try":   {[]int{http.StatusServiceUnavailable, http.StatusOK}, "m Answered 7/3/5 true"},
		"an endpoint that is away":      {[]int{503, 503, 503}, "m ModelUnavailable 0/0/0 true"},
		"an endpoint that is busy":      {[]int{429, 429, 429}, "m ModelRateLimited 0/0/0 true"},
		"a key that is refused":         {[]int{http.StatusUnauthorized}, "m ModelUnauthorized 0/0/0 true"},
		"a request that is not allowed": {[]int{http.StatusBadRequest}, "m ModelRefusedRequest 0/0/0 true"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, tries := quick(), 0
			var a asked
			o.Observer = &a
			c, _ := serve(t, o, func(w http.ResponseWriter, _ *http.Request) {
				status := tt.answers[min(tries, len(tt.answers)-1)]
				tries++
				body := okBody
				if status != http.StatusOK {
					body = `{"error":{"message":"no"}}`
				}
				reply(w, status, body)
			})
			_, _ = ask(t.Context(), c)
			if len(a.said) != 1 || a.said[0] != tt.want {
				t.Errorf("told %q, want %q", a.said, tt.want)
			}
		})
	}
	t.Run("a loop that is ended", func(t *testing.T) {
		t.Parallel()
		o := quick()
		var a asked
		o.Observer = &a
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		c, _ := serve(t, o, func(w http.ResponseWriter, _ *http.Request) { reply(w, http.StatusOK, okBody) })
		_, _ = ask(ctx, c)
		if len(a.said) != 1 || a.said[0] != "m Cancelled 0/0/0 true" {
			t.Errorf("told %q", a.said)
		}
	})
}
