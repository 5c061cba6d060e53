// SPDX-License-Identifier: Apache-2.0

// Package tutorial reads the commands of a page with what they print, and carries them out. Blocks of the language console have them: a line after "$ " is
// a command, lines after "> " go on with it, and all others are its output. "…" stands for anything in a line, and alone in a line for any lines.
// Durations, ages and hashes may differ. A command ends with 0, or with N where "# exits with N" is its end.
package tutorial

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Command is one of a page.
type Command struct {
	// Line is the line of the page that it begins in, from 1.
	Line int
	// Text is what a shell reads.
	Text string
	// Exit is the code that it ends with.
	Exit int
	// Output is what it prints, as the page has it.
	Output []string
}

var exits = regexp.MustCompile(`\s+# exits with (\d+)$`)

// Parse returns the commands of a page.
func Parse(page string) ([]Command, error) {
	var all []Command
	inside := false
	for i, line := range strings.Split(page, "\n") {
		switch {
		case line == "```console" && !inside:
			inside = true
		case strings.HasPrefix(line, "```"):
			inside = false
		case !inside:
		case strings.HasPrefix(line, "$ "):
			c := Command{Line: i + 1, Text: line[2:]}
			if m := exits.FindStringSubmatch(c.Text); m != nil {
				code, err := strconv.Atoi(m[1])
				if err != nil {
					return nil, fmt.Errorf("line %d: %w", i+1, err)
				}
				c.Text, c.Exit = strings.TrimSuffix(c.Text, m[0]), code
			}
			all = append(all, c)
		case len(all) == 0:
			return nil, fmt.Errorf("line %d: output without a command", i+1)
		case line == ">" || strings.HasPrefix(line, "> "):
			all[len(all)-1].Text += "\n" + strings.TrimPrefix(strings.TrimPrefix(line, ">"), " ")
		default:
			all[len(all)-1].Output = append(all[len(all)-1].Output, line)
		}
	}
	if inside {
		return nil, errors.New("the last block has no end")
	}
	return all, nil
}

// differs are the parts of an output that are others each time.
var differs = []struct{ from, to string }{
	{`\[ *\d+:\d\d\]`, "[T]"},
	{`\b(\d+(\.\d+)?(ms|[smhd]))+\b`, "T"},
	{`\b[0-9a-f]{8,64}\b`, "H"},
	{`[ \t]+`, " "},
}

func steady(line string) string {
	for _, d := range differs {
		line = regexp.MustCompile(d.from).ReplaceAllString(line, d.to)
	}
	return strings.TrimSpace(line)
}

// Matches reports whether an output is the one that the page has.
func (c *Command) Matches(output string) bool {
	var pattern strings.Builder
	pattern.WriteString(`(?s)\A`)
	for _, line := range c.Output {
		if line = steady(line); line == "…" {
			pattern.WriteString(`([^\n]*\n)*?`)
			continue
		}
		pattern.WriteString(strings.ReplaceAll(regexp.QuoteMeta(line), "…", `[^\n]*?`) + `\n`)
	}
	var lines []string
	for line := range strings.Lines(strings.Trim(output, "\n")) {
		lines = append(lines, steady(line))
	}
	got := strings.Join(lines, "\n")
	if got != "" {
		got += "\n"
	}
	return regexp.MustCompile(pattern.String() + `\z`).MatchString(got)
}

// timeout is the most that a command may take.
const timeout = 5 * time.Minute

// Shell carries out commands one after the other.
type Shell struct {
	// Dir is the folder that they work in, and Env their environment, NAME=VALUE.
	Dir string
	Env []string
	// set has the variables of the commands before.
	set string
}

// assignment is a command that sets a variable and does nothing else.
var assignment = regexp.MustCompile(`^([A-Z_]+)=(\$\(.*\)|\S+)$`)

// Run carries out a command. The error says what it printed if that is not what the page has.
func (s *Shell) Run(ctx context.Context, c *Command) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	script, name := s.set+c.Text, ""
	if m := assignment.FindStringSubmatch(c.Text); m != nil {
		name = m[1]
		script += "\nprintf %s \"$" + name + "\""
	}
	cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", script)
	cmd.Dir, cmd.Env, cmd.WaitDelay = s.Dir, s.Env, 10*time.Second
	output, err := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); code != c.Exit {
		return fmt.Errorf("line %d: %s\nended with %d, not %d (%w):\n%s", c.Line, c.Text, code, c.Exit, err, output)
	}
	if name != "" {
		s.set += name + "='" + strings.ReplaceAll(string(output), "'", `'\''`) + "'\n"
		output = nil
	}
	if !c.Matches(string(output)) {
		return fmt.Errorf("line %d: %s\nprinted this:\n%s\nand not this:\n%s", c.Line, c.Text, output, strings.Join(c.Output, "\n"))
	}
	return nil
}
