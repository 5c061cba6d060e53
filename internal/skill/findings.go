// SPDX-License-Identifier: Apache-2.0

package skill

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/commandline"
	secretscan "motorcortex.dev/motorcortex/internal/secret/scan"
	"motorcortex.dev/motorcortex/internal/text"
)

const (
	// maxSecretBytes is how much of the files of a skill is scanned for secrets: a content that is crafted to be slow takes more than a
	// second.
	maxSecretBytes = 1 << 20
	// maxShellBytes is how much of them is parsed as shell scripts.
	maxShellBytes = 512 << 10
	// minBase64 is the fewest characters of a piece of base64 that is found.
	minBase64 = 200
	// minBase64Line is the fewest characters of a line that such a piece is wrapped into.
	minBase64Line = 40
	// maxPrograms is the most programs of a script, and maxPoints the most characters of a line, that a message names.
	maxPrograms, maxPoints = 12, 4
)

// script records what a program is and which programs a shell script runs.
func (g *gatherer) script(f *File) {
	first, _, _ := bytes.Cut(f.Content[:min(len(f.Content), maxFact)], []byte("\n"))
	message := "A program without a line #!."
	switch {
	case bytes.HasPrefix(first, []byte("#!")):
		message = text.CutBytes(text.Printable(string(first)), maxFact/3)
	case f.Executable:
	case strings.HasPrefix(f.Path, "scripts/"):
		message = "A file below scripts."
	default:
		message = "A file that is run, or loaded by what is run, by its name."
	}
	if isShellScript(f) {
		message += " " + g.programs(f.Content)
	}
	g.find(v1alpha1.FindingScript, f.Path, 0, message)
}

// programs describes the programs that a shell script runs, as far as they can be determined.
func (g *gatherer) programs(content []byte) string {
	if g.shellBytes -= len(content); g.shellBytes < 0 {
		return "What it runs was not looked into: there are too many scripts."
	}
	list, err := commandline.Parse(string(content))
	if err != nil {
		return "What it runs cannot be told: " + err.Error() + "."
	}
	var names []string
	for _, c := range list.Commands {
		if len(c.Words) > 0 && c.Words[0].Static && !shellBuiltins[c.Words[0].Text] {
			names = append(names, text.CutBytes(c.Words[0].Text, maxFact/4))
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	more := ""
	if n := len(names) - maxPrograms; n > 0 {
		names, more = names[:maxPrograms], fmt.Sprintf(" and %d more", n)
	}
	said := "Runs " + strings.Join(names, ", ") + more
	if len(names) == 0 {
		said = "Runs no other program"
	}
	if list.Untold() != nil || list.Unsure != "" {
		// The first part of the message must not push this out.
		return "Not all that it runs can be told. " + said + "."
	}
	return said + "."
}

// shellBuiltins do nothing by themselves that is worth a word.
var shellBuiltins = setOf(":", "[", "alias", "break", "cd", "continue", "declare", "echo", "exit", "export", "false", "getopts", "let", "local", "printf", "pwd",
	"read", "readonly", "return", "set", "shift", "shopt", "test", "trap", "true", "type", "typeset", "umask", "unset", "wait")

var shells = setOf("sh", "bash", "zsh", "dash", "ksh", "ash")

// isShellScript reports, by its name and its first line, whether a file is a shell script.
func isShellScript(f *File) bool {
	name := f.Path[strings.LastIndexByte(f.Path, '/')+1:]
	if dot := strings.LastIndexByte(name, '.'); dot >= 0 && shells[name[dot+1:]] {
		return true
	}
	first, _, _ := bytes.Cut(f.Content[:min(len(f.Content), maxFact)], []byte("\n"))
	line, ok := bytes.CutPrefix(first, []byte("#!"))
	// The system ends the line at a NUL byte too.
	words := strings.FieldsFunc(string(line), func(r rune) bool { return r <= ' ' })
	return ok && slices.ContainsFunc(words, func(word string) bool { return shells[word[strings.LastIndexByte(word, '/')+1:]] })
}

// shellParts returns the parts of a file that are for a shell: all of a script, and the Markdown blocks with a shell as their language.
func shellParts(f *File, found func(part []byte)) {
	if isShellScript(f) {
		found(f.Content)
		return
	}
	if !strings.HasSuffix(strings.ToLower(f.Path), ".md") {
		return
	}
	var fence string
	var shell bool
	for line := range bytes.Lines(f.Content) {
		trimmed := bytes.TrimSpace(line)
		mark := fenceOf(trimmed)
		switch {
		case fence == "" && mark != "":
			fence, shell = mark, shellInfo(string(trimmed[len(mark):min(len(trimmed), maxFact)]))
		case fence != "" && len(mark) >= len(fence) && mark[0] == fence[0] && len(mark) == len(trimmed):
			fence = ""
		case fence != "" && shell:
			found(line)
		}
	}
}

// fenceOf is the run of backticks or tildes that begins or ends a block, "" if the line has none.
func fenceOf(line []byte) string {
	for _, mark := range []string{"`", "~"} {
		n := len(line) - len(bytes.TrimLeft(line, mark))
		if n >= 3 && (mark != "`" || bytes.IndexByte(line[n:], '`') < 0) {
			return string(line[:n])
		}
	}
	return ""
}

// shellInfo reports whether what stands behind the beginning of a block names a shell.
func shellInfo(info string) bool {
	word := strings.ToLower(strings.TrimLeft(strings.TrimSpace(info), "{."))
	if i := strings.IndexFunc(word, func(r rune) bool { return r < 'a' || r > 'z' }); i >= 0 {
		word = word[:i]
	}
	return shells[word] || word == "shell" || word == "console"
}

// secrets finds what looks like a secret.
func (g *gatherer) secrets(f *File) {
	if g.secretBytes -= len(f.Content); g.secretBytes < 0 {
		g.secretBytes += len(f.Content)
		g.find(v1alpha1.FindingSecret, f.Path, 0, "The file was not looked through for secrets: the skill is too large.")
		return
	}
	for _, s := range secretscan.Scan(f.Path, f.Content) {
		g.find(v1alpha1.FindingSecret, f.Path, s.Line, "This looks like a secret, by the rule "+s.RuleID+".")
	}
}

// hidden finds lines with invisible characters.
func (g *gatherer) hidden(f *File) {
	line, found := 1, points{}
	before := rune(0)
	for i := 0; i < len(f.Content); {
		r, n := rune(f.Content[i]), 1
		if r >= utf8.RuneSelf {
			r, n = utf8.DecodeRune(f.Content[i:])
		}
		switch {
		case r == '\n':
			g.points(f, line, found)
			line, found = line+1, points{}
		case hiddenRune(r) && (r != '\uFEFF' || i > 0) && !partOfSymbol(before, r):
			found.add(r)
		}
		before, i = r, i+n
	}
	g.points(f, line, found)
}

func (g *gatherer) points(f *File, line int, p points) {
	if p.count == 0 {
		return
	}
	var names []string
	for _, r := range p.distinct {
		names = append(names, fmt.Sprintf("U+%04X", r))
	}
	g.find(v1alpha1.FindingHiddenUnicode, f.Path, line, fmt.Sprintf("%d characters that are invisible: %s.", p.count, strings.Join(names, ", ")))
}

// points are characters of a line, of which the first distinct ones are named.
type points struct {
	count    int
	distinct []rune
}

func (p *points) add(r rune) {
	p.count++
	if len(p.distinct) < maxPoints && !slices.Contains(p.distinct, r) {
		p.distinct = append(p.distinct, r)
	}
}

// hiddenRune reports whether a character is invisible, turns the direction of text, or is a control character for terminals.
func hiddenRune(r rune) bool {
	if r < utf8.RuneSelf {
		return r < ' ' && r != '\t' && r != '\n' && r != '\r' && r != '\f' || r == 0x7F
	}
	// The blank of Braille has no dots, and counts as a symbol.
	return r == '\u2800' || unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Zl, unicode.Zp, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}

// partOfSymbol reports whether an invisible character is part of an emoji or symbol, after another character.
func partOfSymbol(before, r rune) bool {
	switch r {
	case '\uFE0E', '\uFE0F':
		return unicode.In(before, unicode.So, unicode.Sm, unicode.Po, unicode.Nd)
	case '\u200D':
		return before == '\uFE0F' || unicode.In(before, unicode.So, unicode.Sk)
	}
	return false
}

// base64 finds long pieces of base64, in one line or wrapped into lines of one length.
func (g *gatherer) base64(f *File) {
	var wrapped base64Block
	number := 0
	for line := range bytes.Lines(f.Content) {
		number++
		piece := bytes.TrimSpace(line)
		if wrapped.add(piece, number) {
			continue
		}
		g.block(f, wrapped)
		wrapped = base64Block{}
		if wrapped.add(piece, number) {
			continue
		}
		for len(piece) >= minBase64 {
			start := bytes.IndexFunc(piece, inBase64)
			if start < 0 {
				break
			}
			n := base64Length(piece[start:])
			g.block(f, base64Block{line: number, size: n, begin: piece[start : start+n]})
			piece = piece[start+n:]
		}
	}
	g.block(f, wrapped)
}

// base64Block is a piece of base64.
type base64Block struct {
	// line is the number of its first line, width the length of that line, and last is true if a shorter line ended it.
	line, width int
	last        bool
	// size of it in characters, begin its beginning.
	size  int
	begin []byte
}

// add takes a line that is nothing but base64 and belongs to the block.
func (b *base64Block) add(line []byte, number int) bool {
	if b.last || base64Length(line) != len(line) || b.width > 0 && len(line) > b.width || b.width == 0 && len(line) < minBase64Line || len(line) == 0 {
		return false
	}
	if b.width == 0 {
		b.line, b.width, b.begin = number, len(line), line
	}
	b.last = len(line) < b.width
	b.size += len(line)
	return true
}

func (g *gatherer) block(f *File, b base64Block) {
	if b.size < minBase64 || !mixed(b.begin) {
		return
	}
	g.find(v1alpha1.FindingBase64, f.Path, b.line, fmt.Sprintf("%d characters that look like base64.", b.size))
}

// mixed reports whether the beginning of a piece has as many different characters as encoded bytes have. A ruled line has not.
func mixed(b []byte) bool {
	var seen [256]bool
	different := 0
	for _, c := range b[:min(len(b), minBase64)] {
		if !seen[c] {
			seen[c], different = true, different+1
		}
	}
	return different >= 8
}

// base64Length is how many characters of base64 a text begins with, = at its end among them.
func base64Length(b []byte) int {
	n := 0
	for n < len(b) && inBase64(rune(b[n])) {
		n++
	}
	for n < len(b) && b[n] == '=' {
		n++
	}
	return n
}

func inBase64(r rune) bool {
	return r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '+' || r == '/' || r == '-' || r == '_'
}
