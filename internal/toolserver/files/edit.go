// SPDX-License-Identifier: Apache-2.0

//go:build linux

package files

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolserver/textlines"
	"motorcortex.dev/motorcortex/internal/toolserver/tool"
	"motorcortex.dev/motorcortex/internal/toolserver/workspace"
)

const (
	editUsage = `"path", "oldText" and "newText", and optionally "replaceAll"`

	// aroundEdit is how many lines are shown before and after what changed.
	aroundEdit = 3
	// shownEdits is how many of the changed positions are shown.
	shownEdits = 3
)

// editTool replaces one piece of text in a file, or every occurrence of it.
func (w fileTools) editTool(_ context.Context, j tool.Job) toolapi.Result {
	var args toolapi.EditArgs
	if bad := tool.Decode(j.Args, &args, editUsage); bad != nil {
		return *bad
	}
	switch {
	case args.OldText == "":
		return tool.Failure(toolapi.CodeInvalidArguments, "oldText is empty. Give the text to replace: an empty one is at every place.")
	case args.OldText == args.NewText:
		return tool.Failure(toolapi.CodeInvalidArguments, "oldText and newText are the same, so there is nothing to change.")
	case strings.ContainsRune(args.NewText, 0):
		return tool.Failure(toolapi.CodeInvalidArguments, "newText contains a NUL character, which no text file has. Remove it.")
	}
	local, err := w.Resolve(args.Path)
	if err == nil && strings.HasSuffix(args.Path, "/") {
		err = syscall.EISDIR
	}
	var content string
	if err == nil {
		content, _, err = w.ReadText(local, args.Path)
	}
	if err != nil {
		return w.Failure("edit", args.Path, err)
	}
	e := edit{args: withLineEnds(content, args), name: workspace.Display(local), content: content}
	if bad := e.find(); bad != nil {
		return *bad
	}
	if err := w.Replace(local, strings.NewReader(e.apply())); err != nil {
		return w.Failure("edit", args.Path, err)
	}
	return tool.Success(e.report())
}

// edit is a replacement in the content of a file.
type edit struct {
	args    toolapi.EditArgs
	name    string // for messages
	content string
	at      []int // offsets of the replaced texts, in the order of the file
	changed string
}

// withLineEnds converts the texts to the line ends of the file, if those are all alike. A model does not see which ends a file has, and new
// lines with other ends would make the file mixed. A text that is itself about line ends stays as it is.
func withLineEnds(content string, args toolapi.EditArgs) toolapi.EditArgs {
	ends, returns := strings.Count(content, "\n"), strings.Count(content, "\r\n")
	convert := func(from, to string) {
		args.OldText, args.NewText = strings.ReplaceAll(args.OldText, from, to), strings.ReplaceAll(args.NewText, from, to)
	}
	switch hasReturns := strings.Contains(args.OldText, "\r"); {
	case ends > 0 && ends == returns && !hasReturns && !strings.Contains(args.NewText, "\r"):
		convert("\n", "\r\n")
	case hasReturns && !strings.Contains(content, "\r"):
		convert("\r\n", "\n")
	}
	return args
}

// find fills in the replacements, or returns why there are none.
func (e *edit) find() *toolapi.Result {
	step := 1 // Overlapping occurrences are several possible positions of the text.
	if e.args.ReplaceAll {
		step = len(e.args.OldText)
	}
	for from := 0; from <= len(e.content); {
		i := strings.Index(e.content[from:], e.args.OldText)
		if i < 0 {
			break
		}
		e.at = append(e.at, from+i)
		from += i + step
	}
	var bad toolapi.Result
	switch size := len(e.content) + len(e.at)*(len(e.args.NewText)-len(e.args.OldText)); {
	case len(e.at) == 0:
		// Its text quotes the file.
		bad = tool.ForeignFailure(toolapi.CodeNoMatch, "oldText is not in %s, and nothing was changed. %s", e.name, missingText(e.content, e.args.OldText))
	case len(e.at) > 1 && !e.args.ReplaceAll:
		bad = tool.Failure(toolapi.CodeNotUnique, "oldText is in %s %d times, at the lines %s, and nothing was changed. "+
			"Give more of the text around the one that you mean, or replaceAll to replace every one.", e.name, len(e.at), textlines.List(e.lines()))
	case size > toolapi.MaxFileBytes:
		bad = tool.Failure(toolapi.CodeTooLarge, "%s would have %d bytes and may have %d. Nothing was changed.", e.name, size, toolapi.MaxFileBytes)
	default:
		return nil
	}
	return &bad
}

// lines are the numbers of the lines where the occurrences begin.
func (e *edit) lines() []int {
	numbers := make([]int, len(e.at))
	line, from := 1, 0
	for i, at := range e.at {
		line += strings.Count(e.content[from:at], "\n")
		numbers[i], from = line, at
	}
	return numbers
}

// apply returns the new content.
func (e *edit) apply() string {
	var b strings.Builder
	from := 0
	for _, at := range e.at {
		b.WriteString(e.content[from:at])
		b.WriteString(e.args.NewText)
		from = at + len(e.args.OldText)
	}
	b.WriteString(e.content[from:])
	e.changed = b.String()
	return e.changed
}

// report shows the first changed positions as they are now.
func (e *edit) report() string {
	added := strings.Count(e.args.NewText, "\n")
	numbers := e.lines()
	for i := range numbers {
		numbers[i] += i * (added - strings.Count(e.args.OldText, "\n")) // Each replacement moves the text behind it.
	}
	var b strings.Builder
	if len(numbers) == 1 {
		fmt.Fprintf(&b, "edited %s at line %d; there is now:\n", e.name, numbers[0])
	} else {
		fmt.Fprintf(&b, "edited %s in %d places, lines %s; there is now:\n", e.name, len(numbers), textlines.List(numbers))
	}
	lines := textlines.Split(e.changed)
	if len(lines) == 0 {
		return b.String() + "[the file is empty]"
	}
	shown := 0 // the last line shown
	for _, first := range numbers[:min(len(numbers), shownEdits)] {
		last := first + added
		if shown > 0 && first-aroundEdit > shown+1 {
			b.WriteString("       …\n")
		}
		b.WriteString(textlines.Excerpt(lines, max(first-aroundEdit, shown+1), last+aroundEdit))
		shown = max(shown, last+aroundEdit)
	}
	return b.String()
}

// readNumber is what read puts before each line.
var readNumber = regexp.MustCompile(`(?m)^ *[0-9]+\t`)

// missingText helps the author of a text that is not in the content: it describes the content that may be meant.
func missingText(content, text string) string {
	unix := strings.NewReplacer("\r\n", "\n")
	plainContent, plainText := unix.Replace(content), unix.Replace(text)
	if at := strings.Index(plainContent, plainText); at >= 0 {
		what := `CRLF line ends; write \r\n in oldText and newText`
		if strings.Contains(text, "\r\n") {
			what = `LF line ends; write \n in oldText and newText`
		}
		return fmt.Sprintf("It is at line %d but for the line ends: the file has %s.", textlines.NumberAt(plainContent, at), what)
	}
	if bare := readNumber.ReplaceAllString(text, ""); bare != text && bare != "" && strings.Contains(content, bare) {
		return "It has the line numbers in it that read shows; they are not part of the file. Leave them out."
	}
	if at, err := findSqueezed(content, text); err == nil {
		lines := textlines.Split(content)
		first := textlines.NumberAt(content, at)
		last := min(first+strings.Count(text, "\n"), first+textlines.MaxExcerpt-1)
		return fmt.Sprintf("It is at line %d but for white space; the file has there:\n%s", first, textlines.Excerpt(lines, first, last))
	}
	return differingLine(content, text)
}

var errAbsent = errors.New("not there")

// findSqueezed finds where the content has the text if white space is ignored in both.
func findSqueezed(content, text string) (offset int, err error) {
	bare := textlines.Squeeze(text)
	at := strings.Index(textlines.Squeeze(content), bare)
	if bare == "" || at < 0 {
		return 0, errAbsent
	}
	// The white space that was removed before that position shifts it.
	for offset, r := range content {
		if unicode.IsSpace(r) {
			continue
		}
		if at == 0 {
			return offset, nil
		}
		at -= utf8.RuneLen(r)
	}
	return 0, errAbsent
}

// differingLine finds the first line of the text in the content, and describes where the lines after it begin to differ.
func differingLine(content, text string) string {
	wanted := textlines.Split(strings.Trim(text, "\r\n"))
	if len(wanted) < 2 || len(textlines.Squeeze(wanted[0])) < 3 {
		return "Read the file to see what it has."
	}
	lines := textlines.Split(content)
	for i, line := range lines {
		if textlines.Squeeze(line) != textlines.Squeeze(wanted[0]) {
			continue
		}
		same := 1
		for same < len(wanted) && i+same < len(lines) && textlines.Squeeze(lines[i+same]) == textlines.Squeeze(wanted[same]) {
			same++
		}
		if same == len(wanted) {
			break
		}
		return fmt.Sprintf("Its first line is line %d of the file; line %d of it is %q, and the file has there:\n%s",
			i+1, same+1, textlines.Shown(wanted[same]), textlines.Excerpt(lines, i+1, i+same+1+aroundEdit))
	}
	return "Read the file to see what it has."
}
