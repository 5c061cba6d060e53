// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/internal/egress/grant"
)

// The secrets are put together here, so that no scanner of this repository finds one.
var (
	awsKey      = "AKIA" + "Q3EGTEXWN5ZK2PQR"
	githubToken = "ghp_" + "k7Qm2xVb9LrT4wZc8NfH1sYd6PjG3uEa5RoX"
	slackToken  = "xoxb-" + "263594206564-2343594206574-FGqddMF8t08v8N7Oq4i57vs1"
	privateKey  = "-----BEGIN RSA PRIVATE " + "KEY-----\n" + strings.Repeat("MIIEowIBAAKCAQEA7bq4c9Gm0o2s1Z8Xk\n", 20) + "-----END RSA PRIVATE KEY-----\n"
	genericKey  = "q7Zk2mV9xLw4Rt8Bn3Pc6Hs1"
)

func TestSecretsAreFound(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		file, content string
		want          []Finding
	}{
		"AWS key":                 {"config.ini", "[default]\n\nid = " + awsKey + "\n", []Finding{{"aws-access-token", 3}}},
		"GitHub token":            {"", "git clone https://x:" + githubToken + "@github.com/a/b", []Finding{{"github-pat", 1}}},
		"Slack token":             {"a.yaml", "\r\ntoken: \"" + slackToken + "\"\r\n", []Finding{{"slack-bot-token", 2}}},
		"private key":             {"id_rsa", "# key\n" + privateKey, []Finding{{"private-key", 2}}},
		"private key in JSON":     {"a.json", `{"key": "` + strings.ReplaceAll(privateKey, "\n", `\n`) + `"}`, []Finding{{"private-key", 1}}},
		"something like a key":    {"a.py", "x = 1\napi_key = '" + genericKey + "'\n", []Finding{{"generic-api-key", 2}}},
		"known by its name":       {"certs/client.p12", "", []Finding{{"pkcs12-file", 1}}},
		"two on one line":         {"", awsKey + " " + githubToken, []Finding{{"aws-access-token", 1}, {"github-pat", 1}}},
		"the same twice":          {"", awsKey + "\n" + awsKey + " " + awsKey, []Finding{{"aws-access-token", 1}, {"aws-access-token", 2}}},
		"after NUL and not UTF-8": {"", "\x00\xff\xfe\n" + githubToken + "\x00", []Finding{{"github-pat", 2}}},
		"asked to be overlooked":  {"", awsKey + " # gitleaks:allow", []Finding{{"aws-access-token", 1}}},
		"beside a handle":         {"", "mch-abcdefghijklmnopqrstuvwxyz234567 " + githubToken, []Finding{{"github-pat", 1}}},
		"as long as a handle":     {"", "key = mch-" + genericKey, []Finding{{"generic-api-key", 1}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := Scan(c.file, []byte(c.content)); !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

// harmless are texts that a run sends and keeps all day.
func harmless() map[string]string {
	sum := sha256.Sum256([]byte("x"))
	digest, base := hex.EncodeToString(sum[:]), base64.StdEncoding.EncodeToString(sum[:])
	return map[string]string{
		"empty":                "",
		"prose.md":             "The token is kept secret; the password of the key was changed.\n",
		"digest.txt":           "sha256:" + digest + "\n",
		"checksums.txt":        digest + "  motor_linux_amd64.tar.gz\n" + digest + "  motor_linux_arm64.tar.gz\n",
		"go.sum":               "golang.org/x/net v0.60.0 h1:" + base + "\ngolang.org/x/net v0.60.0/go.mod h1:" + base + "\n",
		"package-lock.json":    `{"node_modules/a": {"integrity": "sha512-` + base + base + `", "resolved": "https://packages.example.org/a/-/a-1.0.0.tgz"}}`,
		"yarn.lock":            "a@^1.0.0:\n  version \"1.0.0\"\n  integrity sha512-" + base + "\n",
		"pnpm-lock.yaml":       "  /a@1.0.0:\n    resolution: {integrity: sha512-" + base + "}\n",
		"poetry.lock":          "files = [{file = \"a.whl\", hash = \"sha256:" + digest + "\"}]\n",
		"Cargo.lock":           "[[package]]\nname = \"a\"\nchecksum = \"" + digest + "\"\n",
		"requirements.txt":     "requests==2.32.3 \\\n    --hash=sha256:" + digest + "\n",
		"Dockerfile":           "FROM debian:trixie@sha256:" + digest + "\n",
		"commit.txt":           "commit 2fd4e1c67a2d28fced849ee1bb76e7391b93eb12\nAuthor: A <a@example.org>\n",
		"uuid.json":            `{"id": "550e8400-e29b-41d4-a716-446655440000"}`,
		"handle.sh":            "curl -H 'Authorization: Bearer mch-abcdefghijklmnopqrstuvwxyz234567' https://example.org",
		"handle.env":           "API_KEY=mch-abcdefghijklmnopqrstuvwxyz234567\nSECRET_TOKEN=" + grant.Handle([]byte("k"), "run", "pod", "name") + "\n",
		"credential.json":      `{"api_key": "<credential:api_key>", "token": "<credential:github_token_2>"}`,
		"environment.py":       "api_key = os.environ['API_KEY']\nsecret = config.get('secret_access_key')\n",
		"environment.js":       "const token = process.env.GITHUB_TOKEN;\nconst apiKey = getSecret('api-key');\n",
		"template.yaml":        "password: ${DB_PASSWORD}\ntoken: {{ .Values.token }}\nkey: $API_KEY\n",
		"workflow.yaml":        "env:\n  TOKEN: ${{ secrets.GITHUB_TOKEN }}\n",
		"example.ini":          "aws_access_key_id = AKIA" + "IOSFODNN7EXAMPLE\n",
		"placeholder.env":      "API_KEY=your-api-key-here\nPASSWORD=changeme\nTOKEN=xxxxxxxxxxxxxxxxxxxxxxxx\n",
		"public.pem":           "-----BEGIN PUBLIC KEY-----\n" + base + "\n-----END PUBLIC KEY-----\n",
		"certificate.pem":      "-----BEGIN CERTIFICATE-----\n" + strings.Repeat(base+"\n", 20) + "-----END CERTIFICATE-----\n",
		"id_ed25519.pub":       "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI" + base + " a@example.org\n",
		"query.sql":            "SELECT token, password_hash FROM users WHERE primary_key = 'abc' AND api_version = '2024-01-01';\n",
		"keyboard.ts":          "const keyCode = 'ArrowLeft'; const keyboardLayout = 'qwertz'; monkey = true\n",
		"api.go":               "func (c *Client) Authenticate(ctx context.Context, token string) (*Session, error) {\n\treturn c.auth.Login(ctx, token)\n}\n",
		"table.csv":            "id,name,amount\n1,alpha,12.5\n2,beta,9.75\n",
		"pixel.html":           `<img src="data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==">`,
		"response.json":        `{"ok": true, "items": [{"sha": "2fd4e1c67a2d28fced849ee1bb76e7391b93eb12", "size": 123}], "next": "/v1/items?page=2"}`,
		"minified.js":          `!function(e,t){"object"==typeof exports?module.exports=t():e.lib=t()}(this,function(){return{a:1}});`,
		"node_modules/a/b.js":  "var key = '" + genericKey + "'", // The library's list leaves such folders out.
		"docs/gitleaks.toml":   awsKey,
		"artifacts/report.pdf": "%PDF-1.7\n" + awsKey,
	}
}

func TestHarmlessIsNotFound(t *testing.T) {
	t.Parallel()
	for name, content := range harmless() {
		if got := Scan(name, []byte(content)); len(got) != 0 {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// Handles and placeholders of credentials are taken out before the rules are tried, and move nothing.
func TestMask(t *testing.T) {
	t.Parallel()
	const handle = "mch-abcdefghijklmnopqrstuvwxyz234567"
	for text, want := range map[string]string{
		"a text":                         "a text",
		"a " + handle + "\n":             "a " + strings.Repeat("x", len(handle)) + "\n",
		"a <credential:api_key> b":       "a " + strings.Repeat("x", len("<credential:api_key>")) + " b",
		handle + "2 <credential:a b>":    handle + "2 <credential:a b>",
		"<credential:a><credential:b_2>": strings.Repeat("x", len("<credential:a><credential:b_2>")),
	} {
		if got := string(mask([]byte(text))); got != want {
			t.Errorf("%q became %q", text, got)
		}
	}
}

// The positions in ordinary files that the rules mistake for a secret are known, and documented.
func TestKnownFalseAlarms(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		"secret_hash = 2fd4e1c67a2d28fced849ee1bb76e7391b93eb12\n":       "generic-api-key",
		"Idempotency-Key: 7f9c2ba4-e88f-4d2a-b5f1-0d3c6a9e8b17\n":        "generic-api-key",
		`{"page_token": "CAUSDAi9kP3uBhCAw4nBAxoUMTIzNDU2Nzg5MDEyMzQ1"}`: "generic-api-key",
	} {
		if got := Scan("", []byte(content)); len(got) != 1 || got[0].RuleID != want {
			t.Errorf("%q: %v", content, got)
		}
	}
}

// A find of the generic rule is left out only where a better rule found the same on the same line.
func TestGenericFindings(t *testing.T) {
	t.Parallel()
	better := hit{Finding{"github-pat", 3}, githubToken}
	for name, tt := range map[string]struct {
		generic hit
		want    int
	}{
		"the same":      {hit{Finding{"generic-api-key", 3}, githubToken}, 1},
		"a part of it":  {hit{Finding{"generic-api-key", 3}, githubToken[4:]}, 1},
		"another line":  {hit{Finding{"generic-api-key", 4}, githubToken}, 2},
		"another text":  {hit{Finding{"generic-api-key", 3}, genericKey}, 2},
		"more than it":  {hit{Finding{"generic-api-key", 3}, githubToken + "x"}, 2},
		"as good a one": {hit{Finding{"slack-bot-token", 3}, githubToken}, 2},
	} {
		if got := (&scanner{hits: []hit{tt.generic, better}}).findings(); len(got) != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// patience is more time than any scan takes on a busy machine under the race detector.
const patience = 10 * time.Minute

// A secret is found wherever it lies in a content of many windows, in one line or in many.
func TestWindows(t *testing.T) {
	t.Parallel()
	for _, filler := range []string{"plain text\n", "plain text "} {
		lengths := []int{}
		for at := windowBytes - overlapBytes - 4400; at < windowBytes+100; at += 997 {
			lengths = append(lengths, at)
		}
		// The first window ends in the middle of either secret, or the second one begins there.
		for _, cut := range []int{windowBytes, windowBytes - overlapBytes} {
			lengths = append(lengths, cut-len(privateKey)/2, cut-len(privateKey)-len(githubToken)/2)
		}
		for _, length := range lengths {
			before := bytes.Repeat([]byte(filler), length/len(filler)+1)[:length]
			content := slices.Concat(before, []byte(privateKey), []byte(githubToken+"\n"), bytes.Repeat([]byte(filler), 20_000))
			line := 1 + bytes.Count(before, []byte("\n"))
			want := []Finding{{"private-key", line}, {"github-pat", line + strings.Count(privateKey, "\n")}}
			if got := scan(rules(), "", content, patience); !slices.Equal(got, want) {
				t.Fatalf("after %d bytes: %v, want %v", len(before), got, want)
			}
		}
	}
	// The cut of a window makes no key of a part of a long word.
	if got := scan(rules(), "", bytes.Repeat([]byte("AKIAQ3EGTEXWN5ZK2P7Q"), windowBytes/4), patience); len(got) != 0 {
		t.Errorf("a long word: %v", got)
	}
}

func TestBounds(t *testing.T) {
	t.Parallel()
	late := append(bytes.Repeat([]byte("a line\n"), MaxBytes/7+1), awsKey...)
	if got := scan(rules(), "", late, patience); len(got) != 0 {
		t.Errorf("behind the bytes that are scanned: %v", got)
	}
	many := bytes.Repeat([]byte(awsKey+"\n"), 1000)
	if got := scan(rules(), "", many, patience); len(got) != MaxFindings || got[MaxFindings-1].Line != MaxFindings {
		t.Errorf("a thousand secrets: %v", got)
	}
	if got := scan(rules(), "", []byte("key "+awsKey), 0); len(got) != 1 || got[0].RuleID != RuleUnfinished {
		t.Errorf("without time: %v", got)
	}
	// The findings until then do not hide that there may be more.
	for n, want := range map[int]int{0: 0, 3: 3, MaxFindings + 5: MaxFindings - 1} {
		s := &scanner{late: true, lateAt: 77}
		for i := range n {
			s.hits = append(s.hits, hit{Finding: Finding{RuleID: "x", Line: 100 + i}})
		}
		if got := s.findings(); len(got) != want+1 || got[want] != (Finding{RuleUnfinished, 77}) {
			t.Errorf("%d findings, and then no time: %v", n, got)
		}
	}
	if got := scan(nil, "", nil, time.Minute); len(got) != 1 || got[0].RuleID != RuleUnfinished {
		t.Errorf("without rules: %v", got)
	}
}

// A content that is crafted to keep the scanner busy ends in time, with a finding if it could not be judged.
func TestBusyContent(t *testing.T) {
	t.Parallel()
	var words bytes.Buffer
	for _, rule := range rules().ordered {
		words.WriteString(strings.Join(rule.keywords, "_ = '"))
	}
	for name, content := range map[string][]byte{
		"every keyword":    bytes.Repeat(words.Bytes(), MaxBytes/words.Len()/8),
		"one line of keys": bytes.Repeat([]byte("key="), MaxBytes/8),
		"matches":          bytes.Repeat([]byte("token='aaaaaaaaaaaaaaab' "), MaxBytes/200),
		"newlines":         bytes.Repeat([]byte("\n"), MaxBytes),
		"NUL":              make([]byte, MaxBytes),
	} {
		began := time.Now()
		got := scan(rules(), "", content, 500*time.Millisecond)
		if len(got) > MaxFindings {
			t.Errorf("%s: %d findings", name, len(got))
		}
		for i, found := range got {
			if found.Line < 1 || found.Line > 1+bytes.Count(content, []byte("\n")) || found.RuleID == RuleUnfinished && i < len(got)-1 {
				t.Errorf("%s: finding %d is %v", name, i, found)
			}
		}
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("%s: %v", name, took)
		} else {
			t.Logf("%s: %v, %v", name, took, got)
		}
	}
}

func TestConcurrentScans(t *testing.T) {
	t.Parallel()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if got := Scan("a.txt", []byte("\n"+githubToken)); !slices.Equal(got, []Finding{{"github-pat", 2}}) {
				t.Error(got)
			}
		})
	}
	all.Wait()
}

func FuzzScan(f *testing.F) {
	f.Add("a.txt", []byte(awsKey))
	f.Add("", []byte("\n\n"+privateKey))
	f.Add("x.p12", []byte("mch-<credential:a>\xff\x00"))
	f.Fuzz(func(t *testing.T, name string, content []byte) {
		lines := 1 + bytes.Count(content, []byte("\n"))
		for _, found := range Scan(name, content) {
			if found.Line < 1 || found.Line > lines || found.RuleID == "" {
				t.Errorf("%v of %d lines", found, lines)
			}
		}
	})
}
