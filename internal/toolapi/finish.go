// SPDX-License-Identifier: Apache-2.0

package toolapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// FinishStatus is how far a model reports that it came with its task.
type FinishStatus string

const (
	// FinishSucceeded: all of the task is done.
	FinishSucceeded FinishStatus = "Succeeded"
	// FinishPartial: a part of the task is done.
	FinishPartial FinishStatus = "Partial"
	// FinishFailed: the task could not be done.
	FinishFailed FinishStatus = "Failed"
)

// Limits of the arguments of finish, in characters and items.
const (
	MaxFinishSummary = 16 << 10
	MaxFinishFiles   = 32
	MaxFinishPath    = 512
	// MaxFinishBytes is the maximum size of the arguments as the model wrote them.
	MaxFinishBytes = 96 << 10
	// MaxFinishValue is the maximum size of the value as compact JSON, in bytes. MaxFinishStored is that of the string in which it
	// is stored: it is part of the status of a run, which is small.
	MaxFinishValue  = 8 << 10
	MaxFinishStored = 12 << 10
)

// FinishArgs are the arguments of the finish tool, which the engine serves by itself.
type FinishArgs struct {
	Status  FinishStatus `json:"status" jsonschema:"Succeeded: all is done, and checked as far as it can be here. Partial: a part is missing. Failed: it cannot be done."`
	Summary string       `json:"summary" jsonschema:"for the person: what was done, what came out, what is missing and why"`
	Files   []string     `json:"files,omitempty" jsonschema:"files that you made or changed for the task"`
	// Value is any JSON value. It is offered if the task has a schema for it.
	Value json.RawMessage `json:"value,omitempty" jsonschema:"the result as JSON, which fits the schema that the rules name"`
}

// ParseFinish reads the arguments of a finish call as the model wrote them. The loop that ends the attempt and the readers of its
// journal must reach the same end, so all use this function. A null counts as an omitted field.
func ParseFinish(arguments string) (FinishArgs, error) {
	var args FinishArgs
	if len(arguments) > MaxFinishBytes {
		return FinishArgs{}, fmt.Errorf("the arguments must have at most %d bytes", MaxFinishBytes)
	}
	if err := json.Unmarshal([]byte(arguments), &args); err != nil {
		return FinishArgs{}, fmt.Errorf("the arguments are no JSON object that fits: %w", err)
	}
	if err := args.compactValue(); err != nil {
		return FinishArgs{}, err
	}
	return args, args.check()
}

// compactValue makes the value as short as possible. A null counts as an omitted value.
func (a *FinishArgs) compactValue() error {
	if len(a.Value) == 0 || string(a.Value) == "null" {
		a.Value = nil
		return nil
	}
	var b bytes.Buffer
	if err := json.Compact(&b, a.Value); err != nil {
		return fmt.Errorf(`"value" is no JSON: %w`, err)
	}
	a.Value = b.Bytes()
	// The value is stored as a string, in which quotes take two bytes and angle brackets six.
	stored, err := json.Marshal(b.String())
	if err != nil {
		return fmt.Errorf(`"value": %w`, err)
	}
	if len(a.Value) > MaxFinishValue || len(stored) > MaxFinishStored {
		return fmt.Errorf(`"value" has %d bytes of JSON, and may have %d, and %d as a string: put what is longer into a file`,
			len(a.Value), MaxFinishValue, MaxFinishStored)
	}
	return nil
}

func (a FinishArgs) check() error {
	switch {
	case a.Status != FinishSucceeded && a.Status != FinishPartial && a.Status != FinishFailed:
		return fmt.Errorf(`"status" must be %s, %s or %s`, FinishSucceeded, FinishPartial, FinishFailed)
	case strings.TrimSpace(a.Summary) == "":
		return errors.New(`"summary" must not be empty`)
	case utf8.RuneCountInString(a.Summary) > MaxFinishSummary:
		return fmt.Errorf(`"summary" must have at most %d characters: put what is longer into a file`, MaxFinishSummary)
	case len(a.Files) > MaxFinishFiles:
		return fmt.Errorf(`"files" must have at most %d items: name a folder instead`, MaxFinishFiles)
	}
	for _, f := range a.Files {
		if f == "" || utf8.RuneCountInString(f) > MaxFinishPath {
			return fmt.Errorf(`each of "files" must have 1 to %d characters`, MaxFinishPath)
		}
	}
	return nil
}
