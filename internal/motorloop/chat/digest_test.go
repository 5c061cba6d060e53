// SPDX-License-Identifier: Apache-2.0

package chat

import "testing"

// A record names the request that a turn answers, so a digest must not change from one release to the next.
func TestDigests(t *testing.T) {
	t.Parallel()
	req := Request{Messages: []Message{{Role: RoleSystem, Content: "the rules"}, {Role: RoleUser, Content: "the task"}}}
	if got := PromptDigest(req); got != Digest("the rules") {
		t.Error(got)
	}
	if got := PromptDigest(Request{}); got != "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" {
		t.Error(got)
	}
	const encoded = `{"Messages":[{"Role":"system","Content":"the rules","Calls":null,"ToolCallID":""},` +
		`{"Role":"user","Content":"the task","Calls":null,"ToolCallID":""}],"Tools":null}`
	if got := RequestDigest(req); got != Digest(encoded) {
		t.Error(got)
	}
}
