// SPDX-License-Identifier: Apache-2.0

package credential

import (
	"testing"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

func TestBasicNeedsSomethingToHide(t *testing.T) {
	t.Parallel()
	for value, ok := range map[string]bool{
		"user:password1": true, "sk_live_0123:": true, "sk_live_0123:x": true, "u:password1": true, "user:pass": false,
		"use:x-oauth-basic": false, "seven77:": false, "no colon at all": false, "seven77:seven77": false,
	} {
		if what := defect([]byte(value), &v1alpha1.Credential{Slot: v1alpha1.CredentialSlot{Type: v1alpha1.SlotBasic}}); (what == "") != ok {
			t.Errorf("%s: %q", value, what)
		}
	}
}
