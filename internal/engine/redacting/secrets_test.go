// SPDX-License-Identifier: Apache-2.0

package redacting

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/internal/egress/grant"
	"motorcortex.dev/motorcortex/internal/motorloop/chat"
	"motorcortex.dev/motorcortex/internal/motorloop/outcome"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/secret"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// oneOfEach knows one value of each kind. A failing test shows where a value was, and not the value.
func oneOfEach() (known *Secrets, values map[string]string) {
	values = map[string]string{
		"api_key": "sk-0123456789abcdefghijklmnop", "login": "maria:correct horse battery", "pem": "-----BEGIN KEY-----\nQUJDREVGR0hJSktMTU5P\n-----END KEY-----\n",
	}
	known = &Secrets{}
	known.AddGrant(&grant.Grant{Credentials: []grant.Credential{
		{Name: "api_key", Slot: "Bearer", Handle: "mch-abcdefghijklmnopqrstuvwxyz234567", Value: secret.New([]byte(values["api_key"]))},
		{Name: "login", Slot: "Basic", Handle: "mch-bbcdefghijklmnopqrstuvwxyz234567", Value: secret.New([]byte(values["login"]))},
		{Name: "billing", Slot: "Basic", Handle: "mch-dbcdefghijklmnopqrstuvwxyz234567", Value: secret.New([]byte("sk_live_0123:"))},
		{Name: "pem", Handle: "mch-cbcdefghijklmnopqrstuvwxyz234567", Value: secret.New([]byte(values["pem"]))},
	}}, "the-token-of-the-sandbox")
	known.Add(ModelKeyName, []byte("model-key-0123456789"))
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
	known, values := oneOfEach()
	for name, value := range values {
		for form, text := range forms(value) {
			if got := known.Hide("before " + text + " after"); strings.Contains(got, strings.TrimSpace(text)) || !strings.Contains(got, "<credential:"+name+">") {
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
		if got := known.Hide(tt.text); got != tt.want {
			t.Errorf("%s: %q", what, got)
		}
	}
	if (&Secrets{}).Hide("anything") != "anything" {
		t.Error("without secrets something is hidden")
	}
}

func TestSecretsPrintNothing(t *testing.T) {
	t.Parallel()
	known, values := oneOfEach()
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%d", "%x"} {
		for _, v := range []any{known, Model{Secrets: known}} {
			text := fmt.Sprintf(format, v)
			for name, value := range values {
				if strings.Contains(text, value) || strings.Contains(text, hex.EncodeToString([]byte(value))) {
					t.Errorf("%s of %T shows %s", format, v, name)
				}
			}
		}
	}
}

const gap = "\n… 70000 bytes left out; the whole output is in .motor/output/a1-s1-c0, read it with the read tool …\n"

func TestSecretsHideWhatIsCut(t *testing.T) {
	t.Parallel()
	known, values := oneOfEach()
	key := values["api_key"]
	// lost is how much is removed at each side.
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
		for _, file := range []string{".motor/output/a1-s1-c0", ""} {
			got := known.HideResult(toolapi.Result{Output: text, OutputFile: file})
			if got.Output != rest+gap+long[lost:] || got.OutputFile != file {
				t.Errorf("%s: %d bytes of %d", name, len(got.Output), len(text))
			}
		}
	}
	got := known.HideResult(toolapi.Result{Output: long + key, OutputFile: "f"}).Output
	if got != long+"<credential:api_key>" {
		t.Error("without a gap something else is left out")
	}
}

// A program in the sandbox writes the mark of a gap itself, and checks whether the model sees anything else because a
// guess is right.
func TestForgedGapTellsNothing(t *testing.T) {
	t.Parallel()
	const value = "q7Zk93-never-shown-to-anyone"
	known := &Secrets{}
	known.AddCredential("api", "Bearer", []byte(value))
	for form, text := range forms(value) {
		for n := 1; n < len(text) && known.Hide(text[:n]) == text[:n]; n++ {
			wrong := strings.Repeat("!", n)
			for _, around := range []string{"", strings.Repeat(" a", 400)} {
				shown := func(guess string) int {
					return len(known.HideResult(toolapi.Result{Output: around + guess + gap + around + guess + gap + guess + around}).Output)
				}
				if right, other := shown(text[:n]), shown(wrong); right != other {
					t.Fatalf("%d bytes of the form %s: %d bytes are shown, and %d of what is no part of the value", n, form, right, other)
				}
			}
		}
	}
}

func TestSecretsHideResults(t *testing.T) {
	t.Parallel()
	known := &Secrets{}
	known.Add("key", []byte("0123456789abcdef"))
	got := known.HideResult(toolapi.Result{ErrorCode: "x_0123456789abcdef", OutputFile: "out/0123456789abcdef", KeptFile: "out/0123456789abcdef"})
	if got.ErrorCode != toolapi.CodeInternal || got.OutputFile != "" || got.KeptFile != "" {
		t.Errorf("%+v", got)
	}
}

func TestSecretsHideErrors(t *testing.T) {
	t.Parallel()
	known := &Secrets{}
	known.Add("key", []byte("0123456789abcdef"))
	cause := errors.New("it is missing")
	inner := fmt.Errorf("%w: 0123456789abcdef", cause)
	if err := known.HideError(inner); !errors.Is(err, cause) || strings.Contains(err.Error(), "0123456789abcdef") {
		t.Error("the error shows the value, or is another one")
	}
	failure := &outcome.Failure{Reason: "R", Message: "m 0123456789abcdef"}
	got, ok := errors.AsType[*outcome.Failure](known.HideError(failure))
	if !ok || got.Message != "m <credential:key>" || got.Reason != "R" {
		t.Errorf("the failure is %+v", got)
	}
	if failure.Message != "m 0123456789abcdef" {
		t.Error("the failure itself was changed")
	}
	long, ok := errors.AsType[*chat.TooLong](known.HideError(&chat.TooLong{Failure: failure, Usage: turn.Usage{PromptTokens: 7}}))
	if !ok || long.Failure.Message != "m <credential:key>" || long.Usage.PromptTokens != 7 {
		t.Errorf("the failure of a request that is too long is %+v", long)
	}
	away := &chat.Outage{Reason: "R", Message: "m 0123456789abcdef"}
	outage, ok := errors.AsType[*chat.Outage](known.HideError(away))
	if !ok || outage.Message != "m <credential:key>" || outage.Reason != "R" || away.Message != "m 0123456789abcdef" {
		t.Errorf("the outage is %+v", outage)
	}
}

// A line of 16 bytes is the least that is hidden where it stands alone. A shorter one can be ordinary text.
func TestLinesOfAKey(t *testing.T) {
	t.Parallel()
	known := &Secrets{}
	known.AddCredential("key", "", []byte("-----BEGIN KEY-----\nQUJDREVGR0hJSktM\nTU5PUFFSU1RVVld\n-----END KEY-----\n"))
	for text, want := range map[string]string{
		"QUJDREVGR0hJSktM": "<credential:key>", "TU5PUFFSU1RVVld": "TU5PUFFSU1RVVld", "-----BEGIN KEY-----": "-----BEGIN KEY-----",
	} {
		if got := known.Hide(text); got != want {
			t.Errorf("%s became %s", text, got)
		}
	}
}
