// SPDX-License-Identifier: Apache-2.0

package mailer

import (
	"errors"
	"net"
)

// errTooMuch reports a server that sends more than a delivery needs.
var errTooMuch = errors.New("the mail server sends too much")

// bounded is a connection from which so many bytes can be read and no more.
type bounded struct {
	net.Conn
	left int
}

// Read reads what is left at most.
func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errTooMuch
	}
	n, err := b.Conn.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}
