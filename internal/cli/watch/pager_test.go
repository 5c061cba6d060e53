// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A model must not write a row that looks like one of this program's, however narrow the window is.
func TestWrap(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		line  string
		width int
		want  string
	}{
		"fits":             {"digest: x", 9, "digest: x"},
		"is cut":           {"digest: xyz", 9, "digest: x/yz"},
		"keeps its mark":   {"  | digest: xyz", 12, "  | digest: /  | xyz"},
		"keeps its spaces": {"  | a   b", 8, "  | a   /  | b"},
		"is empty":         {"  | ", 8, "  | "},
		"wide characters":  {"  | 漢字漢字", 8, "  | 漢字/  | 漢字"},
		"a tab":            {"  | \ta", 8, "  |     /  | a"},
		"no window at all": {"  | abcdef", 0, "  | abcd/  | ef"},
	} {
		if diff := cmp.Diff(strings.Split(tt.want, "/"), wrap(tt.line, tt.width)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestPager(t *testing.T) {
	t.Parallel()
	sees := func(p *pager, height int, want string) {
		t.Helper()
		if got := strings.Join(p.window(height), " "); got != want {
			t.Errorf("it shows %q, want %q", got, want)
		}
	}
	log := pager{follows: true, tail: true}
	log.resize(80)
	log.add("1", "2", "3", "4")
	sees(&log, 2, "3 4")
	log.key("up")
	log.add("5")
	sees(&log, 2, "2 3")
	log.key("pgdown")
	log.key("down")
	log.key("down")
	log.add("6")
	sees(&log, 2, "5 6")
	if log.key("x") {
		t.Error("x scrolls")
	}

	text := pager{}
	text.resize(80)
	text.add("1", "2", "3", "4")
	sees(&text, 2, "1 2")
	if text.read || text.more() != 2 {
		t.Errorf("it is read with %d more", text.more())
	}
	sees(&text, 0, "")
	if text.read {
		t.Error("it is read in no window")
	}
	sees(&text, 2, "1 2")
	text.key("pgdown")
	text.key("pgdown")
	sees(&text, 2, "3 4")
	if !text.read || text.more() != 0 {
		t.Error("it is not read")
	}
}
