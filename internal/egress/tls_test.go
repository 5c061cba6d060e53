// SPDX-License-Identifier: Apache-2.0

package egress_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/internal/egress"
	"motorcortex.dev/motorcortex/internal/egress/grant"
	"motorcortex.dev/motorcortex/internal/secret"
)

// helloOf returns the ClientHello for a server name, as one record.
func helloOf(t testing.TB, name string) []byte {
	t.Helper()
	mine, theirs := net.Pipe()
	defer mine.Close()
	go func() {
		c := tls.Client(theirs, &tls.Config{ServerName: name, InsecureSkipVerify: true})
		_ = c.Handshake()
		_ = theirs.Close()
	}()
	buf := make([]byte, 16<<10)
	_ = mine.SetDeadline(time.Now().Add(patience))
	if _, err := io.ReadFull(mine, buf[:5]); err != nil {
		t.Fatal(err)
	}
	n := int(buf[3])<<8 | int(buf[4])
	if _, err := io.ReadFull(mine, buf[5:5+n]); err != nil {
		t.Fatal(err)
	}
	return buf[:5+n]
}

// inRecords cuts the handshake message of a record into records of n bytes.
func inRecords(hello []byte, n int) []byte {
	var out []byte
	for body := hello[5:]; len(body) > 0; {
		part := body[:min(n, len(body))]
		out = append(append(out, 22, 3, 1, byte(len(part)>>8), byte(len(part))), part...)
		body = body[len(part):]
	}
	return out
}

// httpsWorld has example.org allowed, with a site there.
func httpsWorld(t testing.TB, change func(*egress.Config)) *world {
	w := newWorld(t, change)
	w.allow("example.org")
	w.names.is("example.org", []netip.Addr{public})
	w.site("93.184.216.34:443", says("here"))
	return w
}

func TestTunnel(t *testing.T) {
	w := httpsWorld(t, nil)
	c := w.tunnel("example.org:443")
	secure := c.secure("example.org")
	for range 3 {
		if got := get(t, secure, "example.org", "/"); got != "here" {
			t.Errorf("got %q", got)
		}
	}
	_ = secure.Close()
	eventually(t, "the end is in the log", func() bool { return strings.Contains(w.log.String(), `"verdict":"end","reason":"closed"`) })
	if q, d := w.names.questions(), w.net.calls(); len(q) != 1 || len(d) != 1 {
		t.Errorf("asked %q, dialed %v", q, d)
	}
}

func TestClientHello(t *testing.T) {
	right := helloOf(t, "example.org")
	other := helloOf(t, "evil.test")
	plain := "GET / HTTP/1.1\r\nHost: example.org\r\n\r\n"
	for name, tc := range map[string]struct {
		hello  []byte
		reason string
		alert  byte
	}{
		"other server name":           {other, "server_name_mismatch", 112},
		"no server name":              {helloOf(t, ""), "no_server_name", 112},
		"name below":                  {helloOf(t, "a.example.org"), "server_name_mismatch", 112},
		"other name, fragmented":      {inRecords(other, 7), "server_name_mismatch", 112},
		"plaintext":                   {[]byte(plain), "not_tls", 0},
		"nested CONNECT":              {[]byte(connectTo("evil.test:443")), "not_tls", 0},
		"SSH":                         {[]byte("SSH-2.0-OpenSSH_9.0\r\n"), "not_tls", 0},
		"NULs":                        {make([]byte, 64), "not_tls", 0},
		"alert":                       {[]byte{21, 3, 1, 0, 2, 2, 80, 0, 0}, "not_tls", 0},
		"SSL 2":                       {append([]byte{0x80, 0x2e, 1, 3, 1}, make([]byte, 64)...), "not_tls", 0},
		"too long":                    {append([]byte{22, 3, 1, 0x40, 0, 1, 0, 0x80, 0}, make([]byte, 20<<10)...), "client_hello_too_large", 49},
		"promises more than is read":  {append([]byte{22, 3, 1, 0x40, 0, 1, 0xff, 0xff, 0xff}, make([]byte, 20<<10)...), "client_hello_too_large", 49},
		"never ends":                  {right[:len(right)-1], "client_hello_timeout", 0},
		"TLS record, then not a name": {bytes.Replace(right, []byte("example.org"), []byte("example.or."), 1), "not_tls", 0},
		"server name in upper case":   {bytes.Replace(right, []byte("example.org"), []byte("EXAMPLE.ORG"), 1), "", 0},
		"NUL in the server name":      {bytes.Replace(right, []byte("example.org"), []byte("example\x00org"), 1), "server_name_mismatch", 112},
	} {
		t.Run(name, func(t *testing.T) {
			w := httpsWorld(t, func(c *egress.Config) {
				if tc.reason == "client_hello_timeout" {
					c.Timeouts.Hello = 300 * time.Millisecond
				}
			})
			c := w.tunnel("example.org:443")
			c.send(string(tc.hello))
			if tc.reason == "" {
				eventually(t, "the host is dialed", func() bool { return len(w.net.calls()) == 1 })
				return
			}
			b, _ := io.ReadAll(c.r)
			if tc.alert != 0 && !bytes.Equal(b, []byte{21, 3, 3, 0, 2, 2, tc.alert}) || tc.alert == 0 && len(b) > 0 {
				t.Errorf("the client got % x", b)
			}
			eventually(t, "the reason is in the log", func() bool { return strings.Contains(w.log.String(), `"reason":"`+tc.reason+`"`) })
			w.nothingDialed()
		})
	}
}

func TestFragmentedClientHello(t *testing.T) {
	for name, write := range map[string]func(c net.Conn, hello []byte){
		"records of one byte": func(c net.Conn, hello []byte) { _, _ = c.Write(inRecords(hello, 1)) },
		"records of 100":      func(c net.Conn, hello []byte) { _, _ = c.Write(inRecords(hello, 100)) },
		"segments": func(c net.Conn, hello []byte) {
			for i := range hello {
				_, _ = c.Write(hello[i : i+1])
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil)
			w.allow("example.org")
			w.names.is("example.org", []netip.Addr{public})
			got := w.sink("93.184.216.34:443")
			hello := helloOf(t, "example.org")
			c := w.tunnel("example.org:443")
			write(c.Conn, hello)
			c.send("after")
			_ = c.Conn.(*net.TCPConn).CloseWrite()
			b := <-got
			if !bytes.HasSuffix(b, []byte("after")) || len(b) < len(hello)+5 {
				t.Errorf("the host got %d bytes", len(b))
			}
		})
	}
}

// TestEarlyBytes has a client that does not wait for 200.
func TestEarlyBytes(t *testing.T) {
	w := newWorld(t, nil)
	w.allow("example.org")
	w.names.is("example.org", []netip.Addr{public})
	got := w.sink("93.184.216.34:443")
	hello := helloOf(t, "example.org")
	c := w.dial()
	c.send(connectTo("example.org:443") + string(hello) + connectTo("evil.test:443"))
	_ = c.Conn.(*net.TCPConn).CloseWrite()
	if b := <-got; string(b) != string(hello)+connectTo("evil.test:443") {
		t.Errorf("the host got %q", b)
	}
}

// sink lets an address lead to a listener that returns all that one connection sends.
func (w *world) sink(at string) <-chan []byte {
	w.t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = ln.Close() })
	w.net.lead(at, ln.Addr().String())
	got := make(chan []byte, 1)
	go func() {
		conn, err := ln.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(patience))
		b, _ := io.ReadAll(conn)
		got <- b
	}()
	return got
}

// terminator records its arguments, and answers one request.
type terminator struct {
	cert tls.Certificate
	got  chan egress.Target
}

func (f *terminator) Serve(ctx context.Context, conn net.Conn, target egress.Target, s *egress.Session, dial egress.DialFunc) error {
	defer conn.Close()
	f.got <- target
	secure := tls.Server(conn, &tls.Config{Certificates: []tls.Certificate{f.cert}})
	if err := secure.HandshakeContext(ctx); err != nil {
		return err
	}
	up, err := dial(ctx)
	if err != nil {
		return err
	}
	defer up.Close()
	s.Used("forge")
	_, err = io.WriteString(secure, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nterminated")
	_, _ = io.Copy(io.Discard, secure)
	return err
}

func TestTerminated(t *testing.T) {
	ca := testCA(t)
	cert, err := tls.X509KeyPair(ca.Cert, ca.Key.Reveal())
	if err != nil {
		t.Fatal(err)
	}
	bound := func(w *world) *grant.Grant {
		g := w.grantOf("example.org", "other.example")
		g.CA = ca
		g.Credentials = []grant.Credential{{
			Name: "forge", Handle: "mch-x", Hosts: []string{"example.org"}, Slot: "Bearer", Value: secret.New([]byte("a secret value")),
		}}
		return g
	}
	f := &terminator{cert: cert, got: make(chan egress.Target, 1)}
	w := httpsWorld(t, func(c *egress.Config) { c.Terminator = f })
	w.set(bound(w))
	secure := w.tunnel("example.org:443").secure("example.org")
	if got := get(t, secure, "example.org", "/"); got != "terminated" {
		t.Errorf("got %q", got)
	}
	if target := <-f.got; target.Host.String() != "example.org" || target.Port != 443 || target.Rule.String() != "example.org" {
		t.Errorf("target %v", target)
	}
	_ = secure.Close()
	eventually(t, "the credential's name is in the log", func() bool { return strings.Contains(w.log.String(), `"credentials":["forge"]`) })

	t.Run("nothing can terminate", func(t *testing.T) {
		w := httpsWorld(t, nil)
		w.set(bound(w))
		if a := w.raw(connectTo("example.org:443")); a.reason != "no_terminator" {
			t.Errorf("%s, %s", a.phrase, a.reason)
		}
		w.nothingLeft()
	})
	t.Run("binding ends a tunnel that was open", func(t *testing.T) {
		w := httpsWorld(t, nil)
		c := w.tunnel("example.org:443")
		c.secure("example.org")
		w.set(bound(w))
		isClosed(t, c.Conn)
	})
}

// testCA makes a CA of a run, which is also good as a certificate of example.org.
func testCA(t testing.TB) *grant.CA {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		DNSNames: []string{"example.org"}, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, k.Public(), k)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	return &grant.CA{
		Cert: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		Key:  secret.New(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})),
	}
}

func TestPlainHelloIsAClientHello(t *testing.T) {
	for name, want := range map[string]egress.Reason{"example.org": "", "evil.test": egress.ReasonServerName} {
		if _, reason := egress.ReadHello(bytes.NewReader(plainHello(name)), "example.org"); reason != want {
			t.Errorf("%s: %q", name, reason)
		}
	}
}
