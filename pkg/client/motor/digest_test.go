// SPDX-License-Identifier: Apache-2.0

package motor

import "testing"

// The operator makes the digests. internal/cli/mcp has a test that they agree.
func TestCanonicalArguments(t *testing.T) {
	t.Parallel()
	for arguments, want := range map[string]string{
		`{"b": 1.0, "a": [1e400, {"d":null,"c":"<é"}]}`: `{"a":[1e400,{"c":"<é","d":null}],"b":1.0}`,
		`{"a":1,"a":2}`: `"{\"a\":1,\"a\":2}"`,
		`{} {}`:         `"{} {}"`,
		`[]`:            `"[]"`,
		`{"a":`:         `"{\"a\":"`,
		``:              `""`,
	} {
		if got := canonical(arguments); got != want {
			t.Errorf("%s: %s, want %s", arguments, got, want)
		}
	}
	if argsDigest("bash", "{}") == argsDigest("code", "{}") {
		t.Error("the calls of two tools have the same digest")
	}
}
