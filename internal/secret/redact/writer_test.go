// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"errors"
	"strings"
	"testing"
)

// The output is the same as that of Bytes for the whole, in whatever pieces the input is written.
func TestWriterIsOfOneMeaningWithBytes(t *testing.T) {
	const value = "correct-horse-battery"
	r := New(Secret{Name: "key", Value: []byte(value)})
	text := strings.Repeat("a line of log\n", 300) + "token " + value + " in\nhex 636f72726563742d686f7273652d62617474657279\n" +
		value + value + "\nand a half: " + value[:10]
	for _, size := range []int{1, 7, 64, 4096, len(text)} {
		var got strings.Builder
		w := r.Writer(&got)
		for rest := text; rest != ""; {
			n := min(size, len(rest))
			if wrote, err := w.Write([]byte(rest[:n])); err != nil || wrote != n {
				t.Fatalf("%d of %d bytes: %v", wrote, n, err)
			}
			rest = rest[n:]
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		if want := r.String(text); got.String() != want || strings.Contains(want, value) {
			t.Errorf("in pieces of %d: %q, want %q", size, got.String(), want)
		}
	}
}

func TestWriterGoesOnAfterFlush(t *testing.T) {
	var got strings.Builder
	w := New(Secret{Name: "key", Value: []byte("correct-horse-battery")}).Writer(&got)
	for _, line := range []string{"listening on port 8080\n", "key=correct-horse-battery\n"} {
		if _, err := w.Write([]byte(line)); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	if want := "listening on port 8080\nkey=<credential:key>\n"; got.String() != want {
		t.Errorf("%q, want %q", got.String(), want)
	}
}

func TestWriterWithoutSecretsHoldsNothing(t *testing.T) {
	var got strings.Builder
	w := New().Writer(&got)
	if _, err := w.Write([]byte("half a line")); err != nil || got.String() != "half a line" || w.Flush() != nil {
		t.Errorf("%q, %v", got.String(), err)
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("no room") }

func TestWriterTellsWhenTheOtherFails(t *testing.T) {
	w := New(Secret{Name: "key", Value: []byte("correct-horse-battery")}).Writer(failing{})
	if _, err := w.Write([]byte("a line that ends.\n")); err == nil {
		t.Error("a write that failed is told as one that did not")
	}
}
