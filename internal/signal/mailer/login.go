// SPDX-License-Identifier: Apache-2.0

package mailer

import (
	"errors"
	"slices"

	"github.com/wneessen/go-mail/smtp"

	"motorcortex.dev/motorcortex/internal/secret"
)

// errLogin reports a server without a login that the manager can use.
var errLogin = errors.New("the server offers neither PLAIN nor LOGIN over TLS")

// login is the login of a client: PLAIN, or LOGIN where a server has only that. It does not print its values.
type login struct {
	username, password secret.Value
	host               string

	smtp.Auth
}

// Start begins the login. Without TLS it sends nothing.
func (l *login) Start(server *smtp.ServerInfo) (mechanism string, first []byte, err error) {
	switch {
	case server.TLS && slices.Contains(server.Auth, "PLAIN"):
		l.Auth = smtp.PlainAuth("", l.username.RevealText(), l.password.RevealText(), l.host, false)
	case server.TLS && slices.Contains(server.Auth, "LOGIN"):
		l.Auth = smtp.LoginAuth(l.username.RevealText(), l.password.RevealText(), l.host, false)
	default:
		return "", nil, errLogin
	}
	return l.Auth.Start(server)
}
