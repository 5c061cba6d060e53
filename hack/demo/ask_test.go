// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"testing"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

func TestChosen(t *testing.T) {
	input := &v1alpha1.PendingInput{Options: []string{"use it", "skip it"}, Default: "skip it"}
	for typed, want := range map[string]string{"": "skip it", " 1 ": "use it", "2": "skip it", "3": "3", "use 12.50": "use 12.50"} {
		if got := chosen(input, typed); got != want {
			t.Errorf("%q chooses %q, not %q", typed, got, want)
		}
	}
	if got := chosen(&v1alpha1.PendingInput{}, " "); got != "" {
		t.Errorf("nothing chooses %q where there is no default", got)
	}
}

func TestUnattended(t *testing.T) {
	both := &v1alpha1.PendingInput{Options: []string{"use it", "skip it"}, Default: "skip it"}
	tests := map[string]struct {
		input *v1alpha1.PendingInput
		given string
		first bool
		want  string
	}{
		"given":                {both, "stop", true, "stop"},
		"given, asked again":   {both, "stop", false, "skip it"},
		"default":              {both, "", true, "skip it"},
		"first option":         {&v1alpha1.PendingInput{Options: both.Options}, "", true, "use it"},
		"nothing to go by":     {&v1alpha1.PendingInput{}, "", true, ""},
		"given, but too late":  {&v1alpha1.PendingInput{}, "stop", false, ""},
		"a retry":              {&v1alpha1.PendingInput{Kind: v1alpha1.InputRetry, Question: "It failed."}, "stop", true, ""},
		"an unknown outcome":   {&v1alpha1.PendingInput{Kind: v1alpha1.InputOutcomeUnknown, Options: []string{"Retry", "Skip"}}, "Retry", true, "Skip"},
		"given without choice": {&v1alpha1.PendingInput{}, "stop", true, "stop"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, why, err := unattended(tt.input, tt.given, tt.first)
			if got != tt.want || (err == nil) != (tt.want != "") || (why == "") != (tt.want == "") {
				t.Errorf("answer %q because %q, %v; want %q", got, why, err, tt.want)
			}
		})
	}
}

func TestInteractive(t *testing.T) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	if interactive(null) {
		t.Error("nobody types at the null device")
	}
}
