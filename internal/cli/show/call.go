// SPDX-License-Identifier: Apache-2.0

package show

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"motorcortex.dev/motorcortex/internal/runpolicy/calls"
	"motorcortex.dev/motorcortex/internal/text"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// Part is a part of a call: an argument, or the change of an edit.
type Part struct {
	// Name of the argument.
	Name string
	// Text as it was written: it is not fit to be shown yet.
	Text string
	// Diff says that the text is a unified diff, of the file that Name is the path of.
	Diff bool
	// Raw says that the text is all arguments as the model wrote them: readers would take them in more than one way.
	Raw bool
}

// Parts returns a tool call whole: texts of its arguments as they were written, and the change of an edit as a diff.
func Parts(tool, arguments string) []Part {
	object, ok := parse(tool, arguments)
	if !ok {
		return []Part{{Text: arguments, Raw: true}}
	}
	var parts []Part
	if edit, ok := editOf(tool, object); ok {
		parts = append(parts, Part{Name: edit.Path, Text: udiff.Unified("before", "after", edit.OldText, edit.NewText), Diff: true})
		delete(object, "path")
		delete(object, "oldText")
		delete(object, "newText")
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		s, isText := object[name].(string)
		if !isText {
			s = text.JSON(object[name])
		}
		parts = append(parts, Part{Name: name, Text: s})
	}
	return parts
}

// Call writes the parts of a tool call, each row marked. No row begins with a text of the model's: it could look like one of this program's.
func Call(w io.Writer, tool, arguments string) {
	fmt.Fprintf(w, "tool: %s\n", Line(tool, len(tool)*6))
	for _, p := range Parts(tool, arguments) {
		switch {
		case p.Diff:
			fmt.Fprintf(w, "path: %s\n", calls.Visible(p.Name))
		case !p.Raw:
			fmt.Fprintf(w, "argument %s%s:\n", calls.Visible(p.Name), End(p.Text))
		}
		Block(w, mark, p.Text)
	}
}

// mark is before each row of a text that is not this program's.
const mark = "  | "

// End says what cannot be seen of a text whose lines are printed.
func End(s string) string {
	switch {
	case s == "":
		return " (empty)"
	case strings.HasSuffix(s, "\n"):
		return " (ends with a line break)"
	}
	return ""
}

// Brief is a call in one line of at most size bytes: the argument that says most, or all of them.
func Brief(tool, arguments string, size int) string {
	object, ok := parse(tool, arguments)
	if !ok {
		return Line(arguments, size)
	}
	for _, name := range []string{"command", "path", "url", "question", "domain", "pattern", "query", "summary"} {
		if s, isText := object[name].(string); isText {
			return Line(s, size)
		}
	}
	if source, isText := object["source"].(string); isText {
		language, _ := object["language"].(string)
		return Line(fmt.Sprintf("%s, %d lines", language, strings.Count(strings.TrimSuffix(source, "\n"), "\n")+1), size)
	}
	if len(object) == 0 {
		return ""
	}
	return Line(arguments, size)
}

// parse reads arguments that all readers take in one way: whose digest is that of what was read.
func parse(tool, arguments string) (map[string]any, bool) {
	d := json.NewDecoder(strings.NewReader(arguments))
	d.UseNumber()
	var object map[string]any
	if d.Decode(&object) != nil || object == nil {
		return nil, false
	}
	return object, calls.ArgsDigest(tool, text.JSON(object)) == calls.ArgsDigest(tool, arguments)
}

// editOf is the edit of a call of that tool. Names of arguments are compared as they are: a tool may take Path for path.
func editOf(tool string, object map[string]any) (toolapi.EditArgs, bool) {
	var edit toolapi.EditArgs
	texts := map[string]*string{"path": &edit.Path, "oldText": &edit.OldText, "newText": &edit.NewText}
	for name, value := range object {
		s, isText := value.(string)
		switch to, known := texts[name]; {
		case known && isText:
			*to = s
		case name != "replaceAll":
			return edit, false
		}
	}
	// A diff cannot show that only the end of a line changes, which can bring the next line out of a comment.
	differs := strings.TrimRight(edit.OldText, "\n") != strings.TrimRight(edit.NewText, "\n")
	return edit, tool == toolapi.ToolEdit && edit.Path != "" && differs
}
