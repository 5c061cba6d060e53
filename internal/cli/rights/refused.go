// SPDX-License-Identifier: Apache-2.0

package rights

import (
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// What the shipped roles are for, as Refused names them.
const (
	// ToRead reads runs, steps and skills.
	ToRead = "the role view, or the ClusterRole motorcortex-viewer,"
	// ToReadFiles reads the files of skills, which are in ConfigMaps.
	ToReadFiles = "the role view, or the ClusterRole motorcortex-skill-approver,"
	// ToWriteSkills writes skills.
	ToWriteSkills = "the role edit, or the ClusterRole motorcortex-editor,"
	// ToApproveSkills decides about skills.
	ToApproveSkills = "the ClusterRole motorcortex-skill-approver"
)

// Refused adds what a person can have bound to an error by which the API server refused a request: have is a role, or several. The namespace is that of
// the request, "" for all of them. Any other error is returned as it is, and so is the refusal of an admission policy: it has its own words.
func Refused(err error, have, namespace string) error {
	if !apierrors.IsForbidden(err) || strings.Contains(err.Error(), "denied request: ") {
		return err
	}
	if namespace == "" {
		return fmt.Errorf("%w. Have %s bound to you for all namespaces, or name a namespace with -n", err, have)
	}
	return fmt.Errorf("%w. Have %s bound to you in the namespace %s", err, have, namespace)
}
