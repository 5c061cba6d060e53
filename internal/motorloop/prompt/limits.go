// SPDX-License-Identifier: Apache-2.0

package prompt

import (
	"fmt"
	"strings"
	"time"

	"motorcortex.dev/motorcortex/internal/motorloop/config"
)

// limits are the limits of the run beside its answers in words, "" for none.
func limits(cfg config.Config) string {
	var all []string
	if cfg.TimeLimit > 0 {
		all = append(all, InWords(cfg.TimeLimit))
	}
	if cfg.MaxTokens > 0 {
		all = append(all, fmt.Sprintf("%d tokens", cfg.MaxTokens))
	}
	return strings.Join(all, " and ")
}

// InWords formats a time in units that a model can plan with.
func InWords(d time.Duration) string {
	switch {
	case d < 2*time.Minute:
		return fmt.Sprintf("%d seconds", int(d.Seconds()))
	case d < 3*time.Hour:
		return fmt.Sprintf("%d minutes", int(d.Minutes()))
	}
	return fmt.Sprintf("%d hours", int(d.Hours()))
}
