// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		args     []string
		code     int
		out, err string
	}{
		"nothing":      {nil, 2, "", "Usage:"},
		"help":         {[]string{"help"}, 0, "kubectl motor archive", ""},
		"unknown":      {[]string{"fly"}, 2, "", `no verb "fly"`},
		"skill":        {[]string{"skill", "help"}, 0, "kubectl motor skill approve NAME", ""},
		"an empty one": {[]string{"archive", "verify", "-"}, 1, "broken: line 1", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out, errs strings.Builder
			code := run(t.Context(), tt.args, strings.NewReader(""), &out, &errs)
			if code != tt.code || !strings.Contains(out.String(), tt.out) || !strings.Contains(errs.String(), tt.err) {
				t.Errorf("code %d, prints %q, complains %q", code, &out, &errs)
			}
		})
	}
}
