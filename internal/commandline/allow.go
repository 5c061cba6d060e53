// SPDX-License-Identifier: Apache-2.0

package commandline

import (
	"fmt"
	"iter"
	"strings"
)

// Disallowed returns why an allowlist of patterns does not allow the line, "" if it does: every command that the line can run must match
// one of the patterns.
//
// A pattern is the words of a command, separated by single spaces. They are compared one by one and in order, a star standing for any text
// in one word. A star alone, as the last word, is any further arguments, also none; as the only word it is any command. A word that is not
// static matches a star alone only. A word that may expand to several words matches only a star at the end of the pattern. The name of a
// command must be as it is in the pattern: one with a slash does not match one without, and a star in it stands for no slash.
//
// Every command counts that bash runs, its builtins too. Programs that start others, such as env, xargs and find, must match, and so must
// the programs that they start. Assignments, conditions in [[ ]], arithmetic and redirections are allowed, except for variables that may
// change the meaning of a name. The pattern must name a file that a shell is to run, without a star: bash * does not allow bash x.sh.
func (l *List) Disallowed(patterns []string) string {
	for why, told := range l.unmatched(patterns) {
		if told {
			return "the command is not allowed: " + why
		}
		return why
	}
	return ""
}

// unmatched returns the commands that match none of the patterns. The second value is false if the command cannot be determined: then the
// first one is the reason for that, with the command.
func (l *List) unmatched(patterns []string) iter.Seq2[string, bool] {
	split := make([][]string, 0, len(patterns))
	for _, p := range patterns {
		split = append(split, strings.Split(p, " "))
	}
	return func(yield func(why string, told bool) bool) {
		if l.Unsure != "" && !yield("which programs its names stand for cannot be told: "+l.Unsure, false) {
			return
		}
		for i := range l.Commands {
			c := &l.Commands[i]
			switch {
			case c.Unknown != "":
				if !yield(fmt.Sprintf("%s: %s", c.Unknown, c.Text), false) {
					return
				}
			case !c.allowed(split) && !yield(c.Text, true):
				return
			}
		}
	}
}

func (c *Command) allowed(patterns [][]string) bool {
	for _, p := range patterns {
		switch {
		case c.Script && (len(p) <= c.file || p[c.file] != c.Words[c.file].Text):
		case len(p) == 1 && p[0] == "*", matchName(p[0], c.Words[0].Text) && matchArguments(p[1:], c.Words[1:]):
			return true
		}
	}
	return false
}

// matchName compares the name of a command.
func matchName(pattern, name string) bool {
	from, to := strings.Split(pattern, "/"), strings.Split(name, "/")
	if len(from) != len(to) {
		return false
	}
	for i := range from {
		// A star alone between two slashes would stand for "..".
		if !matchText(from[i], to[i]) || from[i] != to[i] && (to[i] == "." || to[i] == "..") {
			return false
		}
	}
	return name != ""
}

func matchArguments(pattern []string, words []Word) bool {
	for i, p := range pattern {
		last := i == len(pattern)-1
		switch {
		case p == "*" && last:
			return true
		case i >= len(words) || words[i].Many:
			return false
		case p == "*":
		case !words[i].Static || !matchText(p, words[i].Text):
			return false
		}
	}
	return len(pattern) == len(words)
}

// matchText compares a word with a pattern in which a star stands for any text.
func matchText(pattern, text string) bool {
	if !strings.Contains(pattern, "*") {
		return pattern == text
	}
	parts := strings.Split(pattern, "*")
	first, last := parts[0], parts[len(parts)-1]
	if len(text) < len(first)+len(last) || !strings.HasPrefix(text, first) || !strings.HasSuffix(text, last) {
		return false
	}
	text = text[len(first) : len(text)-len(last)]
	for _, part := range parts[1 : len(parts)-1] {
		at := strings.Index(text, part)
		if at < 0 {
			return false
		}
		text = text[at+len(part):]
	}
	return true
}
