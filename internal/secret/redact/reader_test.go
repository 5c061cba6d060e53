// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"html"
	"io"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf16"
)

// pieces returns its parts one by one, and then err.
type pieces struct {
	parts []string
	err   error
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.parts) == 0 {
		return 0, p.err
	}
	n := copy(b, p.parts[0])
	if p.parts[0] = p.parts[0][n:]; p.parts[0] == "" {
		p.parts = p.parts[1:]
	}
	return n, nil
}

func wide16(v string) (b []byte) {
	for _, u := range utf16.Encode([]rune(v)) {
		b = binary.LittleEndian.AppendUint16(b, u)
	}
	return b
}

// randomText is made of pieces that the redactor looks for and pieces that resemble them.
func randomText(random *rand.Rand, v string) string {
	words := []string{
		"x", "&", "&#", "&#x", "&amp;", "&#39;", "\x00", string(wide16(v)), html.EscapeString(v), "%", "%4", "%25", `\`, `\\`, `\u`, `\u00`, `\ud83d`, "\n", "\r\n", "\r", " ", "+", v, v[:len(v)/2], v[len(v)/2:],
		url.QueryEscape(v), url.PathEscape(v), base64.StdEncoding.EncodeToString([]byte("u:" + v)), base64.StdEncoding.EncodeToString([]byte(v)),
	}
	var b strings.Builder
	for range random.IntN(12) {
		w := words[random.IntN(len(words))]
		if random.IntN(3) == 0 {
			w = w[:random.IntN(len(w)+1)]
		}
		b.WriteString(w)
	}
	return b.String()
}

func TestReaderIsBytes(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for _, v := range []string{value, "hunter22", "aaaaaaaaaaaa", "%41%41%41", `\\\\\\\\`, "x😀y😀z\r\r"} {
		r := New(Secret{"one", []byte(v)}, Secret{"two", []byte(v + "more")}, Secret{"three", []byte("x" + v)})
		for range 2000 {
			text := randomText(random, v)
			want := string(r.Bytes([]byte(text)))
			var parts []string
			for rest := text; rest != ""; {
				n := 1 + random.IntN(min(len(rest), 9))
				parts = append(parts, rest[:n])
				rest = rest[n:]
			}
			for name, src := range map[string]io.Reader{
				"in pieces": &pieces{parts, io.EOF}, "by bytes": iotest.OneByteReader(strings.NewReader(text)),
				"with the end": iotest.DataErrReader(strings.NewReader(text)),
			} {
				got, err := io.ReadAll(iotest.OneByteReader(r.Reader(src)))
				if err != nil || string(got) != want {
					t.Fatalf("%s: %q became %q, want %q (%v)", name, text, got, want, err)
				}
			}
		}
	}
}

// sizesOf returns how much comes out after each piece.
func sizesOf(r *Redactor, pieces ...string) []int {
	s := &reader{r: r}
	var sizes []int
	for i := range len(pieces) + 1 {
		piece := ""
		if s.err = io.EOF; i < len(pieces) {
			piece, s.err = pieces[i], nil
		}
		s.take([]byte(piece))
		sizes = append(sizes, len(s.ready))
	}
	return sizes
}

// TestReaderTellsNothing compares two streams that differ in nothing but that one has a part of the value where the other has
// something else of the same kind.
func TestReaderTellsNothing(t *testing.T) {
	t.Parallel()
	const v = "s3cr3t/value"
	r := New(Secret{"one", []byte(v)})
	text := strings.Repeat("some words\nand a line. ", 50)
	for name, spelled := range spellings(t, v) {
		for n := 1; n < len(spelled); n++ {
			guess := spelled[:n]
			wrong := []byte(guess)
			for i, b := range wrong {
				if inLines(b) {
					wrong[i] = '0'
				}
			}
			for _, end := range []string{"", "\n", ".\n", "\r\n", "%", "\\", "&"} {
				right := sizesOf(r, text+guess+end, "", "x", "\n\n", text)
				other := sizesOf(r, text+string(wrong)+end, "", "x", "\n\n", text)
				if !slices.Equal(right, other) {
					t.Fatalf("%d bytes of %s before %q: %v and %v", n, name, end, right, other)
				}
			}
		}
	}
}

func TestReaderLetsLinesThrough(t *testing.T) {
	t.Parallel()
	r := New(Secret{"one", []byte("s3cr3t/value")})
	for name, tt := range map[string]struct{ in, want string }{
		"an event":            {"data: s3cr3t/value\n\nda", "data: <credential:one>\n\n"},
		"JSON by lines":       {"{\"a\":1}\n{\"b", "{\"a\":1}\n"},
		"with CR":             {"done.\r\n", "done.\r\n"},
		"events with CR":      {"data: a\r\n\r\n", "data: a\r\n\r\n"},
		"what may be wrapped": {"a.\nczNjcjN0\r\n", "a.\n"},
		"no line":             {"an answer", ""},
		"an empty line first": {"\n", "\n"},
	} {
		s := &reader{r: r}
		if s.take([]byte(tt.in)); string(s.ready) != tt.want {
			t.Errorf("%s: got %q", name, s.ready)
		}
	}
	s := &reader{r: New(Secret{"key", []byte("one line\n\nanother")})}
	if s.take([]byte("one line\n\n")); len(s.ready) != 0 {
		t.Errorf("of a value with lines %q is delivered", s.ready)
	}
}

func TestReaderPauses(t *testing.T) {
	t.Parallel()
	in, out := io.Pipe()
	defer in.Close()
	written := make(chan struct{})
	go func() {
		defer close(written)
		_, _ = out.Write([]byte("all of this.\nbut s3cr"))
	}()
	r := New(Secret{"one", []byte("s3cr3t/value")}).Reader(in)
	got := make([]byte, 100)
	// The writer never closes: a Read that waits for more does not return before the deadline of the test.
	n, err := r.Read(got)
	if err != nil || string(got[:n]) != "all of this.\n" {
		t.Errorf("got %q, %v", got[:n], err)
	}
	<-written
}

func TestReaderOfABrokenStream(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	r := New(Secret{"one", []byte("s3cr3t/value")})
	for _, end := range []string{"", "s3cr3t/va", "s3cr3t/vX", "s3cr3t/value"} {
		got, err := io.ReadAll(r.Reader(&pieces{[]string{"s3cr3t/value.\n" + end}, broken}))
		if !errors.Is(err, broken) || string(got) != "<credential:one>.\n" {
			t.Errorf("got %q, %v", got, err)
		}
	}
	if _, err := r.Reader(&pieces{err: nil}).Read(make([]byte, 1)); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("a stream that gives nothing: %v", err)
	}
}

// TestReaderIsBounded feeds a text that resembles the value for long and checks the memory of the reader.
func TestReaderIsBounded(t *testing.T) {
	t.Parallel()
	v := strings.Repeat("a", 100) + "b"
	r := New(Secret{"one", []byte(v)})
	for name, piece := range map[string]string{"beginnings": "aaaaaaaaaa", "escapes": `\u0061`, "percent": "%61", "lines": "a\na\r\n"} {
		s := &reader{r: r}
		for range 2000 {
			s.take([]byte(piece))
			if len(s.held) > r.window {
				t.Fatalf("%s: it holds %d bytes, more than %d", name, len(s.held), r.window)
			}
		}
	}
}

func FuzzReader(f *testing.F) {
	f.Add([]byte("a s3cr3t/value b"), []byte("s3cr3t/value"), uint64(1))
	f.Add([]byte("s3cr3t%2Fvalue s3cr3t\\u002fval"), []byte("s3cr3t/value"), uint64(2))
	f.Add([]byte("aaaaaaaaaaaaaaaa%"), []byte("aaaaaaaa"), uint64(3))
	f.Add([]byte("%2525252525%25%25%2525"), []byte("%25%25%25"), uint64(4))
	f.Add([]byte("\\\\u005c\\u005c\\\\\\\\\\\\"), []byte("\\\\\\\\\\\\\\\\"), uint64(5))
	f.Add([]byte("dXNl\r\ncjpzM2N\nyM3QvdmFsdWU="), []byte("s3cr3t/value"), uint64(6))
	f.Fuzz(func(t *testing.T, text, v []byte, seed uint64) {
		r := New(Secret{"one", v}, Secret{"two", append(bytes.Clone(v), "tail"...)})
		want := r.Bytes(text)
		random := rand.New(rand.NewPCG(seed, 0))
		p := &pieces{err: io.EOF}
		for rest := string(text); rest != ""; {
			n := 1 + random.IntN(min(len(rest), 7))
			p.parts = append(p.parts, rest[:n])
			rest = rest[n:]
		}
		got, err := io.ReadAll(r.Reader(p))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("in pieces %q, whole %q (%v)", got, want, err)
		}
	})
}

func FuzzString(f *testing.F) {
	f.Add("a ", "s3cr3t/value", " b")
	f.Add("100%4", "1b c%20+&", "%")
	f.Add(`\`, `\u0041"\/\`, `"`)
	f.Add("\xff", "\xfe\xfd\xfc00000", "\x00")
	f.Fuzz(func(t *testing.T, before, v, after string) {
		// The replacement of a value may complete another one.
		const shown = "<credential:one>"
		if len(v) < MinLength || strings.ContainsAny(v, "<>") || strings.Contains(shown, v) {
			t.Skip()
		}
		r := New(Secret{"one", []byte(v)})
		for name, s := range spellings(t, v) {
			text := before + s + after + s
			got := r.String(text)
			for other, forbidden := range spellings(t, v) {
				if strings.Contains(got, forbidden) {
					t.Errorf("%s: %q became %q, which has the value as %s", name, text, got, other)
				}
			}
			if again := r.String(got); again != got {
				t.Errorf("%s: %q became %q and then %q", name, text, got, again)
			}
		}
	})
}
