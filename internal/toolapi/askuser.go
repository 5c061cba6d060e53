// SPDX-License-Identifier: Apache-2.0

package toolapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// MaxCalls is the most tool calls of one answer of a model that are carried out.
const MaxCalls = 8

// MaxReads is the same of an answer all of whose calls only read the workspace.
const MaxReads = 16

// Limits of the arguments of ask_user, in characters and items. Arguments within them fit in a run's status.
const (
	MaxQuestion = 4096
	MaxOptions  = 10
	MaxOption   = 512
	MaxAskFiles = 8
	MaxAskFile  = 256
	// MaxAskUserBytes is the maximum size of the arguments as the model wrote them. The manager's cache retains
	// them while the question is open.
	MaxAskUserBytes = 64 << 10
)

// ParseAskUser reads the arguments of an ask_user call as the model wrote them, and decides whether they contain a
// question. The loop asks it and the controller shows it, so both read it here. A null counts as an omitted field.
func ParseAskUser(arguments string) (AskUserArgs, error) {
	var args AskUserArgs
	if len(arguments) > MaxAskUserBytes {
		return AskUserArgs{}, fmt.Errorf("the arguments must have at most %d bytes", MaxAskUserBytes)
	}
	// A map, because the names of struct fields would be matched without regard to case.
	var fields map[string]json.RawMessage
	if err := json.Unmarshal([]byte(arguments), &fields); err != nil {
		return AskUserArgs{}, fmt.Errorf("the arguments are no JSON object: %w", err)
	}
	into := map[string]any{"question": &args.Question, "options": &args.Options, "default": &args.Default, "files": &args.Files}
	for name, value := range fields {
		if into[name] == nil {
			return AskUserArgs{}, errors.New(`there are no other arguments than "question", "options", "default" and "files"`)
		}
		if err := json.Unmarshal(value, into[name]); err != nil {
			return AskUserArgs{}, fmt.Errorf("%q: %w", name, err)
		}
	}
	return args, args.check()
}

func (a AskUserArgs) check() error {
	switch {
	case strings.TrimSpace(a.Question) == "":
		return errors.New(`"question" must not be empty`)
	case utf8.RuneCountInString(a.Question) > MaxQuestion:
		return fmt.Errorf(`"question" must have at most %d characters`, MaxQuestion)
	case len(a.Options) > MaxOptions:
		return fmt.Errorf(`"options" must have at most %d items`, MaxOptions)
	case utf8.RuneCountInString(a.Default) > MaxOption:
		return fmt.Errorf(`"default" must have at most %d characters`, MaxOption)
	}
	if len(a.Files) > MaxAskFiles {
		return fmt.Errorf(`"files" must have at most %d items`, MaxAskFiles)
	}
	for _, f := range a.Files {
		if strings.TrimSpace(f) == "" || utf8.RuneCountInString(f) > MaxAskFile {
			return fmt.Errorf(`each of "files" must have 1 to %d characters`, MaxAskFile)
		}
	}
	for _, o := range a.Options {
		if o == "" || utf8.RuneCountInString(o) > MaxOption {
			return fmt.Errorf(`each of "options" must have 1 to %d characters`, MaxOption)
		}
	}
	return nil
}
