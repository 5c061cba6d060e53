// SPDX-License-Identifier: Apache-2.0

package cortex

import (
	"net/url"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"motorcortex.dev/motorcortex/internal/egress/allowlist"
)

// CredentialType is the type of the Secrets that runs have saved.
const CredentialType corev1.SecretType = "motorcortex.dev/credential"

// AnnotationHosts lists, on a Secret of any type, the hosts that its value may be sent to, separated by commas.
const AnnotationHosts = "motorcortex.dev/hosts"

// ownTypes begins the types of the operator's own Secrets.
const ownTypes = "motorcortex.dev/"

// helmTypes is the prefix of the types of the Secrets in which Helm stores its releases, with every value that a chart was installed with.
const helmTypes = "helm.sh/"

// HoldsOtherThings reports whether Secrets of a type hold no API key or password of a user: identities of the cluster, records of a package
// manager, keys of servers, logins of registries, grants of this operator. Otherwise a client that may write a MotorCortex or create a run could have such a value sent to
// an address of its choice.
func HoldsOtherThings(t corev1.SecretType) bool {
	switch t {
	case corev1.SecretTypeServiceAccountToken, corev1.SecretTypeBootstrapToken, corev1.SecretTypeTLS, corev1.SecretTypeDockercfg,
		corev1.SecretTypeDockerConfigJson:
		return true
	case corev1.SecretTypeOpaque, corev1.SecretTypeBasicAuth, corev1.SecretTypeSSHAuth, CredentialType:
		return false
	}
	return strings.HasPrefix(string(t), helmTypes) || strings.HasPrefix(string(t), ownTypes)
}

// SavedFor reports whether a Secret names the host and port of a URL in its annotation. A list or a URL that cannot be read is for nothing.
func SavedFor(s *corev1.Secret, address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	host, err := allowlist.ParseHost(u.Hostname())
	if err != nil {
		return false
	}
	port := uint64(allowlist.DefaultPort)
	switch {
	case u.Port() != "":
		if port, err = strconv.ParseUint(u.Port(), 10, 16); err != nil {
			return false
		}
	case u.Scheme != "https":
		port = 80
	}
	names := strings.Split(s.Annotations[AnnotationHosts], ",")
	for i := range names {
		names[i] = strings.TrimSpace(names[i])
	}
	list, err := allowlist.ParseList(names)
	if err != nil {
		return false
	}
	_, named := list.Match(host, uint16(port))
	return named
}
