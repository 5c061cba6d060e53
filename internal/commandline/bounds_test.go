// SPDX-License-Identifier: Apache-2.0

package commandline

import (
	"strings"
	"sync"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/test/worst"
)

// mostOfALine is the most that the worst line may take. Under the race detector frames and allocations are larger.
var mostOfALine = worst.Cost{Stack: worst.Race * 8 << 20, Heap: worst.Race * 24 << 20, Time: 20 * time.Second}

// units are the parts of lines that are deep, or long, or both.
var units = []string{
	"a", "a|", "a&&", "a||", "a;", "a&", "a\n", "\n", "x ", "1 ", "eval &", "a;a|", "! ", "!", "if ", "while ", "until ", "for ", "for x in a;do ", "time ", "time a|", "select ",
	"coproc ", "coproc x ", "case a in a)", "[[ ", "[[ ! ", "((", "((!", "(((", "$((", "$((1+", "(", "{ ", "$(", "$(if ", "`", "\"$(", "\"${a:-", "${a", "${a:", "${a:-", "${a[", "${!a", "a[",
	"a[1]=", "~", "-", "+", "a=", "a?", "a?a:", "a**", "a,", "1*", "1,", "1^", "a<<", "<<a\n", "<(", "\"", "'", "$'", "f()", "f()(", "function f ", "@(", "!(", "let ", "let (",
	"do ", "then ", "else ", "elif ", "done ", "fi ", "$[", "$[a[", "$[!(", "eval ", "env ", "export ", "x=(", "a<", "a=~", "> ", "<<<", "{a,", "-a ", "-n ", "\\\n", "=", "sh -c '", ">&1 ",
	"<a ", "1^${a:", "a%$[", "((\"$(", "${a:$[", "git $x;", "find . -exec ",
}

// TestWorst has the deepest and the longest lines take no more than a line may. It has been tried with each pair of the units too.
func TestWorst(t *testing.T) {
	for _, before := range []string{"", "((", "[[ ", "a[", "${a:", "let "} {
		for _, unit := range units {
			lines := []string{before + strings.Repeat(unit, (maxLine-len(before))/len(unit))}
			if n := levels(unit + unit + " "); n > 0 {
				// The longest of this kind that is parsed.
				lines = append(lines, before+strings.Repeat(unit, min((maxLevels-8)*2/n, (maxLine-len(before))/len(unit))))
			}
			for _, line := range lines {
				worst.Within(t, "a line of "+before+unit, mostOfALine, func() {
					if l, err := Parse(line); err == nil {
						l.Disallowed([]string{"ls *"})
					}
				})
			}
		}
	}
}

// TestDeepIsUntold has lines that nest without a bracket be determined only as far as they were parsed.
func TestDeepIsUntold(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		strings.Repeat("a|", 65000) + "a", strings.Repeat("a&&", 10000) + "git push", "git push|" + strings.Repeat("a|", 15000) + "a", "((" + strings.Repeat("1*", 12000) + "a[$(git push)]))",
		strings.Repeat("! ", 9000) + "git push", strings.Repeat("if ", 9000), strings.Repeat("time ", 6000) + "git push", strings.Repeat("function f ", 2500) + "git push",
		"((" + strings.Repeat("~", 9000) + "a[$(git push)]))", "[[ " + strings.Repeat("! ", 9000) + "-n $(git push) ]]", strings.Repeat("elif ", 5000), "sh -c '" + strings.Repeat("a|", 12000) + "git push'",
	} {
		l, err := Parse(line)
		if err != nil {
			continue
		}
		if l.Named("git push *") == nil && l.Untold() == nil {
			t.Errorf("%.20q of %d bytes has nothing in it", line, len(line))
		}
		if l.Disallowed([]string{"a *", "sh *", "a"}) == "" {
			t.Errorf("%.20q of %d bytes is allowed", line, len(line))
		}
	}
}

// TestAtOnce has many lines be parsed at the same time, of which each waits for its turn.
func TestAtOnce(t *testing.T) {
	worst.Within(t, "64 lines at once", worst.Cost{Stack: maxAtOnce*mostOfALine.Stack + 64<<20, Heap: 64 * mostOfALine.Heap, Time: 5 * time.Minute}, func() {
		var all sync.WaitGroup
		for range 64 {
			all.Go(func() {
				if _, err := Parse(strings.Repeat("a|", maxLine/2-1) + "a"); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
	})
}

func TestLevels(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]int{
		"": 0, "ls -la": 0, "a|b&&c": 0, "(a)": 1, "if a; then b; elif c; then d; fi": 4, "while": 1, "whiles": 0, "xif": 0, "if\tif;if": 3, "((-1))": 3, "[ -n a ]": 2, "echo '{'": 1, "! ! a": 2,
	} {
		if got := levels(line); got != want {
			t.Errorf("%q has %d levels, want %d", line, got, want)
		}
	}
}

// FuzzBounds checks that no line panics, hangs or exceeds its bounds, and that no undetermined line is allowed.
func FuzzBounds(f *testing.F) {
	for _, line := range evasions {
		f.Add(line)
	}
	for _, unit := range units {
		f.Add(strings.Repeat(unit, 40))
	}
	f.Fuzz(func(t *testing.T, line string) {
		l, err := Parse(line)
		if err != nil {
			return
		}
		if len(line) > maxLine || levels(line) > maxLevels {
			t.Error("it is parsed beyond its bounds")
		}
		if l.Untold() != nil && l.Disallowed([]string{"ls *"}) == "" {
			t.Error("what nobody can tell is allowed")
		}
	})
}
