// SPDX-License-Identifier: Apache-2.0

package motorcortex

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// A release has a section in the changelog; what is developed is under Unreleased.
func TestVersionIsInTheChangelog(t *testing.T) {
	t.Parallel()
	if !regexp.MustCompile(`^\d+\.\d+\.\d+(-dev)?$`).MatchString(Version()) {
		t.Fatalf("VERSION has %q", Version())
	}
	log, err := os.ReadFile("CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	section := "## [" + Version() + "]"
	if strings.HasSuffix(Version(), "-dev") {
		section = "## [Unreleased]"
	}
	if !strings.Contains(string(log), "\n"+section) || !strings.Contains(string(log), "\n## [0.1.0]") {
		t.Errorf("CHANGELOG.md has no section %s, or none of 0.1.0", section)
	}
}
