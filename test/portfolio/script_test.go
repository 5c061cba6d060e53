// SPDX-License-Identifier: Apache-2.0

package portfolio

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"motorcortex.dev/motorcortex/internal/motorloop"
	"motorcortex.dev/motorcortex/internal/motorloop/result"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/test/modelserver/script"
)

// The script is played to its end with its programs run for real, once for each kind of answer.
func TestScript(t *testing.T) {
	tests := map[string]struct {
		answers []string
		// decides is the answer that the outcome follows from, none if there is no report.
		decides string
		below   []string
	}{
		"skip":              {answers: []string{"skip it"}, decides: "skip it", below: []string{"UTIP", "GLXY", "NORD"}},
		"last price":        {answers: []string{"use the last known price"}, decides: "use the last known price", below: []string{"UTIP", "ACME", "GLXY", "NORD"}},
		"a price":           {answers: []string{"use 12.50"}, decides: "use 12.50", below: []string{"ACME", "UTIP", "GLXY", "NORD"}},
		"a price in USD":    {answers: []string{"400,5 USD"}, decides: "400,5 USD"},
		"stop":              {answers: []string{"stop"}},
		"unclear, skip":     {answers: []string{"you \"decide\"\n', `${1}` \\", "Skip."}, decides: "skip", below: []string{"UTIP", "GLXY", "NORD"}},
		"wrong, stop":       {answers: []string{"-5", "Stop!"}},
		"ambiguous numbers": {answers: []string{"1,250", "$3", "don't skip it", "0", "80"}, decides: "80"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorkspace(t, nil)
			summary := w.play(tt.answers)
			report, err := os.ReadFile(filepath.Join(w.dir, "artifacts", "report.md"))
			if tt.decides == "" {
				if !strings.HasPrefix(summary, "I stopped") || !errors.Is(err, os.ErrNotExist) {
					t.Fatalf("summary %q, report: %v", summary, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			c, err := Compare(sample(t, "portfolio/portfolio.csv"), sample(t, "portfolio/strategy.md"), tt.decides)
			if err != nil {
				t.Fatal(err)
			}
			if tt.below != nil {
				if diff := cmp.Diff(tt.below, symbols(c.Below)); diff != "" {
					t.Errorf("below target, recomputed (-want +got):\n%s", diff)
				}
			}
			checkReport(t, string(report), c)
			if want := sentence(c.Below); summary != want {
				t.Errorf("summary:\n%s\nwant\n%s", summary, want)
			}
		})
	}
}

func TestScriptAsksOnlyAboutMissingPrices(t *testing.T) {
	csv := strings.Replace(string(sample(t, "portfolio/portfolio.csv")), `480,,EUR`, `480,50.00,EUR`, 1)
	w := newWorkspace(t, map[string]string{"portfolio.csv": csv})
	c, err := Compare([]byte(csv), sample(t, "portfolio/strategy.md"), "")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := w.play(nil), sentence(c.Below); got != want {
		t.Errorf("summary:\n%s\nwant\n%s", got, want)
	}
}

func TestScriptSaysThatItCannotReadTheData(t *testing.T) {
	w := newWorkspace(t, map[string]string{"strategy.md": "Buy low, sell high.\n"})
	if got := w.play(nil); !strings.Contains(got, "there is no report") || !strings.Contains(got, "strategy.md has no line like") {
		t.Errorf("summary %q", got)
	}
}

func symbols(positions []Position) []string {
	var list []string
	for _, p := range positions {
		list = append(list, p.Symbol)
	}
	return list
}

func sentence(below []Position) string {
	var names []string
	for _, p := range below {
		names = append(names, fmt.Sprintf("%s (%s, %.2f %% instead of %.2f %%)", p.Name, p.Symbol, p.Weight, p.Target))
	}
	return fmt.Sprintf("%d positions are below target: %s. The report is in artifacts/report.md.", len(below), strings.Join(names, "; "))
}

// checkReport wants every figure of every position in the report's table, in order.
func checkReport(t *testing.T, report string, c Comparison) {
	t.Helper()
	if total := fmt.Sprintf("Total value: %.2f EUR", c.Total); !strings.Contains(report, total) {
		t.Errorf("the report does not say %q", total)
	}
	var want, got []string
	for _, p := range c.Positions {
		want = append(want, fmt.Sprintf("| %s | %s | %.2f | %.2f | %.2f | %+.2f |", p.Symbol, p.Name, p.Value, p.Weight, p.Target, p.Deviation()))
	}
	_, table, _ := strings.Cut(report, "|---|---|---:|---:|---:|---:|\n")
	for line := range strings.Lines(table) {
		if strings.HasPrefix(line, "|") {
			got = append(got, strings.TrimSpace(line))
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the table of the report (-want +got):\n%s", diff)
	}
}

// workspace plays a script against tools that do what those of a sandbox do.
type workspace struct {
	t      *testing.T
	dir    string
	script *script.Script
}

func newWorkspace(t *testing.T, changed map[string]string) workspace {
	t.Helper()
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("no Node.js here; the end-to-end test plays the script in a sandbox")
	}
	s, err := script.Parse("portfolio.yaml", sample(t, "modelserver/scripts/portfolio.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	w := workspace{t: t, dir: t.TempDir(), script: s}
	for _, name := range []string{"portfolio.csv", "strategy.md"} {
		content, found := changed[name]
		if !found {
			content = string(sample(t, "portfolio/"+name))
		}
		w.write(name, content)
	}
	return w
}

func (w workspace) write(name, content string) {
	w.t.Helper()
	file := filepath.Join(w.dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// play goes through the conversation and returns the summary of its call of finish. All answers have to be asked for.
func (w workspace) play(answers []string) string {
	w.t.Helper()
	talk := []script.Message{{Role: script.RoleSystem, Content: "rules"}, {Role: script.RoleUser, Content: "task"}}
	for range 50 {
		said, err := w.script.Play(talk)
		if err != nil {
			w.t.Fatal(err)
		}
		if len(said.ToolCalls) == 0 {
			w.t.Fatalf("the script says %q and calls nothing", said.Content)
		}
		if end := said.ToolCalls[0]; end.Name == toolapi.ToolFinish {
			if len(answers) > 0 {
				w.t.Fatalf("%q was never asked for; the end was %s", answers, end.Arguments)
			}
			return w.ended(end.Arguments)
		}
		talk = append(talk, script.Message{Role: script.RoleAssistant, Content: said.Content, ToolCalls: said.ToolCalls})
		for _, c := range said.ToolCalls {
			var res toolapi.Result
			if c.Name == toolapi.ToolAskUser {
				w.checkQuestion(c.Arguments)
				if len(answers) == 0 {
					w.t.Fatalf("nobody has an answer to %s", c.Arguments)
				}
				res, answers = toolapi.Result{OK: true, Output: "The person replied, with none of the options: " + answers[0]}, answers[1:]
			} else {
				res = w.run(c)
			}
			talk = append(talk, script.Message{Role: script.RoleTool, ToolCallID: c.ID, Content: result.Render(&res)})
		}
	}
	w.t.Fatal("the script does not end")
	return ""
}

// ended returns the summary of a call of finish, whose files must be there.
func (w workspace) ended(arguments string) string {
	w.t.Helper()
	args, err := toolapi.ParseFinish(arguments)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, file := range args.Files {
		if _, err := os.Stat(filepath.Join(w.dir, file)); err != nil {
			w.t.Error(err)
		}
	}
	if says := strings.Contains(args.Summary, "there is no report"); says != (args.Status == toolapi.FinishFailed) {
		w.t.Errorf("%s: %s", args.Status, args.Summary)
	}
	return args.Summary
}

func (w workspace) checkQuestion(arguments string) {
	w.t.Helper()
	q, err := motorloop.ParseQuestion(turn.Call{Arguments: arguments})
	if err != nil {
		w.t.Fatal(err)
	}
	if len(q.Options) != 3 || q.Default != "skip it" {
		w.t.Errorf("options %q, default %q", q.Options, q.Default)
	}
	again := strings.HasPrefix(q.Question, "I could not use the answer ")
	if !again && !strings.HasPrefix(q.Question, "ACME (Acme, Inc.) has no price (last known: 41.20 EUR on 2026-06-26). Use the last known price") {
		w.t.Errorf("the question is %q", q.Question)
	}
}

func (w workspace) run(c script.Call) toolapi.Result {
	w.t.Helper()
	var args struct{ Path, Content, Language, Source string }
	if err := json.Unmarshal([]byte(c.Arguments), &args); err != nil {
		w.t.Fatal(err)
	}
	switch c.Name {
	case toolapi.ToolRead:
		content, err := os.ReadFile(filepath.Join(w.dir, args.Path))
		if err != nil {
			w.t.Fatal(err)
		}
		return toolapi.Result{OK: true, Output: string(content)}
	case toolapi.ToolWrite:
		w.write(args.Path, args.Content)
		return toolapi.Result{OK: true, Output: "written"}
	case toolapi.ToolCode:
		if args.Language != toolapi.LanguageJavaScript {
			w.t.Fatalf("language %q", args.Language)
		}
		node := exec.CommandContext(w.t.Context(), "node", "-")
		node.Dir, node.Stdin = w.dir, strings.NewReader(args.Source)
		output, err := node.CombinedOutput()
		if err != nil {
			return toolapi.Result{Output: string(output), ErrorCode: "exit_1"}
		}
		return toolapi.Result{OK: true, Output: string(output)}
	}
	w.t.Fatalf("the run has no tool %q", c.Name)
	return toolapi.Result{}
}
