// SPDX-License-Identifier: Apache-2.0

package prompt

import (
	"fmt"
	"slices"
	"strings"

	"motorcortex.dev/motorcortex/internal/toolapi"
)

// environment is the environment of the sandbox in words.
type environment struct {
	// Limits follow System.
	System, Limits, Languages, Programs, Missing, Packages string
}

// worthMissing are the programs whose absence the prompt names: a model would reach for them.
var worthMissing = []string{"gcc", "make", "pytest", "sqlite3", "wget", "docker"}

// environmentOf returns the environment for the prompt, nil if nothing is known.
func environmentOf(e *toolapi.Environment) *environment {
	if e == nil {
		return nil
	}
	p := environment{
		System: e.System, Languages: strings.Join(e.Languages, ", "), Programs: strings.Join(e.Programs, ", "), Packages: strings.Join(namesOf(e.Packages), ", "),
	}
	missing := slices.DeleteFunc(slices.Clone(e.Missing), func(name string) bool { return !slices.Contains(worthMissing, name) })
	p.Missing = strings.Join(missing, ", ")
	var limits []string
	if e.CPUMillis > 0 {
		limits = append(limits, processors(e.CPUMillis))
	}
	if e.MemoryBytes > 0 {
		limits = append(limits, bytesInWords(e.MemoryBytes)+" of memory")
	}
	if e.WorkspaceBytes > 0 {
		limits = append(limits, bytesInWords(e.WorkspaceBytes)+" for files")
	}
	if len(limits) > 0 {
		p.Limits = "; " + strings.Join(limits, ", ")
	}
	return &p
}

// maxPackages is how many Python packages a prompt names.
const maxPackages = 16

// namesOf returns packages without their versions.
func namesOf(packages []string) []string {
	var names []string
	for _, p := range packages[:min(len(packages), maxPackages)] {
		name, _, _ := strings.Cut(p, " ")
		names = append(names, name)
	}
	return names
}

func processors(millis int64) string {
	switch {
	case millis == 1000:
		return "1 processor"
	case millis%1000 == 0:
		return fmt.Sprintf("%d processors", millis/1000)
	}
	return fmt.Sprintf("%.2g processors", float64(millis)/1000)
}

func bytesInWords(n int64) string {
	if n >= 1<<30 {
		return strings.Replace(fmt.Sprintf("%.1f GiB", float64(n)/(1<<30)), ".0", "", 1)
	}
	return fmt.Sprintf("%d MiB", n>>20)
}

// hasGit reports whether the sandbox has git, and may have made a repository of the input files.
func hasGit(e *toolapi.Environment) bool { return e != nil && slices.Contains(e.Programs, "git") }
