// SPDX-License-Identifier: Apache-2.0

package toolapi

import "regexp"

// Environment describes a sandbox beside its tools, for the model. The tool server reads it from files when it starts.
type Environment struct {
	// System is the name of the distribution with its version, and the architecture: "Debian GNU/Linux 13 (trixie), amd64".
	System string `json:"system,omitempty"`
	// Languages have their version where it can be read without starting them: "Python 3.13".
	Languages []string `json:"languages,omitempty"`
	// Programs are those that were looked for and found, Missing those that were looked for and not found.
	Programs []string `json:"programs,omitempty"`
	Missing  []string `json:"missing,omitempty"`
	// Packages are Python packages beside its own library: "pytest 8.3.5".
	Packages []string `json:"packages,omitempty"`
	// CPUMillis is the CPU limit of the sandbox in thousandths of a processor, 0 if there is no visible limit.
	CPUMillis int64 `json:"cpuMillis,omitempty"`
	// MemoryBytes and WorkspaceBytes are the limits of memory, and of disk for the workspace; 0 if there is no visible limit.
	MemoryBytes    int64 `json:"memoryBytes,omitempty"`
	WorkspaceBytes int64 `json:"workspaceBytes,omitempty"`
}

// Bounds of an Environment: the prompt of every request has it.
const (
	MaxEnvironmentItems = 40
	maxEnvironmentItem  = 64
	maxEnvironmentLine  = 96
	// maxEnvironmentSize is more than any sandbox has of any of these resources.
	maxEnvironmentSize = 1 << 50
)

// environmentText is one line of plain words. An image is not trusted to put anything else into a prompt.
var environmentText = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9 .,:+~()/_-]*$`)

// Plain returns the environment within its bounds, without texts that are no plain words. It returns nil if nothing remains.
func (e *Environment) Plain() *Environment {
	if e == nil {
		return nil
	}
	plain := Environment{
		Languages: plainItems(e.Languages), Programs: plainItems(e.Programs), Missing: plainItems(e.Missing), Packages: plainItems(e.Packages),
		CPUMillis: plainSize(e.CPUMillis), MemoryBytes: plainSize(e.MemoryBytes), WorkspaceBytes: plainSize(e.WorkspaceBytes),
	}
	if len(e.System) <= maxEnvironmentLine && environmentText.MatchString(e.System) {
		plain.System = e.System
	}
	if plain.System == "" && len(plain.Languages)+len(plain.Programs)+len(plain.Missing)+len(plain.Packages) == 0 &&
		plain.CPUMillis+plain.MemoryBytes+plain.WorkspaceBytes == 0 {
		return nil
	}
	return &plain
}

func plainItems(items []string) []string {
	var plain []string
	for _, s := range items[:min(len(items), MaxEnvironmentItems)] {
		if len(s) <= maxEnvironmentItem && environmentText.MatchString(s) {
			plain = append(plain, s)
		}
	}
	return plain
}

func plainSize(n int64) int64 {
	if n < 0 || n >= maxEnvironmentSize {
		return 0
	}
	return n
}
