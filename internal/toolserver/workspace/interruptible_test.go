// SPDX-License-Identifier: Apache-2.0

//go:build linux

package workspace

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestInterruptible(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	r := Interruptible(ctx, strings.NewReader("some text"))
	head := make([]byte, 4)
	if _, err := io.ReadFull(r, head); err != nil || string(head) != "some" {
		t.Errorf("%q %v", head, err)
	}
	cancel()
	if n, err := r.Read(head); n != 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("%d bytes after the end: %v", n, err)
	}
}
