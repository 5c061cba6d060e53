// SPDX-License-Identifier: Apache-2.0

package verb

import (
	"bufio"
	"context"
	"fmt"
	"strings"
)

// Confirm asks the person at the terminal, and reports whether they said yes. Anything else is a no, also the end of the input. It ends with the context:
// else nothing but a line would end it. The caller looks at Terminal first. A verb asks once: what is typed ahead after the line is lost.
func (s Streams) Confirm(ctx context.Context, question string) (bool, error) {
	fmt.Fprint(s.Err, question+" [y/N] ")
	if s.In == nil {
		fmt.Fprintln(s.Err)
		return false, nil
	}
	lines := make(chan string, 1)
	// The program ends with the verb, and the goroutine with it.
	go func() {
		line, _ := bufio.NewReader(s.In).ReadString('\n') // Without a line, the answer is no.
		lines <- line
	}()
	select {
	case line := <-lines:
		line = strings.ToLower(strings.TrimSpace(line))
		return line == "y" || line == "yes", nil
	case <-ctx.Done():
		fmt.Fprintln(s.Err)
		return false, context.Cause(ctx)
	}
}
