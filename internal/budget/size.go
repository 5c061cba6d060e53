// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/text"
)

const (
	// maxOpen is the bound of the API, and maxOpenBytes that of the shares in JSON. Every share is a write of the whole status, and etcd keeps each version for some
	// minutes. Requesters and raises take about 100 KB more at most.
	maxOpen, maxOpenBytes = 1024, 150 << 10
	// shareBytes is a share in JSON with the largest numbers, without its names.
	shareBytes = 400
)

// hasRoom reports whether the status can hold a share of a further run.
func hasRoom(st *v1alpha1.BudgetStatus, run *v1alpha1.MotorRun) bool {
	size := sizeOf(string(run.UID), run.Name, nameOf(run))
	for i := range st.Open {
		size += sizeOf(st.Open[i].RunUID, st.Open[i].RunName, st.Open[i].Requester)
	}
	return len(st.Open) < maxOpen && size <= maxOpenBytes
}

// sizeOf returns the most bytes of a share.
func sizeOf(uid, name, requester string) int {
	return shareBytes + len(uid) + len(name) + text.EncodedLen(requester)
}
