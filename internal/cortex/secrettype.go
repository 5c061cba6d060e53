// SPDX-License-Identifier: Apache-2.0

package cortex

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// helmTypes is the prefix of the types of the Secrets in which Helm stores its releases, with every value that a chart was installed with.
const helmTypes = "helm.sh/"

// HoldsOtherThings reports whether Secrets of a type hold no API key or password of a user: identities of the cluster, records of a package
// manager, keys of servers, logins of registries. Otherwise a client that may write a MotorCortex or create a run could have such a value sent to
// an address of its choice.
func HoldsOtherThings(t corev1.SecretType) bool {
	switch t {
	case corev1.SecretTypeServiceAccountToken, corev1.SecretTypeBootstrapToken, corev1.SecretTypeTLS, corev1.SecretTypeDockercfg,
		corev1.SecretTypeDockerConfigJson:
		return true
	case corev1.SecretTypeOpaque, corev1.SecretTypeBasicAuth, corev1.SecretTypeSSHAuth:
		return false
	}
	return strings.HasPrefix(string(t), helmTypes)
}
