// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/internal/egress/grant"
	"motorcortex.dev/motorcortex/internal/motorloop"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// testSecrets knows one value of each kind. A failing test shows where a value was, and not the value.
func testSecrets() (known *secrets, values map[string]string) {
	values = map[string]string{
		"api_key": "sk-0123456789abcdefghijklmnop", "login": "maria:correct horse battery", "pem": "-----BEGIN KEY-----\nQUJDREVGR0hJSktMTU5P\n-----END KEY-----\n",
	}
	known = &secrets{}
	known.addGrant(&grant.Grant{Credentials: []grant.Credential{
		{Name: "api_key", Slot: "bearer", Handle: "mch-abcdefghijklmnopqrstuvwxyz234567", Value: grant.NewValue([]byte(values["api_key"]))},
		{Name: "login", Slot: "basic", Handle: "mch-bbcdefghijklmnopqrstuvwxyz234567", Value: grant.NewValue([]byte(values["login"]))},
		{Name: "billing", Slot: "basic", Handle: "mch-dbcdefghijklmnopqrstuvwxyz234567", Value: grant.NewValue([]byte("sk_live_0123:"))},
		{Name: "pem", Handle: "mch-cbcdefghijklmnopqrstuvwxyz234567", Value: grant.NewValue([]byte(values["pem"]))},
	}}, "the-token-of-the-sandbox")
	known.add(modelKeyName, []byte("model-key-0123456789"))
	return known, values
}

func forms(value string) map[string]string {
	quoted, _ := json.Marshal(value)
	return map[string]string{
		"raw": value, "base64": base64.StdEncoding.EncodeToString([]byte(value)), "base64url": base64.RawURLEncoding.EncodeToString([]byte(value)),
		"hex": hex.EncodeToString([]byte(value)), "url": url.QueryEscape(value), "JSON": string(quoted),
	}
}

func TestSecretsHide(t *testing.T) {
	t.Parallel()
	known, values := testSecrets()
	for name, value := range values {
		for form, text := range forms(value) {
			if got := known.hide("before " + text + " after"); strings.Contains(got, strings.TrimSpace(text)) || !strings.Contains(got, "<credential:"+name+">") {
				t.Errorf("%s is shown in the form %s", name, form)
			}
		}
	}
	for what, tt := range map[string]struct{ text, want string }{
		"a handle":           {"Bearer mch-abcdefghijklmnopqrstuvwxyz234567!", "Bearer <credential:api_key>!"},
		"a password alone":   {"correct horse battery", "<credential:login>"},
		"a key as user":      {"{\"user\":\"sk_live_0123\"}", "{\"user\":\"<credential:billing>\"}"},
		"a line of a key":    {"x QUJDREVGR0hJSktMTU5P", "x <credential:pem>"},
		"the model's key":    {"model-key-0123456789", "<credential:model-api-key>"},
		"the token":          {"http://motor:the-token-of-the-sandbox@10.0.0.1:3128", "http://motor:<credential:egress-token>@10.0.0.1:3128"},
		"nothing":            {"-----BEGIN KEY-----", "-----BEGIN KEY-----"},
		"a name stays":       {"<credential:api_key>", "<credential:api_key>"},
		"the whole reprise":  {"", ""},
		"a value in a value": {"model-key-0123456789model-key-0123456789", "<credential:model-api-key><credential:model-api-key>"},
	} {
		if got := known.hide(tt.text); got != tt.want {
			t.Errorf("%s: %q", what, got)
		}
	}
	if (&secrets{}).hide("anything") != "anything" {
		t.Error("without secrets something is hidden")
	}
}

func TestSecretsPrintNothing(t *testing.T) {
	t.Parallel()
	known, values := testSecrets()
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%d", "%x"} {
		for _, v := range []any{known, &sandboxTools{egress: &egress{known: known}}, discreetModel{secrets: known}} {
			text := fmt.Sprintf(format, v)
			for name, value := range values {
				if strings.Contains(text, value) || strings.Contains(text, hex.EncodeToString([]byte(value))) {
					t.Errorf("%s of %T shows %s", format, v, name)
				}
			}
		}
	}
}

const gap = "\n… 70000 bytes left out; the whole output is in .motor/output/a0-s1-c0, read it with the read tool …\n"

func TestSecretsHideWhatIsCut(t *testing.T) {
	t.Parallel()
	known, values := testSecrets()
	key := values["api_key"]
	// lost is how much goes at each side.
	long := strings.Repeat("y\n", 5000)
	lost := len(long) - len(known.hideBroken(long))
	if lost == 0 || lost > 5000 {
		t.Fatalf("%d bytes are left out", lost)
	}
	rest := long[:len(long)-lost]
	for name, text := range map[string]string{
		"a value": long[:len(long)-20] + key[:20] + gap + key[20:] + long[len(key[20:]):],
		"nothing": long + gap + long,
	} {
		for _, file := range []string{".motor/output/a0-s1-c0", ""} {
			got := known.hideResult(toolapi.Result{Output: text, OutputFile: file})
			if got.Output != rest+gap+long[lost:] || got.OutputFile != file {
				t.Errorf("%s: %d bytes of %d", name, len(got.Output), len(text))
			}
		}
	}
	got := known.hideResult(toolapi.Result{Output: long + key, OutputFile: "f"}).Output
	if got != long+"<credential:api_key>" {
		t.Error("without a gap something else is left out")
	}
}

// A program in the sandbox writes the mark of a gap itself, and looks whether the model is shown anything else because a
// guess is right.
func TestForgedGapTellsNothing(t *testing.T) {
	t.Parallel()
	const value = "q7Zk93-never-shown-to-anyone"
	known := &secrets{}
	known.addCredential("api", "bearer", []byte(value))
	for form, text := range forms(value) {
		for n := 1; n < len(text) && known.hide(text[:n]) == text[:n]; n++ {
			wrong := strings.Repeat("!", n)
			for _, around := range []string{"", strings.Repeat(" a", 400)} {
				shown := func(guess string) int {
					return len(known.hideResult(toolapi.Result{Output: around + guess + gap + around + guess + gap + guess + around}).Output)
				}
				if right, other := shown(text[:n]), shown(wrong); right != other {
					t.Fatalf("%d bytes of the form %s: %d bytes are shown, and %d of what is no part of the value", n, form, right, other)
				}
			}
		}
	}
}

func TestTruncatedAnswerTellsNothing(t *testing.T) {
	t.Parallel()
	known := &secrets{}
	known.add("it", []byte("0123456789abcdef"))
	ask := func(content, arguments string) motorloop.Answer {
		model := &answering{answer: motorloop.Answer{Content: content, Truncated: true, Calls: []motorloop.Call{{Arguments: arguments}}}}
		a, err := discreetModel{model, known}.Complete(t.Context(), motorloop.Request{})
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	long := strings.Repeat("y ", 500)
	for _, end := range []string{"0123456789", "wwwwwwwwww"} {
		a := ask(long+end, `{"a":"`+long+end)
		if strings.Contains(a.Content, end) || strings.Contains(a.Calls[0].Arguments, end) || len(a.Content) < 800 || len(a.Calls[0].Arguments) < 800 {
			t.Errorf("%d and %d bytes are left", len(a.Content), len(a.Calls[0].Arguments))
		}
	}
	if a := ask("", `{"a":"0123456789abcdef"}`); a.Calls[0].Arguments != `{"a":"<credential:it>"}` {
		t.Errorf("whole arguments became %s", a.Calls[0].Arguments)
	}
}

func TestSecretsHideResults(t *testing.T) {
	t.Parallel()
	known := &secrets{}
	known.add("key", []byte("0123456789abcdef"))
	got := known.hideResult(toolapi.Result{ErrorCode: "x_0123456789abcdef", OutputFile: "out/0123456789abcdef", KeptFile: "out/0123456789abcdef"})
	if got.ErrorCode != toolapi.CodeInternal || got.OutputFile != "" || got.KeptFile != "" {
		t.Errorf("%+v", got)
	}
}

func TestSecretsHideErrors(t *testing.T) {
	t.Parallel()
	known := &secrets{}
	known.add("key", []byte("0123456789abcdef"))
	inner := fmt.Errorf("%w: 0123456789abcdef", errMissing)
	if err := known.hideError(inner); !errors.Is(err, errMissing) || strings.Contains(err.Error(), "0123456789abcdef") {
		t.Error("the error shows the value, or is another one")
	}
	failure := &motorloop.Failure{Reason: "R", Message: "m 0123456789abcdef"}
	got, ok := errors.AsType[*motorloop.Failure](known.hideError(failure))
	if !ok || got.Message != "m <credential:key>" || got.Reason != "R" {
		t.Errorf("the failure is %+v", got)
	}
	if failure.Message != "m 0123456789abcdef" {
		t.Error("the failure itself was changed")
	}
}

// answering is a model that keeps what it was asked and gives one answer.
type answering struct {
	answer motorloop.Answer
	asked  motorloop.Request
}

func (a *answering) Complete(_ context.Context, r motorloop.Request) (motorloop.Answer, error) {
	a.asked = r
	return a.answer, nil
}

// Whatever form a value has, and wherever it is: no request to a model, answer, result or log line has it.
func TestNothingShowsASecret(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(1, 2))
	var log bytes.Buffer
	for range 300 {
		value := make([]byte, 12+rnd.IntN(40))
		for i := range value {
			value[i] = byte(33 + rnd.IntN(94))
		}
		known := &secrets{}
		known.add("it", value)
		logger := slog.New(discreetHandler{slog.NewJSONHandler(&log, nil), known}).With("with", string(value)).WithGroup("g")
		for form, text := range forms(string(value)) {
			text = "a" + text + "-"
			model := &answering{answer: motorloop.Answer{
				Model: text, Content: text, Truncated: rnd.IntN(2) == 0,
				Calls: []motorloop.Call{{ModelID: text, Tool: text, Arguments: text}},
			}}
			a, err := discreetModel{model, known}.Complete(t.Context(), motorloop.Request{
				Messages: []motorloop.Message{{Content: text, Calls: []motorloop.Call{{Arguments: text}}}},
			})
			if err != nil {
				t.Fatal(err)
			}
			logger.Info("said "+text, "s", text, "e", errors.New(text), slog.Group("h", "v", text), "b", struct{ S string }{text})
			shown, _ := json.Marshal([]any{a, model.asked, known.hideResult(toolapi.Result{Output: text, ErrorCode: text, OutputFile: text})})
			if bytes.Contains(shown, []byte(text)) || bytes.Contains(shown, value) || strings.Contains(log.String(), text) || bytes.Contains(log.Bytes(), value) {
				t.Fatalf("the form %s is shown", form)
			}
			log.Reset()
		}
	}
}

func TestMapStrings(t *testing.T) {
	t.Parallel()
	upper := func(s string) string { return strings.ReplaceAll(s, "x", `<"\>`) }
	for name, tt := range map[string]struct {
		text, want string
		changed    bool
	}{
		"a string":       {`{"a":"1x"}`, `{"a":"1<\"\\>"}`, true},
		"deep":           {`{"a":[{"b":"x","n":12345678901234567890}]}`, `{"a":[{"b":"<\"\\>","n":12345678901234567890}]}`, true},
		"a name":         {`{"x":"a"}`, `{"x":"a"}`, false},
		"nothing to do":  {`{ "a" : "b" }`, `{ "a" : "b" }`, false},
		"no JSON":        {`x`, `x`, false},
		"more than JSON": {`{"a":"x"} {}`, `{"a":"x"} {}`, false},
		"escaped":        {`{"a":"\u0078"}`, `{"a":"<\"\\>"}`, true},
	} {
		if got, changed := mapStrings(tt.text, upper); got != tt.want || changed != tt.changed {
			t.Errorf("%s: %s %t", name, got, changed)
		}
	}
}

// The handler must not keep a record from being logged.
func TestDiscreetHandlerLogs(t *testing.T) {
	t.Parallel()
	known := &secrets{}
	known.add("key", []byte("0123456789abcdef"))
	var b strings.Builder
	log := slog.New(discreetHandler{slog.NewTextHandler(io.MultiWriter(&b), nil), known})
	log.With("run", "r").Info("hello", "n", 7, "key", "0123456789abcdef")
	if got := b.String(); !strings.Contains(got, "run=r n=7 key=<credential:key>") {
		t.Error(got)
	}
}
