// SPDX-License-Identifier: Apache-2.0

package motorloop

import (
	"fmt"
	"runtime/debug"
)

// Panic is a recovered panic as an error. It decides nothing about the run: what panicked once may succeed when it is
// tried again.
type Panic struct {
	Value any
	Stack []byte
}

// NewPanic makes an error of what recover gave. It must be called by the deferred function, for the stack's sake.
func NewPanic(value any) *Panic { return &Panic{Value: value, Stack: debug.Stack()} }

func (p *Panic) Error() string { return fmt.Sprintf("panic: %v\n%s", p.Value, p.Stack) }
