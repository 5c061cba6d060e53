// SPDX-License-Identifier: Apache-2.0

package pass

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// A run that took the name of another one has nothing of what that one is remembered by.
func TestRunCache(t *testing.T) {
	t.Parallel()
	var cache RunCache[int]
	run := func(name, uid string) *v1alpha1.MotorRun {
		return &v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(uid)}}
	}
	*cache.Of(run("a", "1")) = 10
	*cache.Of(run("b", "2")) = 20
	if got := *cache.Of(run("a", "3")); got != 0 {
		t.Errorf("another run of the name: %d", got)
	}
	gone := cache.Gone(types.NamespacedName{Namespace: "ns", Name: "a"})
	if len(gone) != 2 || *gone["1"] != 10 {
		t.Errorf("gone are %v", gone)
	}
	cache.Forget("1")
	if got, other := *cache.Of(run("a", "1")), *cache.Of(run("b", "2")); got != 0 || other != 20 {
		t.Errorf("remembered are %d and %d", got, other)
	}
}
