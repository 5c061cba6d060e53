// SPDX-License-Identifier: Apache-2.0

package mailer

import (
	"errors"
	"io"
	"net"
	"testing"
)

func TestAConnectionIsReadUpToItsBound(t *testing.T) {
	t.Parallel()
	here, there := net.Pipe()
	go func() {
		_, _ = there.Write(make([]byte, 100))
		_ = there.Close()
	}()
	got, err := io.ReadAll(&bounded{Conn: here, left: 64})
	if len(got) != 64 || !errors.Is(err, errTooMuch) {
		t.Errorf("read %d bytes: %v", len(got), err)
	}
	_ = here.Close()
}
