// SPDX-License-Identifier: Apache-2.0

package signal

import (
	"strings"
	"testing"
)

// awsKey has the form of a key and is none.
const awsKey = "AKIA" + "Z5XQW7RTUVLM2345"

func TestALineThatLooksLikeASecretIsHidden(t *testing.T) {
	t.Parallel()
	key := "-----BEGIN RSA PRIVATE " + "KEY-----\n" + strings.Repeat("MIIEowIBAAKCAQEAvJ8x2kQ9Zr7T1mNp4Ls6Wd0Yc3Fb5Hg\n", 4) + "-----END RSA PRIVATE " + "KEY-----"
	for name, tt := range map[string]struct{ text, want string }{
		"nothing":    {"I count words.\nThen I sum.", "I count words.\nThen I sum."},
		"one line":   {"first\naws_access_key_id = " + awsKey + "\nlast", "first\n" + hidden + "\nlast"},
		"many lines": {"first\n" + key + "\nlast", "first\n" + hidden},
	} {
		if got := hide(tt.text); got != tt.want {
			t.Errorf("%s: got %q", name, got)
		}
	}
	if HasSecret("I count words.") || !HasSecret("aws_access_key_id = "+awsKey) {
		t.Error("what is hidden is not known to be a secret")
	}
	if got := shown("x\x1b["+strings.Repeat("<", 99), 60); len(got) > 60 || strings.Contains(got, "\x1b") {
		t.Errorf("got %q", got)
	}
}

func TestSearched(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é ", maxSearched)
	for name, tt := range map[string]struct{ line, want string }{
		"nothing":     {"I count words.", "I count words."},
		"a key":       {strings.Repeat("I count. ", 40) + "aws_access_key_id = " + awsKey, hidden},
		"a long line": {long, strings.ToValidUTF8(long[:maxSearched], "")},
	} {
		if got := Searched(tt.line); got != tt.want {
			t.Errorf("%s: got %q", name, got)
		}
	}
}

func TestFirstLine(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"": "", " \n\t\n": "", "a": "a", "\n\n  a b \r\nc": "a b"} {
		if got := FirstLine(in); got != want {
			t.Errorf("%q: got %q", in, got)
		}
	}
}
