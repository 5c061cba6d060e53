// SPDX-License-Identifier: Apache-2.0

package redacting

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// awsKey looks like a key, and is none.
const awsKey = "AKIA" + "YRWSSQ3BPTB4DX7Z"

func TestSecretWatchWhereverTheTextIsCut(t *testing.T) {
	t.Parallel()
	known, values := oneOfEach()
	for name, tt := range map[string]struct{ text, want string }{
		"a credential":         {"a\nb " + values["api_key"] + " c\n", "credential"},
		"in base64":            {"x" + base64.StdEncoding.EncodeToString([]byte(values["api_key"])) + "\n", "credential"},
		"the sandbox's token":  {"http://motor:the-token-of-the-sandbox@proxy", "credential"},
		"a model's key":        {"model-key-0123456789", "credential"},
		"a handle":             {"TOKEN=mch-abcdefghijklmnopqrstuvwxyz234567\n", ""},
		"a name":               {"Bearer <credential:api_key>\n", ""},
		"a key by its looks":   {"one\ntwo\nuse " + awsKey + "\nfour\n", "aws-access-token, line 3"},
		"ordinary text":        {strings.Repeat("The quick brown fox.\n", 20), ""},
		"nothing":              {"", ""},
		"a value that is half": {"sk-0123456789abcdefgh", ""},
	} {
		step := max(1, len(tt.text)/40)
		for at := 0; at <= len(tt.text); at += step {
			w := &Watch{Known: known, Rules: true, Name: "artifacts/file.txt"}
			_, err := w.Write([]byte(tt.text[:at]))
			if err == nil {
				_, err = w.Write([]byte(tt.text[at:]))
			}
			found := ""
			if s, ok := errors.AsType[*Found](err); ok {
				found = s.Error()
			}
			if found != tt.want || found == "" && err != nil {
				t.Errorf("%s, cut at %d: %v, want %q", name, at, err, tt.want)
			}
		}
	}
}

func TestSecretWatchOfALongFile(t *testing.T) {
	t.Parallel()
	known, values := oneOfEach()
	lines := []byte(strings.Repeat(strings.Repeat("x", 63)+"\n", 4096))
	for name, rules := range map[string]bool{"with rules": true, "without": false} {
		w := &Watch{Known: known, Rules: rules, Name: "long.txt"}
		for range 20 {
			if _, err := w.Write(lines); err != nil {
				t.Fatal(err)
			}
			if len(w.last) > overlap {
				t.Fatalf("%s: %d bytes are kept", name, len(w.last))
			}
		}
		want := ""
		if rules {
			want = fmt.Sprintf("aws-access-token, line %d", 20*4096+1)
		}
		_, err := w.Write([]byte("key = " + awsKey + "\n"))
		if got := fmt.Sprint(err); rules && got != want || !rules && err != nil {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
		if rules {
			continue
		}
		if _, err := w.Write([]byte(values["api_key"])); err == nil || err.Error() != RuleCredential {
			t.Errorf("%s: the credential at the end gives %v", name, err)
		}
	}
}
