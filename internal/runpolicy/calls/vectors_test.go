// SPDX-License-Identifier: Apache-2.0

package calls_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/internal/runpolicy/calls"
)

var update = flag.Bool("update", false, "write the golden files")

// vector is a call with its digest.
type vector struct {
	Tool      string `json:"tool"`
	Arguments string `json:"arguments"`
	Digest    string `json:"digest"`
}

// Clients in other languages compute the digest of a call, too. Their tests read these.
func TestDigestsForClients(t *testing.T) {
	t.Parallel()
	var vectors []vector
	for _, arguments := range []string{
		`{}`, `{"command":"git push"}`, `{"b":1.0,"a":[1e400,true,false,null,{"d":{},"c":[]}]}`, `{"n":12345678901234567890,"m":-0,"e":1E+2}`,
		`{"a":"<&>\u2028\u2029\u00e9é😀\ud83d\ude00"}`, "{\"a\":\"\u202e\u007f\"}", `{"a":"\ud800"}`, `{"a":"\udc00x","\ud800":1}`, `{"\ud800":1,"\udc00":2}`,
		`{"a":"\b\f\n\r\t\u0000\u001f\/\"\\"}`, `{"a":1,"a":2}`, `{"a":{"b":1,"b":2}}`, `{"é":1,"z":2,"😀":3,"\uffff":4}`, `{} {}`, `[]`, `"x"`, `null`, `{"a":`, ``,
		" { \"a\" :\n1 }\t", "\ufeff{}", `{"a":NaN}`, `{"a":01}`, `{"a":+1}`, `{"a":1.}`, "{\"a\":\"\n\"}", `{'a':1}`, `{"a":1,}`,
		`{"a":` + strings.Repeat("[", 90) + strings.Repeat("]", 90) + `}`, "\u0000", "a\u2028b\\\"",
		// Interpreters have a lower bound of their own. 1,000 containers within each other are read, and one more makes it a text.
		`{ "a":` + strings.Repeat("[", 300) + strings.Repeat("]", 300) + `}`, `{ "a":` + strings.Repeat(`[{"b":`, 499) + "[1]" + strings.Repeat("}]", 499) + `}`,
		`{ "a":` + strings.Repeat(`[{"b":`, 499) + "[[1]]" + strings.Repeat("}]", 499) + `}`,
	} {
		vectors = append(vectors, vector{"bash", arguments, calls.ArgsDigest("bash", arguments)})
	}
	got, err := json.MarshalIndent(vectors, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join("..", "..", "..", "clients", "testdata", "digests.json")
	if *update {
		if err := os.WriteFile(file, append(got, '\n'), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if strings.TrimSpace(string(want)) != string(got) {
		t.Error("clients/testdata/digests.json is not what the operator computes: run this test with -update, and see whether the clients agree")
	}
}
