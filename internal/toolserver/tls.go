// SPDX-License-Identifier: Apache-2.0

//go:build linux

package toolserver

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"time"

	"motorcortex.dev/motorcortex/internal/toolserver/durable"
)

const keyFile = "server.key"

// ParseManagerKeys reads public keys in base64 of their DER SubjectPublicKeyInfo, separated by commas. Several keys
// allow the manager's key to be replaced while sandboxes run.
func ParseManagerKeys(list string) ([][]byte, error) {
	var keys [][]byte
	for i, part := range strings.Split(list, ",") {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		der, err := base64.StdEncoding.DecodeString(part)
		if err == nil {
			_, err = x509.ParsePKIXPublicKey(der)
		}
		if err != nil {
			return nil, fmt.Errorf("manager key %d is not base64 of a DER public key: %w", i+1, err)
		}
		keys = append(keys, der)
	}
	if len(keys) == 0 {
		return nil, errors.New("no manager key is given")
	}
	return keys, nil
}

// serverTLS makes the TLS configuration: version 1.3, the server's own key, and clients with one of the given keys.
// There is no CA on either side: each end knows the other's key, so names and dates of certificates mean nothing.
func serverTLS(state string, clients [][]byte) (*tls.Config, error) {
	// A server that was killed while it wrote its key has left a part of it.
	stale, err := filepath.Glob(filepath.Join(state, durable.TempPrefix+"*"))
	for _, file := range stale {
		err = errors.Join(err, os.Remove(file))
	}
	if err != nil {
		return nil, fmt.Errorf("clear the state folder: %w", err)
	}
	key, err := serverKey(filepath.Join(state, keyFile))
	if err != nil {
		return nil, err
	}
	cert, err := selfSigned(key)
	if err != nil {
		return nil, err
	}
	return &tls.Config{
		MinVersion:   tls.VersionTLS13,
		Certificates: []tls.Certificate{cert},
		ClientAuth:   tls.RequireAnyClientCert,
		// A resumed session would carry over a decision about a key that may have been removed since.
		SessionTicketsDisabled: true,
		VerifyConnection: func(cs tls.ConnectionState) error {
			for _, known := range clients {
				if bytes.Equal(cs.PeerCertificates[0].RawSubjectPublicKeyInfo, known) {
					return nil
				}
			}
			return errors.New("the client's key is not the manager's")
		},
	}, nil
}

// serverKey reads the server's key, or makes and keeps one. A key that cannot be read is an error and is not replaced:
// clients have pinned it, and a new one would look to them like another server.
func serverKey(path string) (*ecdsa.PrivateKey, error) {
	content, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return makeServerKey(path)
	case err != nil:
		return nil, fmt.Errorf("read the server's key: %w", err)
	}
	block, _ := pem.Decode(content)
	if block == nil {
		return nil, fmt.Errorf("the server's key in %s is damaged: not PEM", path)
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("the server's key in %s is damaged: %w", path, err)
	}
	key, ok := parsed.(*ecdsa.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("the server's key in %s is of type %T, not ECDSA", path, parsed)
	}
	return key, nil
}

func makeServerKey(path string) (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make the server's key: %w", err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode the server's key: %w", err)
	}
	content := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	if err := durable.Write(path, content); err != nil {
		return nil, fmt.Errorf("keep the server's key: %w", err)
	}
	return key, nil
}

func selfSigned(key *ecdsa.PrivateKey) (tls.Certificate, error) {
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: "motor-toolserver"},
		NotBefore:    time.Unix(0, 0),
		NotAfter:     time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC), // RFC 5280: no expiry.
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("make the server's certificate: %w", err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("read back the server's certificate: %w", err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, nil
}

// pinOf names a public key: "sha256:" and the hash of its DER SubjectPublicKeyInfo in hex.
func pinOf(spki []byte) string {
	sum := sha256.Sum256(spki)
	return "sha256:" + hex.EncodeToString(sum[:])
}
