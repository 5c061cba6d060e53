// SPDX-License-Identifier: Apache-2.0

//go:build !faults

package main

import (
	"flag"
	"os/exec"
	"strings"
	"testing"
)

// No flag makes the shipped manager fail on purpose, and the code that the tests need for that is not in it.
func TestTheShippedManagerHasNoFaults(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for pkg := range strings.Lines(string(out)) {
		if strings.HasPrefix(pkg, "motorcortex.dev/motorcortex/test/") {
			t.Errorf("the manager is linked with %s", strings.TrimSpace(pkg))
		}
	}
	set := flag.NewFlagSet("manager", flag.ContinueOnError)
	(&options{}).bind(set)
	set.VisitAll(func(f *flag.Flag) {
		if strings.HasPrefix(f.Name, "fault") {
			t.Errorf("the manager has the flag --%s", f.Name)
		}
	})
	if faultPoint() != nil {
		t.Error("the manager has fault points")
	}
}
