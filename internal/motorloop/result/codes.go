// SPDX-License-Identifier: Apache-2.0

package result

// Error codes of finish calls.
const (
	// CodeNotFinished is the error code of a finish call that came too early: the model has not yet seen the results that it depends on.
	CodeNotFinished = "not_finished"
	// CodeNotAccepted is the error code of a finish call whose claims do not hold.
	CodeNotAccepted = "not_accepted"
)
