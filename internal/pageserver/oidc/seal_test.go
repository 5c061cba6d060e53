// SPDX-License-Identifier: Apache-2.0

package oidc

import (
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// keyFile writes a key of its own.
func keyFile(t *testing.T, content string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func someKey() string { return rand.Text() + rand.Text() }

// What one key sealed is opened as long as the key is there, for the same purpose, and unchanged.
func TestASealIsOfAKeyAndAPurpose(t *testing.T) {
	t.Parallel()
	old, next := keyFile(t, someKey()), keyFile(t, someKey())
	text, err := seals{[]string{old}, "session"}.seal("dana")
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		seals seals
		text  string
		opens bool
	}{
		"the key":             {seals{[]string{old}, "session"}, text, true},
		"behind a newer key":  {seals{[]string{next, old}, "session"}, text, true},
		"a key that is gone":  {seals{[]string{next}, "session"}, text, false},
		"another purpose":     {seals{[]string{old}, "login"}, text, false},
		"a changed character": {seals{[]string{old}, "session"}, text[:20] + string(text[20]^1) + text[21:], false},
		"a part":              {seals{[]string{old}, "session"}, text[:10], false},
		"nothing":             {seals{[]string{old}, "session"}, "", false},
		"no base64":           {seals{[]string{old}, "session"}, "%%%", false},
		"too long":            {seals{[]string{old}, "session"}, strings.Repeat("A", maxSealed+1), false},
	} {
		var got string
		err := tt.seals.open(tt.text, &got)
		if tt.opens && (err != nil || got != "dana") || !tt.opens && (!errors.Is(err, errSeal) || got != "") {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if strings.Contains(text, "dana") {
		t.Error("the name can be read")
	}
}

func TestKeysAndValuesThatAreRefused(t *testing.T) {
	t.Parallel()
	for name, file := range map[string]string{"short": keyFile(t, strings.Repeat("x", minKey-1)+"\n"), "long": keyFile(t, strings.Repeat("x", maxKey+1)), "none": "/none"} {
		if _, err := (seals{[]string{file}, "session"}).seal("x"); err == nil {
			t.Errorf("a key that is %s seals", name)
		}
		var into string
		if err := (seals{[]string{file}, "session"}).open("AAAA", &into); err == nil || errors.Is(err, errSeal) {
			t.Errorf("a key that is %s: %v", name, err)
		}
	}
	if _, err := (seals{[]string{keyFile(t, someKey())}, "session"}).seal(strings.Repeat("x", maxSealed)); err == nil || !strings.Contains(err.Error(), "too many for a cookie") {
		t.Errorf("a value that no browser keeps: %v", err)
	}
}
