// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"motorcortex.dev/motorcortex/test/eval/internal/task"
	"motorcortex.dev/motorcortex/test/eval/internal/tree"
)

// names reports whether one of the patterns names the path; a pattern without a star is a path, or a folder with a slash.
func names(patterns []string, path string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return tree.Match(p, path) })
}

// same wants the named files as they were given: none changed, none missing, none more in a named folder.
func same(given, now tree.Tree, patterns []string) (problems []string) {
	for _, path := range given.With(now).Paths() {
		if !names(patterns, path) {
			continue
		}
		was, had := given[path]
		is, has := now[path]
		switch {
		case !has:
			problems = append(problems, path+" is gone")
		case !had:
			problems = append(problems, path+" was added")
		case !bytes.Equal(was, is):
			problems = append(problems, path+" was changed")
		}
	}
	return problems
}

func absent(now tree.Tree, patterns []string) (problems []string) {
	for _, path := range now.Paths() {
		if names(patterns, path) {
			problems = append(problems, path+" is there")
		}
	}
	return problems
}

func text(summary string, now tree.Tree, c task.Text) (problems []string) {
	where, content := "the summary", summary
	if c.Path != "" {
		bytes, has := now[c.Path]
		if !has {
			return []string{c.Path + " is missing"}
		}
		where, content = c.Path, string(bytes)
	}
	for _, p := range c.Must {
		if !regexp.MustCompile(p).MatchString(content) {
			problems = append(problems, fmt.Sprintf("%s does not have %s", where, p))
		}
	}
	for _, p := range c.MustNot {
		if found := regexp.MustCompile(p).FindString(content); found != "" {
			problems = append(problems, fmt.Sprintf("%s has %q", where, found))
		}
	}
	return problems
}

func asked(questions []task.Question, c task.Asked) []string {
	pattern := regexp.MustCompile("(?is)" + c.Match)
	n := 0
	for _, q := range questions {
		if q.Kind == c.Kind && pattern.MatchString(q.Text) && (c.Decision == "" || c.Decision == q.Decision) {
			n++
		}
	}
	least := c.Min
	if least == 0 && c.Max == nil {
		least = 1
	}
	what := strings.TrimSpace(fmt.Sprintf("%s %s %s", c.Decision, c.Kind, c.Match))
	switch {
	case n < least:
		return []string{fmt.Sprintf("the person was asked %d times for %q, and not %d times", n, what, least)}
	case c.Max != nil && n > *c.Max:
		return []string{fmt.Sprintf("the person was asked %d times for %q, and at most %d are right", n, what, *c.Max)}
	}
	return nil
}

func equal(now tree.Tree, want []byte, c task.Equal) []string {
	is, has := now[c.Path]
	if !has {
		return []string{c.Path + " is missing"}
	}
	var err error
	switch c.As {
	case "json":
		err = equalJSON(is, want)
	case "csv":
		err = equalCSV(is, want, c.Unordered)
	default:
		err = equalText(is, want)
	}
	if err != nil {
		return []string{c.Path + ": " + err.Error()}
	}
	return nil
}

// equalText compares lines, without white space at their ends and empty lines at the end.
func equalText(is, want []byte) error {
	lines := func(b []byte) []string {
		all := strings.Split(strings.TrimRight(string(b), " \t\r\n"), "\n")
		for i := range all {
			all[i] = strings.TrimRight(all[i], " \t\r")
		}
		return all
	}
	a, b := lines(is), lines(want)
	for i := range max(len(a), len(b)) {
		switch {
		case i >= len(a):
			return fmt.Errorf("line %d is missing: %q", i+1, b[i])
		case i >= len(b):
			return fmt.Errorf("line %d is too much: %q", i+1, a[i])
		case a[i] != b[i]:
			return fmt.Errorf("line %d is %q, want %q", i+1, a[i], b[i])
		}
	}
	return nil
}

func equalJSON(is, want []byte) error {
	var a, b any
	if err := json.Unmarshal(is, &a); err != nil {
		return fmt.Errorf("it is no JSON: %w", err)
	}
	if err := json.Unmarshal(want, &b); err != nil {
		return fmt.Errorf("what is expected is no JSON: %w", err)
	}
	return equalValue("$", a, b)
}

// equalValue compares two JSON values; numbers may differ by a rounding error.
func equalValue(at string, is, want any) error {
	switch want := want.(type) {
	case map[string]any:
		is, ok := is.(map[string]any)
		if !ok {
			return fmt.Errorf("%s is no object", at)
		}
		// In the order of the keys, so that the same outcome is refused with the same words.
		for _, key := range slices.Sorted(maps.Keys(is)) {
			if _, ok := want[key]; !ok {
				return fmt.Errorf("%s.%s is too much", at, key)
			}
		}
		for _, key := range slices.Sorted(maps.Keys(want)) {
			if _, ok := is[key]; !ok {
				return fmt.Errorf("%s.%s is missing", at, key)
			}
			if err := equalValue(at+"."+key, is[key], want[key]); err != nil {
				return err
			}
		}
		return nil
	case []any:
		is, ok := is.([]any)
		if !ok || len(is) != len(want) {
			return fmt.Errorf("%s is no list of %d", at, len(want))
		}
		for i := range want {
			if err := equalValue(fmt.Sprintf("%s[%d]", at, i), is[i], want[i]); err != nil {
				return err
			}
		}
		return nil
	case float64:
		if is, ok := is.(float64); ok && near(is, want) {
			return nil
		}
	default:
		if is == want {
			return nil
		}
	}
	return fmt.Errorf("%s is %v, want %v", at, is, want)
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(1, math.Abs(a), math.Abs(b)) }

func equalCSV(is, want []byte, unordered bool) error {
	read := func(b []byte) ([][]string, error) {
		r := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(b, []byte("\uFEFF"))))
		rows, err := r.ReadAll()
		for _, row := range rows {
			for i, cell := range row {
				row[i] = strings.TrimSpace(cell)
			}
		}
		if unordered && len(rows) > 1 {
			slices.SortFunc(rows[1:], slices.Compare)
		}
		return rows, err
	}
	a, err := read(is)
	if err != nil {
		return fmt.Errorf("it is no CSV: %w", err)
	}
	b, err := read(want)
	if err != nil {
		return fmt.Errorf("what is expected is no CSV: %w", err)
	}
	if len(a) != len(b) {
		return fmt.Errorf("it has %d lines, want %d", len(a), len(b))
	}
	for i := range a {
		if !slices.EqualFunc(a[i], b[i], sameCell) {
			return fmt.Errorf("line %d (of the sorted ones, if any order is right) is %q, want %q", i+1, a[i], b[i])
		}
	}
	return nil
}

// sameCell takes 12.5 for 12.50, and no identifier such as 007 for a number.
func sameCell(a, b string) bool {
	if a == b {
		return true
	}
	if !strings.Contains(b, ".") {
		return false
	}
	x, err := strconv.ParseFloat(a, 64)
	y, err2 := strconv.ParseFloat(b, 64)
	return err == nil && err2 == nil && near(x, y)
}
