// SPDX-License-Identifier: Apache-2.0

package chat

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// PromptDigest is "sha256:<hex>" of the system prompt of a request. It distinguishes turns made under different prompts.
func PromptDigest(r Request) string {
	for _, m := range r.Messages {
		if m.Role == RoleSystem {
			return Digest(m.Content)
		}
	}
	return Digest("")
}

// RequestDigest is "sha256:<hex>" of the whole request to the model. A reader of the journal who builds the request
// again from the turns before gets the same digest. It is taken over JSON with the fields in the order of the types.
func RequestDigest(r Request) string {
	b, err := json.Marshal(r)
	if err != nil {
		// Only Parameters that are no JSON can do this, and they come from a Catalog.
		panic(err)
	}
	return digest(b)
}

// Digest is "sha256:<hex>" of a text.
func Digest(s string) string { return digest([]byte(s)) }

// digest takes bytes: the request of each step has the whole conversation, and is not copied for this.
func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}
