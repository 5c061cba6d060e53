// SPDX-License-Identifier: Apache-2.0

package endpoint

import (
	"encoding/json"
	"fmt"
)

// request is what of a Chat Completions request is looked at.
type request struct {
	Model    string            `json:"model"`
	Messages []json.RawMessage `json:"messages"`
	Tools    json.RawMessage   `json:"tools"`
}

// prompt is the text of a request in the order in which models read it: tools first, then the messages. Fields of the request beside
// them, such as the model's name, are no part of it.
func (r request) prompt() []byte {
	all := append([]byte{}, r.Tools...)
	for _, m := range r.Messages {
		all = append(append(all, '\n'), m...)
	}
	return all
}

func parse(body []byte) (request, error) {
	var r request
	if err := json.Unmarshal(body, &r); err != nil {
		return r, fmt.Errorf("the request is no JSON: %w", err)
	}
	if !validModel.MatchString(r.Model) {
		return r, fmt.Errorf("the model is %q: it must be of small letters, digits, dots and hyphens", r.Model)
	}
	if len(r.Messages) == 0 {
		return r, fmt.Errorf("the request has no messages")
	}
	return r, nil
}

func commonPrefix(a, b []byte) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// rememberedPrompts is how many prompts of a model are compared with. A summary between two turns is a prompt of its own, and must not
// hide that the turn after it begins as the one before.
const rememberedPrompts = 4

// prefixes measures how much of each prompt could come from a cache.
type prefixes struct{ last [][]byte }

// add returns how many bytes at the beginning of a prompt an earlier one had too, and how long that earlier one was.
func (p *prefixes) add(prompt []byte) (common, before int) {
	for _, earlier := range p.last {
		if n := commonPrefix(earlier, prompt); n >= common {
			common, before = n, len(earlier)
		}
	}
	p.last = append(p.last, prompt)
	if len(p.last) > rememberedPrompts {
		p.last = p.last[1:]
	}
	return common, before
}
