// SPDX-License-Identifier: Apache-2.0

// Package toolalias reads tool calls of models that were trained with other tools. It translates the arguments of such a call
// to the names and types of ours, and returns which of our tools an unknown tool name means. It only reads texts: nothing here carries a
// call out.
//
// The tables are in table.go and names.go. They come from the tool definitions of Claude Code (Bash, Read, Write, Edit, Grep, Glob, LS),
// Anthropic's text editor and bash tools, Codex CLI (shell, shell_command, exec_command, apply_patch), Gemini CLI
// (base-declarations.ts) and OpenHands (execute_bash, execute_ipython_cell, str_replace_editor).
package toolalias

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"motorcortex.dev/motorcortex/internal/jsonbound"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// limits bound the arguments that are examined. Others stay unchanged, and are refused later.
var limits = jsonbound.Limits{Depth: 64}

type object = map[string]json.RawMessage

// Arguments returns the arguments of a call of the tool with the names and types of its schema. It returns arguments that need no change, and
// unreadable ones, unchanged. The same arguments always yield the same result. An unknown name
// stays, and so does an alias whose value contradicts another argument, so that both are refused when the arguments are checked.
func Arguments(tool string, schema *jsonschema.Schema, raw string) string {
	args, changed := parse(raw)
	if args == nil {
		return raw
	}
	changed = rename(tool, schema, args) || changed
	changed = retype(tool, schema, args) || changed
	changed = readRange(tool, schema, args) || changed // A meaningless offset is gone by then.
	if !changed {
		return raw
	}
	return string(encoded(args))
}

// encoded encodes a value as JSON, without the escapes for HTML: they would make arguments at their limit longer than they may be.
// Strings, and objects that were read as JSON, can always be encoded.
func encoded(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return []byte("{}")
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// parse reads an object, or a string that contains one, which some models write. unwrapped is true if it was in a string.
func parse(raw string) (args object, unwrapped bool) {
	if readable(raw) && json.Unmarshal([]byte(raw), &args) == nil && args != nil {
		return args, false
	}
	var inner string
	if readable(raw) && json.Unmarshal([]byte(raw), &inner) == nil && readable(inner) && json.Unmarshal([]byte(inner), &args) == nil && args != nil {
		return args, true
	}
	return nil, false
}

func readable(raw string) bool {
	return len(raw) <= toolapi.MaxArgumentsBytes && jsonbound.Check([]byte(raw), limits) == nil
}

// rename changes the name of each argument to the one of the tool, and drops those that mean nothing to the tool.
func rename(tool string, schema *jsonschema.Schema, args object) (changed bool) {
	for _, name := range slices.Sorted(maps.Keys(args)) {
		if schema.Properties[name] != nil {
			continue
		}
		value := args[name]
		if ignored(tool, name, value) {
			delete(args, name)
			changed = true
			continue
		}
		to, value := meant(tool, schema, name, value)
		if to == "" {
			continue
		}
		typed, keep := typedValue(tool, to, schema, value)
		other, taken := args[to]
		if taken {
			if was, kept := typedValue(tool, to, schema, other); kept != keep || !bytes.Equal(compact(was), compact(typed)) {
				continue
			}
		}
		delete(args, name)
		args[to] = typed
		changed = true
	}
	return changed
}

// Meant returns the argument of the tool that another harness calls name, "" if none is known.
func Meant(tool string, schema *jsonschema.Schema, name string) string {
	folded := fold(name)
	for property := range schema.Properties {
		if fold(property) == folded {
			return property
		}
	}
	if to := aliases()[tool][folded].to; schema.Properties[to] != nil {
		return to
	}
	return ""
}

// meant is Meant with the value converted for that argument. If the value cannot be converted, the name stays unknown.
func meant(tool string, schema *jsonschema.Schema, name string, value json.RawMessage) (string, json.RawMessage) {
	to := Meant(tool, schema, name)
	convert := aliases()[tool][fold(name)].convert
	if to == "" || convert == nil || fold(to) == fold(name) {
		return to, value
	}
	value, ok := convert(value)
	if !ok {
		return "", nil
	}
	return to, value
}

// fold normalizes the spellings of a name: file_path, filePath, File-Path.
func fold(name string) string {
	if len(name) > maxName {
		return ""
	}
	return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(name))
}

// maxName is the most bytes of a name that is looked up.
const maxName = 64

func compact(value json.RawMessage) []byte {
	var b bytes.Buffer
	if json.Compact(&b, value) != nil {
		return value
	}
	return b.Bytes()
}
