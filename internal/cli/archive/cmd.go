// SPDX-License-Identifier: Apache-2.0

// Package archive has the verbs of `kubectl motor archive`.
package archive

import (
	"context"

	"github.com/spf13/cobra"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/verb"
)

// ReadRun reads a run of the user's cluster, in the user's namespace if namespace is empty.
type ReadRun func(ctx context.Context, namespace, name string) (*v1alpha1.MotorRun, error)

// New is the command `kubectl motor archive`.
func New(s verb.Streams, read ReadRun) *cobra.Command {
	return verb.Group("archive", "Check archives of finished runs.", verify(s, read))
}
