// SPDX-License-Identifier: Apache-2.0

// The apidocs command writes the pages of the API below docs/reference: one for each kind, from the comments and markers of its Go types
// and the notes in kinds/, and one of the conditions and reasons, from the comments of their constants.
package main

import (
	"embed"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
)

//go:embed kinds/*.md
var notes embed.FS

func main() {
	dir := flag.String("o", "docs/reference", "folder to write to")
	api := flag.String("api", "api/v1alpha1", "folder of the Go types")
	flag.Parse()
	if err := write(*dir, *api); err != nil {
		slog.Error("the pages of the API cannot be written", "error", err)
		os.Exit(1)
	}
}

func write(dir, api string) error {
	pages, err := render(api)
	if err != nil {
		return err
	}
	for name, content := range pages {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// kinds are those of the API in the order in which types are looked for: a type that several have is shown on the page of the first.
var kinds = []struct{ name, page string }{
	{"MotorRun", "motorrun.md"}, {"MotorCortex", "motorcortex.md"}, {"SandboxPool", "sandboxpool.md"}, {"Skill", "skill.md"}, {"SkillRevision", "skillrevision.md"}, {"MotorStep", "motorstep.md"},
	{"MotorSchedule", "motorschedule.md"}, {"MotorRunTemplate", "motorruntemplate.md"},
}

// byOperator reports whether only the operator writes objects of a kind.
func byOperator(kind string) bool { return kind == "MotorStep" || kind == "SkillRevision" }

func pageOf(kind string) string {
	for _, k := range kinds {
		if k.name == kind {
			return k.page
		}
	}
	return ""
}

// render returns the pages by the names of their files.
func render(api string) (map[string]string, error) {
	s, err := readSource(api)
	if err != nil {
		return nil, err
	}
	pages := map[string]string{}
	for _, k := range kinds {
		text, err := notes.ReadFile("kinds/" + k.page)
		if err != nil {
			return nil, err
		}
		if pages[k.page], err = s.kindPage(k.name, string(text)); err != nil {
			return nil, fmt.Errorf("%s: %w", k.name, err)
		}
	}
	text, err := notes.ReadFile("kinds/reasons.md")
	if err != nil {
		return nil, err
	}
	pages["reasons.md"], err = s.reasonsPage(string(text))
	return pages, err
}
