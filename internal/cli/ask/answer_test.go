// SPDX-License-Identifier: Apache-2.0

package ask

import (
	"testing"

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
