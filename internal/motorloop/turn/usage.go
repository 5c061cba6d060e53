// SPDX-License-Identifier: Apache-2.0

package turn

// Usage is the cost of a model call, in tokens.
type Usage struct {
	PromptTokens     int64
	CompletionTokens int64
	// CachedTokens is the part of PromptTokens that the endpoint served from its cache.
	CachedTokens int64
	// Estimated is true if the endpoint did not report all of them.
	Estimated bool
}

// Add returns the sum of two usages.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		u.PromptTokens + v.PromptTokens, u.CompletionTokens + v.CompletionTokens, u.CachedTokens + v.CachedTokens, u.Estimated || v.Estimated,
	}
}

// Total returns the number of tokens.
func (u Usage) Total() int64 { return u.PromptTokens + u.CompletionTokens }
