// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

func TestGoldenCiliumPolicy(t *testing.T) {
	t.Parallel()
	golden(t, "ciliumpolicy.golden.yaml", CiliumPolicy(testRun(), append(testDomains(), "example.net:8443"), testConfig()))
}

// An unstructured object that holds other types than those of JSON panics when it is copied.
func TestCiliumPolicyCanBeCopied(t *testing.T) {
	t.Parallel()
	for _, domains := range [][]v1alpha1.Domain{nil, testDomains()} {
		o := unstructured.Unstructured{Object: CiliumPolicy(testRun(), domains, testConfig())}
		if got := o.DeepCopy().GetName(); got != "motorcortex-egress-6f1c2a34-0000-4000-8000-000000000001" {
			t.Errorf("name %q", got)
		}
	}
}
