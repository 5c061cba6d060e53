// SPDX-License-Identifier: Apache-2.0

// Package ids makes the ids of traces and spans. They follow from what a run is, so that every program that tells of the same run names the same trace:
// two replicas of the manager, its log, and the plugin that reads the record after the end.
package ids

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// Trace returns the trace id of the run with this UID: 32 lower-case hexadecimal digits. It is the UID without its hyphens where that is a valid
// id, and a hash of the UID otherwise.
func Trace(uid types.UID) string {
	id := strings.ToLower(strings.ReplaceAll(string(uid), "-", ""))
	// A trace id of zeros is invalid by the W3C Trace Context.
	if b, err := hex.DecodeString(id); err == nil && len(b) == 16 && strings.Trim(id, "0") != "" {
		return id
	}
	sum := sha256.Sum256([]byte(uid))
	return hex.EncodeToString(sum[:16])
}

// Span returns the id of a span of a trace: 16 lower-case hexadecimal digits. The path says which one it is, as in "attempt", 2.
func Span(trace string, path ...any) string {
	sum := sha256.Sum256([]byte(trace + fmt.Sprint(path...)))
	return hex.EncodeToString(sum[:8])
}
