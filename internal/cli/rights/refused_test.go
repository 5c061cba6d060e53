// SPDX-License-Identifier: Apache-2.0

package rights_test

import (
	"errors"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"motorcortex.dev/motorcortex/internal/cli/rights"
)

func TestARefusalNamesTheRole(t *testing.T) {
	t.Parallel()
	runs := schema.GroupResource{Resource: "motorruns"}
	no := fmt.Errorf("list MotorRuns: %w", apierrors.NewForbidden(runs, "", errors.New("no")))
	const said = "list MotorRuns: motorruns is forbidden: no"
	policy := apierrors.NewForbidden(runs, "run", errors.New("p denied request: bind a role"))
	gone := apierrors.NewNotFound(runs, "run")
	for name, tt := range map[string]struct {
		err       error
		namespace string
		want      string
	}{
		"in a namespace":   {no, "ns", said + ". Have the role view, or the ClusterRole motorcortex-viewer, bound to you in the namespace ns"},
		"everywhere":       {no, "", said + ". Have the role view, or the ClusterRole motorcortex-viewer, bound to you for all namespaces, or name a namespace with -n"},
		"by a policy":      {policy, "ns", policy.Error()},
		"what is no right": {gone, "ns", gone.Error()},
	} {
		got := rights.Refused(tt.err, rights.ToRead, tt.namespace)
		if got.Error() != tt.want || !errors.Is(got, tt.err) {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
	if err := rights.Refused(nil, rights.ToRead, "ns"); err != nil {
		t.Errorf("without an error there is %v", err)
	}
}
