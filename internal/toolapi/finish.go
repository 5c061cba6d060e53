// SPDX-License-Identifier: Apache-2.0

package toolapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// FinishStatus is how far a model says that it came with its task.
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
	// MaxFinishBytes is the most that the arguments may have as the model wrote them.
	MaxFinishBytes = 96 << 10
)

// FinishArgs are the arguments of the finish tool, which the engine serves by itself.
type FinishArgs struct {
	Status  FinishStatus `json:"status" jsonschema:"Succeeded only if all of the task is done and you saw that it works; Partial if a part is missing; Failed if it cannot be done"`
	Summary string       `json:"summary" jsonschema:"the result for the person: what was done, what came out, what is missing and why"`
	Files   []string     `json:"files,omitempty" jsonschema:"files of the workspace that hold the result"`
}

// ParseFinish reads the arguments of a finish call as the model wrote them. The loop that ends the attempt and the readers of its
// journal must come to the same end, so all ask here. A null counts as a field left out.
func ParseFinish(arguments string) (FinishArgs, error) {
	var args FinishArgs
	if len(arguments) > MaxFinishBytes {
		return FinishArgs{}, fmt.Errorf("the arguments must have at most %d bytes", MaxFinishBytes)
	}
	if err := json.Unmarshal([]byte(arguments), &args); err != nil {
		return FinishArgs{}, fmt.Errorf("the arguments are no JSON object that fits: %w", err)
	}
	return args, args.check()
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
