// SPDX-License-Identifier: Apache-2.0

package motorloop

import (
	"fmt"
	"runtime/debug"
)

// Panic is a recovered panic as an error. It decides nothing about the run: code that panicked once may succeed when it is
// tried again.
type Panic struct {
	Value any
	Stack []byte
}

// NewPanic makes an error of the value that recover returned. The deferred function must call it itself, for the stack's sake.
func NewPanic(value any) *Panic { return &Panic{Value: value, Stack: debug.Stack()} }

func (p *Panic) Error() string { return fmt.Sprintf("panic: %v\n%s", p.Value, p.Stack) }
