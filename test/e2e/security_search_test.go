// SPDX-License-Identifier: Apache-2.0

//go:build e2e && security

package e2e_test

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// A provider that says the key that it was given says it to nobody. At the end of the suite the whole cluster is looked
// through for it.
func TestSecuritySearchKeyIsNowhere(t *testing.T) {
	t.Parallel()
	value := newValue()
	ns := searchNamespace(t, "search-key", func(p *v1alpha1.SearchProvider) {
		p.APIKeySecretRef = &v1alpha1.SecretKeyRef{Name: "search-key", Key: "token"}
	})
	newSecret(t, ns, "search-key", value)
	done := wantCompleted(t, startSample(t, "search", inNamespace(ns)), 2*soon)
	found := wantWholeJournal(t, done)[0].Status.Results[0]
	digest := sha256.Sum256([]byte(value))
	if !strings.Contains(found.Output, "digest ["+hex.EncodeToString(digest[:])+"]") {
		t.Error("the provider was not given the key")
	}
	if !strings.Contains(found.Output, "given [<credential:search-api-key>]") {
		t.Error("what the provider says of the key is not what the model is shown of it")
	}
	wantNoValueInSteps(t, done)
	if err := find(kubectl(t, "-n", ns, "get", "motorcortices,configmaps", "-o", "json")); err != nil {
		t.Error(err)
	}
}
