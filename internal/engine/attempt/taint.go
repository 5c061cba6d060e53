// SPDX-License-Identifier: Apache-2.0

package attempt

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/engine/skills"
	"motorcortex.dev/motorcortex/internal/runpolicy/calls"
	"motorcortex.dev/motorcortex/internal/runpolicy/fit"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// tainted reports whether anything in the run may come from the web, as far as the engine knows from the run's inputs and its
// journal.
func tainted(ctx context.Context, runs client.Reader, run *v1alpha1.MotorRun, steps []v1alpha1.MotorStep) (bool, error) {
	if len(run.Spec.MCPServers) > 0 || calls.HasWeb(steps) || !skills.Trusts(run) {
		return true, nil
	}
	for i := range run.Spec.Files {
		ref := run.Spec.Files[i].ArtifactRef
		if ref == nil {
			continue
		}
		var from v1alpha1.MotorRun
		err := runs.Get(ctx, types.NamespacedName{Namespace: run.Namespace, Name: ref.RunName}, &from)
		if client.IgnoreNotFound(err) != nil {
			return false, fmt.Errorf("get MotorRun %s: %w", ref.RunName, err)
		}
		a, _ := fit.ArtifactInput(&from, ref.Path, true)
		if a == nil || a.Provenance != string(toolapi.ProvenanceInternal) {
			// The provenance of a deleted artifact is unknown.
			return true, nil
		}
	}
	return false, nil
}
