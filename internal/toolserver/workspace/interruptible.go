// SPDX-License-Identifier: Apache-2.0

//go:build linux

package workspace

import (
	"context"
	"io"
)

// interruptible is the reader that Interruptible returns.
type interruptible struct {
	ctx context.Context //nolint:containedctx // it lives as long as one reading
	r   io.Reader
}

// Interruptible reads from r until ctx ends, and then returns the error of ctx.
func Interruptible(ctx context.Context, r io.Reader) io.Reader { return &interruptible{ctx, r} }

// Read implements io.Reader.
func (i *interruptible) Read(p []byte) (int, error) {
	if err := i.ctx.Err(); err != nil {
		return 0, err
	}
	return i.r.Read(p)
}
