// SPDX-License-Identifier: Apache-2.0

//go:build linux

package toolserver

import (
	"crypto/tls"
	"net/http"
	"os"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolclient"
)

func (s *sandbox) tlsConfig() *tls.Config {
	s.t.Helper()
	cert, err := toolclient.ClientCertificate(s.key)
	if err != nil {
		s.t.Fatal(err)
	}
	return &tls.Config{Certificates: []tls.Certificate{cert}, InsecureSkipVerify: true}
}

func TestHandshake(t *testing.T) {
	s := newSandbox(t)
	other, err := toolclient.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	otherCert, err := toolclient.ClientCertificate(other)
	if err != nil {
		t.Fatal(err)
	}
	// The certificate of the manager, which is public, with a key of the attacker's own.
	stolen := s.tlsConfig().Certificates[0]
	stolen.PrivateKey = other
	for name, test := range map[string]struct {
		change func(*tls.Config)
		ok     bool
	}{
		"the manager's key":     {func(*tls.Config) {}, true},
		"no certificate":        {func(c *tls.Config) { c.Certificates = nil }, false},
		"another key":           {func(c *tls.Config) { c.Certificates = []tls.Certificate{otherCert} }, false},
		"another's certificate": {func(c *tls.Config) { c.Certificates = []tls.Certificate{stolen} }, false},
		"TLS 1.2":               {func(c *tls.Config) { c.MaxVersion = tls.VersionTLS12 }, false},
	} {
		t.Run(name, func(t *testing.T) {
			config := s.tlsConfig()
			test.change(config)
			if ok := s.greets(config); ok != test.ok {
				t.Errorf("served: %v", ok)
			}
		})
	}
	t.Run("no TLS", func(t *testing.T) {
		resp, err := http.Get("http://" + s.address + toolapi.PathHello)
		if err == nil {
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				t.Error("served without TLS")
			}
		}
	})
}

// greets reports whether a client with this configuration gets an answer.
func (s *sandbox) greets(config *tls.Config) bool {
	s.t.Helper()
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: config}, Timeout: time.Minute}
	defer client.CloseIdleConnections()
	req, err := http.NewRequest(http.MethodGet, "https://"+s.address+toolapi.PathHello, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set(toolapi.HeaderEpoch, "1")
	resp, err := client.Do(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

func TestSeveralManagerKeys(t *testing.T) {
	s := stoppedSandbox(t)
	first := s.key
	var err error
	if s.key, err = toolclient.GenerateKey(); err != nil {
		t.Fatal(err)
	}
	keys, err := ParseManagerKeys(toolclient.PublicKeyPin(first) + " , " + toolclient.PublicKeyPin(s.key) + ",")
	if err != nil || len(keys) != 2 {
		t.Fatalf("%d keys, %v", len(keys), err)
	}
	for _, bad := range []string{"", ",", "x", "aGVsbG8=", toolclient.PublicKeyPin(first) + ",x"} {
		if _, err := ParseManagerKeys(bad); err == nil {
			t.Errorf("%q was taken for keys", bad)
		}
	}
}

func TestServerKeepsItsKey(t *testing.T) {
	s := newSandbox(t)
	before := s.server.ServerKey()
	info, err := os.Stat(s.state + "/" + keyFile)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	s.restart()
	if s.server.ServerKey() != before {
		t.Error("a restarted server has another key")
	}
	s.stop()
	if err := os.WriteFile(s.state+"/"+keyFile, []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	if server, err := New(s.config()); err == nil {
		_ = server.Close()
		t.Error("a damaged key was replaced")
	}
}
