// SPDX-License-Identifier: Apache-2.0

package terminate

import (
	"container/list"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"sync"
	"time"

	"motorcortex.dev/motorcortex/internal/egress/grant"
)

const (
	// maxLeaves bounds the certificates that are kept, of all runs together.
	maxLeaves = 1024
	// leafAge is how far back a certificate's time begins, for sandboxes whose clock is behind.
	leafAge = time.Hour
	// leafLifetime is how long a certificate is valid.
	leafLifetime = 24 * time.Hour
	// leafLeft is how long a certificate must still be valid to be used again.
	leafLeft = time.Hour
)

// leafKey identifies a certificate. The run is in it by its authority, so that no run is shown a certificate that another run's authority
// signed, even if a run were to get another authority.
type leafKey struct {
	runUID    string
	authority [sha256.Size]byte
	host      string
}

type leafEntry struct {
	key  leafKey
	cert *tls.Certificate
}

// minter makes the certificates that sandboxes are shown, and keeps the latest used.
type minter struct {
	now func() time.Time

	mu     sync.Mutex
	leaves map[leafKey]*list.Element
	// order has the latest used entry first.
	order *list.List
}

func newMinter(now func() time.Time) *minter {
	return &minter{now: now, leaves: map[leafKey]*list.Element{}, order: list.New()}
}

// leaf returns a certificate for exactly this host, signed by the grant's authority.
func (m *minter) leaf(g *grant.Grant, host string) (*tls.Certificate, error) {
	if g.CA == nil {
		return nil, errors.New("the grant has no certificate authority")
	}
	key := leafKey{g.RunUID, sha256.Sum256(append(append([]byte{}, g.CA.Cert...), g.CA.Key.Reveal()...)), host}
	m.mu.Lock()
	defer m.mu.Unlock()
	if e, ok := m.leaves[key]; ok {
		entry, _ := e.Value.(*leafEntry)
		if m.now().Add(leafLeft).Before(entry.cert.Leaf.NotAfter) {
			m.order.MoveToFront(e)
			return entry.cert, nil
		}
		m.forget(e)
	}
	cert, err := mint(g.CA, host, m.now())
	if err != nil {
		return nil, err
	}
	m.leaves[key] = m.order.PushFront(&leafEntry{key, cert})
	if m.order.Len() > maxLeaves {
		m.forget(m.order.Back())
	}
	return cert, nil
}

func (m *minter) forget(e *list.Element) {
	entry, _ := m.order.Remove(e).(*leafEntry)
	delete(m.leaves, entry.key)
}

// mint signs a new certificate. Errors show nothing of the key.
func mint(ca *grant.CA, host string, now time.Time) (*tls.Certificate, error) {
	authority, err := tls.X509KeyPair(ca.Cert, ca.Key.Reveal())
	if err != nil {
		return nil, fmt.Errorf("read the run's certificate authority: %w", err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a key for %s: %w", host, err)
	}
	template := &x509.Certificate{
		Subject:     pkix.Name{CommonName: "motorcortex egress proxy"},
		DNSNames:    []string{host},
		NotBefore:   now.Add(-leafAge),
		NotAfter:    now.Add(leafLifetime - leafAge),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, authority.Leaf, key.Public(), authority.PrivateKey)
	if err != nil {
		return nil, fmt.Errorf("sign a certificate for %s: %w", host, err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("read the certificate for %s: %w", host, err)
	}
	return &tls.Certificate{Certificate: append([][]byte{der}, authority.Certificate...), PrivateKey: key, Leaf: leaf}, nil
}
