// SPDX-License-Identifier: Apache-2.0

package pass

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/oneshot"
)

const hostile = "\x1b[2J\u202eevil\u200b\x9b\u0085\r\x07\U000E0041"

// fill puts the hostile text into every string that there is.
func fill(v reflect.Value) {
	switch v.Kind() { //nolint:exhaustive // nothing else has strings in it
	case reflect.String:
		v.SetString(hostile)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i))
			}
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() != reflect.Uint8 {
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
			fill(v.Index(0))
		}
	case reflect.Map:
		item := reflect.New(v.Type().Elem()).Elem()
		fill(item)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf("key").Convert(v.Type().Key()), item)
	}
}

// TestStatusIsPrintable walks over every string of every status.
func TestStatusIsPrintable(t *testing.T) {
	t.Parallel()
	var run v1alpha1.MotorRunStatus
	var skill v1alpha1.SkillStatus
	var revision v1alpha1.SkillRevisionStatus
	for _, st := range []any{&run, &skill, &revision} {
		fill(reflect.ValueOf(st).Elem())
		before, err := json.Marshal(st)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(before), "evil"); n < 9 {
			t.Fatalf("%T has %d strings", st, n)
		}
	}
	PrintRun(&run)
	PrintSkill(&skill)
	PrintRevision(&revision)
	for _, st := range []any{run, skill, revision} {
		// Not JSON, which escapes.
		shown := fmt.Sprint(flat(reflect.ValueOf(st)))
		if strings.ContainsAny(shown, "\x1b\u202e\u200b\r\x07\U000E0041\u0085\u009b") || !strings.Contains(shown, "evil") {
			t.Errorf("%T: %q", st, shown)
		}
	}
}

// flat returns every string in a value.
func flat(v reflect.Value) (all []string) {
	switch v.Kind() { //nolint:exhaustive // nothing else has strings in it
	case reflect.String:
		return []string{v.String()}
	case reflect.Pointer:
		if !v.IsNil() {
			return flat(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				all = append(all, flat(v.Field(i))...)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			all = append(all, flat(v.Index(i))...)
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			all = append(all, flat(v.MapIndex(key))...)
		}
	}
	return all
}

// TestPrintJSON checks that a value has the same meaning as before.
func TestPrintJSON(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"a\u202eb", "\U000E0041\u009b", "plain", "\u200b"} {
		in := `{"value":"` + s + `"}`
		var before, after any
		got := printJSON(in)
		if err := json.Unmarshal([]byte(in), &before); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(got), &after); err != nil || !reflect.DeepEqual(before, after) || strings.ContainsAny(got, "\u202e\u009b\u200b\U000E0041") {
			t.Errorf("%q: %q, %v", in, got, err)
		}
	}
	// As long as it may be and still as the code gave it, and beyond that.
	for size, want := range map[int]bool{20 << 10: true, 33 << 10: false} {
		in := `{"value":"` + "\u202e" + strings.Repeat("v", size) + `"}`
		if got := printJSON(in); strings.Contains(got, "\u202e") || strings.Contains(got, `\u202e`) != want {
			t.Errorf("of %d bytes there are %d: %.30q", len(in), len(got), got)
		}
	}
	long := `{"value":"` + strings.Repeat("\u202e", 9000) + `"}`
	if got := printJSON(long); !oneshot.Fits(got) || strings.Contains(got, "\u202e") {
		t.Errorf("%d bytes", len(got))
	}
}
