// SPDX-License-Identifier: Apache-2.0

// Package motorcortex says which version of Motor Cortex this is.
package motorcortex

import (
	_ "embed" // For the file VERSION.
	"strings"
)

//go:embed VERSION
var version string

// Version is the version of this build: that of a release, 0.1.0, or the next one with -dev.
func Version() string { return strings.TrimSpace(version) }
