// SPDX-License-Identifier: Apache-2.0

// Package acceptance has the rules for what must hold before a run counts as done.
package acceptance

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// Demands are what must hold before a run counts as done: what the run asks for, and what the policy of its skill asks for.
type Demands struct {
	Files    []string
	Commands []v1alpha1.AcceptCommand
	// Schemas are JSON schemas, all of which the value of the result must fit.
	Schemas []string
}

// Of gives the demands of all of those that are given, in their order. A command that is given twice is run once.
func Of(asked ...*v1alpha1.RunAcceptance) Demands {
	var d Demands
	for _, a := range asked {
		if a == nil {
			continue
		}
		d.Files, d.Commands = union(d.Files, a.Files), union(d.Commands, a.Commands)
		if a.ValueSchema != "" {
			d.Schemas = union(d.Schemas, []string{a.ValueSchema})
		}
	}
	return d
}

func union[T comparable](a, b []T) []T {
	for _, v := range b {
		if !slices.Contains(a, v) {
			a = append(a, v)
		}
	}
	return a
}

// Check says what is wrong with demands that no run could meet, or that cannot be looked at. Its error names the field below the acceptance.
func Check(a *v1alpha1.RunAcceptance) error {
	if a == nil {
		return nil
	}
	for i, file := range a.Files {
		if why := unusable(file); why != "" {
			return fmt.Errorf("files[%d] %s: give a path below the workspace, such as artifacts/report.md", i, why)
		}
	}
	if a.ValueSchema == "" {
		return nil
	}
	if err := checkSchema(json.RawMessage(a.ValueSchema)); err != nil {
		return fmt.Errorf("valueSchema is no JSON schema that can be used: %w", err)
	}
	return nil
}

func unusable(file string) string {
	clean := path.Clean(file)
	switch {
	case strings.HasPrefix(file, "/"):
		return "is not relative to the workspace"
	case clean == ".." || strings.HasPrefix(clean, "../"):
		return "leads out of the workspace"
	case strings.ContainsFunc(file, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return "has control characters"
	case strings.Count(file, "[") != strings.Count(file, "]") || strings.Count(file, "{") != strings.Count(file, "}"):
		return "has a bracket that is not closed"
	case strings.ContainsAny(file, "{}") && strings.Contains(file, ".."):
		return "leads out of the workspace, or may"
	}
	return ""
}
