// SPDX-License-Identifier: Apache-2.0

package scale

import (
	"os"
	"strings"
	"testing"
)

func TestSimulatedDays(t *testing.T) {
	page, err := os.ReadFile("../../docs/scale.md")
	if err != nil {
		t.Fatal(err)
	}
	if table := Table(Cases()); !strings.Contains(string(page), "\n"+table+"\n") {
		t.Errorf("docs/scale.md must have this table:\n%s", table)
	}
}
