// SPDX-License-Identifier: Apache-2.0

//go:build linux

package internet

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"time"
)

// CA returns the certificate of the authority that signed the hosts' certificates, in PEM.
func (i *Internet) CA() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: i.ca.cert.Raw})
}

// HTTPS makes a host: its name resolves to the address, and handler answers there on port 443. Without names the
// certificate is for the host's own name.
func (i *Internet) HTTPS(ctx context.Context, name string, at netip.Addr, handler http.Handler, names ...string) error {
	if len(names) == 0 {
		names = []string{name}
	}
	cert, err := i.ca.issue(names)
	if err != nil {
		return err
	}
	ln, err := i.Listen(ctx, netip.AddrPortFrom(at, 443))
	if err != nil {
		return err
	}
	i.Names.Set(name, Answer{Addresses: []netip.Addr{at}})
	i.serve(tls.NewListener(ln, &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}), handler)
	return nil
}

// HTTP has a handler answer plain requests on a port of an address.
func (i *Internet) HTTP(ctx context.Context, at netip.AddrPort, handler http.Handler) error {
	ln, err := i.Listen(ctx, at)
	if err != nil {
		return err
	}
	i.serve(ln, handler)
	return nil
}

func (i *Internet) serve(ln net.Listener, handler http.Handler) {
	server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
	i.onClose(server.Close)
	i.wg.Go(func() { _ = server.Serve(ln) })
}

type authority struct {
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
}

func newAuthority() (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "stand-in Internet"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	return &authority{key, cert}, err
}

func (a *authority) issue(names []string) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: names[0]}, DNSNames: names,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}

// interfaceIndex reads the index of a link of the namespace that the thread is in.
func interfaceIndex(name string) (int, error) {
	i, err := net.InterfaceByName(name)
	if err == nil {
		return i.Index, nil
	}
	b, readErr := os.ReadFile("/sys/class/net/" + name + "/ifindex")
	if readErr != nil {
		return 0, errors.Join(err, readErr)
	}
	return strconv.Atoi(strings.TrimSpace(string(b)))
}
