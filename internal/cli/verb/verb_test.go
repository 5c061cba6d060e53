// SPDX-License-Identifier: Apache-2.0

package verb_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"motorcortex.dev/motorcortex/internal/cli/verb"
)

const usage = "Count things.\n"

func TestRun(t *testing.T) {
	t.Parallel()
	const flags = "\nFlags:\n      --from int   where to begin\n"
	for name, tt := range map[string]struct {
		args      []string
		code      int
		out, errs string
	}{
		"nothing":             {nil, verb.ExitFailed, "", usage},
		"help":                {[]string{"help"}, verb.ExitOK, usage, ""},
		"flag for help":       {[]string{"-h"}, verb.ExitOK, usage, ""},
		"no such verb":        {[]string{"weigh"}, verb.ExitFailed, "", "error: there is no verb \"weigh\"\n\n" + usage},
		"done":                {[]string{"count", "sheep"}, verb.ExitOK, "sheep, from 0, in \"\"\n", ""},
		"flags after":         {[]string{"count", "sheep", "field", "--from", "7"}, verb.ExitOK, "sheep, from 7, in \"field\"\n", ""},
		"help of a verb":      {[]string{"count", "--help"}, verb.ExitOK, usage + flags, ""},
		"argument is missing": {[]string{"count"}, verb.ExitFailed, "", "error: the THING is missing\n\n" + usage},
		"too many":            {[]string{"count", "sheep", "field", "a", "b"}, verb.ExitFailed, "", "error: too many arguments: a b\n\n" + usage},
		"no such flag":        {[]string{"count", "--to"}, verb.ExitFailed, "", "error: unknown flag: --to\n\n" + usage},
		"wrong value":         {[]string{"count", "wool"}, verb.ExitFailed, "", "error: count: wool cannot be counted\n\n" + usage},
		"fails":               {[]string{"count", "stars"}, verb.ExitFailed, "", "error: there are clouds\n"},
		"answer is no":        {[]string{"count", "unicorns"}, verb.ExitNo, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out, errs bytes.Buffer
			noun := verb.Noun{Out: &out, Err: &errs, Usage: usage}
			noun.Verbs = map[string]func(context.Context, []string) error{
				"count": func(_ context.Context, args []string) error {
					fs := pflag.NewFlagSet("count", pflag.ContinueOnError)
					from := fs.Int("from", 0, "where to begin")
					if err := verb.Parse(fs, args, "the THING", "PLACE?"); err != nil {
						return err
					}
					switch fs.Arg(0) {
					case "wool":
						return fmt.Errorf("count: %w", verb.Misused(errors.New("wool cannot be counted")))
					case "stars":
						return errors.New("there are clouds")
					case "unicorns":
						return fmt.Errorf("none: %w", verb.ErrNo)
					}
					fmt.Fprintf(&out, "%s, from %d, in %q\n", fs.Arg(0), *from, fs.Arg(1))
					return nil
				},
			}
			code := noun.Run(t.Context(), tt.args)
			if code != tt.code {
				t.Errorf("exit code %d, want %d", code, tt.code)
			}
			if diff := cmp.Diff([]string{tt.out, tt.errs}, []string{out.String(), errs.String()}); diff != "" {
				t.Errorf("what is said (-want +got):\n%s", diff)
			}
		})
	}
}
