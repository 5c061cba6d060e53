// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"strings"
	"testing"

	"motorcortex.dev/motorcortex"
	"motorcortex.dev/motorcortex/internal/cli/plugin"
	"motorcortex.dev/motorcortex/internal/cli/verb"
)

func TestNew(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		args     string
		code     int
		out, err string
	}{
		"nothing":            {"", verb.ExitMisused, "", "kubectl motor [command]"},
		"help":               {"help", verb.ExitOK, "Check archives of finished runs.", ""},
		"unknown":            {"fly", verb.ExitMisused, "", `no verb "fly"`},
		"help of a noun":     {"skill help", verb.ExitMisused, "", `no verb "help"`},
		"flag for its help":  {"skill --help", verb.ExitOK, "Approve a skill", ""},
		"an empty one":       {"archive verify -", verb.ExitFailed, "broken: line 1", ""},
		"version":            {"version", verb.ExitOK, motorcortex.Version() + "\n", ""},
		"flag for a version": {"--version", verb.ExitOK, motorcortex.Version() + "\n", ""},
		"flags come first":   {"-n ns --context x --kubeconfig /nonexistent archive verify file:///x --run r", verb.ExitUnknown, "", "/nonexistent"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out, errs strings.Builder
			s := verb.Streams{In: strings.NewReader(""), Out: &out, Err: &errs}
			code := verb.Run(t.Context(), plugin.New(s), strings.Fields(tt.args))
			if code != tt.code || !strings.Contains(out.String(), tt.out) || !strings.Contains(errs.String(), tt.err) {
				t.Errorf("code %d, prints %q, complains %q", code, &out, &errs)
			}
		})
	}
}
