// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/test/worst"
)

// lines is a chain of such lines, without its end.
func lines(objects ...[2]string) string {
	var b []byte
	prev := Genesis
	for i, o := range objects {
		b, prev = appendLine(b, i+1, prev, o[0], []byte(o[1]))
	}
	return string(b)
}

const ofRun = `{"kind":"MotorRun","metadata":{"name":"r","namespace":"n","uid":"u"}}`

// TestWorst has an archive that its bucket made up take no more than the manager has for the one that it reads at a time.
func TestWorst(t *testing.T) {
	const most = MaxLine - 1<<10
	fill := func(before, unit, after string) string {
		return before + strings.Repeat(unit, (most-len(before)-len(after))/len(unit)) + after
	}
	objects := map[string]string{
		"owners":      fill(`{"kind":"MotorRun","metadata":{"name":"r","uid":"u","ownerReferences":[`, `{},`, `{}]}}`),
		"named":       fill(`{"kind":"MotorRun","metadata":{"name":"r","uid":"u","ownerReferences":[`, `{"uid":"a"},`, `{}]}}`),
		"metadata":    fill(`{"kind":"MotorRun"`, `,"metadata":{}`, `}`),
		"a long name": fill(`{"kind":"MotorRun","metadata":{"uid":"u","name":"`, `a`, `"}}`),
		"escapes":     fill(`{"kind":"MotorRun","metadata":{"uid":"u","name":"`, `\u0000`, `"}}`),
		"deep":        fill(`{"metadata":`, `[`, ``),
		"other keys":  fill(`{"kind":"MotorRun","metadata":{"name":"r","uid":"u"}`, `,"a":[{}]`, `}`),
	}
	bounds := worst.Cost{Stack: worst.Race << 20, Heap: worst.Race * 16 << 20, Time: 30 * time.Second}
	for name, object := range objects {
		whole := lines([2]string{KindRun, object})
		worst.Within(t, name, bounds, func() { _ = Verify(strings.NewReader(whole), "") })
		changed := strings.Replace(whole, "MotorRun", "MotorRum", 1)
		worst.Within(t, name+", changed", bounds, func() { _ = Verify(strings.NewReader(changed), "") })
	}
	worst.Within(t, "a line without an end", bounds, func() { _ = Verify(strings.NewReader(strings.Repeat("[", 2*MaxLine)), "") })
}

// TestLongNamesAreNoObjects checks that the memory for a chain stays small, however many lines it has.
func TestLongNamesAreNoObjects(t *testing.T) {
	t.Parallel()
	step := func(name string) [2]string {
		return [2]string{KindStep, fmt.Sprintf(`{"kind":"MotorStep","metadata":{"name":%q,"namespace":"n","ownerReferences":[{"uid":"u"}]},"spec":{"index":1}}`, name)}
	}
	long := strings.Repeat("a", 254)
	for name, tt := range map[string]struct {
		text string
		line int
	}{
		"a step":            {lines([2]string{KindRun, ofRun}, step(long)), 2},
		"a run":             {lines([2]string{KindRun, strings.Replace(ofRun, `"name":"r"`, `"name":"`+long+`"`, 1)}), 1},
		"a run's namespace": {lines([2]string{KindRun, strings.Replace(ofRun, `"n"`, `"`+long+`"`, 1)}), 1},
		"a run's UID":       {lines([2]string{KindRun, strings.Replace(ofRun, `"u"`, `"`+long+`"`, 1)}), 1},
	} {
		err := Verify(strings.NewReader(tt.text), "")
		if b, ok := errors.AsType[*BrokenLink](err); !ok || b.Line != tt.line || !strings.Contains(b.Problem, "its object is no Motor") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := Verify(strings.NewReader(lines([2]string{KindRun, ofRun}, step(long[:253]))), ""); err == nil || !strings.Contains(err.Error(), "the chain has no end") {
		t.Errorf("the longest name gives %v", err)
	}
}
