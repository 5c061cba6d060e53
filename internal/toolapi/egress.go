// SPDX-License-Identifier: Apache-2.0

package toolapi

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

const (
	// EgressUser is the user name that goes with the token in Proxy-Authorization.
	EgressUser = "motor"
	// EgressCheckPath is the path at which the proxy answers 204 to a GET with a valid token, without reaching anything.
	EgressCheckPath = "/motor/check"

	// MaxEgressToken, MaxEgressCA, MaxEnvironment and MaxEnvironmentValue bound an EgressRequest.
	MaxEgressToken      = 256
	MaxEgressCA         = 64 << 10
	MaxEnvironment      = 32
	MaxEnvironmentValue = 16 << 10
	// MaxEgressTimeoutMs is the maximum time to check the egress.
	MaxEgressTimeoutMs = 60_000
)

// EgressRequest sets the egress of the sandbox, and the credentials that programs may use there. It replaces
// the one before it as a whole; an empty one removes everything. Calls that have started are not affected.
type EgressRequest struct {
	// Proxy is IP:port of the egress proxy. "" means no egress: Token and CA are empty then.
	Proxy string `json:"proxy,omitempty"`
	// Token authenticates the sandbox to the proxy: 1 to MaxEgressToken letters, digits and -._~.
	Token string `json:"token,omitempty"`
	// CA is in PEM, certificates only: the CAs that the sandbox trusts beside those of its system.
	CA string `json:"ca,omitempty"`
	// Environment are further variables of the tools' programs. Variable must hold for each name.
	Environment map[string]string `json:"environment,omitempty"`
	// TimeoutMs bounds the check of the egress, 1 to MaxEgressTimeoutMs. Without Proxy there is no check, and TimeoutMs is ignored.
	TimeoutMs int32 `json:"timeoutMs"`
}

// EgressResponse reports whether the proxy could be reached. The egress is set for calls in either case. Without Proxy it
// is empty.
type EgressResponse struct {
	Ready bool `json:"ready"`
	// Detail is the error of the last try, for people. It never contains the token.
	Detail string `json:"detail,omitempty"`
}

// FileContent is a file of the workspace.
type FileContent struct {
	Path    string `json:"path"`
	Content []byte `json:"content"`
	Size    int64  `json:"size"`
}

// variableName is made when it is used first. The tool server starts itself for each call, and a pattern with a large count takes long to make.
var variableName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Z][A-Z0-9_]{0,127}$`) })

// reservedVariables and reservedPrefixes are those that the tool server sets, and others with a special meaning for
// programs: no credential may replace one by an unlucky name. The API refuses such names of credentials; a
// test compares.
var (
	reservedVariables = []string{
		"PATH", "HOME", "USER", "LOGNAME", "SHELL", "PWD", "OLDPWD", "LANG", "LANGUAGE", "TERM", "TMPDIR", "TEMP", "TMP", "IFS", "ENV", "BASH_ENV",
		"HOSTNAME", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "FTP_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE",
		"REQUESTS_CA_BUNDLE", "AWS_CA_BUNDLE", "PIP_CERT",
	}
	reservedPrefixes = []string{"LD_", "MOTOR_", "NODE_", "PYTHON", "GIT_", "LC_", "BASH_", "NPM_CONFIG_", "DYLD_", "OPENSSL_"}
)

// Variable reports whether an EgressRequest may set the variable: an upper-case name that is not reserved.
func Variable(name string) bool {
	return variableName().MatchString(name) && !slices.Contains(reservedVariables, name) &&
		!slices.ContainsFunc(reservedPrefixes, func(p string) bool { return strings.HasPrefix(name, p) })
}
