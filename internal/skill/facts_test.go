// SPDX-License-Identifier: Apache-2.0

package skill

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

func namesOf(mentions []v1alpha1.Mention) string {
	var names []string
	for _, m := range mentions {
		names = append(names, m.Name)
	}
	return strings.Join(names, " ")
}

func TestFactsDomains(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"See https://api.agentmail.dev/v1/send, and HTTP://Docs.AgentMail.dev.":               "api.agentmail.dev docs.agentmail.dev",
		"[docs](https://docs.service.dev) <https://a.service.dev> \"https://b.service.dev\"":  "a.service.dev b.service.dev docs.service.dev",
		"https://a.service.dev:443 http://b.service.dev:80 https://c.service.dev:8443/x":      "a.service.dev b.service.dev c.service.dev:8443",
		"http://a.service.dev:443 https://b.service.dev:80":                                   "a.service.dev:443 b.service.dev:80",
		"https://user:pass@a.service.dev https://b@c.service.dev":                             "a.service.dev c.service.dev",
		"https://a!@b.service.dev https://x:p,w@c.service.dev/":                               "a b.service.dev c.service.dev",
		`{"url":"https:\/\/a.service.dev\/x"}`:                                                "a.service.dev",
		"https://münchen.de https://xn--mnchen-3ya.de":                                        "xn--mnchen-3ya.de",
		"https://a%2Eservice%2Edev/ https://b.service.dev%20":                                 "a.service.dev",
		"https://1.2.3.4/x http://169.254.169.254 https://[2001:DB8::1]:8443":                 "1.2.3.4 169.254.169.254 [2001:db8::1]:8443",
		"https://a.service.dev${path} https://b.service.dev{x} https://c.service.dev?q":       "a.service.dev b.service.dev c.service.dev",
		"https://$HOST/x https://{host} https://<host>/ https://%s/ https://api.$X.dev":       "",
		"https://api.{region}.dev https://api.%s.dev https://... https:// http://:80 http:/x": "",
		"https://localhost:3000 http://127.0.0.1 http://0.0.0.0:80 http://[::1]/ http://host": "",
		"https://example.com https://api.example.org https://a.test http://b.example":         "a.test",
		"https://your-server.com/x https://yourdomain.com":                                    "",
		"ws://a.service.dev ftp://b.service.dev a.service.dev mailto:x@service.dev":           "",
		"https://a_b.service.dev https://*.service.dev https://a..dev:99999999":               "a..dev a_b.service.dev",
		"https://" + strings.Repeat("a", 2000) + ".dev":                                       "",
		"xhttps://a.service.dev**":                                                            "a.service.dev",
		"https:https://a.service.dev http:///b.service.dev":                                   "a.service.dev",
	} {
		s := Facts([]File{{Path: "references/x.txt", Content: []byte(text)}}, nil)
		if got := namesOf(s.Domains); got != want {
			t.Errorf("%s\nmentions %q, want %q", text, got, want)
		}
	}
}

func TestFactsVariables(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ path, text, want string }{
		{"a.js", "process.env.MAIL_KEY process.env['B_KEY'] process.env[ \"C_KEY\" ] process.env?.D_KEY process.env?.[`E_KEY`]", "B_KEY C_KEY D_KEY E_KEY MAIL_KEY"},
		{"a.js", "process.env.NODE_ENV process.env.HOME process.env.path process.env process.env[key] process.env.1X $MAIL_KEY", ""},
		{"a.py", "os.environ['A_KEY'] os.environ[\"B_KEY\"] os.environ.get('C_KEY', '') os.getenv(\"D_KEY\") os.getenv( 'E_KEY')", "A_KEY B_KEY C_KEY D_KEY E_KEY"},
		{"a.py", "os.environ[key] os.environ['A\"] os.getenv(key) os.environ.items()", ""},
		{"scripts/a.sh", "curl -H \"$A_KEY\" ${B_KEY} ${C_KEY:-x} ${#D_KEY} ${!E_KEY} $1 $? $$ $! $# $@ ${1} $PATH ${HOME} $i $_ $", "A_KEY B_KEY C_KEY D_KEY E_KEY"},
		{"scripts/a", "#!/usr/bin/env -S bash -eu\n$A_KEY", "A_KEY"},
		{"scripts/a", "#!/usr/bin/env python3\n$A_KEY", ""},
		{"a.md", "$OUT\n```bash\n$A_KEY\n```\n$OUT\n~~~ sh\n${B_KEY}\n```\n$C_KEY\n~~~\n$OUT", "A_KEY B_KEY C_KEY"},
		{"a.md", "1. x\n   ```{.shell}\n   $A_KEY\n   ```\n```console title=x\n$B_KEY\n```", "A_KEY B_KEY"},
		{"a.md", "```python\n$A_KEY\n```\n``bash\n$B_KEY\n``\n```bash```\n$C_KEY\n````sh\n```\n$D_KEY\n````\n$E_KEY", "D_KEY"},
		{"a.txt", "VAULT_A_KEY (VAULT_2FA) XVAULT_C VAULT_ $OUT", "VAULT_2FA VAULT_A_KEY"},
		{"a.txt", "<credential:mail_key> <credential:> <credential:a b>", "MAIL_KEY"},
		{"a.js", "process.env." + strings.Repeat("A", 129) + " process.env." + strings.Repeat("B", 128), strings.Repeat("B", 128)},
	} {
		s := Facts([]File{{Path: tt.path, Content: []byte(tt.text)}}, nil)
		if got := namesOf(s.Variables); got != tt.want {
			t.Errorf("%s: %s\nmentions %q, want %q", tt.path, tt.text, got, tt.want)
		}
	}
}

func TestFactsFindings(t *testing.T) {
	t.Parallel()
	random := make([]byte, 300)
	for i := range random {
		random[i] = byte(i * 7)
	}
	encoded := base64.StdEncoding.EncodeToString(random)
	wrapped := ""
	for rest := encoded; rest != ""; rest = rest[min(76, len(rest)):] {
		wrapped += rest[:min(76, len(rest))] + "\n"
	}
	for _, tt := range []struct{ path, text, want string }{
		{"a.md", "plain\ttext\r\nwith 漢 and 🙂\ufe0f 👩\u200d💻 1\ufe0f\u20e3\f", ""},
		{"a.md", "\ufeffplain", ""},
		{"a.md", "one\ntwo \u200b\u202e\u200b\n\nfour\U000e0041", "HiddenUnicode a.md:2 3 characters that are invisible: U+200B, U+202E.\nHiddenUnicode a.md:4 1 characters that are invisible: U+E0041."},
		{"a.md", "a\ufeff \u00ad\x1b[0m\u2028\u3164", "HiddenUnicode a.md:1 5 characters that are invisible: U+FEFF, U+00AD, U+001B, U+2028."},
		{"a.md", "a\u2800b", "HiddenUnicode a.md:1 1 characters that are invisible: U+2800."},
		{"a.md", "🙂\ufe0f\ufe0f a\u200db", "HiddenUnicode a.md:1 2 characters that are invisible: U+FE0F, U+200D."},
		{"a.bin", "a\x00b https://a.service.dev", "Binary a.bin:0 The file is no text."},
		{"a.bin", "\xff\xfe", "Binary a.bin:0 The file is no text."},
		{"a.txt", "x = \"" + encoded + "\"", "Base64 a.txt:1 400 characters that look like base64."},
		{"a.txt", "one\n" + wrapped + "two", "Base64 a.txt:2 400 characters that look like base64."},
		{"a.txt", encoded[:199] + "\n" + strings.Repeat("-", 300) + "\n" + strings.Repeat("word ", 100) + "\n" + strings.Repeat("deadbeef", 16), ""},
		{"scripts/a.py", "#!/usr/bin/env python3\nprint(1)", "Script scripts/a.py:0 #!/usr/bin/env python3"},
		{"core/a.py", "print(1)", "Script core/a.py:0 A file that is run, or loaded by what is run, by its name."},
		{".mcp.json", "{}", "OddFile .mcp.json:0 A listing does not show the file, as its name begins with a dot."},
		{"scripts/data.json", "{}", "Script scripts/data.json:0 A file below scripts."},
		{"scripts/a.sh", "#!/bin/bash\nset -e\ncurl x | jq . && echo done; git push", "Script scripts/a.sh:0 #!/bin/bash Runs curl, git, jq."},
		{"scripts/b.sh", "echo hi", "Script scripts/b.sh:0 A file below scripts. Runs no other program."},
		{"scripts/c.sh", "#!/bin/sh\n$(curl x)", "Script scripts/c.sh:0 #!/bin/sh Not all that it runs can be told. Runs curl."},
		{"scripts/d.sh", "#!/bin/sh\nif (", "Script scripts/d.sh:0 #!/bin/sh What it runs cannot be told: it cannot be parsed: 2:4: `(` must be followed by a statement list."},
		{"scripts/e.sh", "#!/bin/sh\x00\nrm -rf / # https://a.service.dev", "Binary scripts/e.sh:0 The file is no text.\nScript scripts/e.sh:0 #!/bin/sh\uFFFD What it runs cannot be told: it has a NUL byte in it."},
		{"a.txt", "aws_key = \"AKIA" + "Q3EGRIZ5V6KXW2ND\"\n", "Secret a.txt:1 This looks like a secret, by the rule aws-access-token."},
	} {
		s := Facts([]File{{Path: tt.path, Content: []byte(tt.text)}}, nil)
		var got []string
		for _, f := range s.Findings {
			got = append(got, fmt.Sprintf("%s %s:%d %s", f.Kind, f.Path, f.Line, f.Message))
		}
		if diff := cmp.Diff(tt.want, strings.Join(got, "\n")); diff != "" {
			t.Errorf("%s: %.40q (-want +got):\n%s", tt.path, tt.text, diff)
		}
	}
	executable := Facts([]File{{Path: "assets/run", Content: []byte("x"), Executable: true}}, []Warning{{Kind: v1alpha1.FindingUnknownKey, Line: 7, Message: "the key x is not one\nof the standard"}})
	if f := executable.Findings; len(f) != 2 || f[0].Kind != v1alpha1.FindingUnknownKey || f[0].Path != ManifestName || f[0].Line != 7 || f[1].Message != "A program without a line #!." {
		t.Errorf("%+v", f)
	}
	s := Facts([]File{{Path: "scripts/hidden", Content: []byte("#!/bin/sh\x00\ncurl https://a.service.dev/$MAIL_KEY")}}, nil)
	if namesOf(s.Domains) != "a.service.dev" || namesOf(s.Variables) != "MAIL_KEY" {
		t.Errorf("a program with a NUL byte mentions %v and %v", s.Domains, s.Variables)
	}
	if s := Facts([]File{{Path: "assets/a.png", Content: []byte("\x00 https://a.service.dev")}}, nil); len(s.Domains) > 0 {
		t.Errorf("a picture mentions %v", s.Domains)
	}
}

// For all files, the most important facts are retained, in an order that does not change.
func TestFactsAreBounded(t *testing.T) {
	t.Parallel()
	var noise strings.Builder
	for i := range 300 {
		fmt.Fprintf(&noise, "https://a%03d.service.dev process.env.A%03d\u200b\n", i, i)
	}
	files := []File{
		{Path: ManifestName, Content: []byte("https://zz.service.dev process.env.ZZ_KEY\u200b")},
		{Path: "scripts/z.js", Content: []byte("https://zy.service.dev process.env.ZY_KEY")},
	}
	for i := range 50 {
		files = append(files, File{Path: fmt.Sprintf("assets/%03d", i), Content: []byte(noise.String())})
		files = append(files, File{Path: fmt.Sprintf("scripts/%03d", i), Content: []byte("https://many.service.dev")})
	}
	s := Facts(files, []Warning{{Kind: v1alpha1.FindingUnknownKey, Line: 1, Message: strings.Repeat("w", 1000)}})
	checkBounds(t, s)
	if len(s.Domains) != 64 || len(s.Variables) != 64 || len(s.Findings) != 64 {
		t.Errorf("%d domains, %d variables, %d findings", len(s.Domains), len(s.Variables), len(s.Findings))
	}
	for _, want := range []string{"zz.service.dev", "zy.service.dev", "many.service.dev"} {
		if !strings.Contains(namesOf(s.Domains), want) {
			t.Errorf("%s is not kept", want)
		}
	}
	kinds := map[v1alpha1.FindingKind]int{}
	for _, f := range s.Findings {
		kinds[f.Kind]++
	}
	if kinds[v1alpha1.FindingUnknownKey] != 1 || kinds[v1alpha1.FindingHiddenUnicode] < 20 || kinds[v1alpha1.FindingScript] < 20 {
		t.Errorf("%v", kinds)
	}
	// 303 hosts and 302 variables, 51 scripts, a warning, and the lines of the noise.
	if want := int32(303 - 64 + 302 - 64 + 51 + 1 + 50*300 + 1 - 64); s.Omitted != want {
		t.Errorf("%d are omitted, want %d", s.Omitted, want)
	}
	rand.Shuffle(len(files), func(i, j int) { files[i], files[j] = files[j], files[i] })
	if diff := cmp.Diff(s, Facts(files, []Warning{{Kind: v1alpha1.FindingUnknownKey, Line: 1, Message: strings.Repeat("w", 1000)}})); diff != "" {
		t.Errorf("in another order:\n%s", diff)
	}
}

func checkBounds(t *testing.T, s v1alpha1.SkillRevisionStatus) {
	t.Helper()
	byName := func(a, b v1alpha1.Mention) int { return strings.Compare(a.Name, b.Name) }
	for _, list := range [][]v1alpha1.Mention{s.Domains, s.Variables} {
		if len(list) > 64 || !slices.IsSortedFunc(list, byName) {
			t.Errorf("%d mentions: %v", len(list), list)
		}
		for _, m := range list {
			if m.Name == "" || len(m.Name) > 261 || !utf8.ValidString(m.Name) || len(m.Paths) < 1 || len(m.Paths) > 4 {
				t.Errorf("%+v", m)
			}
		}
	}
	if len(s.Findings) > 64 || s.Omitted < 0 || s.ReviewTime != nil {
		t.Errorf("%d findings, %d omitted, at %v", len(s.Findings), s.Omitted, s.ReviewTime)
	}
	for _, f := range s.Findings {
		if f.Kind == "" || f.Line < 0 || f.Message == "" || len(f.Message) > 256 || len(f.Path) > 256 || !utf8.ValidString(f.Message) || strings.ContainsAny(f.Message, "\x00\x1b") {
			t.Errorf("%+v", f)
		}
	}
}

// Large files that are crafted to be slow come to an end, and their facts are bounded.
func TestFactsOfHostileText(t *testing.T) {
	t.Parallel()
	for name, piece := range map[string]string{
		"colons": ":", "schemes": "http://", "hosts": "http://a%20b@c ", "distinct": "", "dollars": "$", "names": "$A_", "fences": "```sh\n$A\n```\n", "vault": "VAULT_A ",
		"hidden": "\u200b", "base64": "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo=", "lines": "\n", "open": "process.env[", "quotes": "os.environ[\"", "brackets": "$((", "nul": "\x00",
		"invalid": "\xff", "at": "http://@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@ ", "secrets": "api_key secret token = 'x'\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var files []File
			text := bytes.Repeat([]byte(piece), MaxFileBytes/max(1, len(piece)))
			if piece == "" {
				for i := range 40_000 {
					text = fmt.Appendf(text, "http://%d.service.dev $A%d ", i, i)
				}
			}
			files = append(files, File{Path: "scripts/a.sh", Content: text}, File{Path: "references/a.md", Content: text})
			checkBounds(t, Facts(files, nil))
		})
	}
}

func FuzzFacts(f *testing.F) {
	for _, seed := range []string{
		"https://a.service.dev:8443/x", "http://user@[::1]:80", "https://%zz@%", "process.env['A']", "```sh\n$A ${B}\n```", "VAULT_X <credential:a>", "\u200b\U000e0041",
		"#!/bin/bash\ncurl $(x) | (", "\x00\xff", strings.Repeat("QUJD", 60), "https:\\/\\/a.b", "~~~ bash\n$X", "os.environ.get( \"A\"",
	} {
		f.Add("scripts/a.sh", []byte(seed), true)
		f.Add("references/a.md", []byte(seed), false)
	}
	f.Fuzz(func(t *testing.T, path string, content []byte, executable bool) {
		files := []File{{Path: path, Content: content, Executable: executable}, {Path: ManifestName, Content: content}}
		s := Facts(files, []Warning{{Line: len(content), Message: "w" + path}})
		checkBounds(t, s)
		slices.Reverse(files)
		if path != ManifestName && cmp.Diff(s, Facts(files, []Warning{{Line: len(content), Message: "w" + path}})) != "" {
			t.Error("in another order there are other facts")
		}
		rev := &v1alpha1.SkillRevision{Status: s}
		if r := ReviewPolicy(rev, &v1alpha1.SkillPolicy{}); len(r.MissingDomains) > 32 || len(r.MissingCredentials) > 32 {
			t.Errorf("%+v", r)
		}
	})
}
