// SPDX-License-Identifier: Apache-2.0

package terminate

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/internal/egress"
	"motorcortex.dev/motorcortex/internal/egress/allowlist"
	"motorcortex.dev/motorcortex/internal/secret/redact"
)

// FuzzAnswer has a host answer with any bytes. Nothing of what the sandbox gets has the value that the host was sent, and no head is
// longer than it may be.
func FuzzAnswer(f *testing.F) {
	const secret = "s3cr3t/Value+of:the=run"
	f.Add([]byte("HTTP/1.1 200 OK\r\nContent-Length: 23\r\nX-A: "+secret+"\r\n\r\n"+secret), http.MethodGet)
	f.Fuzz(func(t *testing.T, raw []byte, method string) {
		if method != http.MethodGet && method != http.MethodHead && method != http.MethodPost {
			return
		}
		answer, err := answerOf(t, raw, method)
		if err != nil {
			return
		}
		defer answer.Body.Close()
		w := httptest.NewRecorder()
		refused, aborted := passed(w, answer, method, redact.New(redact.Secret{Name: "one", Value: []byte(secret)}))
		if refused != nil {
			if aborted || w.Body.Len() > 0 {
				t.Errorf("refused as %v after %q was sent", refused, w.Body)
			}
			return
		}
		size := 0
		for name, values := range w.Header() {
			size += len(name) + len(strings.Join(values, ""))
			for _, text := range append(values, name) {
				if strings.Contains(text, secret) || strings.ContainsAny(text, "\r\n") {
					t.Errorf("the header has %s: %q", name, text)
				}
			}
		}
		if strings.Contains(w.Body.String(), secret) || size > 8*maxAnswerHead {
			t.Errorf("the head has %d bytes, the body is %q", size, w.Body)
		}
		for _, name := range []string{"Connection", "Keep-Alive", "Transfer-Encoding", "Upgrade", "Proxy-Authenticate", "Alt-Svc"} {
			if w.Header().Get(name) != "" {
				t.Errorf("the header has %s: %s", name, w.Header().Get(name))
			}
		}
	})
}

// answerOf is the answer of a host that waits for a request and then sends these bytes.
func answerOf(t *testing.T, raw []byte, method string) (*http.Response, error) {
	t.Helper()
	ours, theirs := net.Pipe()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if _, err := http.ReadRequest(bufio.NewReader(theirs)); err == nil {
			_, _ = theirs.Write(raw)
		}
		_ = theirs.Close()
	}()
	t.Cleanup(func() {
		_ = ours.Close()
		_ = theirs.Close()
		<-ended
	})
	host, err := allowlist.ParseHost("example.org")
	if err != nil {
		t.Fatal(err)
	}
	transport := New(Config{}).transport(t.Context(), host, nil)
	transport.DialTLSContext = func(context.Context, string, string) (net.Conn, error) { return egress.Answering(ours), nil }
	t.Cleanup(transport.CloseIdleConnections)
	req, err := http.NewRequestWithContext(t.Context(), method, "https://example.org/", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	return transport.RoundTrip(req)
}

// passed is pass, and whether it broke the connection off.
func passed(w http.ResponseWriter, answer *http.Response, method string, hide *redact.Redactor) (r *refusal, aborted bool) {
	defer func() {
		if broke := recover(); broke != nil {
			if err, ok := broke.(error); !ok || !errors.Is(err, http.ErrAbortHandler) {
				panic(broke)
			}
			aborted = true
		}
	}()
	return pass(w, answer, method, hide), false
}

// connected are the ends of a connection that holds what is written until it is read: both sides of a handshake may write at once.
func connected(t *testing.T) (ours, theirs net.Conn) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	ours, err = net.Dial("tcp", ln.Addr().String())
	if err == nil {
		theirs, err = ln.Accept()
	}
	if err != nil {
		t.Fatal(err)
	}
	return ours, theirs
}

// seedsAt is when the certificates of the seeds hold.
var seedsAt = time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)

// FuzzCertificates has a host show any certificates. No seed has one whose key is here, so none of them lets the host in, not even
// one that testdata/authority.pem signed.
func FuzzCertificates(f *testing.F) {
	authority, err := os.ReadFile("testdata/authority.pem")
	if err != nil {
		f.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(authority) {
		f.Fatal("testdata/authority.pem has no certificate")
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		f.Fatal(err)
	}
	host, err := allowlist.ParseHost("example.org")
	if err != nil {
		f.Fatal(err)
	}
	terminator := New(Config{RootCAs: roots, Now: func() time.Time { return seedsAt }})
	f.Add([]byte("\x30\x03\x02\x01\x01"), []byte("\x30\x80"))
	f.Fuzz(func(t *testing.T, leaf, above []byte) {
		if len(leaf) == 0 {
			return
		}
		shown := tls.Certificate{Certificate: [][]byte{leaf}, PrivateKey: key}
		if len(above) > 0 {
			shown.Certificate = append(shown.Certificate, above)
		}
		ours, theirs := connected(t)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_ = tls.Server(theirs, &tls.Config{Certificates: []tls.Certificate{shown}}).HandshakeContext(t.Context())
			_ = theirs.Close()
		}()
		dial := func(context.Context) (net.Conn, error) { return ours, nil }
		conn, err := terminator.transport(t.Context(), host, dial).DialTLSContext(t.Context(), "tcp", "")
		if err == nil {
			_ = conn.Close()
			t.Error("a host is let in that has not the key of its certificate")
		}
		_ = ours.Close()
		<-ended
	})
}
