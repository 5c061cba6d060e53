// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// RunResult is what a run came to.
type RunResult struct {
	// ok is true if the task was done.
	// +required
	OK bool `json:"ok"`
	// summary is the model's closing text, or why the run failed.
	// +kubebuilder:validation:MaxLength=8192
	// +optional
	Summary string `json:"summary,omitempty"`
	// partial is what the model said that it did, or what it had to show when its answers were used up (reason MaxIterations).
	// +kubebuilder:validation:MaxLength=4096
	// +optional
	Partial string `json:"partial,omitempty"`
	// value is the result as JSON. Of an Agentic run with spec.accept.valueSchema it is what the model gave, in at most 8 KiB. Of a Oneshot
	// run it is what the code came to: {"ok", "value", "console", "durationMs", "error": {"code", "message"}}.
	// That has at most 32 KiB, and 64 KiB as a JSON string. If it is longer, console is left out of it; of a value that still does not
	// fit, the first 4 KiB of its JSON are in "head", and "truncated" is true. The run's step has the same.
	// +kubebuilder:validation:MaxLength=32768
	// +optional
	Value string `json:"value,omitempty"`
	// artifacts are the files that the run leaves behind.
	// +kubebuilder:validation:MaxItems=33
	// +listType=map
	// +listMapKey=path
	// +optional
	Artifacts []Artifact `json:"artifacts,omitempty"`
	// artifactsOmitted is how many further files there were that are not listed, and not kept.
	// +kubebuilder:validation:Minimum=0
	// +optional
	ArtifactsOmitted int32 `json:"artifactsOmitted,omitempty"`
	// notCollected says why artifacts or skills are missing that no entry of artifacts and skills names, unset if none are.
	// +kubebuilder:validation:MaxLength=512
	// +optional
	NotCollected string `json:"notCollected,omitempty"`
	// skills are those that the run wrote or changed.
	// +optional
	Skills *SkillsResult `json:"skills,omitempty"`
	// packages are what a run of mode Install installed.
	// +optional
	Packages *PackageArchive `json:"packages,omitempty"`
	// stats count what it took.
	// +optional
	Stats RunStats `json:"stats,omitempty,omitzero"`
}

// RunStats count what a run took. Durations are in milliseconds.
type RunStats struct {
	// iterations is how many answers the model gave.
	// +optional
	Iterations int32 `json:"iterations,omitempty"`
	// toolCalls is how many tool calls ended.
	// +optional
	ToolCalls int32 `json:"toolCalls,omitempty"`
	// errors is how many of them failed.
	// +optional
	Errors int32 `json:"errors,omitempty"`
	// durationMilliseconds from the creation of the run to its end.
	// +optional
	DurationMilliseconds int64 `json:"durationMilliseconds,omitempty"`
	// modelMilliseconds spent in model calls.
	// +optional
	ModelMilliseconds int64 `json:"modelMilliseconds,omitempty"`
	// toolMilliseconds spent in tool calls.
	// +optional
	ToolMilliseconds int64 `json:"toolMilliseconds,omitempty"`
	// waitingMilliseconds spent waiting for people.
	// +optional
	WaitingMilliseconds int64 `json:"waitingMilliseconds,omitempty"`
	// overheadMilliseconds is the rest: starting the sandbox, writing the journal.
	// +optional
	OverheadMilliseconds int64 `json:"overheadMilliseconds,omitempty"`
	// tokens of all model calls together.
	// +optional
	Tokens int64 `json:"tokens,omitempty"`
	// energyCost is what the run drained from the energy of its namespace, unset where that is not configured.
	// +optional
	EnergyCost EnergyAmount `json:"energyCost,omitempty"`
	// cost of all model calls together, as far as their models have prices.
	// +optional
	Cost Amount `json:"cost,omitempty"`
	// currency of the cost.
	// +optional
	Currency Currency `json:"currency,omitempty"`
}
