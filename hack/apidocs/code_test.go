// SPDX-License-Identifier: Apache-2.0

package main

import "testing"

func TestFormatter(t *testing.T) {
	t.Parallel()
	format := formatter([]reason{{value: "SandboxLost"}, {value: "Timeout"}})
	for text, want := range map[string]string{
		"Set spec.limits.maxTokens.":               "Set `spec.limits.maxTokens`.",
		"`spec.task` stays":                        "`spec.task` stays",
		"the flag --max-loops, or timeoutSeconds":  "the flag `--max-loops`, or `timeoutSeconds`",
		"SandboxLost is code, Timeout is a word":   "`SandboxLost` is code, Timeout is a word",
		"known as <credential:name> to it":         "known as `<credential:name>` to it",
		"label motorcortex.dev/component=sandbox,": "label `motorcortex.dev/component=sandbox`,",
		"a MotorRun of example.org":                "a MotorRun of example.org",
	} {
		if got := format(text); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
