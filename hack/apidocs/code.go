// SPDX-License-Identifier: Apache-2.0

package main

import (
	"regexp"
	"strings"
)

var (
	// codeWord matches what is code already, what Markdown would take for a tag, flags, and words.
	codeWord   = regexp.MustCompile("`[^`]*`|<[^<>\\s]+>|--[a-z][a-z-]+|[A-Za-z][\\w./=\\[\\]-]*\\w(?:\\[\\])?")
	lowerCamel = regexp.MustCompile(`^[a-z]+[A-Z]\w*$`)
	fieldPath  = regexp.MustCompile(`^(?:spec|status|sandbox|result|limits|concurrency|egress|action|config|retention)[.\[/][\w.\[\]/-]+$`)
	compound   = regexp.MustCompile(`^[A-Z]\w*[a-z][A-Z]`)
)

// formatter returns a function that sets the names of fields, flags, labels and reasons in a sentence as code. What is code already stays.
func formatter(list []reason) func(string) string {
	names := map[string]bool{}
	for _, r := range list {
		names[r.value] = true
	}
	return func(text string) string {
		return codeWord.ReplaceAllStringFunc(text, func(word string) string {
			switch {
			case strings.HasPrefix(word, "`"):
				return word
			case strings.HasPrefix(word, "<"), strings.HasPrefix(word, "--"), lowerCamel.MatchString(word), fieldPath.MatchString(word),
				names[word] && compound.MatchString(word),
				strings.HasPrefix(word, "motorcortex.dev/"), strings.HasPrefix(word, "app.kubernetes.io/"):
				return "`" + word + "`"
			}
			return word
		})
	}
}
