// SPDX-License-Identifier: Apache-2.0

package prompt

import (
	"strings"
	"testing"
)

func TestPage(t *testing.T) {
	t.Parallel()
	p := &page{}
	p.add("first")
	p.section("Title")
	p.line("- items", ":")
	p.list([]string{"a", "b"}, strings.ToUpper)
	p.more(0)
	p.more(2)
	if want := "first\n\n# Title\n- items:\n  - A\n  - B\n  - and 2 more"; p.b.String() != want {
		t.Errorf("the page is %q, want %q", p.b.String(), want)
	}
}
