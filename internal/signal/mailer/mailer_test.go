// SPDX-License-Identifier: Apache-2.0

package mailer

import (
	"context"
	"errors"
	"io"
	"mime"
	"mime/quotedprintable"
	"net"
	netmail "net/mail"
	"strings"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/outbound"
	"motorcortex.dev/motorcortex/internal/secret"
	"motorcortex.dev/motorcortex/internal/signal"
	"motorcortex.dev/motorcortex/internal/signal/deliver"
	"motorcortex.dev/motorcortex/test/mailserver"
)

func asked(question string) *signal.Signal {
	return &signal.Signal{
		Event: v1alpha1.SignalRunAwaitingInput, ID: "u/run.awaitinginput/a1", Subject: "fix", Time: time.Unix(1, 0).UTC(),
		Data: &signal.Result{Namespace: "team", RunID: "fix", Question: question, Input: &signal.Input{ID: "a1", Kind: v1alpha1.InputQuestion}},
	}
}

// sender trusts the authority of the server, and connects with it whatever the name is.
func sender(t *testing.T, s *mailserver.Server) *Sender {
	t.Helper()
	m, err := New(func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, s.Address)
	}, s.Authority)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func only(t *testing.T, s *mailserver.Server) mailserver.Message {
	t.Helper()
	all := s.All()
	if len(all) != 1 {
		t.Fatalf("the server has %d messages", len(all))
	}
	return all[0]
}

func target(implicit bool) deliver.Target {
	return deliver.Target{Mail: &deliver.Mail{
		Host: mailserver.Host, Port: 465, Implicit: implicit, From: "motor@example.org", To: []string{"a@example.org", "b@example.org"}, PageURL: "https://motor.example.org",
		Username: secret.New("motor"), Password: secret.New("s3cret"),
	}}
}

func TestAMessageArrivesOverTLSWithALogin(t *testing.T) {
	t.Parallel()
	for name, implicit := range map[string]bool{"StartTLS": false, "implicit": true} {
		for _, mechanisms := range []string{"PLAIN LOGIN", "LOGIN"} {
			s := mailserver.New(t, mailserver.Options{Implicit: implicit, Mechanisms: mechanisms})
			if err := sender(t, s).Send(t.Context(), target(implicit), asked("Which year, Łódź?")); err != nil {
				t.Fatalf("%s, %s: %v", name, mechanisms, err)
			}
			got := only(t, s)
			if got.User != "motor" || got.Password != "s3cret" || got.From != "motor@example.org" || strings.Join(got.To, " ") != "a@example.org b@example.org" || !got.Encrypted {
				t.Errorf("%s, %s: got %+v", name, mechanisms, got)
			}
			m, err := netmail.ReadMessage(strings.NewReader(got.Data))
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(quotedprintable.NewReader(m.Body))
			if err != nil {
				t.Fatal(err)
			}
			text := strings.ReplaceAll(string(body), "\r\n", "\n")
			want := "Run team/fix waits for an answer.\n\nText: Which year, Łódź?\nCommand: kubectl motor answer fix -n team --id a1\nPage: https://motor.example.org/#/runs/team/fix\n"
			if m.Header.Get("Subject") != "Run team/fix waits for an answer" || strings.TrimSpace(text) != strings.TrimSpace(want) ||
				!strings.HasPrefix(m.Header.Get("Content-Type"), "text/plain") || m.Header.Get("Auto-Submitted") != "auto-generated" {
				t.Errorf("%s: got %v, %q", name, m.Header, text)
			}
		}
	}
}

func TestAMessageThatIsSentAgainHasItsID(t *testing.T) {
	t.Parallel()
	s := mailserver.New(t, mailserver.Options{})
	m := sender(t, s)
	for range 2 {
		if err := m.Send(t.Context(), target(false), asked("Which?")); err != nil {
			t.Fatal(err)
		}
	}
	var ids []string
	for _, got := range s.All() {
		m, err := netmail.ReadMessage(strings.NewReader(got.Data))
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, m.Header.Get("Message-Id"))
	}
	if len(ids) != 2 || ids[0] != ids[1] || ids[0] == "" {
		t.Errorf("got %q", ids)
	}
}

// Names come from the API server, which bounds them. An e-mail does not rely on it.
func TestNoTextBecomesAHeader(t *testing.T) {
	t.Parallel()
	s := mailserver.New(t, mailserver.Options{})
	what := asked("x\r\nBcc: evil@example.org\r\n.\r\nMAIL FROM:<evil@example.org>")
	what.Subject = "fix\r\nBcc: evil@example.org\r\n\r\nhello\n.\n\u2028Łódź"
	if err := sender(t, s).Send(t.Context(), target(false), what); err != nil {
		t.Fatal(err)
	}
	got := only(t, s)
	m, err := netmail.ReadMessage(strings.NewReader(got.Data))
	if err != nil {
		t.Fatal(err)
	}
	subject, err := new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject"))
	if err != nil || !strings.Contains(subject, "Bcc: evil@example.org") || len(m.Header["Bcc"]) != 0 || len(got.To) != 2 || strings.ContainsAny(subject, "\r\n") {
		t.Errorf("got %q, %v, to %q, %v", subject, m.Header, got.To, err)
	}
}

func TestWhyAMessageIsNotTaken(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		server mailserver.Options
		change func(*deliver.Target)
		reason string
		says   string
		final  bool
	}{
		"no STARTTLS":           {server: mailserver.Options{NoTLS: true}, reason: v1alpha1.ReasonSinkUnavailable, says: "does not encrypt"},
		"a wrong password":      {server: mailserver.Options{Refuses: "AUTH"}, reason: v1alpha1.ReasonSinkRefuses, says: "Check the Secrets"},
		"no login offered":      {server: mailserver.Options{Mechanisms: "CRAM-MD5"}, reason: v1alpha1.ReasonSinkRefuses, says: "offers no login"},
		"a sender it dislikes":  {server: mailserver.Options{Refuses: "MAIL"}, reason: v1alpha1.ReasonSinkRefuses, says: "refuses the sender"},
		"an unknown recipient":  {server: mailserver.Options{Refuses: "RCPT"}, reason: v1alpha1.ReasonSinkRefuses, says: "refuses a recipient"},
		"a message it dislikes": {server: mailserver.Options{Refuses: "."}, reason: v1alpha1.ReasonSinkRefuses, says: "refuses the message", final: true},
		"a server that is full": {server: mailserver.Options{Refuses: "RCPT", Later: true}, reason: v1alpha1.ReasonSinkUnavailable, says: "tried again"},
		"a certificate for another": {
			change: func(to *deliver.Target) { to.Mail.Host = "other.example.org" }, reason: v1alpha1.ReasonSinkUnavailable, says: "certificate",
		},
		"an address that is none": {change: func(to *deliver.Target) { to.Mail.To = []string{"a\r\nb"} }, reason: v1alpha1.ReasonSinkRefuses, says: "Correct sender and recipients"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := mailserver.New(t, tt.server)
			to := target(false)
			if tt.change != nil {
				tt.change(&to)
			}
			var f *deliver.Failure
			err := sender(t, s).Send(t.Context(), to, asked("Which?"))
			if !errors.As(err, &f) || f.Reason != tt.reason || !strings.Contains(f.Message, tt.says) || f.Final != tt.final {
				t.Errorf("got %v", err)
			}
			if strings.Contains(f.Error(), "s3cret") || strings.Contains(f.Error(), "its own words") {
				t.Errorf("it says %q", f)
			}
			if len(s.All()) != 0 {
				t.Errorf("the server has %+v", s.All())
			}
		})
	}
}

func TestALineWithoutAnEndIsNotReadToItsEnd(t *testing.T) {
	t.Parallel()
	s := mailserver.New(t, mailserver.Options{Endless: true})
	var f *deliver.Failure
	if err := sender(t, s).Send(t.Context(), target(false), asked("Which?")); !errors.As(err, &f) || f.Reason != v1alpha1.ReasonSinkUnavailable {
		t.Errorf("got %v", err)
	}
	if !s.LeftEarly() {
		t.Error("all of it is read")
	}
}

// A message that a server has is not sent again because of what the server does afterwards.
func TestAServerThatLeavesAfterAMessageHasIt(t *testing.T) {
	t.Parallel()
	s := mailserver.New(t, mailserver.Options{Leaves: true})
	if err := sender(t, s).Send(t.Context(), target(false), asked("Which?")); err != nil {
		t.Error(err)
	}
	only(t, s)
}

// Without TLS neither the login nor a message leaves the manager.
func TestNothingIsSentWithoutTLS(t *testing.T) {
	t.Parallel()
	s := mailserver.New(t, mailserver.Options{NoTLS: true})
	_ = sender(t, s).Send(t.Context(), target(false), asked("Which?"))
	if said := s.Heard(); strings.Contains(said, "AUTH") || strings.Contains(said, "MAIL") || !strings.Contains(said, "EHLO") {
		t.Errorf("the server is told %q", said)
	}
}

func TestAnAddressThatIsNotAllowedIsNamedSo(t *testing.T) {
	t.Parallel()
	m, err := New(func(context.Context, string, string) (net.Conn, error) { return nil, outbound.ErrRefused }, "")
	if err != nil {
		t.Fatal(err)
	}
	var f *deliver.Failure
	if err := m.Send(t.Context(), target(false), asked("Which?")); !errors.As(err, &f) || !strings.Contains(f.Message, "--allowed-sink-cidrs") {
		t.Errorf("got %v", err)
	}
	if _, err := New(nil, "no certificate"); err == nil {
		t.Error("a caBundle without a certificate is taken")
	}
}

// A process that ends does not wait for a server that says nothing.
func TestTheEndOfTheProcessEndsADelivery(t *testing.T) {
	t.Parallel()
	s := mailserver.New(t, mailserver.Options{Silent: true})
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	begin := time.Now()
	if err := sender(t, s).Send(ctx, target(false), asked("Which?")); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if took := time.Since(begin); took > timeout/3 {
		t.Errorf("it takes %s", took)
	}
}
