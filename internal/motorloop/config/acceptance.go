// SPDX-License-Identifier: Apache-2.0

package config

// MaxRefusedFinishes is how many finish calls whose claims do not hold end the attempt.
const MaxRefusedFinishes = 3

// Acceptance are the demands that must hold when a model claims success.
type Acceptance struct {
	// Files are paths in the workspace, or patterns of the glob tool.
	Files []string
	// Commands must end with status 0.
	Commands []AcceptCommand
	// Schemas are JSON schemas. The value of the result must fit each of them.
	Schemas []string
}

// AcceptCommand is a command line for bash.
type AcceptCommand struct {
	Command        string
	TimeoutSeconds int32
}

// Any reports whether there is a demand.
func (a Acceptance) Any() bool { return len(a.Files)+len(a.Commands)+len(a.Schemas) > 0 }
