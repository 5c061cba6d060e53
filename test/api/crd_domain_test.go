// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// TestDomainsAtAdmission checks the API's rules for domains by the table that the parser is tested with: admission accepts
// every valid rule, and refuses of the others those that it can know.
func TestDomainsAtAdmission(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	text, err := os.ReadFile("../../internal/egress/allowlist/testdata/domains.yaml")
	must(t, err)
	var cases []struct {
		Domain    string `json:"domain"`
		Valid     bool   `json:"valid"`
		Admission string `json:"admission"`
		Reason    string `json:"reason"`
		As        string `json:"as"`
	}
	must(t, yaml.UnmarshalStrict(text, &cases))
	if len(cases) < 100 {
		t.Fatalf("the table has only %d cases", len(cases))
	}
	expand := strings.NewReplacer("${a63}", strings.Repeat("a", 63), "${a64}", strings.Repeat("a", 64),
		"${n253}", strings.Repeat(strings.Repeat("a", 49)+".", 5)+"org")
	ns := newNamespace(ctx, t)
	for i, tt := range cases {
		d := expand.Replace(tt.Domain)
		t.Run(fmt.Sprintf("%.40q", d), func(t *testing.T) {
			t.Parallel()
			if !tt.Valid && tt.Admission != "accepted" && tt.Admission != "refused" {
				t.Fatalf("the case says admission %q", tt.Admission)
			}
			// Not written as YAML, which cannot have every character.
			run := runYAML(t, ns, fmt.Sprintf("d%d", i), "{task: a}")
			must(t, unstructured.SetNestedStringSlice(run.Object, []string{d}, "spec", "domains"))
			err := admin.Create(testContext(t), run, client.DryRunAll)
			if tt.Valid || tt.Admission == "accepted" {
				must(t, err)
				return
			}
			wantRefused(t, err, "spec.domains[0]")
		})
	}
}
