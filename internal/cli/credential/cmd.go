// SPDX-License-Identifier: Apache-2.0

// Package credential has the verbs of `kubectl motor credential`. They never print a value, and never take one as an argument: arguments stay in
// the history of a shell and in the list of processes.
package credential

import (
	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/cluster"
	"motorcortex.dev/motorcortex/internal/cli/verb"
)

// Command has the dependencies of a verb.
type Command struct {
	verb.Streams

	Connect cluster.Connect
}

// New is the command `kubectl motor credential`.
func New(c Command) *cobra.Command {
	return verb.Group("credential", "Work with the credentials of a namespace.", c.set(), c.list(), c.remove())
}

// checkName returns an error for a name that no Secret has, before it gets into a request. It does not repeat it: a person may have written
// NAME=VALUE.
func checkName(name string) error {
	if len(validation.IsDNS1123Subdomain(name)) > 0 {
		return verb.Misusedf("the NAME is none that a Secret can have: it has a-z, 0-9, hyphens and dots alone. A value is no part of it")
	}
	return nil
}

// labelled are the labels of a Secret that is a credential.
func labelled() map[string]string {
	return map[string]string{v1alpha1.LabelComponent: v1alpha1.ComponentCredential}
}

// secretHead is the metadata of a Secret, which is all that is read of it: the value never gets here.
func secretHead() *metav1.PartialObjectMetadata {
	m := &metav1.PartialObjectMetadata{}
	m.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	return m
}
