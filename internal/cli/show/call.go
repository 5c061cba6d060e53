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

// Call writes a tool call whole: texts of its arguments as they were written, each line marked, and the change of an edit as a diff.
func Call(w io.Writer, tool, arguments string) {
	fmt.Fprintf(w, "tool: %s\n", Line(tool, len(tool)*6))
	object, ok := parse(tool, arguments)
	if !ok {
		// Readers would take it in more than one way: it is shown as it is.
		Block(w, "  | ", arguments)
		return
	}
	if edit, ok := editOf(tool, object); ok {
		fmt.Fprintf(w, "path: %s\n", calls.Visible(edit.Path))
		Block(w, "  | ", udiff.Unified("before", "after", whole(edit.OldText), whole(edit.NewText)))
		delete(object, "path")
		delete(object, "oldText")
		delete(object, "newText")
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		s, isText := object[name].(string)
		switch {
		case !isText:
			fmt.Fprintf(w, "%s: %s\n", calls.Visible(name), calls.Visible(text.JSON(object[name])))
		case strings.Contains(s, "\n"):
			fmt.Fprintf(w, "%s:\n", calls.Visible(name))
			Block(w, "  | ", s)
		default:
			fmt.Fprintf(w, "%s: %s\n", calls.Visible(name), Text(s))
		}
	}
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
	return edit, tool == toolapi.ToolEdit && edit.Path != ""
}

// whole ends a text with a line break: a diff would say twice that there is none, of a text that is the middle of a file.
func whole(s string) string {
	if s == "" || strings.HasSuffix(s, "\n") {
		return s
	}
	return s + "\n"
}
