// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"motorcortex.dev/motorcortex/internal/motorloop/result"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// Loops counts the work of loops: their steps and the calls of tools. It is what loops tell.
type Loops struct {
	overhead prometheus.Histogram
	calls    *prometheus.CounterVec
	duration *prometheus.HistogramVec
}

// NewLoops makes the metrics of loops and registers them.
func NewLoops(to prometheus.Registerer) (*Loops, error) {
	l := &Loops{
		overhead: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: prefix + "step_overhead_seconds",
			Help: "Time between the records of two steps in which neither a model, nor a tool, nor the sandbox was waited for.",
			// Two writes to the API server take some 10 ms.
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 14),
		}),
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: prefix + "tool_calls_total",
			Help: "Calls of tools that have a result, by tool and code: ok, or the error code.",
		}, []string{"tool", "code"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: prefix + "tool_call_duration_seconds", Help: "Time that calls of tools took, as the sandbox measured it, by tool.",
			Buckets: []float64{0.005, 0.025, 0.1, 0.5, 1, 5, 15, 60, 300, 1800},
		}, []string{"tool"}),
	}
	return l, registerAll(to, l.overhead, l.calls, l.duration)
}

// StepRecorded counts the overhead of a step.
func (l *Loops) StepRecorded(overhead time.Duration) { l.overhead.Observe(overhead.Seconds()) }

// CallEnded counts a call. A model chooses the tool, and a sandbox the code: both count as one of a closed set.
func (l *Loops) CallEnded(tool, code string, took time.Duration) {
	tool = toolValue(tool)
	l.calls.WithLabelValues(tool, codeValue(code)).Inc()
	l.duration.WithLabelValues(tool).Observe(max(took, 0).Seconds())
}

// toolValue returns the tool if it is one of ours, mcp for those of servers, and other for a name that a model made up.
func toolValue(tool string) string {
	switch {
	case knownTools[tool]:
		return tool
	case toolapi.IsMCPTool(tool):
		return "mcp"
	}
	return other
}

// codeValue returns the error code if it is one of ours, ok for none, and exit for the status of any program.
func codeValue(code string) string {
	switch {
	case code == "":
		return "ok"
	case knownCodes[code]:
		return code
	case strings.HasPrefix(code, toolapi.ExitPrefix):
		return "exit"
	}
	return other
}

func setOf(values ...string) map[string]bool {
	set := make(map[string]bool, len(values))
	for _, v := range values {
		set[v] = true
	}
	return set
}

var (
	knownTools = setOf(
		toolapi.ToolBash, toolapi.ToolCode, toolapi.ToolRead, toolapi.ToolWrite, toolapi.ToolEdit, toolapi.ToolPatch, toolapi.ToolList, toolapi.ToolGlob,
		toolapi.ToolGrep, toolapi.ToolFetch, toolapi.ToolSearchWeb, toolapi.ToolSaveArtifact, toolapi.ToolAskUser, toolapi.ToolFinish,
		toolapi.ToolRequestApproval, toolapi.ToolRequestDomain, toolapi.ToolSaveCredential, toolapi.ToolOneshot, toolapi.ToolOneshotNetwork,
		toolapi.ToolInstall,
	)
	knownCodes = setOf(
		toolapi.CodeTimeout, toolapi.CodeCancelled, toolapi.CodeNotFound, toolapi.CodeIsDirectory, toolapi.CodeNotDirectory, toolapi.CodePermission,
		toolapi.CodeOutsideWorkspace, toolapi.CodeTooLarge, toolapi.CodeDiskFull, toolapi.CodeNotText, toolapi.CodeInvalidArguments,
		toolapi.CodeUnknownTool, toolapi.CodeToolNotGranted, toolapi.CodeKilled, toolapi.CodeInternal, toolapi.CodeDomainDenied,
		toolapi.CodeDomainNotAllowed, toolapi.CodeCredentialRefused, toolapi.CodeOutcomeUnknown, toolapi.CodeAlreadyDone, toolapi.CodeStillRunning,
		toolapi.CodeCommandNotAllowed, toolapi.CodeApprovalDenied, toolapi.CodeApprovalExpired, toolapi.CodeSecretFound, toolapi.CodeNotUnique,
		toolapi.CodeNoMatch, toolapi.CodeNetwork, toolapi.CodeEgressDenied, toolapi.CodeMCPChanged, toolapi.CodeMCPError, toolapi.CodeSkipped,
		toolapi.CodeTooManyCalls, toolapi.CodeRepeatedCall, toolapi.CodeExecutionTimeout, toolapi.CodeExecutionError, toolapi.CodeExecutionBlocked,
		toolapi.CodeInstallFailed, toolapi.CodeInstallTooLarge, result.CodeNotFinished, result.CodeNotAccepted,
	)
)
