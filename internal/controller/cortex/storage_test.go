// SPDX-License-Identifier: Apache-2.0

package cortex

import (
	"context"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

type use int64

func (u use) Used(string) int64 { return int64(u) }

func TestCheckStorage(t *testing.T) {
	t.Parallel()
	const ki = 1 << 10
	for name, tt := range map[string]struct {
		before  string
		was     *v1alpha1.StorageStatus
		used    use
		max     string
		ok      bool
		reason  string
		shown   string
		archive bool
		says    string
	}{
		"room":            {used: 100 * ki, max: "1000Ki", ok: true, reason: v1alpha1.ReasonCortexAvailable, shown: "100Ki of 1000Ki", says: "room"},
		"room by default": {used: 100 * ki, ok: true, reason: v1alpha1.ReasonCortexAvailable, shown: "100Ki of 1Gi"},
		"low": {
			used: 800 * ki, max: "1000Ki", ok: true, reason: v1alpha1.ReasonCortexStorageLow, shown: "800Ki of 1000Ki", says: "set up the archive",
		},
		"low with an archive": {
			used: 800 * ki, max: "1000Ki", ok: true, reason: v1alpha1.ReasonCortexStorageLow, shown: "800Ki of 1000Ki", archive: true, says: "Runs of which the archive has everything",
		},
		"still low":   {before: v1alpha1.ReasonCortexStorageLow, used: 760 * ki, max: "1000Ki", ok: true, reason: v1alpha1.ReasonCortexStorageLow, shown: "760Ki of 1000Ki"},
		"full":        {used: 1000 * ki, max: "1000Ki", reason: v1alpha1.ReasonCortexStorageFull, shown: "1000Ki of 1000Ki", says: "Further runs wait"},
		"over":        {used: 3000 * ki, max: "1000Ki", reason: v1alpha1.ReasonCortexStorageFull, shown: "3000Ki of 1000Ki"},
		"still full":  {before: v1alpha1.ReasonCortexStorageFull, used: 960 * ki, max: "1000Ki", reason: v1alpha1.ReasonCortexStorageFull, shown: "960Ki of 1000Ki"},
		"a step more": {was: storageStatus("100Ki", "1000Ki"), before: v1alpha1.ReasonCortexAvailable, used: 140 * ki, max: "1000Ki", ok: true, reason: v1alpha1.ReasonCortexAvailable, shown: "100Ki of 1000Ki"},
		"many more":   {was: storageStatus("100Ki", "1000Ki"), before: v1alpha1.ReasonCortexAvailable, used: 150 * ki, max: "1000Ki", ok: true, reason: v1alpha1.ReasonCortexAvailable, shown: "150Ki of 1000Ki"},
		"low by a step": {
			was: storageStatus("790Ki", "1000Ki"), before: v1alpha1.ReasonCortexAvailable, used: 800 * ki, max: "1000Ki", ok: true,
			reason: v1alpha1.ReasonCortexStorageLow, shown: "800Ki of 1000Ki",
		},
		"another bound": {
			was: storageStatus("100Ki", "1000Ki"), before: v1alpha1.ReasonCortexAvailable, used: 140 * ki, max: "2M", ok: true,
			reason: v1alpha1.ReasonCortexAvailable, shown: "140Ki of 2M",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := &v1alpha1.MotorCortex{}
			if tt.max != "" {
				c.Spec.Retention.MaxStorage = new(resource.MustParse(tt.max))
			}
			if c.Status.Storage = tt.was; tt.before != "" {
				c.Status.Conditions = []metav1.Condition{{Type: v1alpha1.CortexStorageAvailable, Reason: tt.before}}
			}
			r := &Reconciler{Storage: tt.used}
			if tt.archive {
				r.Services.Archive = func(context.Context) bool { return true }
			}
			f := r.checkStorage(c)
			if f.condition != v1alpha1.CortexStorageAvailable || f.ok != tt.ok || f.reason != tt.reason || !strings.Contains(f.message, tt.says) {
				t.Errorf("found %+v", f)
			}
			if shown := c.Status.Storage.Used.String() + " of " + c.Status.Storage.Max.String(); shown != tt.shown {
				t.Errorf("status.storage shows %s, want %s", shown, tt.shown)
			}
		})
	}
}

func storageStatus(used, most string) *v1alpha1.StorageStatus {
	return &v1alpha1.StorageStatus{Used: resource.MustParse(used), Max: resource.MustParse(most)}
}
