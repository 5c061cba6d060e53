// SPDX-License-Identifier: Apache-2.0

package verb_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"motorcortex.dev/motorcortex/internal/cli/verb"
)

// counter is a program with one verb in one group.
func counter(s verb.Streams) *cobra.Command {
	count := &cobra.Command{Use: "count THING [PLACE]", Args: verb.Args("the THING", "PLACE?")}
	from := count.Flags().Int("from", 0, "where to begin")
	count.Flags().Bool("up", false, "")
	count.Flags().Bool("down", false, "")
	count.MarkFlagsMutuallyExclusive("up", "down")
	count.RunE = verb.Asks(func(cmd *cobra.Command, args []string) error {
		switch args[0] {
		case "wool":
			return fmt.Errorf("count: %w", verb.Misusedf("wool cannot be counted"))
		case "stars":
			return errors.New("there are clouds")
		case "unicorns":
			return fmt.Errorf("none: %w", verb.ErrNo)
		case "people":
			return verb.ErrWaits
		case "grains":
			return fmt.Errorf("after a minute: %w", verb.ErrTimeout)
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s, from %d, in %q\n", args[0], *from, verb.Arg(args, 1))
		return nil
	})
	drop := &cobra.Command{Use: "drop", Args: verb.Args(), RunE: func(*cobra.Command, []string) error { return errors.New("it stays") }}
	return verb.Program(s, "kubectl-things", "kubectl things", "Count things.", verb.Group("many", "Many things.", count, drop))
}

func TestRun(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		args      string
		code      int
		out, errs string
	}{
		"nothing":             {"", verb.ExitMisused, "", "Count things."},
		"no verb":             {"many", verb.ExitMisused, "", "kubectl things many [command]"},
		"help":                {"help", verb.ExitOK, "Count things.", ""},
		"flag for help":       {"-h", verb.ExitOK, "Count things.", ""},
		"no such noun":        {"man", verb.ExitMisused, "", "error: there is no verb \"man\": is it many?\n\nUsage:\n  kubectl things "},
		"no such verb":        {"many weigh", verb.ExitMisused, "", "error: there is no verb \"weigh\"\n\nUsage:\n  kubectl things many "},
		"done":                {"many count sheep", verb.ExitOK, "sheep, from 0, in \"\"\n", ""},
		"flags after":         {"many count sheep field --from 7", verb.ExitOK, "sheep, from 7, in \"field\"\n", ""},
		"help of a verb":      {"many count --help", verb.ExitOK, "--from int   where to begin", ""},
		"argument is missing": {"many count", verb.ExitMisused, "", "error: the THING is missing\n\nUsage:\n  kubectl things many count THING [PLACE] [flags]\n\n\"kubectl things many count --help\" says more.\n"},
		"too many":            {"many count sheep field a b", verb.ExitMisused, "", "error: too many arguments: a b\n"},
		"foreign text":        {"many count sheep field \x1b[2J\u202e", verb.ExitMisused, "", "error: too many arguments: \\u001b[2J\\u202e\n"},
		"no such flag":        {"many count --to", verb.ExitMisused, "", "error: unknown flag: --to\n\nUsage:"},
		"no number":           {"many count sheep --from x", verb.ExitMisused, "", "error: --from: \"x\" is no whole number\n\nUsage:"},
		"too large a number":  {"many count sheep --from 99999999999999999999", verb.ExitMisused, "", "error: --from: \"99999999999999999999\" is too large or too small a number\n"},
		"neither yes nor no":  {"many count sheep --up=x", verb.ExitMisused, "", "error: --up: \"x\" is neither true nor false\n"},
		"flags exclude":       {"many count sheep --up --down", verb.ExitMisused, "", "none of the others can be"},
		"wrong value":         {"many count wool", verb.ExitMisused, "", "error: count: wool cannot be counted\n\nUsage:"},
		"not found out":       {"many count stars", verb.ExitUnknown, "", "error: there are clouds\n"},
		"not done":            {"many drop", verb.ExitFailed, "", "error: it stays\n"},
		"answer is no":        {"many count unicorns", verb.ExitFailed, "", ""},
		"waits":               {"many count people", verb.ExitWaits, "", ""},
		"timeout":             {"many count grains", verb.ExitTimeout, "", "error: after a minute: the time is over\n"},
		"completion":          {"completion bash", verb.ExitOK, "__start_kubectl-things", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out, errs bytes.Buffer
			code := verb.Run(t.Context(), counter(verb.Streams{Out: &out, Err: &errs}), strings.Fields(tt.args))
			if code != tt.code {
				t.Errorf("exit code %d, want %d", code, tt.code)
			}
			for what, got := range map[string][2]string{"data": {out.String(), tt.out}, "complaints": {errs.String(), tt.errs}} {
				if !strings.Contains(got[0], got[1]) || (got[1] == "") != (got[0] == "") {
					t.Errorf("%s are %q, want %q", what, got[0], got[1])
				}
			}
		})
	}
}
