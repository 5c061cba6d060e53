// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write down what is found now")

// judged are contents for every rule: harmless ones, secrets in files that some rules are for or overlook, and each keyword of a rule
// before a text that may be a key. They are the same each time.
func judged() map[string]string {
	contents := harmless()
	maps.DeleteFunc(contents, func(_, content string) bool { // The handles of credentials are harmless here alone.
		return strings.Contains(content, "mch-") || strings.Contains(content, "<credential:")
	})
	all := strings.Join([]string{awsKey, githubToken, slackToken, privateKey, "api_key='" + genericKey + "'\n"}, "\n")
	for _, name := range []string{"", "a.php", "b.yaml", "main.tf", "nuget.config", "x/client.p12", "vendor/modules.txt", "VENDOR/Modules.TXT", "a.png"} {
		contents[name] = all
	}
	random := rand.New(rand.NewPCG(1, 2))
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	for _, rule := range rules().ordered {
		var made strings.Builder
		for _, word := range rule.keywords {
			key := make([]byte, 16+random.IntN(40))
			for i := range key {
				key[i] = letters[random.IntN(len(letters))]
			}
			fmt.Fprintf(&made, "%s_token = \"%s\"\n%s%s\n", word, key, word, strings.ToUpper(string(key)))
		}
		contents["rules/"+rule.id] = made.String()
	}
	return contents
}

// The golden file has the findings of the gitleaks detector for the same rules.
func TestAsGitleaksDetects(t *testing.T) {
	t.Parallel()
	const file = "testdata/gitleaks.golden.txt"
	var found strings.Builder
	contents := judged()
	for _, name := range slices.Sorted(maps.Keys(contents)) {
		for _, f := range scan(rules(), name, []byte(contents[name]), patience) {
			fmt.Fprintf(&found, "%q line %d: %s\n", name, f.Line, f.RuleID)
		}
	}
	if *update {
		if err := os.WriteFile(file, []byte(found.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), found.String()); d != "" {
		t.Error(d)
	}
}

// A file with anything in it that is not understood is refused, and not one rule of it is used.
func TestRulesThatAreRefused(t *testing.T) {
	t.Parallel()
	const rule = "[[rules]]\nid = 'a'\n"
	for name, file := range map[string]string{
		"no TOML":             "[[rules]",
		"an unknown field":    rule + "regex = 'a'\nsimilarity = 3\n",
		"no expression":       rule,
		"no such expression":  rule + "regex = '(?=a)'\n",
		"no such path":        rule + "path = '('\n",
		"a short keyword":     rule + "regex = 'a'\nkeywords = ['a']\n",
		"an unknown list":     rule + "regex = 'a'\n[[rules.allowlists]]\ncommits = ['a']\n",
		"an unknown target":   rule + "regex = 'a'\n[[rules.allowlists]]\nregexTarget = 'file'\n",
		"an unknown word":     rule + "regex = 'a'\n[[rules.allowlists]]\ncondition = 'XOR'\n",
		"a list's expression": "[allowlist]\nregexes = ['[']\n",
		"a list's path":       "[allowlist]\npaths = ['[']\n",
		"a short stop word":   "[allowlist]\nstopwords = ['']\n",
	} {
		if set, err := readRules(file); err == nil {
			t.Errorf("%s: %+v", name, set)
		}
	}
	if set, err := readRules(rulesFile); err != nil || len(set.ordered) < 200 {
		t.Errorf("the rules themselves: %v", err)
	}
}

func TestAllowlists(t *testing.T) {
	t.Parallel()
	const rule = "[[rules]]\nid = 'a'\nregex = 'key-(\\w+)'\nkeywords = ['KEY-']\n[[rules.allowlists]]\n"
	for name, tt := range map[string]struct {
		list, file, content string
		found               bool
	}{
		"the secret":             {"regexes = ['^b+$']", "", "key-bb", false},
		"another secret":         {"regexes = ['^b+$']", "", "key-bc", true},
		"the match":              {"regexTarget = 'match'\nregexes = ['^key-b']", "", "key-bc", false},
		"the line":               {"regexTarget = 'line'\nregexes = ['public']", "", "x\npublic key-b\n", false},
		"another line":           {"regexTarget = 'line'\nregexes = ['public']", "", "public\nkey-b\n", true},
		"a stop word":            {"stopwords = ['Sample']", "", "key-aSAMPLE", false},
		"a path":                 {"paths = ['\\.md$']", "a.md", "key-b", false},
		"another path":           {"paths = ['\\.md$']", "a.mdx", "key-b", true},
		"no path":                {"paths = ['\\.md$']", "", "key-b", true},
		"all of a path and more": {"condition = 'AND'\npaths = ['\\.md$']\nregexes = ['b']", "a.md", "key-b", false},
		"a path alone":           {"condition = 'AND'\npaths = ['\\.md$']\nregexes = ['b']", "a.md", "key-c", true},
		"an expression alone":    {"condition = 'AND'\npaths = ['\\.md$']\nregexes = ['b']", "a.go", "key-b", true},
		"all words":              {"condition = 'AND'\nstopwords = ['cc']\nregexes = ['b']", "", "key-bcc", false},
		"one word":               {"condition = 'AND'\nstopwords = ['cc']\nregexes = ['b']", "", "key-b", true},
		"a flag goes on":         {"regexes = ['(?i)^x$', '^b+$']", "", "key-BB", false},
	} {
		set, err := readRules(rule + tt.list)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := scan(set, tt.file, []byte(tt.content), patience); len(got) > 0 != tt.found {
			t.Errorf("%s: %v", name, got)
		}
	}
}
