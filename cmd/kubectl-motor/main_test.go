// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"testing"
)

// kubectl starts a program of that name to complete words.
func TestALinkCompletes(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ args, want []string }{
		"the program":     {[]string{"/usr/bin/kubectl-motor", "inbox", "-A"}, []string{"inbox", "-A"}},
		"nothing after":   {[]string{"kubectl-motor"}, nil},
		"a link to it":    {[]string{"/usr/bin/kubectl_complete-motor", "skill", ""}, []string{"__complete", "skill", ""}},
		"one on Windows":  {[]string{"kubectl_complete-motor.exe", "s"}, []string{"__complete", "s"}},
		"another's name":  {[]string{"kubectl_complete-motors", "s"}, []string{"s"}},
		"completes empty": {[]string{"kubectl_complete-motor", ""}, []string{"__complete", ""}},
	} {
		if got := arguments(tt.args); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
