// SPDX-License-Identifier: Apache-2.0

package toolalias

import (
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"motorcortex.dev/motorcortex/internal/toolapi"
)

// retype converts each argument to the type of its schema, where the value can only mean that.
func retype(tool string, schema *jsonschema.Schema, args object) (changed bool) {
	for name := range schema.Properties {
		value, given := args[name]
		if !given {
			continue
		}
		typed, keep := typedValue(tool, name, schema, value)
		switch {
		case !keep:
			delete(args, name)
		case string(typed) != string(value):
			args[name] = typed
		default:
			continue
		}
		changed = true
	}
	return changed
}

// typedValue returns the value of one argument with the type of its schema. keep is false for a value that means that the argument is
// omitted.
func typedValue(tool, name string, schema *jsonschema.Schema, value json.RawMessage) (typed json.RawMessage, keep bool) {
	s := schema.Properties[name]
	switch s.Type {
	case "integer":
		typed = integer(value)
		// Many harnesses count lines from 0, and write 0 for "no limit".
		left := string(typed) == "0" && s.Minimum != nil && *s.Minimum == 1 && !slices.Contains(schema.Required, name)
		return typed, !left
	case "boolean":
		return boolean(value), true
	case "array":
		return list(value), true
	case "string":
		if tool == toolapi.ToolBash && name == "command" {
			return commandLine(value), true
		}
		return choice(s, value), true
	}
	return value, true
}

// integer reads "60" and 60.0.
func integer(value json.RawMessage) json.RawMessage {
	var text string
	if json.Unmarshal(value, &text) == nil {
		text = strings.TrimSpace(text)
	} else {
		text = strings.TrimSpace(string(value))
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || n != math.Trunc(n) || math.Abs(n) > math.MaxInt32 || len(text) > maxNumber {
		return value
	}
	return strconv.AppendInt(nil, int64(n), 10)
}

// maxNumber is the most bytes of a number that is looked at.
const maxNumber = 32

// boolean reads "true" and "False".
func boolean(value json.RawMessage) json.RawMessage {
	var text string
	if json.Unmarshal(value, &text) != nil {
		return value
	}
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "true":
		return json.RawMessage("true")
	case "false":
		return json.RawMessage("false")
	}
	return value
}

// list reads a list that was written as a string.
func list(value json.RawMessage) json.RawMessage {
	var text string
	var items []string
	if json.Unmarshal(value, &text) != nil || !readable(text) || json.Unmarshal([]byte(text), &items) != nil || items == nil {
		return value
	}
	return json.RawMessage(text)
}

// choice reads one of the values of an argument in another spelling.
func choice(s *jsonschema.Schema, value json.RawMessage) json.RawMessage {
	var text string
	if s.Enum == nil || json.Unmarshal(value, &text) != nil {
		return value
	}
	text = strings.TrimSpace(text)
	for _, known := range s.Enum {
		if known, ok := known.(string); ok && (strings.EqualFold(known, text) || slices.Contains(spellings[known], strings.ToLower(text))) {
			return quoted(known)
		}
	}
	return value
}

var (
	shells    = []string{"bash", "sh", "zsh", "/bin/bash", "/bin/sh", "/usr/bin/bash"}
	shellFlag = regexp.MustCompile(`^-[a-z]*c$`)
	plainWord = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`)
)

// commandLine reads a command that was written as a list of words: the words are quoted for the shell, except for a
// shell with its script.
func commandLine(value json.RawMessage) json.RawMessage {
	var words []string
	if json.Unmarshal(value, &words) != nil || len(words) == 0 {
		return value
	}
	if len(words) == 1 {
		return quoted(words[0])
	}
	if len(words) == 3 && slices.Contains(shells, words[0]) && shellFlag.MatchString(words[1]) {
		return quoted(words[2])
	}
	for i, w := range words {
		if !plainWord.MatchString(w) {
			words[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return quoted(strings.Join(words, " "))
}

// quoted is a text as JSON.
func quoted(text string) json.RawMessage { return encoded(text) }

// seconds reads a timeout that another harness may specify in seconds or in milliseconds. Whole thousands above
// the maximum of seconds are milliseconds. Any other value stays as it is and is refused: 1800 read as milliseconds would end a
// command after two seconds that was allowed half an hour.
func seconds(value json.RawMessage) (json.RawMessage, bool) {
	n, err := strconv.Atoi(string(integer(value)))
	if err != nil || n <= maxSeconds || n%1000 != 0 {
		return value, true
	}
	return strconv.AppendInt(nil, int64(n/1000), 10), true
}

// maxSeconds is the longest timeout of any tool.
const maxSeconds = 300

// milliseconds reads a timeout in milliseconds. Parts of a second are rounded up.
func milliseconds(value json.RawMessage) (json.RawMessage, bool) {
	n, err := strconv.Atoi(string(integer(value)))
	if err != nil {
		return value, true
	}
	return strconv.AppendInt(nil, (int64(n)+999)/1000, 10), true
}

// negated reads true as false and false as true.
func negated(value json.RawMessage) (json.RawMessage, bool) {
	switch string(boolean(value)) {
	case "true":
		return json.RawMessage("false"), true
	case "false":
		return json.RawMessage("true"), true
	}
	return nil, false
}

// filesOnly reads whether only the names of files are requested.
func filesOnly(value json.RawMessage) (json.RawMessage, bool) {
	if string(boolean(value)) == "true" {
		return quoted(toolapi.GrepFiles), true
	}
	return quoted(toolapi.GrepContent), true
}

// readRange converts the first and the last line to read into offset and limit.
func readRange(tool string, schema *jsonschema.Schema, args object) bool {
	if tool != toolapi.ToolRead || schema.Properties["offset"] == nil || args["offset"] != nil || args["limit"] != nil {
		return false
	}
	used, ok := rangeNames(args)
	if !ok || len(used) == 0 {
		return false
	}
	first, last, ok := lineRange(used, args)
	if !ok {
		return false
	}
	for _, name := range used {
		delete(args, name)
	}
	args["offset"] = strconv.AppendInt(nil, int64(first), 10)
	if last != -1 {
		args["limit"] = strconv.AppendInt(nil, int64(last-first+1), 10)
	}
	return true
}

// rangeNames returns the arguments that select the lines to read, by their folded names. Two with the same folded name count as none.
func rangeNames(args object) (used map[string]string, ok bool) {
	used = map[string]string{}
	for name := range args {
		switch f := fold(name); f {
		case "viewrange", "linerange", "startline", "endline", "startlineoneindexed", "endlineoneindexedinclusive":
			if used[f] != "" {
				return nil, false
			}
			used[f] = name
		}
	}
	return used, true
}

// lineRange returns the first and the last line that the arguments name, -1 for the end of the file.
func lineRange(used map[string]string, args object) (first, last int, ok bool) {
	first, last = 1, -1
	for f, name := range used {
		var both []int
		n, err := strconv.Atoi(string(integer(args[name])))
		switch {
		case strings.HasSuffix(f, "range") && json.Unmarshal(args[name], &both) == nil && len(both) == 2:
			first, last = both[0], both[1]
		case err != nil:
			return 0, 0, false
		case strings.HasPrefix(f, "start"):
			first = n
		default:
			last = n
		}
	}
	first = max(first, 1)
	return first, last, first <= math.MaxInt32 && last <= math.MaxInt32 && (last == -1 || last >= first)
}
