// SPDX-License-Identifier: Apache-2.0

package mailer

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/wneessen/go-mail/smtp"

	"motorcortex.dev/motorcortex/internal/secret"
)

func TestALoginSendsNothingWithoutTLS(t *testing.T) {
	t.Parallel()
	for _, server := range []smtp.ServerInfo{
		{Name: "mail.example.org", Auth: []string{"PLAIN", "LOGIN"}}, {Name: "mail.example.org", TLS: true, Auth: []string{"GSSAPI"}},
	} {
		l := &login{username: secret.New("motor"), password: secret.New("s3cret"), host: "mail.example.org"}
		if mechanism, first, err := l.Start(&server); !errors.Is(err, errLogin) || mechanism != "" || len(first) > 0 {
			t.Errorf("%+v: %q, %q, %v", server, mechanism, first, err)
		}
		if s := fmt.Sprintf("%+v", *l); strings.Contains(s, "s3cret") {
			t.Errorf("it prints %s", s)
		}
	}
}
