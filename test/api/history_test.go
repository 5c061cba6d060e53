// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/test/bench/history"
)

// manyEnded is four times what `list` reads without a --limit.
const manyEnded = 2000

// A namespace keeps runs for days after their end. The few that have not ended are found among them without reading them all.
func TestRunsThatHaveNotEndedAreListedBeforeAllThatHave(t *testing.T) {
	r := askingRig(t)
	dana := r.sits("dana@"+r.ns, mayRespond, mayRead)
	r.asked(1, `{"question":"Which?","options":["a"]}`)
	// Names decide what the API server puts on its first page, and both of these come after all others.
	createRun(r.ctx, t, r.ns, named("zz-new"))
	must(t, history.Fill(r.ctx, admin, manager, r.ns, manyEnded))

	code, out, errs := dana.does("list")
	lines := strings.Count(out, "\n")
	if code != 0 || lines != 501 || !strings.Contains(out, "\nzz-new ") || !strings.Contains(out, "question: Which?") {
		t.Errorf("list ends with %d and prints %d lines; it has the new run: %t, and the one that asks: %t",
			code, lines, strings.Contains(out, "\nzz-new "), strings.Contains(out, "question: Which?"))
	}
	if want := "note: 500 of 2002 runs are shown"; !strings.Contains(errs, want) {
		t.Errorf("standard error has no %q: %s", want, errs)
	}
	for args, want := range map[string]int{"list -o name": 2002, "list -o name --limit 3": 3, "list --limit 0": 2003, "list --limit 3000": 2003} {
		if _, out, _ := dana.does(strings.Fields(args)...); strings.Count(out, "\n") != want {
			t.Errorf("%s prints %d lines, want %d", args, strings.Count(out, "\n"), want)
		}
	}
	dana.want(4, "list --limit -1", "--limit is -1")
	dana.want(0, "inbox", "run ", "Which?")
	if _, out, _ := dana.does("inbox", "-o", "name"); strings.Count(out, "\n") != 1 {
		t.Errorf("the inbox has %q", out)
	}
}
