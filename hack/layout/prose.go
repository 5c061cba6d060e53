// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// phrase is a way to say something that the style rules out.
type phrase struct {
	pattern *regexp.Regexp
	// instead is what to write.
	instead string
	// today is how many comments have it. The number only ever gets smaller.
	today int
}

var phrases = []phrase{
	{regexp.MustCompile(`\b(says|tells) whether\b`), "reports whether", 0},
	{regexp.MustCompile(`^\s*// \w+ gives\b`), "returns", 0},
	{regexp.MustCompile(`(?i)\b(nobody|somebody|whoever)\b`), "a subject that has a name: the controller, a client, a person", 0},
}

// prose counts the phrases in comments of the product's code.
func prose(root string) ([]string, error) {
	count := make([]int, len(phrases))
	last := make([]string, len(phrases))
	err := production(root, func(file string) error {
		b, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			return err
		}
		for i, line := range strings.Split(string(b), "\n") {
			if !strings.HasPrefix(strings.TrimSpace(line), "//") {
				continue
			}
			for p := range phrases {
				if phrases[p].pattern.MatchString(line) {
					count[p]++
					last[p] = fmt.Sprintf("%s:%d", filepath.ToSlash(file), i+1)
				}
			}
		}
		return nil
	})
	var found []string
	for p, ph := range phrases {
		switch {
		case count[p] > ph.today:
			found = append(found, fmt.Sprintf("%d comments have %s, %d more than there may be (%s is one): write %s", count[p], ph.pattern, count[p]-ph.today, last[p], ph.instead))
		case count[p] < ph.today:
			found = append(found, fmt.Sprintf("%d comments have %s: phrases in hack/layout must say so, in place of %d", count[p], ph.pattern, ph.today))
		}
	}
	return found, err
}
