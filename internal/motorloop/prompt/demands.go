// SPDX-License-Identifier: Apache-2.0

package prompt

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"motorcortex.dev/motorcortex/internal/motorloop/config"
	"motorcortex.dev/motorcortex/internal/text"
)

// maxShownCommand is how much of a command the prompt has, in bytes.
const maxShownCommand = 1 << 10

// shownDemands returns the demands as the prompt has them.
func shownDemands(a config.Acceptance) config.Acceptance {
	a.Commands = slices.Clone(a.Commands)
	for i, c := range a.Commands {
		a.Commands[i].Command = text.Cut(strings.ToValidUTF8(c.Command, "\uFFFD"), maxShownCommand, 2*maxShownCommand, "…")
	}
	a.Schemas = slices.Clone(a.Schemas)
	for i, s := range a.Schemas {
		var b bytes.Buffer
		if json.Compact(&b, []byte(s)) == nil {
			a.Schemas[i] = b.String()
		}
	}
	return a
}
