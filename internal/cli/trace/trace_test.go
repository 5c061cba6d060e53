// SPDX-License-Identifier: Apache-2.0

package trace

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"motorcortex.dev/motorcortex/internal/cli/cluster"
	"motorcortex.dev/motorcortex/internal/cli/verb"
	"motorcortex.dev/motorcortex/internal/telemetry/span/spantest"
)

func TestTree(t *testing.T) {
	t.Parallel()
	run, steps := spantest.Lived()
	var b strings.Builder
	tree(&b, run, spansOf(run, steps), spantest.At(110).Time)
	want := `SPAN                           START   DURATION   TOKENS   RESULT
portfolio                      0:00    1m50s …    150      Running
  attempt 1                    0:01    1m29s      120      Stuck
    step 1                     0:30    13.003s
      a-2026                   0:30    2.5s       120      ok
      read a\u001b[2J          0:33    3ms                 ok
      bash push                0:33    10.5s               exit_1
        approval               0:33    10s                 Approved
    the model cannot be had    1:00    30s                 ModelUnreachable
    step 2, end of the attempt 1:30    0s
  attempt 2                    1:35    15s …      30
    step 1                     1:36    14s …
      scripted/a               1:36    4s         30       ok
      bash make                1:40    10s …
      bash later
`
	if diff := cmp.Diff(strings.Join(strings.Fields(want), " "), strings.Join(strings.Fields(b.String()), " ")); diff != "" {
		t.Errorf("(-want +got):\n%s\n%s", diff, &b)
	}
	for _, row := range []string{"\n    step 1  ", "\n        approval  "} {
		if !strings.Contains(b.String(), row) {
			t.Errorf("there is no row %q in\n%s", row, &b)
		}
	}
}

func TestTheVerb(t *testing.T) {
	t.Parallel()
	scheme, err := cluster.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	run, steps := spantest.Lived()
	builder := fake.NewClientBuilder().WithScheme(scheme).WithObjects(run)
	for i := range steps {
		builder.WithObjects(&steps[i])
	}
	c := builder.Build()
	for args, want := range map[string]struct {
		code  int
		lines int
		says  string
	}{
		"portfolio":             {verb.ExitOK, 15, "      bash later"},
		"portfolio -o jsonl":    {verb.ExitOK, 14, `"kind":"Outage"`},
		"portfolio -o otlp":     {verb.ExitOK, 1, `{"resourceSpans":[`},
		"portfolio -o json":     {verb.ExitMisused, 0, ""},
		"motorrun/portfolio":    {verb.ExitOK, 15, "SPAN"},
		"there-is-none-of-this": {verb.ExitFailed, 0, ""},
	} {
		var out, errs strings.Builder
		s := verb.Streams{Out: &out, Err: &errs}
		p := verb.Program(s, "kubectl-motor", "kubectl motor", "Test.", New(s, func() (client.WithWatch, string, error) { return c, "agents", nil }))
		code := verb.Run(t.Context(), p, append([]string{"trace"}, strings.Fields(args)...))
		if code != want.code || strings.Count(out.String(), "\n") != want.lines || !strings.Contains(out.String(), want.says) {
			t.Errorf("%s: exit code %d, %s%s", args, code, &out, &errs)
		}
		if strings.HasSuffix(args, "jsonl") {
			for line := range strings.Lines(out.String()) {
				if !json.Valid([]byte(line)) {
					t.Errorf("no JSON: %s", line)
				}
			}
		}
	}
}
