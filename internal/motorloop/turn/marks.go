// SPDX-License-Identifier: Apache-2.0

package turn

// Marks in recorded text. They carry the facts about an answer that the rest of the loop needs after a restart.
const (
	ContentCutMark   = "\n[cut: the answer was too long to be kept]"
	ArgumentsCutMark = "…[cut: too large]"
	OutputCutMark    = "\n[cut: the output was too long to be kept]"
	// TruncatedMark ends the content of an answer that stopped at the model's output limit.
	TruncatedMark = "\n[stopped: output limit reached]"
)
