// SPDX-License-Identifier: Apache-2.0

package runpolicy

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/runpolicy/calls"
	"motorcortex.dev/motorcortex/internal/runpolicy/fit"
	"motorcortex.dev/motorcortex/internal/text"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

const (
	// maxInstallName is the longest name of a run that installs packages.
	maxInstallName = 48
	// packagesInstalled is the summary of a run of mode Install that succeeded.
	packagesInstalled = "The packages are installed."
	// maxInstallMessage bounds the output of npm, pip and apt that the status shows, in bytes of JSON.
	maxInstallMessage = 800
)

// InstallRunName returns the name of the run that installs the packages of that hash for a skill. It is the same for the same packages. The name of
// a skill may be too long for it.
func InstallRunName(skillName, hash string) string {
	const mark = "-packages-"
	digits := installDigits(hash)
	if most := maxInstallName - len(mark) - len(digits); len(skillName) > most {
		sum := sha256.Sum256([]byte(skillName))
		short := hex.EncodeToString(sum[:4])
		skillName = strings.TrimSuffix(skillName[:most-len(short)-1], "-") + "-" + short
	}
	return skillName + mark + digits
}

// InstallsFor reports whether a run of mode Install was made for packages of that hash.
func InstallsFor(run *v1alpha1.MotorRun, hash string) bool {
	digits := installDigits(hash)
	return digits != "" && strings.HasSuffix(run.Name, "-"+digits)
}

// installDigits returns the digits of a hash that the name of a run has, "" if it has too few.
func installDigits(hash string) string {
	const count = 12
	if hash = strings.TrimPrefix(hash, "sha256:"); len(hash) < count {
		return ""
	}
	return hash[:count]
}

// addInstall ends a run of mode Install with the result of its call.
func (p *Progress) addInstall(s *v1alpha1.MotorStep) {
	for i := range s.Spec.ToolCalls {
		c := &s.Spec.ToolCalls[i]
		r := calls.ResultOf(s, c.ID)
		if c.Tool != toolapi.ToolInstall || r == nil {
			continue
		}
		var done toolapi.Installed
		if r.OK && json.Unmarshal([]byte(r.Output), &done) == nil && len(done.ConfigMaps) > 0 {
			p.Packages = &v1alpha1.PackageArchive{ConfigMapNames: done.ConfigMaps, SHA256: done.SHA256, Size: done.Size}
			p.Final = new(packagesInstalled)
			return
		}
		p.Failure = &v1alpha1.StepOutcome{
			Category: v1alpha1.CategoryToolFailure, Reason: v1alpha1.ReasonInstallFailed, Message: installFailure(r),
		}
	}
}

// installFailure returns why there are no packages. It makes the sandbox's output fit for a terminal.
func installFailure(r *v1alpha1.ToolResult) string {
	if r.OK {
		return "The packages could not be installed: the record of the call does not say where they are."
	}
	if r.ErrorCode == toolapi.CodeOutcomeUnknown {
		return "The packages could not be installed: the sandbox's tool server ended meanwhile, each time that it was started. " +
			"They may need more memory than the sandbox has."
	}
	return "The packages could not be installed: " +
		fit.CutEncoded(strings.Join(strings.Fields(text.Printable(r.Output)), " "), maxInstallMessage)
}
