// SPDX-License-Identifier: Apache-2.0

package commandline

import (
	"slices"
	"strings"
)

// Named finds a command that the pattern names, nil if there is none. It errs to the side of finding one.
//
// A command is named if it has the words of the pattern in their order, whatever else it has: "git push *" names git -C dir push --tags,
// and /usr/bin/git push. The first word of the pattern is compared with the last part of the name of the program. The program may be any
// word of the command, so that the wrapper that starts it does not matter. Options of the pattern may stand anywhere after it. Short ones
// count letter by letter, regardless of other letters in their cluster. A long option that begins with the same letter counts for a short
// one. Long options may be abbreviated. The value of an option is compared only if the pattern has one. Words that are not static match
// anything.
//
// Named finds nothing in commands that cannot be determined: see Untold.
func (l *List) Named(pattern string) *Command {
	words := strings.Split(pattern, " ")
	for i := range l.Commands {
		c := &l.Commands[i]
		// If the words after a later match have the rest, so do those after the first match.
		j := slices.IndexFunc(c.Words, func(w Word) bool { return w.Static && matchText(words[0], base(w.Text)) })
		if j >= 0 && names(words[1:], c.Words[j+1:]) {
			return c
		}
	}
	return nil
}

// Untold finds a command that cannot be determined, nil if there is none: one that is unknown, or a script. A standard input that is
// unknown runs nothing.
func (l *List) Untold() *Command {
	for i := range l.Commands {
		if c := &l.Commands[i]; c.Unknown != "" && !c.Input || c.Script {
			return c
		}
	}
	return nil
}

// names reports whether the words after a program's name are those of the pattern.
func names(pattern []string, words []Word) bool {
	if n := len(pattern); n > 0 && pattern[n-1] == "*" {
		pattern = pattern[:n-1]
	}
	at := 0
	for i, p := range pattern {
		switch {
		case isOption(p):
			if !hasOption(p, words) {
				return false
			}
		case i > 0 && isOption(pattern[i-1]) && attached(pattern[i-1], p, words):
			// The value of an option stands in one word with it.
		default:
			for at < len(words) && words[at].Static && !matchWord(p, words[at].Text) {
				at++
			}
			if at == len(words) {
				return false
			}
			if !words[at].Many {
				at++
			}
		}
	}
	return true
}

func isOption(s string) bool { return len(s) > 1 && s[0] == '-' && s != "--" }

// matchWord compares a word that is no option with a word of the command. The value of an option counts too.
func matchWord(pattern, text string) bool {
	if matchText(pattern, text) {
		return true
	}
	_, value, given := strings.Cut(text, "=")
	return given && isOption(text) && matchText(pattern, value)
}

// attached reports whether a cluster of short options ends with the last of the option's letters and its value, as in -XPOST.
func attached(option, value string, words []Word) bool {
	letter := option[len(option)-1]
	return !strings.HasPrefix(option, "--") && slices.ContainsFunc(words, func(w Word) bool {
		at := strings.IndexByte(w.Text, letter)
		return at > 0 && isOption(w.Text) && matchText(value, strings.TrimPrefix(w.Text[at+1:], "="))
	})
}

// hasOption reports whether the words have the options of one word of a pattern.
func hasOption(pattern string, words []Word) bool {
	if strings.HasPrefix(pattern, "--") {
		return hasLong(pattern[2:], words)
	}
	if slices.ContainsFunc(words, func(w Word) bool { return !w.Static || matchText(pattern, w.Text) }) {
		return true
	}
	for _, letter := range strings.ToLower(strings.Trim(pattern, "-*")) {
		if !slices.ContainsFunc(words, func(w Word) bool { return hasLetter(w.Text, letter) }) {
			return false
		}
	}
	return true
}

// hasLetter reports whether a word is a cluster of short options with the letter, or a long option that begins with it.
func hasLetter(text string, letter rune) bool {
	text = strings.ToLower(text)
	if long, ok := strings.CutPrefix(text, "--"); ok {
		return strings.HasPrefix(long, string(letter))
	}
	return isOption(text) && strings.ContainsRune(text[1:], letter)
}

// hasValue reports whether the words begin with the value of an option.
func hasValue(value string, words []Word) bool {
	return len(words) > 0 && (!words[0].Static || matchText(value, words[0].Text))
}

// hasLong reports whether the words have a long option, "name" or "name=value". The option may be abbreviated or, without a value, be only
// its first letter.
func hasLong(pattern string, words []Word) bool {
	name, value, valued := strings.Cut(pattern, "=")
	for i, w := range words {
		if !w.Static {
			return true
		}
		long, isLong := strings.CutPrefix(w.Text, "--")
		given, has, attached := strings.Cut(long, "=")
		switch {
		case isLong && given != "" && (strings.HasPrefix(name, given) || matchText(name, given)):
		case !isLong && isOption(w.Text) && name != "" && hasLetter(w.Text, rune(strings.ToLower(name)[0])):
			has, attached = "", false
		default:
			continue
		}
		if !valued || attached && matchText(value, has) || !attached && (strings.HasSuffix(w.Text, value) || hasValue(value, words[i+1:])) {
			return true
		}
	}
	return false
}
