// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package wayout is the way out of the sandbox for its programs and its tools: the egress proxy alone. The values that they receive for it
// are removed from everything that is stored.
package wayout

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"log/slog"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"motorcortex.dev/motorcortex/internal/secret/redact"
	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolserver/plaintext"
	"motorcortex.dev/motorcortex/internal/toolserver/request"
	"motorcortex.dev/motorcortex/internal/toolserver/workspace"
)

const (
	// MaxRequestBytes holds the largest request with its values escaped.
	MaxRequestBytes = 4 << 20
	// maxSystemCAs is the most that the system's certificates may have.
	maxSystemCAs = 8 << 20
	// BundleFile is where programs find the certificates that they trust, in the folder for temporary files.
	BundleFile = workspace.OwnDir + "/ca-bundle.pem"
	// NotProxied are the hosts that programs reach without the proxy: themselves.
	NotProxied = "localhost,127.0.0.1,::1"
)

// Egress is the way out of the sandbox and the values that programs may use there, as the manager sent them. It is kept in memory: a server
// that starts again has none until the manager sends it.
type Egress struct {
	log *slog.Logger
	// Temp is the folder for temporary files. Access to it is as careful as to the workspace: programs can put anything
	// there, such as a link to the state folder where a file is to be written.
	Temp *workspace.Workspace
	// SystemCAs is the path of a file.
	SystemCAs string
	// Taint is set with the first way out.
	taint *Taint

	mu sync.Mutex
	// env are the variables of programs.
	env []string
	// bundle is what BundleFile must hold, nil if there is none.
	bundle []byte
	// hidden removes from stored texts the values that programs received.
	hidden *redact.Redactor
	// way is the part of the request that the server itself needs to use the way out: Proxy, Token and CA.
	way toolapi.EgressRequest
}

// New opens the folder for temporary files.
func New(log *slog.Logger, tempDir, systemCAs string, t *Taint) (*Egress, error) {
	temp, err := workspace.Open(tempDir)
	if err != nil {
		return nil, fmt.Errorf("open the folder for temporary files: %w", err)
	}
	return &Egress{log: log, Temp: temp, SystemCAs: systemCAs, taint: t}, nil
}

// Close closes the folder for temporary files.
func (e *Egress) Close() error { return e.Temp.Close() }

// IsSet reports whether programs have anything of the manager's request.
func (e *Egress) IsSet() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.env) > 0
}

// Current is the way out as the manager sent it last: Proxy, Token and CA.
func (e *Egress) Current() toolapi.EgressRequest {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.way
}

// Set replaces the way out with that of the request. valid is asked at the last moment.
func (e *Egress) Set(req toolapi.EgressRequest, valid func() error) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := valid(); err != nil {
		return err
	}
	if req.Proxy != "" {
		if err := e.taint.Mark(); err != nil {
			return err
		}
	}
	e.hidden = hide(req)
	e.way = toolapi.EgressRequest{Proxy: req.Proxy, Token: req.Token, CA: req.CA}
	e.env, e.bundle = environment(req, filepath.Join(e.Temp.Dir, BundleFile)), nil
	if req.CA != "" {
		e.bundle = append(e.readSystemCAs(), req.CA...)
		return nil
	}
	_ = e.Temp.Root.Remove(BundleFile) // Nothing names it any more.
	return nil
}

// environment are the variables of programs, none for an empty request. The names are those that the common programs and
// libraries look at, in both cases where they differ in that.
func environment(req toolapi.EgressRequest, bundle string) []string {
	vars := map[string]string{}
	if req.Proxy != "" {
		proxy := "http://" + toolapi.EgressUser + ":" + req.Token + "@" + req.Proxy
		for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"} {
			vars[name] = proxy
		}
		vars["NO_PROXY"], vars["no_proxy"] = NotProxied, NotProxied
		// git would wait to be asked for the token, and the proxy would count a request without one.
		vars["GIT_HTTP_PROXY_AUTHMETHOD"] = "basic"
		// Node.js looks at the others only then, and only from 22.21 on.
		vars["NODE_USE_ENV_PROXY"] = "1"
	}
	if req.CA != "" {
		for _, name := range []string{
			"SSL_CERT_FILE", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "GIT_SSL_CAINFO", "PIP_CERT", "AWS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS",
		} {
			vars[name] = bundle
		}
	}
	env := make([]string, 0, len(vars)+len(req.Environment))
	for _, from := range []map[string]string{vars, req.Environment} {
		for _, name := range slices.Sorted(maps.Keys(from)) {
			env = append(env, name+"="+from[name])
		}
	}
	return env
}

func (e *Egress) readSystemCAs() []byte {
	info, err := os.Stat(e.SystemCAs)
	if err == nil && info.Size() > maxSystemCAs {
		err = fmt.Errorf("it has %d bytes", info.Size())
	}
	var content []byte
	if err == nil {
		content, err = os.ReadFile(e.SystemCAs)
	}
	if err != nil {
		e.log.Warn("the sandbox image has no certificates: programs trust no host but those of credentials", "error", err)
		return nil
	}
	if n := len(content); n > 0 && content[n-1] != '\n' {
		content = append(content, '\n')
	}
	return content
}

// Variables returns the variables of a program that starts now. It returns them also with an error, which means that the file with the
// certificates cannot be written: a program may be able to fix the cause. The file that they name is written anew if its content is wrong.
// A program may have removed or changed it, on purpose or with all temporary files. Then every later program would fail or trust others,
// for no visible reason.
func (e *Egress) Variables() ([]string, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.bundle == nil {
		return e.env, nil
	}
	if e.intact() {
		return e.env, nil
	}
	err := e.writeBundle()
	if err != nil {
		// Perhaps a program put something else where the folder belongs, or closed it.
		_ = e.Temp.Root.Chmod(workspace.OwnDir, 0o700)
		if err = e.Temp.Root.RemoveAll(workspace.OwnDir); err == nil {
			err = e.writeBundle()
		}
	}
	return e.env, err
}

// bundleMode lets every program read the certificates, and none change them by mistake.
const bundleMode = 0o444

func (e *Egress) intact() bool {
	info, err := e.Temp.Root.Lstat(BundleFile)
	if err != nil || info.Mode() != bundleMode {
		return false
	}
	same, err := e.Temp.Holds(BundleFile, e.bundle)
	return err == nil && same
}

func (e *Egress) writeBundle() error {
	if err := e.Temp.Replace(BundleFile, bytes.NewReader(e.bundle)); err != nil {
		return err
	}
	return e.Temp.Root.Chmod(BundleFile, bundleMode)
}

// Check returns an error if a request is not valid. No error repeats a token or a value.
func Check(req toolapi.EgressRequest) error {
	if err := checkEnvironment(req.Environment); err != nil {
		return err
	}
	if req.Proxy == "" {
		if req.Token != "" || req.CA != "" {
			return request.Bad("without a proxy there is no token and no ca")
		}
		return nil
	}
	if proxy, err := netip.ParseAddrPort(req.Proxy); err != nil || proxy.Port() == 0 || proxy.Addr().Zone() != "" || proxy.String() != req.Proxy {
		return request.Bad("proxy must be of the form IP:port")
	}
	if len(req.Token) == 0 || len(req.Token) > toolapi.MaxEgressToken || strings.ContainsFunc(req.Token, notInToken) {
		return request.Bad("token must have 1 to %d characters, letters, digits and -._~ only", toolapi.MaxEgressToken)
	}
	if req.TimeoutMs < 1 || req.TimeoutMs > toolapi.MaxEgressTimeoutMs {
		return request.Bad("timeoutMs may be 1 to %d", toolapi.MaxEgressTimeoutMs)
	}
	return checkCA(req.CA)
}

func checkEnvironment(env map[string]string) error {
	if len(env) > toolapi.MaxEnvironment {
		return request.Bad("environment may have %d variables", toolapi.MaxEnvironment)
	}
	for name, value := range env {
		if !toolapi.Variable(name) {
			return request.Bad("environment must not set %q: a name has upper-case letters, digits and _, and some are reserved", plaintext.Bound(name, 128))
		}
		if len(value) > toolapi.MaxEnvironmentValue || strings.ContainsRune(value, 0) {
			return request.Bad("the value of %s in environment may have %d bytes, and no NUL", name, toolapi.MaxEnvironmentValue)
		}
	}
	return nil
}

// notInToken finds what would mean something of its own in a URL.
func notInToken(c rune) bool {
	letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
	return !letter && !strings.ContainsRune("-._~", c)
}

// checkCA finds out whether there are certificates in the text, and nothing else: a key in it would lie open to every
// program.
func checkCA(text string) error {
	if len(text) > toolapi.MaxEgressCA {
		return request.Bad("ca may have %d bytes", toolapi.MaxEgressCA)
	}
	rest := []byte(strings.TrimSpace(text))
	for n := 1; len(rest) > 0; n++ {
		if !strings.HasPrefix(string(rest), "-----BEGIN CERTIFICATE-----") {
			return request.Bad("ca must be certificates in PEM and nothing else; see block %d", n)
		}
		block, after := pem.Decode(rest)
		if block == nil || len(block.Headers) > 0 {
			return request.Bad("block %d of ca is no PEM", n)
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			return request.Bad("block %d of ca is no certificate: %v", n, err)
		}
		rest = []byte(strings.TrimSpace(string(after)))
	}
	return nil
}
