// SPDX-License-Identifier: Apache-2.0

package reply

import (
	"context"
	"fmt"
	"io"
	"time"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/show"
	"motorcortex.dev/motorcortex/internal/pending"
)

// Show prints what is asked, a call whole. It returns an error if the call cannot be shown, or is not the one that a decision would be about: then there
// must be none.
func (s *Ask) Show(ctx context.Context, w io.Writer, now time.Time) error {
	if s.Kind != v1alpha1.InputApproval {
		s.Print(w, now)
		return nil
	}
	arguments, err := s.Call(ctx)
	if err != nil {
		return err
	}
	whose := "The model wants to make this call"
	if s.Action.Check {
		whose = "This call is a command of spec.accept"
	}
	fmt.Fprintf(w, "%s (run %s", whose, s.Run.Name)
	fmt.Fprint(w, show.Expiry(now, s.ExpirationTime))
	fmt.Fprintln(w, "):")
	show.Call(w, s.Action.Tool, arguments)
	if s.Action.Reason != "" {
		fmt.Fprintf(w, "because of: %s\n", show.Line(s.Action.Reason, 8*maxSaid))
	}
	fmt.Fprintf(w, "digest: %s\n", s.Action.ArgsDigest)
	return nil
}

// Print prints what is asked, without the call that it is about.
func (s *Ask) Print(w io.Writer, now time.Time) {
	fmt.Fprintf(w, "%s asks (%s)", s.Run.Name, pending.Word(s.Kind))
	fmt.Fprint(w, show.Expiry(now, s.ExpirationTime))
	fmt.Fprintln(w, ":")
	show.Block(w, "  | ", s.Question)
	if s.Kind != v1alpha1.InputQuestion {
		return
	}
	if files := Wanted(s.PendingInput); len(files) > 0 {
		fmt.Fprintln(w, "  it wants files with the answer (--file):")
		for _, f := range files {
			fmt.Fprintf(w, "  - %s\n", f)
		}
	}
	for i, o := range s.Options {
		fmt.Fprintf(w, "  %d:\n", i+1)
		show.Block(w, "  | ", o)
	}
	if s.Default != "" {
		fmt.Fprintln(w, "  the model would choose:")
		show.Block(w, "  | ", s.Default)
	}
}
