// SPDX-License-Identifier: Apache-2.0

package script

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The sample that the script format has to be able to play.
func TestPortfolio(t *testing.T) {
	text, err := os.ReadFile("testdata/portfolio.yaml")
	if err != nil {
		t.Fatal(err)
	}
	s := mustParse(t, string(text))
	talk := step(t, s, start("check my portfolio"), "id,price\nA,1\nB,\n", `{"A": 0.5}`)
	talk = step(t, s, talk, "error: the interpreter was killed")
	talk = step(t, s, talk, "v24.0.0")
	compute, err := s.Play(talk)
	if err != nil {
		t.Fatal(err)
	}
	if compute.TurnName != "compute" || !strings.Contains(compute.ToolCalls[0].Arguments, `last: B,`) ||
		!strings.Contains(compute.ToolCalls[0].Arguments, `const targets = {\"A\": 0.5};`) {
		t.Errorf("turn %q calls %+v", compute.TurnName, compute.ToolCalls)
	}
	talk = extend(talk, compute, "rows: 3\nMISSING B, C\n")
	talk = step(t, s, talk, "skip \"B\"\n")
	talk = step(t, s, talk, `{"total": 1234567.50, "below": ["A", "D"]}`)
	talk = step(t, s, talk, "written")
	want := []string{
		`{"question":"No price for B, C. What now?","options":["skip","use yesterday's"]}`,
		`{"language":"javascript","source":"const answer = \"skip \\\"B\\\"\";"}`,
		`{"path":"report.md","content":"# Report\n\n1234567.50 in all, below target: A\n"}`,
	}
	var got []string
	for _, m := range talk[len(talk)-6:] {
		for _, c := range m.ToolCalls {
			got = append(got, c.Arguments)
		}
	}
	if diff := cmp.Diff(want, got, cmp.Transformer("json", jsonIn)); diff != "" {
		t.Errorf("arguments (-want +got):\n%s", diff)
	}
	if got := said(s, talk); got != `Below target: ["A", "D"].` {
		t.Errorf("said %q", got)
	}
}
