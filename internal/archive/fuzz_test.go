// SPDX-License-Identifier: Apache-2.0

package archive_test

import (
	"bytes"
	"errors"
	"testing"

	"motorcortex.dev/motorcortex/internal/archive"
)

// FuzzVerify feeds it anything: it must answer with a broken link, and never panic.
func FuzzVerify(f *testing.F) {
	data, m := write(f, testRun(), testSteps()...)
	f.Add(data, m.Head)
	f.Add(data[:len(data)/2], "")
	f.Add([]byte("\n"), "sha256:")
	f.Add([]byte(`{"seq":1,"prev":"","kind":"","object":{},"digest":""}`+"\n"), "x")
	f.Add(bytes.Repeat([]byte("["), 20_000), "")
	f.Fuzz(func(t *testing.T, input []byte, head string) {
		held, err := archive.Read(bytes.NewReader(input), head)
		if err == nil {
			if held.Head == "" || held.UID == "" || (head != "" && head != held.Head) {
				t.Errorf("a chain that holds has the head %q", held.Head)
			}
			return
		}
		var b *archive.BrokenLink
		if !errors.As(err, &b) || b.Line < 1 || b.Line > bytes.Count(input, []byte("\n"))+1 || b.Problem == "" {
			t.Errorf("got %v", err)
		}
	})
}

// FuzzChange changes an archive anywhere: without the head every change that is not a new chain must be found, with it
// every change at all.
func FuzzChange(f *testing.F) {
	data, m := write(f, testRun(), testSteps()...)
	for at := 0; at < len(data); at += 97 {
		f.Add(at, 1, []byte(nil))
		f.Add(at, 0, []byte("x"))
		f.Add(at, 3, []byte("\n"))
	}
	f.Fuzz(func(t *testing.T, at, remove int, insert []byte) {
		if at < 0 || at > len(data) || remove < 0 || remove > len(data)-at {
			return
		}
		changed := bytes.Join([][]byte{data[:at], insert, data[at+remove:]}, nil)
		if bytes.Equal(changed, data) {
			return
		}
		if broken(t, changed, m.Head) == nil {
			t.Errorf("%d bytes at %d replaced by %q: not noticed", remove, at, insert)
		}
		// Within one place, no digest can be made to fit without the lines after it.
		if broken(t, changed, "") == nil && len(insert) < 64 {
			t.Errorf("%d bytes at %d replaced by %q: not noticed without the head", remove, at, insert)
		}
	})
}
