// SPDX-License-Identifier: Apache-2.0

package runpolicy

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// knownFields are the fields of an attempt that the last release knows. A leader of that release drops every other field when it writes the list.
const knownFields = `
	cause failure failure.category failure.hint failure.lastStepName failure.message failure.reason failure.retryable failure.suggestedAction
	completionTime index iterations lastCalls lastCalls.durationMilliseconds lastCalls.errorCode lastCalls.head lastCalls.id lastCalls.ok lastCalls.startTime lastCalls.tool
	recoveryContext startTime usage usage.cachedTokens usage.completionTokens usage.estimated usage.promptTokens usage.totalTokens`

// foundAgain are fields that it drops, and that TestCostsOfAttemptsAreFoundAgain has.
const foundAgain = `usage.cost usage.currency usage.unpriced`

func TestFieldsOfAttemptsSurviveAnOlderLeader(t *testing.T) {
	t.Parallel()
	want := strings.Fields(knownFields + " " + foundAgain)
	got := fieldsOf(reflect.TypeFor[v1alpha1.AttemptStatus](), "")
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("a leader that does not know a field of an attempt drops it: have the next leader find it again in the journal, with a test, and name it here (-want +got):\n%s", diff)
	}
}

// fieldsOf returns the paths of the JSON fields of a type of the API.
func fieldsOf(t reflect.Type, path string) []string {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || t.PkgPath() != reflect.TypeFor[v1alpha1.MotorRun]().PkgPath() {
		return nil
	}
	var list []string
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		list = append(append(list, path+name), fieldsOf(f.Type, path+name+".")...)
	}
	return list
}
