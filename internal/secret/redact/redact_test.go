// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"html/template"
	"log/slog"
	"math/rand/v2"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf16"
)

const value = `pa$$ word/"<é>+\z~1`

func one() *Redactor { return New(Secret{Name: "one", Value: []byte(value)}) }

// spellings are the encodings that the package promises, made by the encoders that write them.
func spellings(t testing.TB, v string) map[string]string {
	t.Helper()
	m := map[string]string{
		"raw":           v,
		"base64":        base64.StdEncoding.EncodeToString([]byte(v)),
		"base64 raw":    base64.RawStdEncoding.EncodeToString([]byte(v)),
		"base64url":     base64.URLEncoding.EncodeToString([]byte(v)),
		"base64url raw": base64.RawURLEncoding.EncodeToString([]byte(v)),
		"hex":           hex.EncodeToString([]byte(v)),
		"HEX":           strings.ToUpper(hex.EncodeToString([]byte(v))),
		"query":         url.QueryEscape(v),
		"path":          url.PathEscape(v),
	}
	for name, format := range map[string]string{"percent": "%%%02x", "PERCENT": "%%%02X"} {
		var b strings.Builder
		for _, c := range []byte(v) {
			fmt.Fprintf(&b, format, c)
		}
		m[name] = b.String()
	}
	m["query in lower case"] = lowerEscapes(m["query"])
	m["path in lower case"] = lowerEscapes(m["path"])
	var html, text bytes.Buffer
	e := json.NewEncoder(&html)
	e.SetEscapeHTML(true)
	_ = e.Encode(v)
	m["JSON with HTML escapes"] = strings.Trim(strings.TrimSuffix(html.String(), "\n"), "\x00")[1 : html.Len()-2]
	e = json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	_ = e.Encode(v)
	m["JSON"] = text.String()[1 : text.Len()-2]
	return m
}

func lowerEscapes(s string) string {
	b := []byte(s)
	for i := range b {
		if b[i] == '%' {
			copy(b[i:], strings.ToLower(s[i:i+3]))
		}
	}
	return string(b)
}

func TestEncodings(t *testing.T) {
	t.Parallel()
	for _, v := range []string{value, "hunter22", "\xff\xfe0123456789", "with😀smile 12", strings.Repeat("longer/", 60), "%41%42%43%", `\u0041\\\"`, "aaaaaaaaaa", "        "} {
		r := New(Secret{Name: "one", Value: []byte(v)})
		for name, s := range spellings(t, v) {
			t.Run(fmt.Sprintf("%.10q %s", v, name), func(t *testing.T) {
				for _, around := range [][2]string{{"", ""}, {"x=", "\n"}, {"[", "]"}} {
					want := around[0] + "<credential:one>" + around[1]
					if got := r.String(around[0] + s + around[1]); got != want {
						t.Errorf("got %q, want %q", got, want)
					}
				}
			})
		}
	}
}

func TestOtherSpellings(t *testing.T) {
	t.Parallel()
	std := base64.StdEncoding.EncodeToString([]byte(value))
	tests := map[string]struct{ in, want string }{
		"nothing to find":                {"an ordinary text", "an ordinary text"},
		"twice":                          {value + value, "<credential:one><credential:one>"},
		"all but the last byte":          {value[:len(value)-1], value[:len(value)-1]},
		"JSON in ASCII":                  {`pa$$ word\/\"<\u00E9>+\\z~1`, "<credential:one>"},
		"JSON with every escape":         {`\u0070a$$\u0020word/"<é>+\\z~\u0031!`, "<credential:one>!"},
		"percent in mixed case":          {"%70a$$ word%2f%22%3C%c3%A9>+\\z~1", "<credential:one>"},
		"after a per cent sign":          {"100%" + url.QueryEscape(value), "100%<credential:one>"},
		"after a backslash":              {`C:\` + value, `C:\<credential:one>`},
		"base64 in lines":                {std[:10] + "\n" + std[10:20] + "\r\n" + std[20:], "<credential:one>"},
		"base64 in lines, early":         {std[:1] + "\r\n" + std[1:], "<credential:one>"},
		"base64, percent-encoded":        {url.QueryEscape(std), "<credential:one>"},
		"base64 in JSON":                 {strings.ReplaceAll(std, "=", `\u003d`), "<credential:one>"},
		"an escape that is not finished": {"%", "%"},
		"a value that is not finished":   {value[:10] + "%", value[:10] + "%"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := one().String(tt.in); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if got := string(one().Bytes([]byte(tt.in))); got != tt.want {
				t.Errorf("Bytes: got %q, want %q", got, tt.want)
			}
		})
	}
}

// TestWithinBase64 encodes the value with something before and after it. It expects that the remaining encoding does not reveal more than
// the bits of the digits that the value shares.
func TestWithinBase64(t *testing.T) {
	t.Parallel()
	for before := range 7 {
		for after := range 4 {
			text := strings.Repeat("u", before) + value + strings.Repeat("v", after)
			for _, e := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
				got := one().String("Basic " + e.EncodeToString([]byte(text)) + ".")
				left := len(got) - len("Basic <credential:one>.")
				if !strings.Contains(got, "<credential:one>") || left > before*8/6+after*8/6+5 {
					t.Errorf("%d before, %d after: %s", before, after, got)
				}
			}
		}
	}
}

func TestSeveral(t *testing.T) {
	t.Parallel()
	r := New(
		Secret{"short", []byte("12345678")}, Secret{"long", []byte("0123456789abcdef")},
		Secret{"overlap", []byte("cdefghijkl")}, Secret{"tooshort", []byte("seven77")}, Secret{"same", []byte("12345678")},
	)
	tests := map[string]struct{ in, want string }{
		"the longest at a place":      {"0123456789abcdef", "<credential:long>"},
		"the one within":              {"x123456789", "x<credential:short>9"},
		"the first from the left":     {"0123456789abcdefghijkl", "<credential:long>ghijkl"},
		"the long one is not there":   {"0123456789abcdeghij", "0<credential:short>9abcdeghij"},
		"of the same value the first": {"12345678", "<credential:short>"},
		"too short":                   {"seven77", "seven77"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := r.String(tt.in); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestNothingKnown(t *testing.T) {
	t.Parallel()
	var none *Redactor
	for name, r := range map[string]*Redactor{"nil": none, "no secret": New(), "only short": New(Secret{"a", []byte("1234567")})} {
		if got := r.String("1234567") + string(r.Bytes([]byte("1234567"))) + r.Cut("1234567", true, true); got != "123456712345671234567" {
			t.Errorf("%s: %q", name, got)
		}
		if src := strings.NewReader("x"); r.Reader(src) != src {
			t.Errorf("%s: the reader is not the source", name)
		}
	}
}

func TestCut(t *testing.T) {
	t.Parallel()
	const v = "s3cr3t/value"
	r := New(Secret{"one", []byte(v)})
	const lost = 6 * len(v)
	dots := strings.Repeat(".", 2*lost)
	b64 := base64.StdEncoding.EncodeToString([]byte(v))
	tests := map[string]struct {
		in            string
		before, after bool
		want          string
	}{
		"neither":              {"a " + v[:9], false, false, "a " + v[:9]},
		"a beginning":          {dots + v[:9], false, true, dots[:lost+9]},
		"an end":               {v[3:] + dots, true, false, dots[:lost+9]},
		"both":                 {v[3:] + dots + dots + b64[:9], true, true, dots + dots[:18]},
		"nothing of it":        {dots, false, true, dots[:lost]},
		"a value before":       {v + dots, false, true, "<credential:one>" + dots[:lost]},
		"a value at the limit": {dots + v + dots[:lost-5], false, true, dots + "<credential:one>"},
		"a value there too":    {dots[:lost-5] + v + "end", true, false, "end"},
		"all of it":            {v, false, true, ""},
		"half a character":     {dots[:lost-1] + "é", true, false, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := r.Cut(tt.in, tt.before, tt.after); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
	// The same amount is left for every text at a cut, however well it resembles a value.
	for name, s := range spellings(t, v) {
		for n := range len(s) {
			text := strings.Repeat(".", lost) + s[:n] + strings.Repeat("x", lost-n)
			if got := r.Cut(text, false, true); got != dots[:lost] {
				t.Errorf("%d bytes of %s: %q", n, name, got)
			}
		}
	}
}

func TestWide(t *testing.T) {
	t.Parallel()
	for _, v := range []string{value, "hunter22", "with😀smile 12"} {
		r := New(Secret{"one", []byte(v)})
		for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
			var b []byte
			for _, u := range utf16.Encode([]rune(v)) {
				b = order.AppendUint16(b, u)
			}
			if got := r.String("x" + string(b) + "y"); got != "x<credential:one>y" {
				t.Errorf("%v: got %q", order, got)
			}
		}
	}
}

func TestMarkup(t *testing.T) {
	t.Parallel()
	r := New(Secret{"one", []byte(`p&ss<w>rd"q'x+`)})
	for _, s := range []string{
		html.EscapeString(`p&ss<w>rd"q'x+`), template.HTMLEscapeString(`p&ss<w>rd"q'x+`), `p&amp;ss&lt;w&gt;rd&quot;q&apos;x&#43;`,
		`p&#38;ss&#x3c;w&#X3E;rd&#34;q&#039;x+`, `p&ss&lt;w>rd"q&#x27;x+`,
	} {
		if got := r.String("&" + s + "&amp;"); got != "&<credential:one>&amp;" {
			t.Errorf("%s became %s", s, got)
		}
	}
	for _, s := range []string{`p&amp ss`, `p&unknown;ss`, `p&#;ss`, `p&#x;ss`, `p&`} {
		if got := r.String(s); got != s {
			t.Errorf("%s became %s", s, got)
		}
	}
}

// TestSmall is not parallel: it counts the allocations meanwhile.
func TestSmall(t *testing.T) {
	var secrets []Secret
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 16 {
		v := make([]byte, 8<<10)
		for n := range v {
			v[n] = byte(33 + random.IntN(94))
		}
		secrets = append(secrets, Secret{fmt.Sprint(i), v})
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r := New(secrets...)
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 384<<10 {
		t.Errorf("%d KiB for values of 128 KiB", got>>10)
	}
	if got := r.String(hex.EncodeToString(secrets[7].Value)); got != "<credential:7>" {
		t.Error("a value is not found")
	}
}

func TestParts(t *testing.T) {
	t.Parallel()
	for value, want := range map[string][]string{
		"user:password1":              {"user:password1", "password1"},
		"user:pass:word1":             {"user:pass:word1", "pass:word1"},
		"sk_live_0123456789:":         {"sk_live_0123456789:", "sk_live_0123456789"},
		"sk_live_0:":                  {"sk_live_0:", "sk_live_0"},
		"sk_live_0:X":                 {"sk_live_0:X", "sk_live_0"},
		"sk_live_0:short":             {"sk_live_0:short", "short", "sk_live_0"},
		"sk_live_0:seven77":           {"sk_live_0:seven77", "seven77", "sk_live_0"},
		"sk_live_0:eight888":          {"sk_live_0:eight888", "eight888"},
		"sk_live_0:x-oauth-basic":     {"sk_live_0:x-oauth-basic", "sk_live_0"},
		"sk_live_0:X-Access-Token":    {"sk_live_0:X-Access-Token", "sk_live_0"},
		"x-access-token:ghs_01234567": {"x-access-token:ghs_01234567", "ghs_01234567"},
		"0123456789abcdef:password1":  {"0123456789abcdef:password1", "password1", "0123456789abcdef"},
		"no colon":                    {"no colon"},
	} {
		var got []string
		for _, p := range Parts(SlotBasic, []byte(value)) {
			got = append(got, string(p))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %q", value, got)
		}
		if got := Parts("Bearer", []byte(value)); len(got) != 1 || string(got[0]) != value {
			t.Errorf("%s as a bearer: %q", value, got)
		}
	}
}

func TestBytesKeepsItsArgument(t *testing.T) {
	t.Parallel()
	in := []byte("a " + value + " b")
	before := bytes.Clone(in)
	one().Bytes(in)
	if !bytes.Equal(in, before) {
		t.Errorf("it was changed to %q", in)
	}
}

func TestNotPrinted(t *testing.T) {
	t.Parallel()
	s := Secret{Name: "one", Value: []byte("hunter22")}
	r := New(s)
	var text bytes.Buffer
	for _, f := range []string{"%v", "%+v", "%#v", "%s", "%x", "%q", "%d"} {
		fmt.Fprintf(&text, f+f+f+f+"\n", s, &s, r, []Secret{s})
	}
	slog.New(slog.NewTextHandler(&text, nil)).Info("x", "s", s, "r", r)
	slog.New(slog.NewJSONHandler(&text, nil)).Info("x", "s", s, "r", r)
	j, err := json.Marshal(map[string]any{"s": s, "p": &s})
	if err != nil {
		t.Fatal(err)
	}
	text.Write(j)
	if got := r.String(text.String()); got != text.String() || strings.Contains(got, "[104 117") {
		t.Errorf("the value is in the text: %s", got)
	}
}

// TestFast fails if the scan is not linear: this much takes some 0.03 s, and minutes if it is not. The bound is for a busy
// machine.
func TestFast(t *testing.T) {
	t.Parallel()
	var secrets []Secret
	for i := range 20 {
		secrets = append(secrets, Secret{fmt.Sprint(i), fmt.Appendf(nil, "secret-%d-%d", i*7919, i)})
	}
	r := New(secrets...)
	for name, piece := range map[string]string{
		"text":        "the quick brown fox jumps over the lazy dog, 100 % of the time\n",
		"line breaks": "\n", "percent": "%41", "backslashes": `\`, "beginnings": "secret-",
	} {
		text := strings.Repeat(piece, 1<<18/len(piece))
		start := time.Now()
		if got := r.String(text); got != text {
			t.Errorf("%s: the text was changed", name)
		}
		took := time.Since(start)
		t.Logf("%s: %v", name, took)
		if took > 30*time.Second {
			t.Errorf("%s: it took %v", name, took)
		}
	}
}

func BenchmarkString(b *testing.B) {
	r := one()
	text := strings.Repeat("the quick brown fox jumps over the lazy dog, 100 % of the time\n", 1<<14)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		r.String(text)
	}
}
