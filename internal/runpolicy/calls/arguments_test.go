// SPDX-License-Identifier: Apache-2.0

package calls

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"motorcortex.dev/motorcortex/internal/text"
)

// TestArgsDigest holds the digests: people and programs write them into responses.
func TestArgsDigest(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ tool, args, want string }{
		// printf 'bash\n{"command":"git push"}' | sha256sum
		{"bash", `{"command":"git push"}`, "sha256:7086cd55e6cf72502164cd5b5f91f86a5e1d86dd66b17e6b82a85e522b1c2efc"},
		{"bash", ` { "command" : "git\u0020push" } `, "sha256:7086cd55e6cf72502164cd5b5f91f86a5e1d86dd66b17e6b82a85e522b1c2efc"},
		// printf 'fetch\n{"a":1.0,"b":[true,null,"<&>"],"c":{"x":1,"y":2}}' | sha256sum
		{"fetch", `{"c":{"y":2,"x":1},"b":[true,null,"<\u0026>"],"a":1.0}`, "sha256:a264eee95804a70b0732705835479fbd2f5ee39e4c9865e2c6a959275d3e6e02"},
		// printf 'x\n"not JSON"' | sha256sum
		{"x", "not JSON", "sha256:34fee7feb180f52529b8d969163a22d6636e714311479261fc8c3d00f6f593f2"},
		// printf 'x\n""' | sha256sum
		{"x", "", "sha256:ab9016af52be960766fa7d62f16c0afc80886cb15af20eaef1310f70c3983741"},
	} {
		if got := ArgsDigest(c.tool, c.args); got != c.want {
			t.Errorf("ArgsDigest(%q, %q) = %s, want %s", c.tool, c.args, got, c.want)
		}
	}
}

// TestDigestsDiffer has calls that are not the same have other digests.
func TestDigestsDiffer(t *testing.T) {
	t.Parallel()
	calls := [][2]string{
		{"bash", `{"command":"a"}`}, {"bash", `{"command":"A"}`}, {"bash", `{"Command":"a"}`}, {"code", `{"command":"a"}`}, {"bash", `{"command":"a ","x":1}`}, {"bash", `{"command":"a "}`},
		{"bash", `{"n":1}`}, {"bash", `{"n":1.0}`}, {"bash", `{"n":1e0}`}, {"bash", `{"n":12345678901234567890}`}, {"bash", `{"n":12345678901234567891}`}, {"bash", `{"n":"1"}`}, {"bash", `{"n":null}`}, {"bash", `{}`},
		{"bash", ``}, {"bash", `"{}"`}, {"bash", `[]`}, {"bash", `null`}, {"bash", `{"a":1,"a":1}`}, {"bash", `{"a":1}`}, {"bash", `{"a":1} x`}, {"bash", `{"a":[1,2]}`}, {"bash", `{"a":[2,1]}`},
		{"bash", `{"a":{"b":1,"b":2}}`}, {"bash", `{"a":{"b":2}}`}, {"bash", "{\"a\":\"\u202e\"}"}, {"bash", `{"a":""}`}, {"bash\n{}", ``}, {"bash", strings.Repeat("[", 5000)},
	}
	seen := map[string]int{}
	for i, c := range calls {
		d := ArgsDigest(c[0], c[1])
		if j, ok := seen[d]; ok {
			t.Errorf("%q and %q have the same digest", calls[j], c)
		}
		seen[d] = i
	}
}

func TestDisplayArguments(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ args, want string }{
		{`{"b":1,"a":"x <&> y"}`, `{"a":"x <&> y","b":1}`},
		{`{"a":"\u001b[31mred\u0007\r\n\t\u0000"}`, `{"a":"\u001b[31mred\u0007\r\n\t\u0000"}`},
		{"{\"a\":\"\x7f\u0085\u009b\"}", `{"a":"\u007f\u0085\u009b"}`},
		{"{\"a\":\"x\u202ey\u2066z\u2069\u200e\"}", `{"a":"x\u202ey\u2066z\u2069\u200e"}`},
		{"{\"a\":\"x\u200by\u200c\u200d\u2060\ufeff\u00ad\u034f\u180e\ufe0f\u115f\u3164\uffa0\u2800\"}",
			`{"a":"x\u200by\u200c\u200d\u2060\ufeff\u00ad\u034f\u180e\ufe0f\u115f\u3164\uffa0\u2800"}`},
		{"{\"a\":\"x\u00a0y\u2003\u3000\u2028\u2029\"}", `{"a":"x\u00a0y\u2003\u3000\u2028\u2029"}`},
		{"{\"a\":\"\U000e0041\U000e0001\ue000\U0010ffff\"}", `{"a":"\udb40\udc41\udb40\udc01\ue000\udbff\udfff"}`},
		{`{"a":"Grüße, мир, 世界, 😀 naïve"}`, `{"a":"Grüße, мир, 世界, 😀 naïve"}`},
		{`{"a":"gіt push аpple.example"}`, `{"a":"g\u0456t push \u0430pple.example"}`},
		{"{\"a\":\"ｇｉｔ \U0001d5c0\U0001d5c2\U0001d5cd Kelvin \u212a\"}", `{"a":"\uff47\uff49\uff54 \ud835\uddc0\ud835\uddc2\ud835\uddcd Kelvin \u212a"}`},
		{"not JSON \u202e", `"not JSON \u202e"`},
		{"bad \xff", `"bad \ufffd"`},
		{`{"a":1,"a":2}`, `"{\"a\":1,\"a\":2}"`},
	} {
		if got := DisplayArguments(c.args); got != c.want {
			t.Errorf("DisplayArguments(%q)\n got %s\nwant %s", c.args, got, c.want)
		}
	}
}

func TestDisplayOfLongArguments(t *testing.T) {
	t.Parallel()
	for _, filler := range []string{"x", "é", "\u202e", "\U0001F600", "\x00", "\n"} {
		b, err := json.Marshal(map[string]string{"command": "begin" + strings.Repeat(filler, 20000) + "end"})
		if err != nil {
			t.Fatal(err)
		}
		got := DisplayArguments(string(b))
		if len(got) > 4096 || len(got) < 3900 || !utf8.ValidString(got) || !strings.HasPrefix(got, `{"command":"begin`) || !strings.HasSuffix(got, `end"}`) || !strings.Contains(got, " bytes left out)") {
			t.Errorf("%q: %d bytes: %.40q … %q", filler, len(got), got, got[len(got)-40:])
		}
	}
}

// FuzzDisplayArguments checks that the displayed text has the arguments, and no invisible character.
func FuzzDisplayArguments(f *testing.F) {
	for _, s := range []string{`{"a":1}`, `{"command":"git push"}`, "x\u202e", `{"a":"\ud800"}`, "{\"\u200b\":[1,{}]}", "\xff\x00", `{"a":"gіt"}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, args string) {
		got := DisplayArguments(args)
		if len(got) > 4096 || !utf8.ValidString(got) {
			t.Fatalf("%d bytes: %q", len(got), got)
		}
		if i := strings.IndexFunc(got, func(r rune) bool { return !unicode.IsPrint(r) || unicode.In(r, unicode.Cf, unicode.Variation_Selector) }); i >= 0 {
			t.Fatalf("%q shows %q", args, got[i:])
		}
		if strings.Contains(got, "bytes left out") {
			return
		}
		var shown any
		if err := json.Unmarshal([]byte(got), &shown); err != nil {
			t.Fatalf("%q is shown as %q: %v", args, got, err)
		}
		var given any = strings.ToValidUTF8(args, "\uFFFD")
		if object, err := parseArguments(args); err == nil {
			if err := json.Unmarshal([]byte(text.JSON(object)), &given); err != nil {
				t.Fatal(err)
			}
		} else if text, ok := shown.(string); ok && strings.Contains(text, "\uFFFD") {
			// One replacement character may stand for several bytes.
			return
		}
		if !reflect.DeepEqual(shown, given) {
			t.Fatalf("%q is shown as %q", args, got)
		}
		if ArgsDigest("x", args) != ArgsDigest("x", canonicalArguments(args)) && shown != given {
			t.Fatalf("the canonical form of %q has another digest", args)
		}
	})
}
