// SPDX-License-Identifier: Apache-2.0

// Package acceptance has the rules for the demands that must hold before a run counts as done.
package acceptance

import (
	"encoding/json"
	"fmt"
	"path"
	"strings"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// Check returns an error for demands that no run could meet, or that cannot be checked. The error names the field below the acceptance.
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
