// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// phrases are ways to say something that the style rules out, each with what to write instead.
var phrases = []struct {
	pattern *regexp.Regexp
	instead string
}{
	{regexp.MustCompile(`\b(says|tells) whether\b`), "reports whether"},
	{regexp.MustCompile(`^\s*// \w+ gives\b`), "returns"},
	{regexp.MustCompile(`(?i)\b(nobody|somebody|whoever)\b`), "a subject that has a name: the controller, a client, a person"},
}

// prose finds comments of the product's code that have one of the phrases.
func prose(root string) ([]string, error) {
	var found []string
	err := production(root, func(file string) error {
		b, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			return err
		}
		for i, line := range strings.Split(string(b), "\n") {
			if !strings.HasPrefix(strings.TrimSpace(line), "//") {
				continue
			}
			for _, p := range phrases {
				if words := p.pattern.FindString(line); words != "" {
					found = append(found, fmt.Sprintf("%s:%d: %q: write %s", filepath.ToSlash(file), i+1, strings.TrimLeft(words, "/ \t"), p.instead))
				}
			}
		}
		return nil
	})
	return found, err
}
