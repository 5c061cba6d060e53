// SPDX-License-Identifier: Apache-2.0

package ask

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/verb"
)

func TestAnswer(t *testing.T) {
	t.Parallel()
	withOptions := question("q")
	withOptions.Options, withOptions.Default = []string{"a", "10"}, "the default"
	for name, tt := range map[string]struct {
		asks        v1alpha1.PendingInput
		typed, line string
		code        int
		sent        string
	}{
		"words":                    {withOptions, "", "answer run yes", verb.ExitOK, "q yes"},
		"an option":                {withOptions, "", "answer run --option 2", verb.ExitOK, "q 10"},
		"words that are a number":  {withOptions, "", "answer run 2", verb.ExitOK, "q 2"},
		"an option beyond":         {withOptions, "", "answer run --option 3", verb.ExitMisused, ""},
		"an option of none":        {question("q"), "", "answer run --option 1", verb.ExitMisused, ""},
		"an option before":         {withOptions, "", "answer run --option -1", verb.ExitMisused, ""},
		"words and an option":      {withOptions, "", "answer run yes --option 1", verb.ExitMisused, ""},
		"the number is typed":      {withOptions, "2\n", "answer run", verb.ExitOK, "q 10"},
		"a number beyond is typed": {withOptions, "10\n", "answer run", verb.ExitOK, "q 10"},
		"no option, then one":      {withOptions, "9\n-1\n99999999999999999999\n1\n", "answer run", verb.ExitOK, "q a"},
		"no option, and no more":   {withOptions, "9\n", "answer run", verb.ExitFailed, ""},
		"a number without options": {question("q"), "9\n", "answer run", verb.ExitOK, "q 9"},
		"nothing is typed":         {withOptions, "\n", "answer run", verb.ExitMisused, ""},
		"nothing without default":  {question("q"), "\n", "answer run", verb.ExitMisused, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, tt.asks)
			r.typed = tt.typed
			r.want(tt.code, tt.line)
			if got := r.responses(); got != tt.sent {
				t.Errorf("sent is %q, want %q", got, tt.sent)
			}
		})
	}
}

func TestAnswerWithFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, content := range map[string]string{
		"p.csv": "a;1\n", "raw": "\x00\xff", "large": strings.Repeat("x", 128<<10+1), ".hidden": "x", "key": "KEY=AKIA" + "YRWSSQ3BPTB4DX7Z\n",
	} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir("folder", 0o700); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		line string
		code int
		says string
		sent []string
	}{
		"with words":      {"answer run yes --file p.csv --file raw=in/raw.bin", verb.ExitOK, "answered: yes, with p.csv, in/raw.bin", []string{"yes", "p.csv a;1\n", "in/raw.bin \x00\xff"}},
		"without words":   {"answer run --file p.csv", verb.ExitOK, "answered: Here: p.csv, with p.csv", []string{"Here: p.csv", "p.csv a;1\n"}},
		"a folder":        {"answer run yes --file folder", verb.ExitFailed, "--file folder: it is a folder: name its files", nil},
		"too large":       {"answer run yes --file large", verb.ExitFailed, "--file large: it has more than 131072 bytes: put it into a ConfigMap", nil},
		"none there":      {"answer run yes --file gone", verb.ExitFailed, "--file gone: open gone: no such file", nil},
		"a hidden one":    {"answer run yes --file .hidden", verb.ExitFailed, `--file .hidden: ".hidden" cannot be its name`, nil},
		"under a name":    {"answer run yes --file .hidden=shown", verb.ExitOK, "with shown", []string{"yes", "shown x"}},
		"outside":         {"answer run yes --file p.csv=../p.csv", verb.ExitFailed, "cannot be its name", nil},
		"a secret":        {"answer run yes --file key", verb.ExitFailed, "--file key: it holds what looks like a secret", nil},
		"the same twice":  {"answer run yes --file p.csv --file raw=p.csv", verb.ExitMisused, `two files have the name "p.csv"`, nil},
		"more than eight": {"answer run yes" + strings.Repeat(" --file p.csv", 20), verb.ExitMisused, "at most 8 files", nil},
	} {
		t.Run(name, func(t *testing.T) {
			q := question("q")
			q.Files = []string{"the \x1b[8mportfolio"}
			r := newRig(t, q)
			r.want(tt.code, tt.line, tt.says)
			run := &v1alpha1.MotorRun{}
			if err := r.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "run"}, run); err != nil {
				t.Fatal(err)
			}
			var sent []string
			for _, p := range run.Spec.Responses[1:] {
				sent = append(sent, p.Answer)
				for _, f := range p.Files {
					content := string(f.BinaryContent)
					if f.Content != nil {
						content = *f.Content
					}
					sent = append(sent, f.Path+" "+content)
				}
			}
			if diff := cmp.Diff(tt.sent, sent); diff != "" {
				t.Errorf("sent (-want +got):\n%s", diff)
			}
		})
	}
	q := question("q")
	q.Files = []string{"the \x1b[8mportfolio"}
	newRig(t, q).want(verb.ExitMisused, "answer run", `it wants files with the answer (--file):`, `- the \u001b[8mportfolio`)
}
