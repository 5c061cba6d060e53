// SPDX-License-Identifier: Apache-2.0

package catalog

import "motorcortex.dev/motorcortex/internal/toolapi"

// OnlyReads reports whether a call of the tool changes nothing at all, wherever it is made.
func OnlyReads(tool string) bool { return toolapi.OnlyReads(tool) || tool == toolapi.ToolSearchWeb }
