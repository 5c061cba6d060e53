// SPDX-License-Identifier: Apache-2.0

// Package report writes what an evaluation came to as a table.
package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// Side is what carried a task out.
type Side string

// The sides: the operator, and the bare loop beside it.
const (
	Motor Side = "motor"
	Bare  Side = "bare"
)

// Sides are all of them, in the order of the table.
var Sides = []Side{Motor, Bare}

// Row is what one side came to with one task.
type Row struct {
	Task     string   `json:"task"`
	Kind     string   `json:"kind"`
	Side     Side     `json:"side"`
	Verdict  string   `json:"verdict,omitempty"`
	Claim    string   `json:"claim,omitempty"`
	Reason   string   `json:"reason,omitempty"`
	Problems []string `json:"problems,omitempty"`
	// Error says that the evaluation itself failed: the task was not judged, and is made again.
	Error            string  `json:"error,omitempty"`
	Turns            int     `json:"turns"`
	PromptTokens     int     `json:"promptTokens"`
	CompletionTokens int     `json:"completionTokens"`
	Cacheable        float64 `json:"cacheable"`
	Kept             float64 `json:"kept"`
	Seconds          float64 `json:"seconds"`
}

// Prices are in money for a million tokens; without both the table has no costs.
type Prices struct{ In, Out float64 }

// Cost returns what a row's tokens cost.
func (p Prices) Cost(r Row) float64 {
	return (float64(r.PromptTokens)*p.In + float64(r.CompletionTokens)*p.Out) / 1e6
}

// Total is what one side came to with all tasks.
type Total struct {
	Side             Side    `json:"side"`
	Tasks            int     `json:"tasks"`
	Solved           int     `json:"solved"`
	FalseSuccesses   int     `json:"falseSuccesses"`
	Lost             int     `json:"lost"`
	Errors           int     `json:"errors"`
	Turns            int     `json:"turns"`
	PromptTokens     int     `json:"promptTokens"`
	CompletionTokens int     `json:"completionTokens"`
	Cost             float64 `json:"cost"`
}

// Summary is all that the table says.
type Summary struct {
	// Player says which model it was, or who played it.
	Player string  `json:"player"`
	Rows   []Row   `json:"rows"`
	Totals []Total `json:"totals"`
	// TurnRatio is turns of the operator to those of the bare loop, over the coding tasks that both solved; 0 if there is none.
	TurnRatio float64 `json:"turnRatio"`
}

// Sum adds the rows up.
func Sum(player string, rows []Row, prices Prices) Summary {
	s := Summary{Player: player, Rows: rows}
	for _, side := range Sides {
		t := Total{Side: side}
		for _, r := range rows {
			if r.Side == side {
				t.add(r, prices.Cost(r))
			}
		}
		if t.Tasks > 0 {
			s.Totals = append(s.Totals, t)
		}
	}
	s.TurnRatio = turnRatio(rows)
	return s
}

func (t *Total) add(r Row, cost float64) {
	t.Tasks++
	switch {
	case r.Error != "":
		t.Errors++
	case r.Verdict == "Solved":
		t.Solved++
	case r.Verdict == "FalseSuccess":
		t.FalseSuccesses++
	case r.Verdict == "Lost":
		t.Lost++
	}
	t.Turns += r.Turns
	t.PromptTokens += r.PromptTokens
	t.CompletionTokens += r.CompletionTokens
	t.Cost += cost
}

func turnRatio(rows []Row) float64 {
	var motor, bare int
	for _, m := range rows {
		b := find(rows, m.Task, Bare)
		if m.Side == Motor && m.Kind == "coding" && m.Verdict == "Solved" && b != nil && b.Verdict == "Solved" {
			motor, bare = motor+m.Turns, bare+b.Turns
		}
	}
	if bare == 0 {
		return 0
	}
	return float64(motor) / float64(bare)
}

func find(rows []Row, task string, side Side) *Row {
	if i := slices.IndexFunc(rows, func(r Row) bool { return r.Task == task && r.Side == side }); i >= 0 {
		return &rows[i]
	}
	return nil
}

// Markdown writes the table.
func (s Summary) Markdown(w io.Writer, prices Prices) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# Evaluation\n\nThe model: %s\n\n", s.Player)
	b.WriteString("| | tasks | solved | false successes | lost | not judged | turns | prompt tokens | completion tokens | cost |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n")
	for _, t := range s.Totals {
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %d | %d | %d | %d | %d | %s |\n",
			t.Side, t.Tasks, t.Solved, t.FalseSuccesses, t.Lost, t.Errors, t.Turns, t.PromptTokens, t.CompletionTokens, money(t.Cost, prices))
	}
	if s.TurnRatio > 0 {
		fmt.Fprintf(&b, "\nTurns of motor to those of bare, over the coding tasks that both solved: %.2f\n", s.TurnRatio)
	}
	b.WriteString("\n| task | kind | side | verdict | turns | prompt | completion | cacheable | cost |\n|---|---|---|---|---:|---:|---:|---:|---:|\n")
	for _, r := range s.Rows {
		verdict := r.Verdict
		if r.Error != "" {
			verdict = "not judged"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %d | %d | %d | %.0f %% | %s |\n",
			r.Task, r.Kind, r.Side, verdict, r.Turns, r.PromptTokens, r.CompletionTokens, 100*r.Cacheable, money(prices.Cost(r), prices))
	}
	b.WriteString(s.complaints())
	_, err := io.WriteString(w, b.String())
	return err
}

func money(cost float64, prices Prices) string {
	if prices == (Prices{}) {
		return "–"
	}
	return fmt.Sprintf("%.4f", cost)
}

// complaints lists why tasks were not solved.
func (s Summary) complaints() string {
	var b strings.Builder
	for _, r := range s.Rows {
		if r.Verdict == "Solved" && r.Error == "" {
			continue
		}
		why := strings.Join(append([]string{r.Error}, r.Problems...), " ")
		if why = strings.Join(strings.Fields(why), " "); len(why) > 300 {
			why = strings.ToValidUTF8(why[:300], "") + " …"
		}
		fmt.Fprintf(&b, "* %s, %s: %s %s %s\n", r.Task, r.Side, r.Claim, r.Reason, why)
	}
	if b.Len() == 0 {
		return ""
	}
	return "\n## What was not solved\n\n" + b.String()
}
