// SPDX-License-Identifier: Apache-2.0

// Package commandline determines which commands a bash command line can run, without running anything.
//
// It looks for commands wherever bash does: in pipelines, lists, subshells, conditions, loops, functions, in command and process
// substitutions anywhere, in the arguments of a shell, eval or trap, and in the commands that env, xargs, find and their like start. A
// command that cannot be determined from the line, for example because its name comes out of a variable, is in the list as unknown. The
// package does not consider the actions of a program itself: a Makefile, a Python program, a hook of git.
//
// There are two ways to match commands with patterns, and each errs to its safe side. An allowlist is strict: see
// List.Disallowed, and List.NotHarmless for the one that is built in. A rule about what a person must approve is loose: see
// List.Named.
package commandline

import (
	"fmt"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// List is every command that a line can run.
type List struct {
	Commands []Command
	// Unsure is why a name may stand for something else than the program or builtin of that name: the line defines a function, for example, or
	// sets PATH. It is "" if there is no such reason.
	Unsure string
}

// Command is a simple command, or a position whose command cannot be determined before it runs.
type Command struct {
	// Words are the name and the arguments. There is none if the command is unknown.
	Words []Word
	// Unknown is why the command cannot be determined, "" if it can.
	Unknown string
	// Input is true if only the file of a command's standard input is unknown. No command runs by it, but bash makes a connection of a file
	// below /dev/tcp, and a program can write to it.
	Input bool
	// Script is true if the command makes a shell run a file: the command is known, and the commands in the file are not.
	Script bool
	// file is the word that names the file.
	file int
	// Text is the command as it is written, cut to 200 bytes. It is not fit to be shown as it is.
	Text string
}

// Word is a word of a command without its quotes.
type Word struct {
	// Text is the word, if it is static.
	Text string
	// Static is true if the word is the same whenever the line is run.
	Static bool
	// Many is true if a word that is not static may expand to none, one or more words.
	Many bool
}

// Parse returns every command that bash can run when it runs the line. It returns an error if nothing is known about the line: it is not a
// line of bash, or one that takes more to parse than a line may. A caller must then take the line for dangerous.
func Parse(line string) (List, error) {
	slots <- struct{}{}
	defer func() { <-slots }()
	p := &parser{names: map[string]bool{}}
	if err := p.parse(line, 0); err != nil {
		return List{}, err
	}
	p.settleArithmetic()
	p.settleDescriptors()
	return p.list, nil
}

// parser gathers the commands of a line.
type parser struct {
	list List
	// parsed is how many bytes have been parsed, levels how many levels they may have, words how many words the commands have.
	parsed, levels, words int
	// full is true if the line has more commands or words than the list has.
	full bool
	// names are the variables that the line sets: true if all of their values are numbers.
	names map[string]bool
	// anyName is true if the line may set any variable.
	anyName bool
	// sums are the positions where a variable is evaluated as an arithmetic expression.
	sums []sum
	// kept are the variables that are declared without a value.
	kept []string
	// descriptors are the redirections to a descriptor that a variable names.
	descriptors []sum
}

// source is a line, or a line within a line.
type source struct {
	text  string
	depth int
}

// of is the text of a node.
func (s *source) of(n syntax.Node) string {
	from, to := int(n.Pos().Offset()), int(n.End().Offset())
	if from < 0 || to > len(s.text) || from >= to {
		return ""
	}
	return s.text[from:to]
}

// parse adds the commands of a line.
func (p *parser) parse(line string, depth int) error { return p.parseAs(line, depth, syntax.LangBash) }

// parseAs adds the commands of a line in one of the languages of shells.
func (p *parser) parseAs(line string, depth int, lang syntax.LangVariant) (err error) {
	if p.parsed += len(line); p.parsed > maxLine {
		return errTooLong
	}
	if strings.Contains(line, "\x00") {
		return errNUL
	}
	// A line within a line is parsed while the stack of the outer one stands.
	if p.levels += levels(line); p.levels > maxLevels {
		return errTooDeep
	}
	if strings.Contains(line, "\r") {
		// Bash takes it as a character like any other, the parser before the end of a line does not.
		p.unknown("the line has a carriage return in it", line)
	}
	defer func() {
		if v := recover(); v != nil {
			// The line is hostile input, and the parser's authors cannot have thought of everything.
			err = fmt.Errorf("it cannot be parsed: %v", v)
		}
	}()
	file, err := syntax.NewParser(syntax.Variant(lang)).Parse(strings.NewReader(line), "")
	if err != nil {
		return fmt.Errorf("it cannot be parsed: %w", err)
	}
	src := &source{text: line, depth: depth}
	for _, s := range file.Stmts {
		p.walk(s, src)
	}
	p.lineEnds(file, src)
	return nil
}

// within adds the commands of a line that a command of the line runs.
func (p *parser) within(line string, c call, langs ...syntax.LangVariant) {
	if c.src.depth >= maxDepth {
		p.unknown("it is nested too deep", c.text)
		return
	}
	for _, lang := range langs {
		if err := p.parseAs(line, c.src.depth+1, lang); err != nil {
			p.unknown(err.Error(), c.text)
			return
		}
	}
}

// add adds a command. If a line has too many, further commands are not listed.
func (p *parser) add(c Command) {
	if p.full {
		return
	}
	if p.words += len(c.Words); p.words > maxWords || len(p.list.Commands) >= maxCommands {
		p.full = true
		c = Command{Unknown: "the line has too many commands or words", Text: c.Text}
	}
	c.Text = head(c.Text)
	p.list.Commands = append(p.list.Commands, c)
}

// unknown adds a command that cannot be determined.
func (p *parser) unknown(why, text string) { p.add(Command{Unknown: why, Text: text}) }

// unsure notes why names cannot be relied on. The first reason is kept.
func (p *parser) unsure(why string) {
	if p.list.Unsure == "" {
		p.list.Unsure = why
	}
}

// head is the beginning of a text.
func head(s string) string {
	if len(s) <= maxText {
		return s
	}
	return strings.ToValidUTF8(s[:maxText-len("…")], "") + "…"
}
