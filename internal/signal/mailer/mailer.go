// SPDX-License-Identifier: Apache-2.0

// Package mailer hands messages for people to mail servers, over TLS alone.
package mailer

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/textproto"
	"strings"
	"time"

	"github.com/wneessen/go-mail"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/outbound"
	"motorcortex.dev/motorcortex/internal/signal"
	"motorcortex.dev/motorcortex/internal/signal/deliver"
	"motorcortex.dev/motorcortex/internal/signal/notice"
)

const (
	// timeout bounds one delivery, from the connection to the last answer of the server.
	timeout = 30 * time.Second
	// maxAnswers is the most bytes that a server may send for one delivery. A line without an end would take all memory.
	maxAnswers = 256 << 10
)

// Dial connects with a mail server, if that is allowed.
type Dial func(ctx context.Context, network, address string) (net.Conn, error)

// Sender hands messages to mail servers. It keeps no connection.
type Sender struct {
	dial  Dial
	roots *x509.CertPool
}

// New returns a Sender. caBundle has the authorities that the server is known by, "" for those of the system.
func New(dial Dial, caBundle string) (*Sender, error) {
	s := &Sender{dial: dial}
	if caBundle != "" {
		s.roots = x509.NewCertPool()
		if !s.roots.AppendCertsFromPEM([]byte(caBundle)) {
			return nil, errors.New("caBundle has no certificate in PEM")
		}
	}
	return s, nil
}

// Close does nothing: there is no connection between two messages.
func (s *Sender) Close() {}

// Send hands a message about a signal to the server of the target. It returns nil if the server has taken it for all recipients, else a
// *deliver.Failure, or the error of the context if that has ended.
func (s *Sender) Send(ctx context.Context, to deliver.Target, what *signal.Signal) error {
	m, err := message(to.Mail, what)
	if err != nil {
		return &deliver.Failure{Reason: v1alpha1.ReasonSinkRefuses, Message: "An address of the e-mail cannot be used. Correct sender and recipients."}
	}
	bounded, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	c, err := s.client(bounded, to.Mail)
	if err != nil {
		return &deliver.Failure{Reason: v1alpha1.ReasonSinkRefuses, Message: "The mail server cannot be used as it is configured. Correct host and port."}
	}
	session, err := c.DialToSMTPClientWithContext(bounded)
	if err != nil {
		return failure(ctx, err)
	}
	err = c.SendWithSMTPClient(session, m)
	// How the server parts decides nothing: the message is with it, or it is not.
	_ = c.CloseWithSMTPClient(session)
	if err != nil && !m.IsDelivered() {
		return failure(ctx, err)
	}
	return nil
}

// client returns a client for one delivery.
func (s *Sender) client(ctx context.Context, to *deliver.Mail) (*mail.Client, error) {
	secure := &tls.Config{RootCAs: s.roots, ServerName: to.Host, MinVersion: tls.VersionTLS12}
	dial := func(dialing context.Context, network, address string) (net.Conn, error) {
		raw, err := s.dial(dialing, network, address)
		if err != nil {
			return nil, err
		}
		// The library sets deadlines for each command, and none for all of them.
		context.AfterFunc(ctx, func() { _ = raw.Close() })
		conn := &bounded{Conn: raw, left: maxAnswers}
		if !to.Implicit {
			return conn, nil
		}
		over := tls.Client(conn, secure)
		if err := over.HandshakeContext(dialing); err != nil {
			_ = conn.Close()
			return nil, err
		}
		return over, nil
	}
	options := []mail.Option{
		mail.WithPort(to.Port), mail.WithTLSConfig(secure), mail.WithTimeout(timeout / 2), mail.WithDialContextFunc(dial), mail.WithoutNoop(),
		mail.WithTLSPolicy(mail.TLSMandatory),
	}
	if to.Implicit {
		options = append(options, mail.WithSSL())
	}
	if !to.Username.IsEmpty() {
		options = append(options, mail.WithSMTPAuthCustom(&login{username: to.Username, password: to.Password, host: to.Host}))
	}
	return mail.NewClient(to.Host, options...)
}

// message words a signal as an e-mail. Its subject is made of names of the cluster alone. The library encodes what a header cannot have.
func message(to *deliver.Mail, what *signal.Signal) (*mail.Msg, error) {
	n := notice.Of(what, to.PageURL)
	m := mail.NewMsg(mail.WithCharset(mail.CharsetUTF8), mail.WithEncoding(mail.EncodingQP), mail.WithNoDefaultUserAgent())
	if err := errors.Join(m.From(to.From), m.To(to.To...)); err != nil {
		return nil, err
	}
	m.Subject(oneLine(n.Title))
	m.SetDateWithValue(what.Time.UTC())
	// With the same id, a mailbox can drop a message that it has.
	sum := sha256.Sum256([]byte(what.ID))
	_, host, _ := strings.Cut(to.From, "@")
	m.SetMessageIDWithValue(hex.EncodeToString(sum[:16]) + "@" + host)
	// Replies by machines, such as notes of absence, have no reader.
	m.SetGenHeader("Auto-Submitted", "auto-generated")
	m.SetBodyString(mail.TypeTextPlain, notice.Plain(n))
	return m, nil
}

// oneLine replaces what would end a header.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// failure says why a message was not taken. The words of the server and of the network are not told: they would show an editor of a MotorCortex what the
// manager can reach.
func failure(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	f := &deliver.Failure{Reason: v1alpha1.ReasonSinkUnavailable, Message: "The mail server cannot be reached, or does not encrypt as tls says. Check host, port and tls."}
	var certificate *tls.CertificateVerificationError
	var sent *mail.SendError
	var answer *textproto.Error
	switch {
	case errors.Is(err, outbound.ErrRefused):
		f.Message = "The mail server has an address that the manager does not connect with. Allow it with --allowed-sink-cidrs, or choose another host."
	case errors.As(err, &certificate):
		f.Message = "The certificate of the mail server is not for host, or of no authority that is known. Put the authority into caBundle."
	case errors.Is(err, errLogin):
		f.Reason, f.Message = v1alpha1.ReasonSinkRefuses, "The mail server offers no login by password over TLS. Choose another server, or remove its Secrets."
	case errors.As(err, &sent):
		return refused(sent)
	case errors.As(err, &answer) && answer.Code >= 500:
		// Before a message, there is only the login that a server can refuse.
		f.Reason, f.Message = v1alpha1.ReasonSinkRefuses, "The mail server refuses the manager. Check the Secrets with user name and password."
	case errors.Is(err, context.DeadlineExceeded):
		f.Message = fmt.Sprintf("The mail server did not take the message within %s.", timeout)
	}
	return f
}

// refused says why a server that was reached did not take a message.
func refused(sent *mail.SendError) *deliver.Failure {
	f := &deliver.Failure{Reason: v1alpha1.ReasonSinkRefuses}
	switch {
	case sent.IsTemp() || sent.Reason == mail.ErrConnCheck || sent.Reason == mail.ErrWriteContent:
		f.Reason, f.Message = v1alpha1.ReasonSinkUnavailable, "The mail server does not take the message now. It is tried again."
	case sent.Reason == mail.ErrSMTPMailFrom:
		f.Message = "The mail server refuses the sender. Check sender, and whether the server wants a login."
	case sent.Reason == mail.ErrSMTPRcptTo:
		f.Message = "The mail server refuses a recipient. Check recipients, and whether the server wants a login."
	default:
		f.Message, f.Final = "The mail server refuses the message.", true
	}
	return f
}
