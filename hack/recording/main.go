// SPDX-License-Identifier: Apache-2.0

// The recording carries out the commands of a tutorial in a terminal, and writes what is seen there: as an asciicast (v2), which players of terminal
// sessions read, and as a picture that moves (SVG), which browsers show.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"

	"motorcortex.dev/motorcortex/test/tutorial"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "recording:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("recording", flag.ContinueOnError)
	from := flags.String("from", "", "heading of the page at which the recording begins; the commands before it are carried out unseen")
	to := flags.String("to", "", "path of the recording, without an ending: .cast and .svg are written")
	width, height := flags.Int("width", 110, "columns of the terminal"), flags.Int("height", 36, "rows of the terminal")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 1 || *to == "" {
		return errors.New("usage: recording --to PATH [--from HEADING] PAGE")
	}
	page, err := os.ReadFile(flags.Arg(0))
	if err != nil {
		return err
	}
	unseen, seen, err := divide(string(page), *from)
	if err != nil {
		return fmt.Errorf("%s: %w", flags.Arg(0), err)
	}
	shell := &tutorial.Shell{Env: os.Environ()}
	for i := range unseen {
		if err := shell.Run(ctx, &unseen[i]); err != nil {
			return err
		}
	}
	title, _, _ := strings.Cut(strings.TrimPrefix(string(page), "# "), "\n")
	s := &session{title: title, width: *width, height: *height}
	for i := range seen {
		if err := s.carryOut(ctx, &seen[i]); err != nil {
			return err
		}
	}
	if err := os.WriteFile(*to+".cast", s.cast(), 0o644); err != nil { //nolint:gosec // It is for all to read.
		return err
	}
	return os.WriteFile(*to+".svg", s.svg(), 0o644) //nolint:gosec // It is for all to read.
}

// divide returns the commands of a page before a heading, and those from it on.
func divide(page, heading string) (before, after []tutorial.Command, err error) {
	all, err := tutorial.Parse(page)
	if err != nil {
		return nil, nil, err
	}
	line := 0
	if heading != "" {
		head, _, found := strings.Cut(page, "\n## "+heading+"\n")
		if !found {
			return nil, nil, fmt.Errorf("there is no heading %q", heading)
		}
		line = strings.Count(head, "\n") + 2
	}
	for _, c := range all {
		if c.Line < line {
			before = append(before, c)
		} else {
			after = append(after, c)
		}
	}
	return before, after, nil
}
