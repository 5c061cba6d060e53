// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"log/slog"
	"os"

	ctrl "sigs.k8s.io/controller-runtime"

	"motorcortex.dev/motorcortex"
	"motorcortex.dev/motorcortex/internal/audit/ocsf"
	"motorcortex.dev/motorcortex/internal/audit/watch"
	"motorcortex.dev/motorcortex/internal/timekeeper"
)

// auditNone is the audit format of a manager that writes no audit.
const auditNone = "none"

// setupAudit has the leader write the decisions of people to the standard output, if the options ask for it. The log is on the standard error.
func setupAudit(mgr ctrl.Manager, clock *timekeeper.Clock, o options, log *slog.Logger) error {
	if o.auditFormat != ocsf.FormatOCSF {
		return nil
	}
	w := &watch.Watch{Cache: mgr.GetCache(), To: ocsf.NewLog(os.Stdout), Version: motorcortex.Version(), Now: clock.Now, Logger: log}
	if err := mgr.Add(w); err != nil {
		return fmt.Errorf("set up the audit: %w", err)
	}
	return nil
}
