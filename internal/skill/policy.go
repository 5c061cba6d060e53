// SPDX-License-Identifier: Apache-2.0

package skill

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/text"
)

// HasPackages reports whether there is anything to install. d can be nil.
func HasPackages(d *v1alpha1.SkillDependencies) bool {
	return d != nil && len(d.NPM)+len(d.Pip)+len(d.Apt) > 0
}

// PolicyHash is the hash by which an approval is bound to a policy: "sha256:…" of its canonical JSON, which has sorted keys, no spaces and
// no escapes but those that JSON needs. Empty values are omitted, except for an empty bash.allowedCommands, and {} stands for an empty
// policy. Lists are hashed in the order in which they are written, although most of them are sets. So any client can compute the hash of a
// policy that is in the cluster, where it has its defaults:
//
//	kubectl get skill NAME -o json | jq -cjS .spec.policy | sha256sum
func PolicyHash(p *v1alpha1.SkillPolicy) string {
	if p == nil {
		p = &v1alpha1.SkillPolicy{}
	}
	return jsonHash(p)
}

// PackagesHash is the same hash of dependencies and of their sources: packages with an equal hash need to be installed only once. Either
// can be nil. The keys of apt's source count for packages of apt alone, and the white space around them for none.
func PackagesHash(deps *v1alpha1.SkillDependencies, sources *v1alpha1.PackageSources) string {
	if sources != nil {
		sources = sources.DeepCopy()
		if sources.Apt != nil {
			if sources.Apt.Keyring = strings.TrimSpace(sources.Apt.Keyring); deps == nil || len(deps.Apt) == 0 {
				sources.Apt.Keyring = ""
			}
		}
	}
	return jsonHash(struct {
		Dependencies *v1alpha1.SkillDependencies `json:"dependencies,omitempty"`
		Sources      *v1alpha1.PackageSources    `json:"sources,omitempty"`
	}{deps, sources})
}

func jsonHash(v any) string {
	sum := sha256.Sum256([]byte(canonicalJSON(v)))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// canonicalJSON panics on a value without a JSON form. The API has no such value.
func canonicalJSON(v any) string {
	encoded, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	dec := json.NewDecoder(bytes.NewReader(encoded))
	dec.UseNumber()
	var plain any
	if err := dec.Decode(&plain); err != nil {
		panic(err)
	}
	return lineSeparators.Replace(text.JSON(plain))
}

// lineSeparators undoes the escapes that encoding/json adds for the sake of JavaScript. An escaped backslash is matched first, so that the
// text after one is not changed.
var lineSeparators = strings.NewReplacer(`\\`, `\\`, `\u2028`, "\u2028", `\u2029`, "\u2029")
