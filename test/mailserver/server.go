// SPDX-License-Identifier: Apache-2.0

// Package mailserver is a mail server on the loopback, for tests. It speaks as much of SMTP as a client of today needs, with TLS.
package mailserver

import (
	"bufio"
	"crypto/tls"
	"encoding/base64"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/util/cert"
)

// Host is the name that the certificate of a server is for.
const Host = "mail.example.org"

// Options are how a server behaves.
type Options struct {
	// Implicit has TLS begin with the connection, and NoTLS has it never begin.
	Implicit, NoTLS bool
	// Silent has the server say nothing, and Endless begin with a line without an end.
	Silent, Endless bool
	// Leaves has it end the connection after a message, without a word.
	Leaves bool
	// Mechanisms are the logins that it offers, "" for PLAIN.
	Mechanisms string
	// Refuses is the command that it refuses, "." for a message, and Later has it refuse that for now.
	Refuses string
	Later   bool
}

// Message is a message that a server has taken.
type Message struct {
	User, Password, From string
	To                   []string
	// Data has the headers and the body.
	Data      string
	Encrypted bool
}

// Server is a mail server.
type Server struct {
	// Address is where it listens, and Authority the certificate by which it is known, in PEM.
	Address, Authority string

	options     Options
	certificate tls.Certificate
	connections sync.WaitGroup

	mu    sync.Mutex
	got   []Message
	heard strings.Builder
	left  bool
}

// New starts a server, which ends with the test.
func New(t *testing.T, o Options) *Server {
	t.Helper()
	if o.Mechanisms == "" {
		o.Mechanisms = "PLAIN"
	}
	s := &Server{options: o}
	pem, key, err := cert.GenerateSelfSignedCertKey(Host, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if s.certificate, err = tls.X509KeyPair(pem, key); err != nil {
		t.Fatal(err)
	}
	s.Authority = string(pem)
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.Address = listener.Addr().String()
	var accepts sync.WaitGroup
	accepts.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			s.connections.Go(func() {
				defer conn.Close()
				_ = conn.SetDeadline(time.Now().Add(time.Minute))
				s.talk(conn)
			})
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		accepts.Wait()
		s.connections.Wait()
	})
	return s
}

// All returns the messages that it has taken.
func (s *Server) All() []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.got)
}

// Heard returns the commands that it was told, in lines.
func (s *Server) Heard() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.heard.String()
}

// LeftEarly waits for the ends of all connections, and reports whether one ended before all of an endless line was sent.
func (s *Server) LeftEarly() bool {
	s.connections.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.left
}

// talk serves a connection.
func (s *Server) talk(conn net.Conn) {
	if s.options.Silent {
		_, _ = io.Copy(io.Discard, conn)
		return
	}
	c := &session{server: s, conn: conn}
	if s.options.Implicit {
		c.encrypt()
	}
	c.in = bufio.NewReader(c.conn)
	if s.options.Endless {
		// More than a connection holds on its way.
		for range 64 {
			if _, err := io.WriteString(c.conn, strings.Repeat("2", 1<<20)); err != nil {
				s.mu.Lock()
				s.left = true
				s.mu.Unlock()
				return
			}
		}
	}
	c.say("220 here")
	for {
		line, err := c.in.ReadString('\n')
		if err != nil {
			return
		}
		line = strings.TrimSpace(line)
		s.mu.Lock()
		s.heard.WriteString(line + "\n")
		s.mu.Unlock()
		verb, rest, _ := strings.Cut(line, " ")
		if !c.obey(strings.ToUpper(verb), rest) {
			return
		}
	}
}

// session is a connection.
type session struct {
	server *Server
	conn   net.Conn
	in     *bufio.Reader
	m      Message
}

func (c *session) say(line string) { _, _ = io.WriteString(c.conn, line+"\r\n") }

func (c *session) encrypt() {
	c.conn = tls.Server(c.conn, &tls.Config{Certificates: []tls.Certificate{c.server.certificate}, MinVersion: tls.VersionTLS12})
	c.in, c.m.Encrypted = bufio.NewReader(c.conn), true
}

func (c *session) refuse() {
	if c.server.options.Later {
		c.say("452 its own words")
		return
	}
	c.say("550 its own words")
}

// obey carries out a command, and reports whether the connection goes on.
func (c *session) obey(verb, rest string) bool {
	o := &c.server.options
	if verb == o.Refuses {
		c.refuse()
		return true
	}
	switch verb {
	case "EHLO":
		c.say("250-here")
		if !o.NoTLS && !c.m.Encrypted {
			c.say("250-STARTTLS")
		}
		c.say("250 AUTH " + o.Mechanisms)
		return true
	case "STARTTLS":
		c.say("220 go on")
		c.encrypt()
		return true
	case "AUTH":
		c.login(rest)
		c.say("235 welcome")
		return true
	case "DATA":
		return c.take()
	case "QUIT":
		// It parts without a word: the message is taken.
		return false
	case "MAIL":
		c.m.From = address(rest)
	case "RCPT":
		c.m.To = append(c.m.To, address(rest))
	}
	c.say("250 ok")
	return true
}

// take takes a message.
func (c *session) take() bool {
	c.say("354 go on")
	var data strings.Builder
	for {
		line, err := c.in.ReadString('\n')
		if err != nil {
			return false
		}
		if line == ".\r\n" {
			break
		}
		data.WriteString(strings.TrimPrefix(line, "."))
	}
	if c.server.options.Refuses == "." {
		c.refuse()
		return true
	}
	c.m.Data = data.String()
	c.server.mu.Lock()
	c.server.got = append(c.server.got, c.m)
	c.server.mu.Unlock()
	c.say("250 ok")
	return !c.server.options.Leaves
}

func (c *session) login(rest string) {
	decode := func(s string) string {
		b, _ := base64.StdEncoding.DecodeString(strings.TrimSpace(s))
		return string(b)
	}
	mechanism, first, _ := strings.Cut(rest, " ")
	if mechanism == "PLAIN" {
		if parts := strings.Split(decode(first), "\x00"); len(parts) == 3 {
			c.m.User, c.m.Password = parts[1], parts[2]
		}
		return
	}
	answer := func(prompt string) string {
		c.say("334 " + base64.StdEncoding.EncodeToString([]byte(prompt)))
		line, _ := c.in.ReadString('\n')
		return decode(line)
	}
	c.m.User = answer("Username:")
	c.m.Password = answer("Password:")
}

func address(s string) string {
	_, s, _ = strings.Cut(s, "<")
	s, _, _ = strings.Cut(s, ">")
	return s
}
