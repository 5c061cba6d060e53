// SPDX-License-Identifier: Apache-2.0

// Package docs_test keeps the documentation true to the code, as far as that can be told by a program.
package docs_test

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"motorcortex.dev/motorcortex/internal/egress/allowlist"
)

const root = "../.."

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(path)))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// constants returns the string constants of a package whose names begin with the prefix, by name.
func constants(t *testing.T, dir, prefix string) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(dir), "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || len(spec.Values) != len(spec.Names) {
				return true
			}
			for i, name := range spec.Names {
				value, ok := spec.Values[i].(*ast.BasicLit)
				if ok && value.Kind == token.STRING && strings.HasPrefix(name.Name, prefix) {
					found[name.Name], _ = strconv.Unquote(value.Value)
				}
			}
			return true
		})
	}
	if len(found) == 0 {
		t.Fatalf("%s has no constants %s…", dir, prefix)
	}
	return found
}

// Every condition and reason has a heading. hack/apidocs refuses a reason without a meaning, or without what to do.
func TestEveryReasonIsDocumented(t *testing.T) {
	t.Parallel()
	const page = "docs/reference/reasons.md"
	reference := read(t, page)
	for _, of := range []struct{ dir, prefix, heading string }{
		{"api/v1alpha1", "Condition", "### "}, {"api/v1alpha1", "CortexReady", "### "}, {"api/v1alpha1", "Reason", "#### "}, {"internal/motorloop/outcome", "Reason", "#### "},
	} {
		for name, value := range constants(t, of.dir, of.prefix) {
			if !strings.Contains(reference, "\n"+of.heading+value+"\n") {
				t.Errorf("%s has no heading %s%s (%s of %s)", page, of.heading, value, name, of.dir)
			}
		}
	}
}

// What the egress proxy answers, writes and counts.
func TestTheProxysWordsAreDocumented(t *testing.T) {
	t.Parallel()
	const page = "docs/reference/egress-proxy.md"
	reference := read(t, page)
	for _, of := range []struct{ dir, prefix string }{
		{"internal/egress", "Reason"}, {"internal/egress/kube", "reason"},
	} {
		for name, value := range constants(t, of.dir, of.prefix) {
			if !strings.Contains(reference, "`"+value+"`") {
				t.Errorf("%s does not have `%s` (%s of %s)", page, value, name, of.dir)
			}
		}
	}
	for _, dir := range []string{"internal/egress", "internal/egress/kube"} {
		for _, name := range submatches(t, dir, metricName) {
			if name = "motorcortex_egress_" + name; !strings.Contains(reference, "`"+name) {
				t.Errorf("%s does not have the metric %s of %s", page, name, dir)
			}
		}
	}
}

// Every flag of a program is in the section of its name, and every metric of the manager in the page of metrics. Those of internal/metrics are compared
// with the page by cmd/manager.
func TestFlagsAndMetricsAreDocumented(t *testing.T) {
	t.Parallel()
	const page, metrics = "docs/reference/flags.md", "docs/reference/metrics.md"
	reference, counted := read(t, page), read(t, metrics)
	for dir, heading := range map[string]string{"cmd/manager": "Manager", "cmd/egressproxy": "Egress"} {
		for _, name := range submatches(t, dir, flagName) {
			if !strings.Contains(section(reference, heading), "\n| `--"+name+"` |") {
				t.Errorf("%s does not have the flag --%s of %s", page, name, dir)
			}
		}
	}
	for _, name := range submatches(t, "cmd/manager", managerMetric) {
		if !strings.Contains(counted, "\n| `"+name+"` |") {
			t.Errorf("%s does not have the metric %s", metrics, name)
		}
	}
}

// section returns the text below the headings of the second level that have a word.
func section(reference, word string) string {
	var text strings.Builder
	for part := range strings.SplitSeq(reference, "\n## ") {
		if title, body, _ := strings.Cut(part, "\n"); slices.Contains(strings.Fields(title), word) {
			text.WriteString(body)
		}
	}
	return text.String()
}

// submatches returns what a pattern finds in the files of a package that are no tests.
func submatches(t *testing.T, dir string, pattern *regexp.Regexp) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(dir), "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range pattern.FindAllStringSubmatch(string(content), -1) {
			found = append(found, m[1])
		}
	}
	if len(found) == 0 {
		t.Fatalf("%s has nothing like %s", dir, pattern)
	}
	return found
}

var (
	metricName = regexp.MustCompile(`Name:\s+(?:prefix \+ "|"motorcortex_egress_)(\w+)"`)
	// managerMetric does not match Leases and other objects, whose names have hyphens.
	managerMetric = regexp.MustCompile(`Name:\s+"(motorcortex_\w+)"`)
	flagName      = regexp.MustCompile(`fs\.\w+Var\(&o\.[\w.]+, "([a-z-]+)"`)
)

// The table of domains in docs/reference/api.md is what allowlist says.
func TestDomainGrammarIsTrue(t *testing.T) {
	t.Parallel()
	rows := domainRow.FindAllStringSubmatch(read(t, "docs/reference/api.md"), -1)
	for _, row := range rows {
		for _, text := range code.FindAllStringSubmatch(row[1], -1) {
			_, err := allowlist.ParseRule(text[1])
			if (err == nil) != (row[2] == "accepted") {
				t.Errorf("docs/reference/api.md says that the domain %s is %s: %v", text[1], row[2], err)
			}
			if refused, ok := errors.AsType[*allowlist.ParseError](err); ok && !strings.Contains(row[3], "`"+string(refused.Reason)+"`") {
				t.Errorf("docs/reference/api.md does not say that the domain %s is refused as %s", text[1], refused.Reason)
			}
		}
	}
	if len(rows) < 10 {
		t.Errorf("docs/reference/api.md has %d rows of domains", len(rows))
	}
}

var (
	domainRow = regexp.MustCompile(`(?m)^\| (.*) \| (accepted|refused) \| (.*) \|$`)
	code      = regexp.MustCompile("`([^`]+)`")
)

func TestEveryErrorCodeIsDocumented(t *testing.T) {
	t.Parallel()
	reference := read(t, "docs/reference/api.md")
	for _, dir := range []string{"internal/toolapi", "internal/motorloop/result"} {
		for name, value := range constants(t, dir, "Code") {
			if !strings.Contains(reference, "`"+value) {
				t.Errorf("docs/reference/api.md does not have the error code `%s` (%s of %s)", value, name, dir)
			}
		}
	}
}

var (
	link    = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ +(.*)$`)
	fence   = regexp.MustCompile("(?ms)^```.*?^```")
)

func TestLinksLeadSomewhere(t *testing.T) {
	t.Parallel()
	for _, file := range pages(t) {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(fence.ReplaceAllString(string(content), ""), -1) {
			if strings.Contains(m[1], "://") || strings.HasPrefix(m[1], "mailto:") {
				continue
			}
			path, fragment, _ := strings.Cut(m[1], "#")
			target := file
			if path != "" {
				target = filepath.Join(filepath.Dir(file), filepath.FromSlash(path))
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: there is no %s", file, m[1])
				continue
			}
			if fragment != "" && !anchors(t, target)[fragment] {
				t.Errorf("%s: there is no such heading: %s", file, m[1])
			}
		}
	}
}

// pages returns the Markdown files of the repository, but for those that tests, samples and generators read as data.
func pages(t *testing.T) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains([]string{".git", "dist", "testdata", "samples", "tasks", "kinds"}, entry.Name()):
			return filepath.SkipDir
		case !entry.IsDir() && strings.HasSuffix(path, ".md"):
			files = append(files, path)
		}
		return nil
	})
	if err != nil || len(files) < 50 {
		t.Fatalf("%d Markdown files were found: %v", len(files), err)
	}
	return files
}

// anchors are the fragments by which the headings of a file are linked to.
func anchors(t *testing.T, file string) map[string]bool {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(fence.ReplaceAllString(string(content), ""), -1) {
		found[strings.Map(func(r rune) rune {
			switch {
			case r == ' ' || r == '-':
				return '-'
			case r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
				return unicode.ToLower(r)
			}
			return -1
		}, strings.TrimSpace(m[1]))] = true
	}
	return found
}

// Every test that these documents name must exist.
func TestTestsThatAreNamed(t *testing.T) {
	t.Parallel()
	tests := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		content, err := os.ReadFile(path)
		for _, m := range testFunc.FindAllStringSubmatch(string(content), -1) {
			tests[m[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, doc := range []string{"docs/explanation/reliability.md", "docs/explanation/threat-model.md", "docs/reference/faults.md", "docs/reference/parsers.md"} {
		named := testName.FindAllStringSubmatch(read(t, doc), -1)
		for _, m := range named {
			if !tests[m[1]] {
				t.Errorf("%s names the test %s, and there is none", doc, m[1])
			}
		}
		if len(named) == 0 {
			t.Errorf("%s names no test", doc)
		}
	}
}

var (
	testFunc = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	testName = regexp.MustCompile("`((?:Test|Fuzz)\\w+)`")
)
